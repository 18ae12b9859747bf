"""Requests about a topic and its messages, and the answers, held against their checksums."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Self

from xxhash import xxh3_64_intdigest

from server_ng.wire.tables import COMMANDS
from tests.support.batches import BATCH_HEADER_BYTES, by_number, name8, number, send_body
from tests.support.frames import COMMAND, Reply, Request
from tests.support.raw import RawClient

__all__ = [
    "Message",
    "Place",
    "TopicClient",
    "TopicFigures",
    "base_offset",
    "messages_in",
    "polled_messages",
    "stored_offset_body",
]

_POLL, _SEND, _GET_OFFSET, _STORE_OFFSET = 100, 101, 120, 121
_CREATE_STREAM, _GET_TOPIC, _GET_TOPICS, _CREATE_TOPIC, _DELETE_TOPIC, _PURGE_TOPIC = (
    202,
    300,
    301,
    302,
    303,
    305,
)
_OPERATIONS = {int(command.code): int(command.operation) for command in COMMANDS}
_BY_OFFSET = 1
_U64_OPTION, _TEXT_OPTION = 12, 2

_FRAME = struct.Struct("<QQQIIIIQ")
_TOPIC = struct.Struct("<IQIQBQQQ")
_PARTITION = struct.Struct("<IQIQQQ")


@dataclass(frozen=True, slots=True)
class Place:
    """A topic, by its names."""

    stream: str
    topic: str

    @property
    def identifiers(self) -> bytes:
        """Both as a request names them."""
        return _named(self.stream) + _named(self.topic)


@dataclass(frozen=True, slots=True)
class Message:
    """A message that was polled."""

    base: int
    """The first offset of its batch."""
    offset: int
    timestamp: int
    digest: int
    """A hash of all that its producer wrote."""
    size: int


@dataclass(frozen=True, slots=True)
class PartitionFigures:
    """What get topic says about a partition."""

    messages: int
    last_offset: int
    size: int


@dataclass(frozen=True, slots=True)
class TopicFigures:
    """What get topic says."""

    messages: int
    size: int
    partitions: tuple[PartitionFigures, ...]


class EvictedError(EOFError):
    """The session was ended."""


class TopicClient:
    """A connection with a session. A server that goes away is a ConnectionError or an EOFError."""

    def __init__(self, raw: RawClient) -> None:
        self._raw = raw

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._raw.close()

    def ask(self, code: int, body: bytes) -> Reply:
        """Sends a command as the operation it is, and reads the answer."""
        raw, operation = self._raw, _OPERATIONS[code]
        named = code if operation == COMMAND else 0
        request = Request(operation, named, body, raw.client, raw.session, raw.request)
        raw.request += 1
        answer = raw.ask(request)
        if not isinstance(answer, Reply):
            raise EvictedError(str(answer))
        assert (answer.client, answer.request) == (request.client, request.request), answer
        return answer

    def create_stream(self, name: str) -> None:
        """Makes a stream."""
        _succeeded(self.ask(_CREATE_STREAM, name8(name)))

    def create_topic(self, place: Place, partitions: int, segment_bytes: int) -> None:
        """Makes a topic."""
        named = struct.pack("<I", partitions) + name8(place.topic)
        option = struct.pack("<BI12sBIQ", _TEXT_OPTION, 12, b"segment_size", _U64_OPTION, 8, segment_bytes)
        _succeeded(self.ask(_CREATE_TOPIC, _named(place.stream) + named + option))

    def delete_topic(self, place: Place) -> None:
        """Removes a topic."""
        _succeeded(self.ask(_DELETE_TOPIC, place.identifiers))

    def purge_topic(self, place: Place) -> None:
        """Removes the messages of a topic."""
        _succeeded(self.ask(_PURGE_TOPIC, place.identifiers))

    def topics(self, stream: str) -> dict[str, int]:
        """The topics of a stream and how many partitions each has."""
        body = _read(self.ask(_GET_TOPICS, _named(stream)))
        (count,) = struct.unpack_from("<I", body)
        found, at = {}, 4
        for _ in range(count):
            name, partitions, _, at = _topic_row(body, at)
            found[name] = partitions
        assert at == len(body)
        return found

    def figures(self, place: Place) -> TopicFigures:
        """What the server says is in a topic."""
        body = _read(self.ask(_GET_TOPIC, place.identifiers))
        _, count, (size, messages), at = _topic_row(body, 0)
        rows = list(_PARTITION.iter_unpack(body[at:]))
        assert [row[0] for row in rows] == list(range(count))
        return TopicFigures(messages, size, tuple(PartitionFigures(row[5], row[3], row[4]) for row in rows))

    def send(self, place: Place, partition: int, content: bytes, count: int) -> Reply:
        """Sends a batch; the answer may be a refusal."""
        return self.ask(
            _SEND, send_body(_named(place.stream), _named(place.topic), by_number(partition), content, count)
        )

    def poll(
        self, place: Place, partition: int, offset: int, count: int, consumer: int, *, commits: bool = False
    ) -> list[Message]:
        """The messages from an offset on."""
        reply = self.ask_poll(place, partition, offset, count, consumer, commits=commits)
        return polled_messages(reply, partition, offset)

    def ask_poll(
        self, place: Place, partition: int, offset: int, count: int, consumer: int, *, commits: bool = False
    ) -> Reply:
        """Polls from an offset on; the answer may be a refusal."""
        chosen = struct.pack("<BIBQIB", 1, partition, _BY_OFFSET, offset, count, commits)
        return self.ask(_POLL, _consumer(consumer) + place.identifiers + chosen)

    def poll_status(self, place: Place, partition: int, offset: int, consumer: int) -> int:
        """The status of a poll of one message."""
        return self.ask_poll(place, partition, offset, 1, consumer).status

    def store_offset(self, place: Place, partition: int, consumer: int, offset: int) -> Reply:
        """Stores an offset and waits until it is safe; the answer may be a refusal."""
        stored = struct.pack("<BIQB", 1, partition, offset, 1)
        return self.ask(_STORE_OFFSET, _consumer(consumer) + place.identifiers + stored)

    def stored_offset(self, place: Place, partition: int, consumer: int) -> int | None:
        """The offset that a consumer has stored."""
        body = _read(self.ask(_GET_OFFSET, stored_offset_body(place, partition, consumer)))
        return int(struct.unpack("<IQQ", body)[2]) if body else None


def stored_offset_body(place: Place, partition: int, consumer: int) -> bytes:
    """The body of a request for the offset that a consumer has stored."""
    return _consumer(consumer) + place.identifiers + struct.pack("<BI", 1, partition)


def polled_messages(reply: Reply, partition: int, offset: int) -> list[Message]:
    """The messages that a poll from an offset on was answered with."""
    body = _read(reply)
    of, current, number_of = struct.unpack_from("<IQI", body)
    messages = list(messages_in(memoryview(body)[16:]))
    assert (of, number_of) == (partition, len(messages))
    assert not messages or (messages[0].offset >= offset and messages[-1].offset <= current)
    return messages


def base_offset(reply: Reply) -> int:
    """The offset that a producer is told its batch begins at."""
    count, _, _, _, base = struct.unpack("<IIIIQ", reply.body)
    assert count == 1
    return int(base)


def _named(name: str) -> bytes:
    return b"\2" + name8(name)


def _consumer(consumer: int) -> bytes:
    return b"\1" + number(consumer)


def _succeeded(reply: Reply) -> None:
    assert (reply.status, reply.rejection) == (0, 0), reply


def _read(reply: Reply) -> bytes:
    assert reply.status == 0, reply
    return reply.body


def _topic_row(body: bytes, at: int) -> tuple[str, int, tuple[int, int], int]:
    """Name, partitions, size and messages of a topic, and where its row ends."""
    _, _, partitions, _, _, _, size, messages = _TOPIC.unpack_from(body, at)
    at += _TOPIC.size
    name = body[at + 1 : at + 1 + body[at]].decode()
    at += 1 + body[at]
    for _ in ("explicit options", "derived options"):
        (length,) = struct.unpack_from("<I", body, at)
        at += 4 + length
    return name, partitions, (size, messages), at


_HASHED_BYTES: Final = 40
"""As much of a batch header as its checksum covers in one piece; the count follows behind the checksum."""


def messages_in(records: memoryview) -> Iterator[Message]:
    """The messages of batches that lie one behind the other."""
    at = 0
    while at < len(records):
        _, base, timestamp, _, length, checksum, count = struct.unpack_from("<QQQQQQI", records, at)
        end = at + length
        hashed = [bytes(records[at : at + _HASHED_BYTES]), struct.pack("<I", count)]
        at += BATCH_HEADER_BYTES
        for _ in range(count):
            stored, _, _, delta, _, headers, payload, _ = _FRAME.unpack_from(records, at)
            size = _FRAME.size + headers + payload
            assert xxh3_64_intdigest(records[at + 8 : at + size]) == stored, "a message against its checksum"
            hashed.append(bytes(records[at : at + 8]))
            yield Message(base, base + delta, timestamp, stored, size)
            at += size
        assert at == end, "the messages of a batch fill it"
        assert xxh3_64_intdigest(b"".join(hashed)) == checksum, "a batch against its checksum"
