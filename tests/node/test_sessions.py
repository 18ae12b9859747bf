"""Sessions as frames: what is answered before a login, what a login brings, and how it ends."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.support.frames import (
    COMMAND,
    LOGOUT,
    REGISTER,
    Eviction,
    Reply,
    Request,
    password_body,
    token_body,
)
from tests.support.golden import golden_bytes
from tests.support.node import Node
from tests.support.raw import PASSWORD, USERNAME, RawClient, registered

PING, CLUSTER, OPTIONS, ME, CLIENT, CLIENTS, STATS = 1, 12, 13, 20, 21, 22, 10
CREATE_STREAM = 128
UNAUTHENTICATED, INVALID_COMMAND, INVALID_FORMAT, UNAVAILABLE = 40, 3, 4, 5
NO_SESSION, INVALID_CREDENTIALS, INVALID_TOKEN, INCOMPATIBLE, MALFORMED_LOGIN = 1, 9, 10, 14, 15
PROTOCOL_0_11_0 = 11264


@pytest.fixture
def stranger(served: Node) -> Iterator[RawClient]:
    """A connection without a session."""
    with served.connect() as client:
        yield client


@pytest.fixture
def member(served: Node) -> Iterator[RawClient]:
    """A connection with a session."""
    with served.connect_registered() as client:
        yield client


def denied(answer: object) -> int:
    """The status of an answer that was refused before anything was done."""
    assert isinstance(answer, Reply)
    assert (answer.body, answer.op, answer.commit) == (b"", 0, 0)
    assert answer.status != 0
    return answer.status


def evicted(answer: object, client: int) -> int:
    """The reason of an eviction."""
    assert isinstance(answer, Eviction)
    assert answer.client == client
    return answer.reason


class TestBeforeLogin:
    """Section 3.2 of the framing reference."""

    def test_the_golden_ping_gets_the_golden_reply(self, stranger: RawClient) -> None:
        stranger.send(golden_bytes("ping_request"))
        answer = stranger.read()
        assert isinstance(answer, Reply)
        assert (answer.status, answer.request, answer.operation, answer.body) == (0, 1, COMMAND, b"")

    def test_a_logout_is_fine(self, stranger: RawClient) -> None:
        for session, request in ((0, 0), (0, 1), (7, 3)):
            answer = stranger.ask(Request(LOGOUT, session=session, request=request))
            assert isinstance(answer, Reply)
            assert (answer.status, answer.operation, answer.body) == (0, LOGOUT, b"")
        stranger.ping()

    @pytest.mark.parametrize("code", [STATS, CLUSTER, OPTIONS, ME, CLIENT, CLIENTS, 201, 600, 9999])
    def test_any_other_read_is_unauthenticated(self, stranger: RawClient, code: int) -> None:
        assert denied(stranger.ask(stranger.prepare(code))) == UNAUTHENTICATED
        stranger.ping()

    @pytest.mark.parametrize("code", [38, 44])
    def test_a_retired_login_is_malformed(self, stranger: RawClient, code: int) -> None:
        assert evicted(stranger.ask(stranger.prepare(code)), stranger.client) == MALFORMED_LOGIN
        stranger.ping()

    @pytest.mark.parametrize("operation", [*range(128, 150), 160, 161, 162])
    def test_what_changes_something_needs_a_session(self, stranger: RawClient, operation: int) -> None:
        request = Request(operation, client=stranger.client, session=9, request=1)
        assert evicted(stranger.ask(request), stranger.client) == NO_SESSION
        stranger.ping()

    def test_without_a_session_number_its_header_is_invalid(self, stranger: RawClient) -> None:
        assert denied(stranger.ask(Request(CREATE_STREAM, request=1))) == INVALID_COMMAND
        stranger.ping()


class TestHeaders:
    """Section 2.2: what a header must say."""

    @pytest.mark.parametrize(
        "request_",
        [
            Request(COMMAND, PING, client=0),
            Request(0),
            Request(REGISTER, body=password_body(USERNAME, PASSWORD), session=1),
            Request(REGISTER, body=password_body(USERNAME, PASSWORD), request=1),
            Request(CREATE_STREAM, session=1),
            Request(CREATE_STREAM, request=1),
            Request(64, session=1, request=1),
            Request(68, session=1, request=1),
            Request(255, session=1, request=1),
            Request(4, session=1, request=1),
        ],
    )
    def test_a_header_that_does_not_fit_is_invalid(self, member: RawClient, request_: Request) -> None:
        assert denied(member.ask(request_)) == INVALID_COMMAND
        member.ping()

    @pytest.mark.parametrize("code", [0, 2, 99, 607, 2**32 - 1])
    def test_an_unknown_code_is_invalid_and_the_connection_lives(self, member: RawClient, code: int) -> None:
        assert denied(member.command(code)) == INVALID_COMMAND
        member.ping()

    @pytest.mark.parametrize("code", [202, 101, 121, 33, 40, 45, 39])
    def test_a_command_with_an_operation_of_its_own_is_unavailable_under_another(
        self, member: RawClient, code: int
    ) -> None:
        assert denied(member.command(code)) == UNAVAILABLE
        member.ping()

    def test_what_a_reply_must_echo_is_echoed(self, member: RawClient) -> None:
        request = Request(COMMAND, PING, client=2**127 + 5, session=3, request=2**63 + 1, timestamp=2**64 - 1)
        answer = member.ask(request)
        assert isinstance(answer, Reply)
        echoed = (answer.client, answer.request, answer.operation, answer.timestamp, answer.request_checksum)
        assert echoed == (request.client, request.request, request.operation, request.timestamp, 0)

    def test_checksums_and_reserved_bytes_are_not_read(self, member: RawClient) -> None:
        frame = bytearray(member.prepare(PING).encode())
        # The first word of a connection tells other protocols apart; this is not the first frame any more.
        for free in (
            range(48),
            range(52, 60),
            range(61, 128),
            range(177, 184),
            range(192, 196),
            range(200, 256),
        ):
            for at in free:
                frame[at] = 0xA5
        member.send(bytes(frame))
        answer = member.read()
        assert isinstance(answer, Reply)
        assert answer.status == 0

    def test_a_stamped_body_is_held_against_its_stamp(self, member: RawClient) -> None:
        body = b"\x06orders"
        right = 0x327D5D19644D82D7

        def stamped(checksum: int) -> Request:
            return Request(
                CREATE_STREAM,
                body=body,
                client=member.client,
                session=member.session,
                request=1,
                checksum=checksum,
            )

        for wrong in (right + 1, right + (1 << 64), 1):
            assert denied(member.ask(stamped(wrong))) == INVALID_FORMAT
        answer = member.ask(stamped(right))
        assert isinstance(answer, Reply)
        assert (answer.status, answer.rejection) == (0, 0)
        member.ping()

    def test_the_stamp_of_a_golden_login_is_right(self, stranger: RawClient) -> None:
        stranger.send(golden_bytes("register_password_request"))
        assert evicted(stranger.read(), int.from_bytes(bytes(range(1, 17)), "little")) == INVALID_CREDENTIALS


class TestLogin:
    """Sections 3.3, 3.4 and 3.9."""

    def test_a_login_brings_a_session(self, stranger: RawClient) -> None:
        session = stranger.register()
        assert session.user_id == 0
        assert 0 < session.session < 2**63
        assert session.protocol_version == PROTOCOL_0_11_0
        assert session.server_version

    def test_sessions_only_grow(self, served: Node) -> None:
        sessions = []
        for _ in range(3):
            with served.connect() as client:
                sessions.append(client.register().session)
        assert sessions == sorted(set(sessions))

    @pytest.mark.parametrize(
        ("username", "password"),
        [
            (USERNAME, "wrong-secret"),
            ("nobody", PASSWORD),
            (USERNAME, ""),
            ("x", PASSWORD),
            (USERNAME, "p" * 255),
            ("u" * 255, PASSWORD),
        ],
    )
    def test_wrong_credentials_are_refused(self, stranger: RawClient, username: str, password: str) -> None:
        assert evicted(stranger.login(username, password), stranger.client) == INVALID_CREDENTIALS
        stranger.ping()
        stranger.register()

    def test_a_token_is_refused_until_there_are_tokens(self, stranger: RawClient) -> None:
        request = Request(REGISTER, body=token_body("0123456789"), client=stranger.client)
        assert evicted(stranger.ask(request), stranger.client) == INVALID_TOKEN
        stranger.register()

    @pytest.mark.parametrize("version", [(10 << 10), (12 << 10), (1 << 20) | (11 << 10), 0, 2**32 - 1])
    def test_another_protocol_is_told_the_window(self, stranger: RawClient, version: int) -> None:
        body = password_body(USERNAME, PASSWORD, version)
        answer = stranger.ask(Request(REGISTER, body=body, client=stranger.client))
        assert evicted(answer, stranger.client) == INCOMPATIBLE
        assert isinstance(answer, Eviction)
        assert (answer.version, answer.version_min) == (PROTOCOL_0_11_0, PROTOCOL_0_11_0)

    def test_every_patch_of_our_protocol_is_accepted(self, stranger: RawClient) -> None:
        body = password_body(USERNAME, PASSWORD, PROTOCOL_0_11_0 + 1023)
        answer = stranger.ask(Request(REGISTER, body=body, client=stranger.client))
        assert isinstance(answer, Reply)
        assert registered(answer).protocol_version == PROTOCOL_0_11_0

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"\x00\x2c",
            password_body(USERNAME, PASSWORD)[:-1],
            password_body(USERNAME, PASSWORD) + b"x",
            password_body(USERNAME, PASSWORD)[:4] + bytes(32),
            password_body(USERNAME, PASSWORD).replace(b"\x04iggy", b"\x04\xff\xff\xff\xff"),
        ],
    )
    def test_a_body_that_cannot_be_read_is_malformed(self, stranger: RawClient, body: bytes) -> None:
        answer = stranger.ask(Request(REGISTER, body=body, client=stranger.client))
        assert evicted(answer, stranger.client) == MALFORMED_LOGIN
        stranger.ping()

    def test_the_version_is_judged_before_the_credentials(self, stranger: RawClient) -> None:
        body = password_body(USERNAME, "wrong-secret", 12 << 10)
        answer = stranger.ask(Request(REGISTER, body=body, client=stranger.client))
        assert evicted(answer, stranger.client) == INCOMPATIBLE


class TestSession:
    """Section 3.6, and what a session may ask for."""

    def test_a_second_login_on_a_connection_repeats_its_session(self, member: RawClient) -> None:
        first = member.session
        # Whatever its password says: the connection has proved who it is.
        again = member.login(USERNAME, "wrong-secret")
        assert isinstance(again, Reply)
        assert registered(again).session == first

    def test_after_a_logout_the_connection_is_a_stranger(self, member: RawClient) -> None:
        before = member.session
        member.logout()
        assert denied(member.command(ME)) == UNAUTHENTICATED
        member.ping()
        assert member.register().session > before
        assert member.command(ME).status == 0

    def test_commands_of_later_versions_are_unavailable(self, member: RawClient) -> None:
        for code in (11, 14, 41, 102, 103, 104, 123, 600, 601, 606):
            assert denied(member.command(code)) == UNAVAILABLE
        for operation in (139, 140, 146, 147, 148, 149):
            answer = member.ask(Request(operation, session=member.session, request=1, client=member.client))
            assert denied(answer) == UNAVAILABLE
        member.ping()

    def test_me_is_this_connection(self, member: RawClient) -> None:
        client = read_client(member.command(ME).body)
        assert (client.user_id, client.transport, client.address) == (0, 1, member.local_address)
        assert client.rest == b""

    def test_a_client_is_found_by_its_number(self, served: Node, member: RawClient) -> None:
        number = read_client(member.command(ME).body).client_id
        with served.connect_registered() as other:
            found = read_client(other.command(CLIENT, struct.pack("<I", number)).body)
        assert (found.client_id, found.address) == (number, member.local_address)

    def test_an_unknown_client_is_an_empty_answer(self, member: RawClient) -> None:
        answer = member.command(CLIENT, struct.pack("<I", 2**32 - 1))
        assert (answer.status, answer.body) == (0, b"")

    @pytest.mark.parametrize("body", [b"", b"\x01\x02\x03", b"\x01\x02\x03\x04\x05"])
    def test_half_a_client_number_is_invalid(self, member: RawClient, body: bytes) -> None:
        assert denied(member.command(CLIENT, body)) == INVALID_COMMAND

    def test_the_list_has_members_and_strangers(
        self, served: Node, member: RawClient, stranger: RawClient
    ) -> None:
        stranger.ping()
        rest = member.command(CLIENTS).body
        users: dict[str, int] = {}
        while rest:
            client = read_client(rest)
            users[client.address] = client.user_id
            rest = client.rest
        assert users[member.local_address] == 0
        assert users[stranger.local_address] == 2**32 - 1

    def test_stats_name_this_process(self, served: Node, member: RawClient) -> None:
        body = member.command(STATS).body
        assert struct.unpack_from("<I", body) == (served.pid,)

    def test_the_cluster_is_one_leader_at_the_address_dialled(self, served: Node, member: RawClient) -> None:
        body = member.command(CLUSTER).body
        name, at = read_text(body, 0)
        (nodes,) = struct.unpack_from("<I", body, at)
        _, at = read_text(body, at + 4)
        host, at = read_text(body, at)
        ports = struct.unpack_from("<HHHHBB", body, at)
        assert (name, nodes, host) == ("single-node", 1, served.address[0])
        assert ports == (served.address[1], 0, 0, 0, 0, 0)
        assert len(body) == at + 10

    def test_options_are_described_by_scope(self, member: RawClient) -> None:
        counts = [
            struct.unpack_from("<I", member.command(OPTIONS, bytes([scope])).body)[0] for scope in (1, 2, 3)
        ]
        assert counts[0] > 0
        assert counts[1:] == [0, 0]
        for body in (b"", b"\x00", b"\x04", b"\x01\x01"):
            assert denied(member.command(OPTIONS, body)) == INVALID_COMMAND


@dataclass(frozen=True, slots=True)
class ClientRecord:
    """One client as the server describes it, and the bytes after it."""

    client_id: int
    user_id: int
    transport: int
    address: str
    rest: bytes


def read_client(data: bytes) -> ClientRecord:
    """The first client of a body."""
    client_id, user_id, transport = struct.unpack_from("<IIB", data)
    address, at = read_text(data, 9)
    (groups,) = struct.unpack_from("<I", data, at)
    assert groups == 0
    return ClientRecord(client_id, user_id, transport, address, data[at + 4 :])


def read_text(data: bytes, at: int) -> tuple[str, int]:
    """A text with its length in four bytes, and where it ends."""
    (length,) = struct.unpack_from("<I", data, at)
    return data[at + 4 : at + 4 + length].decode(), at + 4 + length
