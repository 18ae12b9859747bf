"""Where the root user's password is, and where it is not."""

import stat

from tests.support.fixtures import StartNode
from tests.support.raw import PASSWORD


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


def test_a_password_is_made_anew_at_each_start(start_node: StartNode) -> None:
    node = start_node(environment={})
    first = (node.runtime / "root-password").read_text()
    node.kill()
    node.restart()
    assert (node.runtime / "root-password").read_text() != first


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
