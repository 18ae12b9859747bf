"""How bytes become requests: in any pieces, many at once, and not at all when they are something else."""

import random
import ssl
import struct
from collections.abc import Iterator

import pytest

from server_ng.wire.tables import COMMANDS
from tests.support.fixtures import StartNode
from tests.support.frames import (
    COMMAND,
    HEADER_BYTES,
    LOGOUT,
    REGISTER,
    Eviction,
    Reply,
    Request,
    password_body,
)
from tests.support.node import FRAME_BYTES_MAX, Node
from tests.support.raw import PASSWORD, USERNAME, RawClient, registered

PING, STATS, ME, CLIENTS, SNAPSHOT = 1, 10, 20, 22, 11
KIB, MIB = 1024, 1024 * 1024
STRANGER_FRAME_MAX = 8 * KIB
CLIENT_FRAME_MAX = 128 * 1024


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


def tls_hello() -> bytes:
    """The first bytes of a client that takes the port for one with TLS."""
    hello, unheard = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    client = context.wrap_bio(unheard, hello, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return hello.read()


class Closes:
    """How often the server has closed a connection for one reason, since this was made."""

    def __init__(self, node: Node, reason: str) -> None:
        self._node = node
        self._reason = reason
        self._before = self._now()

    def _now(self) -> float:
        return self._node.counters().total("connection_closes_total", reason=self._reason)

    def expect(self, more: int = 1) -> None:
        """Waits until there are so many more."""
        self._node.wait_for_count(self._before + more, "connection_closes_total", reason=self._reason)


class TestPieces:
    """A frame is a frame however it arrives."""

    def test_a_body_may_come_after_its_header(self, stranger: RawClient) -> None:
        frame = Request(REGISTER, body=password_body(USERNAME, PASSWORD), client=stranger.client).encode()
        stranger.send(frame[:HEADER_BYTES])
        assert not stranger.hears_within(0.05)
        stranger.send(frame[HEADER_BYTES:])
        assert isinstance(stranger.read_login(), Reply)

    def test_a_frame_may_come_byte_by_byte(self, stranger: RawClient) -> None:
        frame = Request(REGISTER, body=password_body(USERNAME, PASSWORD), client=stranger.client).encode()
        for at in range(len(frame)):
            stranger.send(frame[at : at + 1])
        assert isinstance(stranger.read_login(), Reply)
        stranger.ping()

    @pytest.mark.parametrize("seed", range(4))
    def test_many_frames_may_come_in_any_pieces(self, member: RawClient, seed: int) -> None:
        dice = random.Random(seed)
        codes = [dice.choice((PING, STATS, ME, CLIENTS, 9999)) for _ in range(200)]
        requests = [
            Request(COMMAND, code, client=member.client, request=at + 1) for at, code in enumerate(codes)
        ]
        stream = b"".join(request.encode() for request in requests)
        while stream:
            piece = dice.randint(1, 3000)
            member.send(stream[:piece])
            stream = stream[piece:]
        for request in requests:
            answer = member.read()
            assert isinstance(answer, Reply)
            assert (answer.request, answer.status) == (request.request, 3 if request.code == 9999 else 0)

    def test_requests_behind_a_login_wait_for_it(self, stranger: RawClient) -> None:
        login = Request(REGISTER, body=password_body(USERNAME, PASSWORD), client=stranger.client)
        logout = Request(LOGOUT, client=stranger.client, session=1, request=2)
        me = Request(COMMAND, ME, client=stranger.client, request=1)
        stranger.send(b"".join(request.encode() for request in (me, login, me, logout, me)))
        answers = [stranger.read() for _ in range(5)]
        assert all(isinstance(answer, Reply) for answer in answers)
        assert [answer.status for answer in answers if isinstance(answer, Reply)] == [40, 0, 0, 0, 40]
        assert isinstance(answers[1], Reply)
        assert registered(answers[1]).session > 0

    def test_answers_come_to_a_client_that_has_finished_sending(self, member: RawClient) -> None:
        member.send(member.prepare(STATS).encode() * 5)
        answers = [member.read() for _ in range(5)]
        member.finish_sending()
        assert len(answers) == 5
        assert member.rest() == b""


class TestForeignBytes:
    """What is not the protocol is closed without an answer, and counted."""

    @pytest.mark.parametrize(
        "first",
        [
            struct.pack("<II", 4, 1),
            struct.pack("<II", 42, 38) + b"\x04iggy\x04iggy",
            b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"\x01",
            b"\x00\x00\x00\x01",
            tls_hello(),
        ],
        ids=["old ping", "old login", "http", "one byte", "fourth byte", "tls"],
    )
    def test_another_protocol_is_closed(self, served: Node, first: bytes) -> None:
        closes = Closes(served, "legacy_framing")
        with served.connect() as client:
            client.send(first)
            assert client.rest() == b""
        closes.expect()

    @pytest.mark.parametrize("seed", range(8))
    def test_random_bytes_are_closed(self, served: Node, seed: int) -> None:
        with served.connect() as client:
            client.send(b"\x01" + random.Random(seed).randbytes(4 * KIB))
            assert client.rest() == b""
        with served.connect() as client:
            client.ping()
            # Zeros get past the look for other protocols; this fails at its size or its command.
            client.send(bytes(16) + random.Random(seed).randbytes(4 * KIB))
            assert client.rest() == b""

    @pytest.mark.parametrize("size", [0, 1, 255, FRAME_BYTES_MAX + 1, 2**31, 2**32 - 1])
    def test_a_bad_size_is_closed(self, served: Node, size: int) -> None:
        closes = Closes(served, "bad_size")
        with served.connect() as client:
            client.send(Request(COMMAND, PING, size=size).encode())
            assert client.rest() == b""
        closes.expect()

    @pytest.mark.parametrize("kind", [0, 1, 4, 6, 8, 13, 29, 30, 255])
    def test_what_is_no_request_is_closed(self, served: Node, kind: int) -> None:
        closes = Closes(served, "bad_command")
        with served.connect_registered() as client:
            client.send(Request(COMMAND, PING, kind=kind).encode())
            assert client.rest() == b""
        closes.expect()

    def test_half_a_frame_and_an_end_is_counted(self, served: Node) -> None:
        closes = Closes(served, "truncated")
        with served.connect() as client:
            client.send(Request(COMMAND, PING).encode()[:100])
            client.finish_sending()
            assert client.rest() == b""
        closes.expect()

    def test_an_end_between_frames_is_counted(self, served: Node) -> None:
        closes = Closes(served, "client_closed")
        with served.connect() as client:
            client.ping()
        closes.expect()


class TestAnyRequest:
    """Whatever the fields of a whole frame say, it is answered under its own number."""

    @pytest.mark.parametrize("seed", range(6))
    def test_every_request_is_answered(self, served: Node, seed: int) -> None:
        dice = random.Random(seed)
        with served.connect() as client:
            if seed % 2:
                client.register()
            for number in range(1, 200):
                request = any_request(dice, number)
                answer = client.ask(request)
                assert answer.client == request.client
                if isinstance(answer, Reply):
                    assert (answer.request, answer.operation) == (request.request, request.operation)
            client.ping()


def any_request(dice: random.Random, number: int) -> Request:
    """A request with fields that a client may or may not send."""
    known = [command.code for command in COMMANDS]
    return Request(
        operation=dice.choice([REGISTER, COMMAND, LOGOUT, dice.randrange(256)]),
        code=dice.choice([*known, dice.getrandbits(32)]),
        body=dice.randbytes(dice.choice([0, 1, 4, dice.randrange(7000)])),
        client=dice.choice([0, 1, dice.getrandbits(128)]),
        session=dice.choice([0, 1, dice.getrandbits(64)]),
        request=dice.choice([0, number, dice.getrandbits(64)]),
        checksum=dice.choice([0, 0, dice.getrandbits(64)]),
        timestamp=dice.getrandbits(64),
    )


class TestLongFrames:
    """A stranger may send 8 KiB, a client 128 KiB, or messages up to the limit. The rest is not read."""

    def test_eight_kib_are_read(self, stranger: RawClient) -> None:
        body = bytes(STRANGER_FRAME_MAX - HEADER_BYTES)
        answer = stranger.ask(Request(REGISTER, body=body, client=stranger.client))
        assert isinstance(answer, Eviction)
        stranger.register()

    @pytest.mark.parametrize(
        ("operation", "expected"), [(REGISTER, "evicted 15"), (COMMAND, "status 40"), (128, "evicted 1")]
    )
    def test_a_longer_one_is_answered_from_its_header_and_closed(
        self, served: Node, operation: int, expected: str
    ) -> None:
        closes = Closes(served, "oversize_before_login")
        with served.connect() as client:
            session = 0 if operation == REGISTER else 1
            request = Request(
                operation, SNAPSHOT, session=session, request=session, size=STRANGER_FRAME_MAX + 1
            )
            answer = client.ask(request)
            was = f"evicted {answer.reason}" if isinstance(answer, Eviction) else f"status {answer.status}"
            assert was == expected
            assert client.rest() == b""
        closes.expect()

    def test_its_sender_hears_the_answer_although_it_goes_on_sending(self, served: Node) -> None:
        with served.connect() as client:
            client.send(Request(COMMAND, SNAPSHOT, body=bytes(FRAME_BYTES_MAX - HEADER_BYTES)).encode())
            answer = client.read()
            assert isinstance(answer, Reply)
            assert answer.status == 40

    def test_the_longest_frame_of_a_client_costs_no_memory(self, start_node: StartNode, backend: str) -> None:
        longest = 32 * MIB
        node = start_node(settings={"message_bus.max_message_size": "32 MiB", "system.io.backend": backend})
        with node.connect_registered() as member:
            before = node.rss()
            request = Request(128, session=member.session, request=1, client=member.client, size=longest)
            answer = member.ask(request)
            assert isinstance(answer, Reply)
            assert answer.status == 3
            piece = bytes(MIB - 4)
            rest = longest - HEADER_BYTES
            while rest:
                member.send(piece[:rest])
                rest -= len(piece[:rest])
            member.ping()
            assert node.rss() - before < 4 * MIB

    def test_a_read_that_is_too_long_is_invalid(self, member: RawClient) -> None:
        answer = member.ask(Request(COMMAND, STATS, bytes(CLIENT_FRAME_MAX), client=member.client))
        assert isinstance(answer, Reply)
        assert answer.status == 3
        member.ping()
