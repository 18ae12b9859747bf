"""Offsets and partitionings as the frames have them: what is stored, where it goes, and what is refused."""

import struct

import pytest

from server_ng.wire.tables import COMMANDS
from tests.support.batches import batch, by_number, name8, number, send_body
from tests.support.fixtures import StartNode
from tests.support.frames import COMMAND, Reply, Request
from tests.support.node import Node
from tests.support.raw import RawClient

_OPERATIONS = {int(command.code): int(command.operation) for command in COMMANDS}
_TOPIC = number(0) + number(0)
_CONSUMER = struct.pack("<B", 1) + number(9)


def ask(client: RawClient, code: int, body: bytes) -> Reply:
    """Sends a command as the operation it is."""
    operation = _OPERATIONS[code]
    request = Request(
        operation,
        code if operation == COMMAND else 0,
        body,
        client=client.client,
        session=client.session,
        request=client.request,
    )
    client.request += 1
    answer = client.ask(request)
    assert isinstance(answer, Reply), answer
    return answer


@pytest.fixture
def node(start_node: StartNode) -> Node:
    """A server with stream 0, topic 0 and two partitions, of which the first has three messages."""
    node = start_node()
    with node.connect_registered() as client:
        fill(client, [b"a", b"b", b"c"])
    return node


def fill(client: RawClient, messages: list[bytes]) -> None:
    """Makes stream 0 and topic 0 with two partitions, and sends a batch to the first."""
    assert ask(client, 202, name8("stream")).rejection == 0
    assert ask(client, 302, number(0) + struct.pack("<I", 2) + name8("topic")).rejection == 0
    assert ask(client, 101, send(batch(messages), len(messages))).status == 0


def send(content: bytes, count: int, topic: bytes = _TOPIC, partition: int = 0) -> bytes:
    """The body of send messages."""
    return send_body(topic[:6], topic[6:], by_number(partition), content, count)


def poll(strategy: int = 3, partition: int = 0, topic: bytes = _TOPIC, consumer: bytes = _CONSUMER) -> bytes:
    """The body of poll messages."""
    return consumer + topic + struct.pack("<BIBQIB", 1, partition, strategy, 0, 10, 0)


def stored(offset: int, partition: bytes = struct.pack("<BI", 1, 0), ack: int = 1) -> bytes:
    """The body of store consumer offset."""
    return _CONSUMER + _TOPIC + partition + struct.pack("<QB", offset, ack)


_GOOD = batch([b"x", b"y"])


def test_offsets_are_stored_read_and_forgotten(node: Node) -> None:
    place = _CONSUMER + _TOPIC + struct.pack("<BI", 1, 0)
    with node.connect_registered() as client:
        assert ask(client, 120, place).body == b""
        for ack in (1, 0):
            for offset in (2, 1):
                # An explicit store may go back.
                assert ask(client, 121, stored(offset, ack=ack)).status == 0
                assert ask(client, 120, place).body == struct.pack("<IQQ", 0, 2, offset)
        assert ask(client, 122, place + b"\1").status == 0
        assert ask(client, 120, place).body == b""


def test_producers_may_leave_the_partition_to_the_server(node: Node) -> None:
    balanced, key = b"\1\0", b"\3\3abc"

    def partition_of(reply: Reply) -> int:
        assert reply.status == 0
        return int(struct.unpack_from("<I", reply.body, 12)[0])

    with node.connect_registered() as client:
        body = send_body(number(0), number(0), balanced, _GOOD, 2)
        assert {partition_of(ask(client, 101, body)) for _ in range(4)} == {0, 1}
        body = send_body(number(0), number(0), key, _GOOD, 2)
        assert len({partition_of(ask(client, 101, body)) for _ in range(4)}) == 1


def test_a_batch_names_its_partition(node: Node) -> None:
    with node.connect_registered() as client:
        assert ask(client, 101, send(_GOOD, 2, partition=1)).status == 0
        for partition in (0, 1):
            polled = ask(client, 100, poll(partition=partition)).body
            assert struct.unpack_from("<Q", polled, 16) == (partition,)


def test_one_consumer_more_than_are_kept_is_refused_and_those_there_are_go_on(start_node: StartNode) -> None:
    node = start_node(settings={"partition.consumer_offsets_max": "2"})
    with node.connect_registered() as client:
        fill(client, [b"a", b"b", b"c"])

        def store(consumer: int, offset: int, ack: int) -> int:
            who = struct.pack("<B", 1) + number(consumer)
            body = who + _TOPIC + struct.pack("<BIQB", 1, 0, offset, ack)
            return ask(client, 121, body).status

        assert [store(consumer, 1, 1) for consumer in (1, 2)] == [0, 0]
        assert [store(3, 1, ack) for ack in (0, 1)] == [3024, 3024]
        assert [store(consumer, 2, 1) for consumer in (1, 2)] == [0, 0]


def test_a_reply_to_a_poll_ends_where_it_may(start_node: StartNode) -> None:
    node = start_node(settings={"poll.reply_bytes_max": "64 KiB"})
    with node.connect_registered() as client:
        fill(client, [bytes(20_000)] * 5)
        polled = ask(client, 100, poll(strategy=1)).body
        assert struct.unpack_from("<I", polled, 12)[0] == 3
        fill_more = ask(client, 101, send(batch([bytes(100_000)]), 1))
        assert fill_more.status == 0
        last = _CONSUMER + _TOPIC + struct.pack("<BIBQIB", 1, 0, 4, 0, 1, 0)
        polled = ask(client, 100, last).body
        assert struct.unpack_from("<I", polled, 12)[0] == 1
        assert len(polled) > 64 * 1024


def test_an_offset_that_no_message_can_have_is_refused(node: Node) -> None:
    with node.connect_registered() as client:
        assert ask(client, 121, stored(1)).status == 0
        for ack in (0, 1):
            assert ask(client, 121, stored((1 << 64) - 1, ack=ack)).status == 4100
        place = _CONSUMER + _TOPIC + struct.pack("<BI", 1, 0)
        assert ask(client, 120, place).body == struct.pack("<IQQ", 0, 2, 1)
