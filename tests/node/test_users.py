"""Changes of users as frames: bounds, retries, races, a frozen control plane, and where secrets are not."""

import signal
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest

from server_ng.wire.options import Option, ValueKind
from server_ng.wire.tables import EvictionReason
from server_ng.wire.user_requests import ChangePassword, CreateUser, DeleteUser, UpdatePermissions, UpdateUser
from tests.support.batches import name8
from tests.support.fixtures import StartNode
from tests.support.frames import Eviction, Reply, Request
from tests.support.node import Node, faulty
from tests.support.raw import PASSWORD, USERNAME
from tests.support.sticking import sharded
from tests.support.topic_client import TopicClient
from tests.support.waiting import until

GET_USER, CREATE, DELETE, UPDATE, PERMISSIONS, CHANGE = 31, 33, 34, 35, 36, 37
CREATE_OPERATION = 141
INVALID, NOT_FOUND, UNAUTHORIZED, WRONG, NAME, SECRET, EXISTS = 3, 20, 41, 42, 43, 44, 46
NOT_ACCEPTED, OPTION_KEY = 58, 4041
OPTION = (Option("key", ValueKind.TEXT, b"value"),)
ENRICHMENTS_MAX = 256


def result(answer: Reply) -> int:
    """The error of an answer, wherever it says so; 0 is success."""
    return answer.status or answer.rejection


def wrong_length() -> bytes:
    return name8("ann") + name8("a secret") + b"\x01\x01" + struct.pack("<I", 12) + bytes(11)


@pytest.mark.parametrize(
    ("code", "body", "expected"),
    [
        (CREATE, CreateUser("an", b"a secret").encode(), NAME),
        (CREATE, CreateUser("a" * 51, b"a secret").encode(), NAME),
        (CREATE, CreateUser("\N{EURO SIGN}" * 17, b"a secret").encode(), NAME),
        (CREATE, CreateUser("ann", b"se").encode(), SECRET),
        (CREATE, CreateUser("ann", b"").encode(), SECRET),
        (CREATE, CreateUser("ann", b"s" * 101).encode(), SECRET),
        (CREATE, CreateUser("an", b"se", permissions=b"", options=OPTION).encode(), NAME),
        (CREATE, CreateUser("ann", b"se", permissions=b"", options=OPTION).encode(), SECRET),
        (CREATE, CreateUser("ann", b"a secret", permissions=b"", options=OPTION).encode(), INVALID),
        (CREATE, CreateUser("ann", b"a secret", permissions=bytes(65_537)).encode(), INVALID),
        (CREATE, CreateUser("ann", b"a secret", options=OPTION).encode(), OPTION_KEY),
        (CREATE, wrong_length(), INVALID),
        (CREATE, b"", INVALID),
        (CREATE, CreateUser(USERNAME, b"a secret").encode(), EXISTS),
        (UPDATE, UpdateUser("nobody", username="an").encode(), NAME),
        (UPDATE, UpdateUser("nobody", username="ann", options=OPTION).encode(), OPTION_KEY),
        (UPDATE, UpdateUser("nobody", username="ann").encode(), NOT_FOUND),
        (DELETE, DeleteUser(77).encode(), NOT_FOUND),
        (DELETE, b"\x01", INVALID),
        (PERMISSIONS, UpdatePermissions("nobody").encode(), NOT_FOUND),
        (CHANGE, ChangePassword("nobody", b"a secret", b"se").encode(), SECRET),
        (CHANGE, ChangePassword("nobody", b"a secret", b"another").encode(), NOT_FOUND),
        (CHANGE, ChangePassword(USERNAME, b"a secret", b"another").encode(), WRONG),
        (CHANGE, ChangePassword(USERNAME, b"", b"another").encode(), WRONG),
    ],
)
def test_bad_input_gets_its_code_and_the_connection_lives(
    served: Node, code: int, body: bytes, expected: int
) -> None:
    with TopicClient(served.connect_registered()) as client:
        assert result(client.ask(code, body)) == expected
        assert client.ask(1, b"").status == 0


@pytest.mark.parametrize(
    ("name", "password"),
    [("ann", "sec"), ("a" * 50, "s" * 100), ("\N{EURO SIGN}" * 16 + "ab", "\N{EURO SIGN}" * 33 + "s")],
)
def test_names_and_passwords_at_the_bounds_are_good(served: Node, name: str, password: str) -> None:
    with TopicClient(served.connect_registered()) as client:
        assert result(client.ask(CREATE, CreateUser(name, password.encode()).encode())) == 0
        with served.connect() as other:
            other.register(name, password)
        assert result(client.ask(DELETE, DeleteUser(name).encode())) == 0


