"""What a client gets for requests that cannot be: a typed error, and the session goes on."""

import struct

import pytest

from server_ng.wire.tables import COMMANDS
from tests.support.batches import BATCH_HEADER_BYTES, batch, by_number, name8, number, send_body
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
        assert ask(client, 202, name8("stream")).rejection == 0
        assert ask(client, 302, number(0) + struct.pack("<I", 2) + name8("topic")).rejection == 0
        assert ask(client, 101, send(batch([b"a", b"b", b"c"]), 3)).status == 0
    return node


def send(content: bytes, count: int, topic: bytes = _TOPIC, partition: int = 0) -> bytes:
    """The body of send messages."""
    return send_body(topic[:6], topic[6:], by_number(partition), content, count)


def changed(content: bytes, at: int) -> bytes:
    """The same bytes but for one."""
    damaged = bytearray(content)
    damaged[at] ^= 1
    return bytes(damaged)


def poll(strategy: int = 3, partition: int = 0, topic: bytes = _TOPIC, consumer: bytes = _CONSUMER) -> bytes:
    """The body of poll messages."""
    return consumer + topic + struct.pack("<BIBQIB", 1, partition, strategy, 0, 10, 0)


def stored(offset: int, partition: bytes = struct.pack("<BI", 1, 0), ack: int = 1) -> bytes:
    """The body of store consumer offset."""
    return _CONSUMER + _TOPIC + partition + struct.pack("<QB", offset, ack)


_GOOD = batch([b"x", b"y"])
_NO_PARTITION = struct.pack("<BI", 0, 0)
_STATUS: dict[str, tuple[int, bytes, int]] = {
    "a message that is not what its checksum says": (101, send(changed(_GOOD, len(_GOOD) - 1), 2), 4027),
    "a batch that is not what its checksum says": (101, send(changed(_GOOD, 24), 2), 4039),
    "reserved bytes of a batch": (101, send(changed(_GOOD, 100), 2), 3),
    "reserved bytes of a message": (101, send(changed(_GOOD, BATCH_HEADER_BYTES + 40), 2), 3),
    "a count that is not the batch's": (101, send(_GOOD, 3), 3),
    "a batch without messages": (101, send(batch([]), 0), 3),
    "half a batch": (101, send(_GOOD[:300], 2), 3),
    "a batch and more": (101, send(_GOOD + b"\0", 2), 3),
    "no batch": (101, b"", 3),
    "to a stream that is not there": (101, send(_GOOD, 2, number(7) + number(0)), 20),
    "to a topic that is not there": (101, send(_GOOD, 2, number(0) + number(7)), 20),
    "to a partition that is not there": (101, send(_GOOD, 2, partition=7), 20),
    "from a stream that is not there": (100, poll(topic=number(7) + number(0)), 1009),
    "from a topic that is not there": (100, poll(topic=number(0) + number(7)), 2010),
    "from a partition that is not there": (100, poll(partition=7), 3007),
    "by a strategy that there is not": (100, poll(strategy=6), 3),
    "for a group that is not there": (100, poll(consumer=struct.pack("<B", 2) + number(0)), 5000),
    "an offset beyond the end": (121, stored(3), 4100),
    "an offset beyond the end, not waited for": (121, stored(3, ack=0), 4100),
    "an offset of an empty partition": (121, stored(0, struct.pack("<BI", 1, 1)), 4100),
    "an offset of no partition": (121, stored(0, _NO_PARTITION), 20),
    "an acknowledgement that there is not": (121, stored(0, ack=2), 3),
    "the end of an offset that is not stored": (122, _CONSUMER + _TOPIC + struct.pack("<BIB", 1, 0, 1), 3021),
    "an offset in a partition that is not there": (120, _CONSUMER + _TOPIC + struct.pack("<BI", 1, 7), 3007),
    "a stream without a name": (202, b"\0", 3),
    "a stream with an option": (202, name8("other") + b"\2\1\0\0\0a\2\1\0\0\0b", 4041),
    "a topic of 1001 partitions": (302, number(0) + struct.pack("<I", 1001) + name8("other"), 2015),
    "no more partitions": (402, _TOPIC + struct.pack("<I", 0), 2015),
    "an unsaved buffer": (102, _TOPIC + struct.pack("<IB", 0, 1), 5),
}
_REJECTED: dict[str, tuple[int, bytes, int]] = {
    "a stream with a name that is taken": (202, name8("stream"), 1012),
    "a topic with a name that is taken": (302, number(0) + struct.pack("<I", 1) + name8("topic"), 2013),
    "a topic of no stream": (302, number(7) + struct.pack("<I", 1) + name8("other"), 1009),
    "the end of a stream that is not there": (203, number(7), 1009),
    "the end of a topic that is not there": (303, number(0) + number(7), 2010),
    "fewer partitions than none": (403, _TOPIC + struct.pack("<I", 3), 2019),
}


def test_every_refusal_has_its_code_and_the_session_lives(node: Node) -> None:
    with node.connect_registered() as client:
        for case, (code, body, status) in _STATUS.items():
            assert ask(client, code, body).status == status, case
        for case, (code, body, rejection) in _REJECTED.items():
            assert ask(client, code, body).rejection == rejection, case
        # None of it was done, and the same session still does what is right.
        (confirmed,) = struct.unpack_from("<Q", ask(client, 101, send(_GOOD, 2)).body, 16)
        assert confirmed == 3


def test_bodies_cut_short_are_refused(node: Node) -> None:
    bodies = {code: body for code, body, _ in (*_STATUS.values(), *_REJECTED.values()) if code != 101}
    with node.connect_registered() as client:
        for code, body in bodies.items():
            for length in range(len(body)):
                answer = ask(client, code, body[:length])
                # Names and blocks of options may end anywhere.
                assert answer.status != 0 or code in (202, 302), (code, length)
        client.ping()


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


def test_an_offset_that_no_message_can_have_is_refused(node: Node) -> None:
    with node.connect_registered() as client:
        assert ask(client, 121, stored(1)).status == 0
        for ack in (0, 1):
            assert ask(client, 121, stored((1 << 64) - 1, ack=ack)).status == 4100
        place = _CONSUMER + _TOPIC + struct.pack("<BI", 1, 0)
        assert ask(client, 120, place).body == struct.pack("<IQQ", 0, 2, 1)
