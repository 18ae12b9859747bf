"""The rows in memory, found by number and by name. `fold` is the only writer; all others read."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from server_ng.metadata.deltas import Delta, Put
from server_ng.metadata.rows import (
    COUNTERS_KEY,
    FIRST_COUNTERS,
    BadRowsError,
    Counters,
    PartitionRow,
    StreamRow,
    TopicRow,
    key_numbers,
    partition_key,
    stream_key,
    topic_key,
)
from server_ng.metadata.slots import Slots
from server_ng.wire.identifiers import Identifier

__all__ = ["STREAMS_MAX", "TOPICS_MAX", "State", "Stream", "Topic", "fold"]

STREAMS_MAX: Final = 1 << 20
TOPICS_MAX: Final = 4_096


@dataclass(slots=True)
class Topic:
    """A topic and its partitions, whose numbers are their places."""

    id: int
    row: TopicRow
    partitions: list[PartitionRow] = field(default_factory=list)


@dataclass(slots=True)
class Stream:
    """A stream and its topics."""

    id: int
    row: StreamRow
    topics: dict[int, Topic] = field(default_factory=dict)
    topic_ids: dict[str, int] = field(default_factory=dict)
    slots: Slots = field(default_factory=lambda: Slots(TOPICS_MAX), compare=False)

    def find(self, identifier: Identifier) -> Topic | None:
        """The topic that is called this."""
        number = self.topic_ids.get(identifier) if isinstance(identifier, str) else identifier
        return None if number is None else self.topics.get(number)

    def in_order(self) -> Iterator[Topic]:
        """The topics by number: the order of a dict tells a replica's history."""
        return (self.topics[number] for number in sorted(self.topics))


@dataclass(slots=True)
class State:
    """Everything that was committed, up to one op."""

    counters: Counters = FIRST_COUNTERS
    streams: dict[int, Stream] = field(default_factory=dict)
    stream_ids: dict[str, int] = field(default_factory=dict)
    slots: Slots = field(default_factory=lambda: Slots(STREAMS_MAX), compare=False)
    groups: dict[int, PartitionRow] = field(default_factory=dict)
    """Every partition by the group that holds its log."""

    def find(self, identifier: Identifier) -> Stream | None:
        """The stream that is called this."""
        number = self.stream_ids.get(identifier) if isinstance(identifier, str) else identifier
        return None if number is None else self.streams.get(number)

    def rows(self) -> Iterator[Put]:
        """Every row, keys ascending: folded into an empty state they make this one."""
        if self.counters != FIRST_COUNTERS:
            yield Put(COUNTERS_KEY, self.counters.encode())
        for number in sorted(self.streams):
            stream = self.streams[number]
            yield Put(stream_key(stream.id), stream.row.encode())
            for topic in stream.in_order():
                yield Put(topic_key(stream.id, topic.id), topic.row.encode())
                for partition, row in enumerate(topic.partitions):
                    yield Put(partition_key(stream.id, topic.id, partition), row.encode())


def fold(state: State, deltas: Iterable[Delta]) -> list[int]:
    """Writes deltas into the state; returns the groups whose partition came, changed or went.

    A row comes after the row it belongs to, and partitions come ascending and go descending, as `rows` and
    `apply` have them. Rows that do not fit together leave a state that is of no use.
    """
    touched: list[int] = []
    for delta in deltas:
        numbers = key_numbers(delta.key)
        if isinstance(delta, Put):
            _put(state, numbers, delta.value, touched)
        else:
            _delete(state, numbers, touched)
    return touched


def _put(state: State, numbers: tuple[int, ...], value: bytes, touched: list[int]) -> None:
    match numbers:
        case ():
            state.counters = Counters.decode(value)
        case (stream,):
            _put_stream(state, stream, StreamRow.decode(value))
        case (stream, topic):
            _put_topic(_stream(state, stream), topic, TopicRow.decode(value))
        case (stream, topic, partition):
            row = PartitionRow.decode(value)
            _put_partition(state, _topic(_stream(state, stream), topic), partition, row)
            touched.append(row.group)


def _put_stream(state: State, number: int, row: StreamRow) -> None:
    stream = state.streams.get(number)
    if state.stream_ids.get(row.name, number) != number:
        raise BadRowsError(f"two streams are called {row.name!r}")
    if stream is None:
        state.slots.take(number)
        state.streams[number] = Stream(number, row)
    else:
        del state.stream_ids[stream.row.name]
        stream.row = row
    state.stream_ids[row.name] = number


def _put_topic(stream: Stream, number: int, row: TopicRow) -> None:
    topic = stream.topics.get(number)
    if stream.topic_ids.get(row.name, number) != number:
        raise BadRowsError(f"two topics of stream {stream.id} are called {row.name!r}")
    if topic is None:
        stream.slots.take(number)
        stream.topics[number] = Topic(number, row)
    else:
        del stream.topic_ids[topic.row.name]
        topic.row = row
    stream.topic_ids[row.name] = number


def _put_partition(state: State, topic: Topic, number: int, row: PartitionRow) -> None:
    if number < len(topic.partitions):
        if topic.partitions[number].group != row.group:
            raise BadRowsError(f"partition {number} of topic {topic.id} changes its group")
        topic.partitions[number] = row
    elif number == len(topic.partitions) and row.group not in state.groups:
        topic.partitions.append(row)
    else:
        raise BadRowsError(f"partition {number} of topic {topic.id} does not fit behind those before it")
    state.groups[row.group] = row


def _delete(state: State, numbers: tuple[int, ...], touched: list[int]) -> None:
    match numbers:
        case ():
            state.counters = FIRST_COUNTERS
        case (stream_number,):
            stream = _stream(state, stream_number)
            for topic in stream.in_order():
                _delete_partitions(state, topic, 0, touched)
            del state.streams[stream.id], state.stream_ids[stream.row.name]
            state.slots.free(stream.id)
        case (stream_number, topic_number):
            stream = _stream(state, stream_number)
            topic = _topic(stream, topic_number)
            _delete_partitions(state, topic, 0, touched)
            del stream.topics[topic.id], stream.topic_ids[topic.row.name]
            stream.slots.free(topic.id)
        case (stream_number, topic_number, partition):
            topic = _topic(_stream(state, stream_number), topic_number)
            if partition != len(topic.partitions) - 1:
                raise BadRowsError(f"partition {partition} of topic {topic.id} is not the last one")
            _delete_partitions(state, topic, partition, touched)


def _delete_partitions(state: State, topic: Topic, first: int, touched: list[int]) -> None:
    for row in topic.partitions[first:]:
        del state.groups[row.group]
        touched.append(row.group)
    del topic.partitions[first:]


def _stream(state: State, number: int) -> Stream:
    stream = state.streams.get(number)
    if stream is None:
        raise BadRowsError(f"a row of stream {number}, which has none itself")
    return stream


def _topic(stream: Stream, number: int) -> Topic:
    topic = stream.topics.get(number)
    if topic is None:
        raise BadRowsError(f"a row of topic {number} of stream {stream.id}, which has none itself")
    return topic
