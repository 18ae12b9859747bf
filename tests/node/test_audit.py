"""The audit file of a real server: what it says, over kills and restarts, and what it never says."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from server_ng.wire.user_requests import ChangePassword, CreateUser, DeleteUser, UpdatePermissions, UpdateUser
from tests.support.fixtures import StartNode
from tests.support.frames import REGISTER, Reply, Request, password_body
from tests.support.node import Node
from tests.support.raw import PASSWORD, USERNAME, registered
from tests.support.topic_client import Place, TopicClient
from tests.support.waiting import until

_PLACE = Place("orders", "events")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def verified(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "server_ng", "audit", "verify", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def work(node: Node) -> None:
    """A guess, then a client that makes a stream and a topic, is refused once, and deletes the topic."""
    with node.connect() as guesser:
        guesser.login(password="guess-the-secret")
    with TopicClient(node.connect_registered()) as client:
        client.create_stream(_PLACE.stream)
        client.create_topic(_PLACE, 2, 1 << 20)
        client.ask(202, b"\6orders")
        client.delete_topic(_PLACE)


def test_the_audit_file_names_logins_refusals_and_operations(make_node: StartNode, tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    node = make_node(settings={"audit.path": str(path)}).start()
    work(node)
    assert node.terminate() == 0
    told = lines(path)
    assert [line["event"] for line in told] == [
        "audit_opened", "user_created", "login_refused", "logged_in",
        "stream_created", "topic_created", "stream_created", "topic_deleted",
    ]  # fmt: skip
    _, root, refused, login, *operations = told
    assert (root["target_user"], root["outcome"]) == (USERNAME, "ok")
    assert (refused["name"], refused["outcome"]) == (USERNAME, "credentials")
    assert login["user"] == 0
    assert login["session"] > 0
    assert login["address"].startswith("127.0.0.1:")
    assert {operation["address"] for operation in operations} == {login["address"]}
    assert [operation["outcome"] for operation in operations] == [
        "ok", "ok", "stream_name_already_exists", "ok",
    ]  # fmt: skip
    assert [operation["op"] for operation in operations] == sorted({line["op"] for line in operations})
    assert {(line["user"], line["stream"]) for line in operations} == {(0, "orders")}
    assert (operations[1]["topic"], operations[1]["partitions"]) == ("events", 2)
    proof = verified(path)
    assert (proof.returncode, proof.stdout.splitlines()[-1]) == (0, f"Digest: {told[-1]['chain']}")
    assert PASSWORD not in path.read_text()
    assert "guess-the-secret" not in path.read_text()


def test_a_session_that_the_server_ends_is_named(make_node: StartNode, tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    node = make_node(settings={"audit.path": str(path)}).start()
    with node.connect() as first, node.connect() as second:
        session = first.register().session
        login = Request(REGISTER, body=password_body(USERNAME, PASSWORD), client=first.client)
        answer = second.ask(login)
        assert isinstance(answer, Reply)
        registered(answer)
        until(lambda: path.read_text().count("logged_in") == 2, "the second login")
    (evicted,) = [line for line in lines(path) if line["event"] == "session_evicted"]
    assert (evicted["session"], evicted["outcome"]) == (session, "session_too_low")
    assert evicted["address"] == lines(path)[2]["address"]


def test_a_killed_server_goes_on_with_the_file_and_repeats_nothing(
    make_node: StartNode, tmp_path: Path
) -> None:
    path = tmp_path / "audit.log"
    node = make_node(settings={"audit.path": str(path)}).start()
    work(node)
    until(lambda: "topic_deleted" in path.read_text(), "the last line")
    node.kill()
    with path.open("ab") as file:
        file.write(b'{"number":9,"time":"20')
    assert verified(path).returncode == 65
    node.restart()
    until(lambda: len(lines(path)) == 9, "the line of the second start")
    assert node.terminate() == 0
    assert [line["event"] for line in lines(path)].count("topic_deleted") == 1
    assert verified(path).returncode == 0


def test_a_line_that_was_changed_is_named(make_node: StartNode, tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    node = make_node(settings={"audit.path": str(path)}).start()
    work(node)
    assert node.terminate() == 0
    path.write_bytes(path.read_bytes().replace(b'"stream":"orders"', b'"stream":"others"', 1))
    proof = verified(path)
    assert proof.returncode == 65
    assert "Line 5 was changed" in proof.stderr
    path.unlink()
    assert verified(path).returncode == 78


def test_a_file_that_is_no_audit_file_refuses_the_start(make_node: StartNode, tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_text("not an audit line\n")
    node = make_node(settings={"audit.path": str(path)})
    assert node.launch().wait() == 78
    assert "does not end with an audit line" in node.stderr()
    assert path.read_text() == "not an audit line\n"


def test_changes_of_users_are_named_and_no_secret_is(make_node: StartNode, tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    node = make_node(settings={"audit.path": str(path)}).start()
    with TopicClient(node.connect_registered()) as client:
        for code, body in (
            (33, CreateUser("ann", b"first secret")),
            (35, UpdateUser("ann", username="anna", status=2)),
            (36, UpdatePermissions("anna", None)),
            (37, ChangePassword("anna", b"first secret", b"second secret")),
            (37, ChangePassword("anna", b"first secret", b"third secret")),
            (34, DeleteUser("anna")),
            (34, DeleteUser("anna")),
        ):
            client.ask(code, body.encode())
    assert node.terminate() == 0
    told = [line for line in lines(path)[3:] if "target_user" in line]
    shown = [(line["event"], line["target_user"], line["outcome"]) for line in told]
    assert shown == [
        ("user_created", "ann", "ok"),
        ("user_updated", "ann", "ok"),
        ("permissions_updated", "anna", "ok"),
        ("password_changed", "anna", "ok"),
        ("user_deleted", "anna", "ok"),
        ("user_deleted", "anna", "resource_not_found"),
    ]
    assert (told[1]["new_name"], told[1]["status"]) == ("anna", 2)
    assert "secret" not in path.read_text()
    assert verified(path).returncode == 0