def test_a_retry_gets_the_first_answer(served: Node) -> None:
    body = CreateUser("retried", b"a secret").encode()
    with served.connect_registered() as raw:
        request = Request(CREATE_OPERATION, 0, body, raw.client, raw.session, 9)
        first, second = raw.ask(request), raw.ask(request)
        assert isinstance(first, Reply)
        assert isinstance(second, Reply)
        assert result(first) == 0
        assert (second.op, second.body) == (first.op, first.body)
        raw.request = 10
        with TopicClient(raw) as client:
            assert result(client.ask(DELETE, DeleteUser("retried").encode())) == 0


def test_of_those_who_race_for_a_name_one_wins(served: Node) -> None:
    def create(client: TopicClient) -> int:
        return result(client.ask(CREATE, CreateUser("contested", b"a secret").encode()))

    clients = [TopicClient(served.connect_registered()) for _ in range(20)]
    with ThreadPoolExecutor(len(clients)) as threads:
        results = sorted(threads.map(create, clients))
    assert results == [0] + 19 * [EXISTS]
    assert result(clients[0].ask(DELETE, DeleteUser("contested").encode())) == 0
    for client in clients:
        client.__exit__()


def test_a_plain_user_changes_only_the_own_password(served: Node) -> None:
    with TopicClient(served.connect_registered()) as root:
        assert result(root.ask(CREATE, CreateUser("plain", b"a secret").encode())) == 0
        with served.connect() as raw:
            raw.register("plain", "a secret")
            plain = TopicClient(raw)
            for code, body in (
                (CREATE, CreateUser("another", b"a secret").encode()),
                (UPDATE, UpdateUser("plain", username="another").encode()),
                (DELETE, DeleteUser("plain").encode()),
                (PERMISSIONS, UpdatePermissions("plain").encode()),
                (CHANGE, ChangePassword(USERNAME, PASSWORD.encode(), b"another").encode()),
            ):
                assert result(plain.ask(code, body)) == UNAUTHORIZED
            changed = ChangePassword("plain", b"a secret", b"another").encode()
            assert result(plain.ask(CHANGE, changed)) == 0
            assert result(plain.ask(CHANGE, changed)) == WRONG
        assert result(root.ask(DELETE, DeleteUser("plain").encode())) == 0


def test_a_frozen_control_plane_holds_as_many_as_may_wait(start_node: StartNode) -> None:
    node = start_node(faulty("freeze 8", control_plane__stall_dump="2s", **sharded(2)))
    clients = [node.connect_registered() for _ in range(ENRICHMENTS_MAX + 1)]
    node.signal(signal.SIGUSR1)
    until(lambda: "in _freeze" in node.stderr(), "the stacks of Python on standard error")
    for number, client in enumerate(clients):
        body = CreateUser(f"user-{number}", b"a secret").encode()
        client.send(Request(CREATE_OPERATION, 0, body, client.client, client.session, 1).encode())
    answers = [client.read() for client in clients]
    results = sorted(result(answer) for answer in answers if isinstance(answer, Reply))
    assert results == ENRICHMENTS_MAX * [0] + [NOT_ACCEPTED]
    with TopicClient(node.connect_registered()) as root:
        assert result(root.ask(CREATE, CreateUser("the-last", b"a secret").encode())) == 0
    for client in clients:
        client.close()


def test_no_secret_is_written_anywhere(start_node: StartNode) -> None:
    node = start_node(settings={"system.logging.level": "debug"})
    secrets = [f"{kind}-secret-{number}" for kind in ("first", "second") for number in range(8)]
    with TopicClient(node.connect_registered()) as root:
        for number in range(8):
            name, first, second = f"user-{number}", secrets[number], secrets[8 + number]
            assert result(root.ask(CREATE, CreateUser(name, first.encode()).encode())) == 0
            changed = ChangePassword(name, first.encode(), second.encode()).encode()
            assert result(root.ask(CHANGE, changed)) == 0
            with node.connect() as client:
                assert isinstance(client.login(name, first), Eviction)
            with node.connect() as client:
                client.register(name, second)
    page = node.http("/metrics")
    node.kill()
    node.restart()
    assert node.terminate() == 0
    written = {path: path.read_bytes() for path in node.folder.rglob("*") if path.is_file()}
    written[node.folder / "metrics"] = page.encode()
    for secret in [*secrets, PASSWORD]:
        assert [path for path, content in written.items() if secret.encode() in content] == []


def test_the_made_password_is_forgotten_once_it_is_changed(start_node: StartNode) -> None:
    node = start_node(environment={})
    file = node.runtime / "root-password"
    made = file.read_text().strip()
    with node.connect() as raw:
        raw.register("iggy", made)
        changed = ChangePassword(0, made.encode(), b"chosen-secret").encode()
        assert result(TopicClient(raw).ask(CHANGE, changed)) == 0
    node.kill()
    node.restart()
    assert not file.exists()
    with node.connect() as client:
        client.register("iggy", "chosen-secret")
    with node.connect() as client:
        refused = client.login("iggy", made)
        assert isinstance(refused, Eviction)
        assert refused.reason == EvictionReason.INVALID_CREDENTIALS
