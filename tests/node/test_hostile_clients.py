"""Clients that mean harm, or seem to: each is answered, the others are served, and nothing is lost."""

import random
import signal
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from xxhash import xxh3_64_intdigest

from server_ng.wire.tables import COMMANDS
from tests.support.batches import batch, by_number, name8, number, send_body
from tests.support.fixtures import StartNode
from tests.support.frames import COMMAND, LOGOUT, REGISTER, Reply, Request, password_body
from tests.support.node import FRAME_BYTES_MAX, Node
from tests.support.raw import PASSWORD, USERNAME, RawClient
from tests.support.waiting import WAIT_MAX

_OPERATIONS = {int(command.code): int(command.operation) for command in COMMANDS}
_TOPIC = number(0) + number(0)
_CONSUMER = struct.pack("<B", 1) + number(9)
_PARTITION = struct.pack("<BI", 1, 0)
_FIRST = struct.pack("<BIBQIB", 1, 0, 3, 0, 10_000, 0)
_BUSY = 58
_OPS_BEYOND_A_VOTE = 4_300
"""More operations of one log than the vote of a replica lists."""


def prepared(client: RawClient, code: int, body: bytes, repeats: int | None = None) -> Request:
    """A command as the operation it is, under the next number or one that was used before."""
    operation = _OPERATIONS[code]
    if repeats is None:
        client.request += 1
    return Request(
        operation,
        code if operation == COMMAND else 0,
        body,
        client=client.client,
        session=client.session,
        request=client.request if repeats is None else repeats,
        checksum=0 if operation == COMMAND else xxh3_64_intdigest(body),
    )


def ask(client: RawClient, code: int, body: bytes = b"") -> Reply:
    """Sends a command and takes nothing but a reply."""
    answer = client.ask(prepared(client, code, body))
    assert isinstance(answer, Reply), answer
    return answer


def outcome(reply: Reply) -> int:
    """The code of what came of it, wherever it stands; 0 is success."""
    framed = 128 <= reply.operation <= 149 and reply.operation != 138
    return reply.status or (reply.rejection if framed else 0)


def make_topic(client: RawClient, partitions: int = 1) -> None:
    """Stream 0 with topic 0."""
    assert outcome(ask(client, 202, name8("stream"))) == 0
    assert outcome(ask(client, 302, number(0) + struct.pack("<I", partitions) + name8("topic"))) == 0


def one_message(topic: bytes = _TOPIC, partition: int = 0) -> bytes:
    """The body of a send."""
    return send_body(topic, b"", by_number(partition), batch([b"x"]), 1)


def sharded(backend: str, shards: int) -> dict[str, str]:
    """The settings of a server on a backend, with so many shards."""
    return {
        "system.io.backend": backend,
        "system.sharding.cpu_allocation": str(shards),
        "system.sharding.pin_cores": "false",
    }


def partition_figures(client: RawClient) -> list[tuple[int, int]]:
    """Last offset and number of messages of each partition of topic 0, as the topic says."""
    body = ask(client, 300, _TOPIC).body
    (count,) = struct.unpack_from("<I", body, 12)
    rows = struct.iter_unpack("<IQIQQQ", body[len(body) - 40 * count :])
    return [(current, messages) for _, _, _, current, _, messages in rows]


def polled_figures(client: RawClient, partition: int) -> tuple[int, int]:
    """Last offset and number of messages of a partition of topic 0, as polls say."""
    messages = 0
    while True:
        strategy = struct.pack("<BIBQIB", 1, partition, 1, messages, 10_000, 0)
        reply = ask(client, 100, _CONSUMER + _TOPIC + strategy)
        if reply.status == _BUSY:
            continue
        assert reply.status == 0
        _, current, count = struct.unpack_from("<IQI", reply.body)
        if count == 0:
            return current, messages
        messages += count


def restart_after_a_kill(node: Node) -> RawClient:
    """Kills the server, and comes back to it."""
    node.kill()
    return node.restart().connect_registered()


