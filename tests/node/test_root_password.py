"""Where the root user's password is, and where it is not."""

import stat

from server_ng.wire.tables import EvictionReason
from tests.support.fixtures import StartNode
from tests.support.frames import Eviction
from tests.support.raw import PASSWORD, USERNAME


def test_a_made_password_is_private_and_in_no_log(start_node: StartNode) -> None:
    node = start_node(environment={})
    file = node.runtime / "root-password"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    password = file.read_text().strip()
    with node.connect() as client:
        client.register("iggy", password)
    assert node.terminate() == 0
    assert password not in node.stdout() + node.stderr()
    assert node.log("root_user")[0]["password_source"] == str(file)


def test_a_made_password_lasts_over_restarts(start_node: StartNode) -> None:
    node = start_node(environment={})
    password = (node.runtime / "root-password").read_text().strip()
    for end in (node.kill, node.terminate):
        end()
        node.restart()
        assert (node.runtime / "root-password").read_text().strip() == password
        assert node.log("root_user")[0]["password_source"] == "stored"
        with node.connect() as client:
            client.register("iggy", password)


def test_the_stored_root_user_counts_and_others_are_warned_about(start_node: StartNode) -> None:
    node = start_node()
    assert node.terminate() == 0
    assert node.log("root_credential_ignored") == []
    other = {"IGGY_ROOT_USERNAME": USERNAME, "IGGY_ROOT_PASSWORD": "another-secret"}
    node.restart(environment=other)
    node.wait_for_log("root_credential_ignored")
    with node.connect() as client:
        client.register(USERNAME, PASSWORD)
    with node.connect() as client:
        refusal = client.login(USERNAME, "another-secret")
    assert isinstance(refusal, Eviction)
    assert refusal.reason == EvictionReason.INVALID_CREDENTIALS
    assert node.terminate() == 0
    assert len(node.log("root_credential_ignored")) == 1
    assert "another-secret" not in node.stdout() + node.stderr()


def test_a_given_password_is_in_no_file_and_no_log(start_node: StartNode) -> None:
    node = start_node()
    with node.connect_registered():
        node.terminate()
    written = [path.read_text(errors="replace") for path in node.data.rglob("*") if path.is_file()]
    assert not any(PASSWORD in text for text in [*written, node.stdout(), node.stderr()])


def test_half_a_credential_is_a_fault_of_the_configuration(make_node: StartNode) -> None:
    node = make_node(environment={"IGGY_ROOT_PASSWORD": PASSWORD}).launch()
    assert node.wait() == 78
    assert "IGGY_ROOT_USERNAME" in node.stderr()
    assert PASSWORD not in node.stderr()