def sessions_come_and_go(node: Node) -> None:
    """Logins and logouts, as many as a client may think of."""
    for _ in range(_OPS_BEYOND_A_VOTE // 16):
        with node.connect() as client:
            for _ in range(8):
                client.register()
                client.logout()


def messages_one_by_one(node: Node) -> None:
    """Messages of which each is an operation of its own, asked for without waiting."""
    with node.connect_registered() as client:
        make_topic(client)
        for _ in range(_OPS_BEYOND_A_VOTE // 20):
            client.send(b"".join(prepared(client, 101, one_message()).encode() for _ in range(20)))
            for _ in range(20):
                answer = client.read()
                assert isinstance(answer, Reply)
                assert answer.status == 0


@pytest.mark.parametrize("storm", [sessions_come_and_go, messages_one_by_one])
def test_no_burst_makes_a_log_that_cannot_be_read_again(
    start_node: StartNode, storm: Callable[[Node], None]
) -> None:
    # The journal has room for all of it: nothing but the length of the log asks for a manifest.
    node = start_node(settings={"message_bus.max_message_size": "8 MiB"})
    storm(node)
    with restart_after_a_kill(node) as client:
        client.ping()


def test_a_purge_holds_nothing_up(start_node: StartNode) -> None:
    node = start_node()
    with node.connect_registered() as client:
        make_topic(client)
        assert ask(client, 101, one_message()).status == 0
        for code, target in ((205, number(0)), (305, _TOPIC), (205, number(0))):
            assert outcome(ask(client, code, target)) == 0
            node.wait_for_count(0, "partitions_unsettled")
        assert outcome(ask(client, 302, number(0) + struct.pack("<I", 1) + name8("later"))) == 0
        assert ask(client, 101, one_message(number(0) + number(1))).status == 0
        assert outcome(ask(client, 205, number(0))) == 0
    with restart_after_a_kill(node) as client:
        assert partition_figures(client) == [(0, 0)]


@pytest.mark.parametrize("ack", [0, 1])
@pytest.mark.parametrize("offset", [1 << 63, (1 << 64) - 2, (1 << 64) - 1])
def test_no_offset_means_its_end(served: Node, ack: int, offset: int) -> None:
    with served.connect_registered() as client:
        make_topic(client)
        place = _CONSUMER + _TOPIC + _PARTITION
        assert ask(client, 101, one_message()).status == 0
        assert ask(client, 121, place + struct.pack("<QB", 0, 1)).status == 0
        assert ask(client, 121, place + struct.pack("<QB", offset, ack)).status == 4100
        assert ask(client, 120, place).body == struct.pack("<IQQ", 0, 0, 0)
        assert outcome(ask(client, 203, number(0))) == 0


def test_a_retried_create_gets_its_first_answer(start_node: StartNode) -> None:
    node = start_node()
    with node.connect_registered() as client:
        request = prepared(client, 202, name8("stream"))
        first = client.ask(request)
        assert isinstance(first, Reply)
        assert outcome(first) == 0
        assert client.ask(request) == first
        assert outcome(ask(client, 202, name8("stream"))) == 1012
        # Too many commands later the answer is not kept any more, but the command is not done again.
        for later in range(6):
            assert outcome(ask(client, 202, name8(f"later-{later}"))) == 0
        old = client.ask(request)
        assert isinstance(old, Reply)
        assert outcome(old) == 59


def test_another_command_under_a_used_number_is_not_done(start_node: StartNode) -> None:
    node = start_node()
    with node.connect_registered() as client:
        request = prepared(client, 202, name8("stream"))
        first = client.ask(request)
        for code, body in ((202, name8("other")), (203, number(0))):
            other = client.ask(prepared(client, code, body, repeats=request.request))
            assert isinstance(other, Reply)
            assert outcome(other) == 59, code
        assert client.ask(request) == first
        assert struct.unpack_from("<I", ask(client, 200, number(0)).body) == (0,)
        assert ask(client, 200, number(1)).body == b""


def test_a_logout_between_commands_ends_the_session_there(served: Node) -> None:
    with served.connect_registered() as client:
        commands = [prepared(client, 201, b"").encode() for _ in range(5)]
        logout = Request(LOGOUT, client=client.client, session=client.session, request=client.request)
        commands.insert(3, logout.encode())
        client.send(b"".join(commands))
        answers = [client.read() for _ in commands]
        assert [answer.status for answer in answers if isinstance(answer, Reply)] == [0, 0, 0, 0, 40, 40]


_NAMES = (b"../", b"\0", b"n" * 255, "\u202e\u0627".encode(), b"\xff\xfe", b"\xed\xa0\x80", b"", b"a", b"b")
_NUMBERS = (0, 1, 2, 1000, 1001, 1 << 31, (1 << 32) - 1)
_OFFSETS = (0, 1, 1 << 32, 1 << 63, (1 << 64) - 1)
_STATUSES = {0, 3, 4, 5, 20, 40, 42, 43, 44, 46, 48, 49, 57, 58, 59}
_STATUSES |= {1009, 1012, 1019, 2010, 2013, 2015, 2019, 3007, 3021}
_STATUSES |= {4027, 4039, 4041, 4042, 4043, 4100, 5000}


class Writer:
    """Writes bodies that are nearly right. The same seed writes the same."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def name(self) -> bytes:
        """A name behind its length."""
        name = self.random.choice(_NAMES)
        return bytes([len(name)]) + name

    def identifier(self) -> bytes:
        """A number, mostly of something that is there, or a name."""
        if self.random.random() < 0.8:
            return number(self.random.choice((0, 0, 0, 1, 2, (1 << 32) - 1)))
        return b"\2" + self.name()

    def number(self, form: str = "<I") -> bytes:
        """A number at an edge."""
        return struct.pack(form, self.random.choice(_OFFSETS if form == "<Q" else _NUMBERS))

    def options(self) -> bytes:
        """An options block: no option, one, or one twice."""
        key, value = b"segment_size", self.random.choice((b"1 GiB", b"-1", b"nan", b"9" * 250, b"\xff"))
        option = struct.pack("<BI", 2, len(key)) + key + struct.pack("<BI", 2, len(value)) + value
        return option * self.random.choice((0, 0, 1, 2))

    def send(self) -> bytes:
        """A batch, often with a field of its own or of its message forged."""
        content, count = bytearray(batch([b"payload"] * 3)), 3
        forged = self.random.randrange(6)
        if forged == 0:
            struct.pack_into(
                "<Q", content, self.random.choice((0, 8, 16, 24, 32)), self.random.choice(_OFFSETS)
            )
        elif forged == 1:
            struct.pack_into("<I", content, self.random.choice((48, 280, 284, 288, 292)), (1 << 32) - 1)
        elif forged == 2:
            count = self.random.choice(_NUMBERS)
        return send_body(self.identifier(), self.identifier(), by_number(0), bytes(content), count)

    def body(self, code: int) -> bytes:
        """The body of a command, whole or not."""
        topic = self.identifier() + self.identifier()
        place = _CONSUMER + topic + _PARTITION
        strategy = bytes([self.random.randrange(7)])
        bodies = {
            100: place + strategy + self.number("<Q") + self.number() + b"\1",
            101: self.send(),
            120: place,
            121: place + self.number("<Q") + b"\1",
            122: place + b"\1",
            202: self.name() + self.options(),
            204: self.identifier() + self.name(),
            302: self.identifier()
            + struct.pack("<I", self.random.choice((1, 2, 1001)))
            + self.name()
            + self.options(),
            304: topic + self.name() + self.options(),
            402: topic + struct.pack("<I", self.random.choice((0, 1, 1001))),
            403: topic + struct.pack("<I", self.random.choice((0, 1, 1001))),
        }
        body = bytearray(bodies.get(code, topic))
        match self.random.randrange(8):
            case 0:
                del body[self.random.randrange(len(body)) :]
            case 1:
                body[self.random.randrange(len(body))] ^= 1 << self.random.randrange(8)
            case 2:
                body += self.random.randbytes(9)
            case _:
                pass
        return bytes(body)


_WRITTEN = sorted(set(_OPERATIONS) - {38, 39, 40, 44, 45})
"""Every command but logins and logouts."""


def badger(node: Node, seed: int) -> None:
    """Asks for a great deal that cannot be."""
    writer = Writer(seed)
    with node.connect_registered() as client:
        for _ in range(250):
            code = writer.random.choice(_WRITTEN)
            assert outcome(ask(client, code, writer.body(code))) in _STATUSES, code
        client.ping()


def test_whatever_is_asked_is_answered_and_kept(start_node: StartNode, backend: str) -> None:
    node = start_node(settings=sharded(backend, 2))
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda seed: badger(node, seed), range(4)))
    with node.connect_registered() as client:
        before = ask(client, 201).body
    with restart_after_a_kill(node) as client:
        assert ask(client, 201).body == before


def use_what_comes_and_goes(node: Node, worker: int) -> int:
    """Makes and ends topic 1, or uses it. Returns how many messages topic 0 confirmed."""
    topic, confirmed = number(0) + number(1), 0
    asked = (
        ((302, number(0) + struct.pack("<I", 2) + name8("brief")), (303, topic)),
        ((402, topic + struct.pack("<I", 1)), (403, topic + struct.pack("<I", 1))),
        ((101, one_message(topic)), (100, _CONSUMER + topic + _FIRST)),
        ((121, _CONSUMER + topic + _PARTITION + bytes(8) + b"\1"), (120, _CONSUMER + topic + _PARTITION)),
    )[worker % 4]
    with node.connect_registered() as client:
        for _ in range(60):
            for code, body in asked:
                assert outcome(ask(client, code, body)) in _STATUSES, code
            confirmed += ask(client, 101, one_message(partition=worker % 2)).status == 0
    return confirmed


def test_a_topic_that_comes_and_goes_is_used_all_the_while(start_node: StartNode) -> None:
    node = start_node(settings=sharded("auto", 2))
    with node.connect_registered() as client:
        make_topic(client, partitions=2)
    with ThreadPoolExecutor(8) as threads:
        confirmed = sum(threads.map(lambda worker: use_what_comes_and_goes(node, worker), range(8)))
    node.wait_for_count(0, "partitions_unsettled")
    with restart_after_a_kill(node) as client:
        told = partition_figures(client)
        assert told == [polled_figures(client, partition) for partition in range(2)]
        assert sum(messages for _, messages in told) == confirmed


def test_clients_that_stall_do_not_cost_the_others(start_node: StartNode, backend: str) -> None:
    node = start_node(settings=sharded(backend, 2))
    large = send_body(*(number(0),) * 2, by_number(0), batch([b"z" * 1000] * 900), 900)
    with node.connect_registered() as busy, ExitStack() as stalled:
        make_topic(busy)
        assert ask(busy, 101, large).status == 0
        before, descriptors = node.rss(), node.descriptors()
        for _ in range(40):
            sender = stalled.enter_context(node.connect_registered())
            frame = prepared(sender, 101, large).encode()
            sender.try_send(frame[: len(frame) // 2])
            reader = stalled.enter_context(node.connect(receive_buffer=4096))
            reader.register()
            for _ in range(4):
                reader.try_send(prepared(reader, 100, _CONSUMER + _TOPIC + _FIRST).encode())
        for _ in range(50):
            assert ask(busy, 101, one_message()).status == 0
            assert ask(busy, 100, _CONSUMER + _TOPIC + _FIRST).status == 0
        assert node.rss() - before < 80 * 3 * FRAME_BYTES_MAX
        stalled.close()
        node.wait_for_count(1, "connections_open")
        # Files may have been opened meanwhile, but far fewer than there were clients.
        assert node.descriptors() < descriptors + 20
        assert partition_figures(busy) == [polled_figures(busy, 0)]


def test_polls_that_come_at_once_share_the_memory_for_replies(start_node: StartNode, backend: str) -> None:
    node = start_node(settings={**sharded(backend, 1), "message_bus.max_message_size": "64 MiB"})
    large = send_body(*(number(0),) * 2, by_number(0), batch([b"z" * 100_000] * 10), 10)
    everything = _CONSUMER + _TOPIC + struct.pack("<BIBQIB", 1, 0, 3, 0, 1000, 0)
    with node.connect_registered() as busy, ExitStack() as stalled:
        make_topic(busy)
        assert {ask(busy, 101, large).status for _ in range(30)} == {0}
        before = node.rss()
        readers = [stalled.enter_context(node.connect(receive_buffer=4096)) for _ in range(40)]
        for reader in readers:
            reader.register()
        # While it does not run, all polls come together.
        node.signal(signal.SIGSTOP)
        for reader in readers:
            reader.send(prepared(reader, 100, everything).encode())
        node.signal(signal.SIGCONT)
        for reader in readers:
            assert reader.hears_within(WAIT_MAX)
        assert node.rss() - before < 400 << 20
        assert len(ask(busy, 100, _CONSUMER + _TOPIC + _FIRST).body) > 100_000, "who reads is served"


def test_replies_that_nobody_reads_are_bounded(start_node: StartNode, backend: str) -> None:
    """Each of many readers asks for all there is, and takes none of it."""
    node = start_node(settings={**sharded(backend, 1), "message_bus.max_message_size": "64 MiB"})
    large = send_body(*(number(0),) * 2, by_number(0), batch([b"z" * 100_000] * 10), 10)
    everything = _CONSUMER + _TOPIC + struct.pack("<BIBQIB", 1, 0, 3, 0, 1000, 0)
    with node.connect_registered() as busy, ExitStack() as stalled:
        make_topic(busy)
        # As many as are kept in memory for those who poll, so that each poll is answered at once.
        assert {ask(busy, 101, large).status for _ in range(30)} == {0}
        before = node.rss()
        for _ in range(40):
            reader = stalled.enter_context(node.connect(receive_buffer=4096))
            reader.register()
            reader.try_send(prepared(reader, 100, everything).encode())
            # By now the poll before was answered, or refused.
            assert ask(busy, 101, one_message()).status == 0
        assert 100_000 < len(ask(busy, 100, _CONSUMER + _TOPIC + _FIRST).body) < 16 << 20
        assert node.rss() - before < 400 << 20
        stalled.close()
        node.wait_for_count(1, "connections_open")
        assert len(ask(busy, 100, _CONSUMER + _TOPIC + _FIRST).body) > 30_000_000


def take_over(node: Node, seed: int) -> None:
    """Logs in as one of three clients, which others are too, and goes on with commands."""
    chance = random.Random(seed)
    with node.connect() as client:
        for _ in range(60):
            client.client = chance.choice((1001, 1002, 1003))
            body = password_body(USERNAME, PASSWORD)
            client.send(Request(REGISTER, body=body, client=client.client).encode())
            client.read_login()
            for _ in range(3):
                number_ = chance.choice((1, 2, 3, (1 << 64) - 1))
                client.ask(prepared(client, 202, name8("taken"), repeats=number_))


def test_clients_that_share_a_name_are_answered(start_node: StartNode) -> None:
    node = start_node(settings={"metadata.clients_table_max": "2"})
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda seed: take_over(node, seed), range(4)))
    with restart_after_a_kill(node) as client:
        (streams,) = struct.unpack_from("<I", ask(client, 201).body)
        assert streams == 0
        assert outcome(ask(client, 202, name8("taken"))) == 1012
