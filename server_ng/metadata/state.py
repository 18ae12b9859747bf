"""The rows in memory, found by number and by name. `fold` is the only writer; all others read."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from server_ng.metadata.deltas import Delta, Put
from server_ng.metadata.rights import ALL_PERMISSIONS, Rights
from server_ng.metadata.rows import (
    COUNTERS_KEY,
    FIRST_COUNTERS,
    NEXT_USER_KEY,
    BadRowsError,
    Counters,
    PartitionRow,
    Root,
    StreamChild,
    StreamRow,
    TopicChild,
    TopicRow,
    UserRow,
    decode_next_user,
    encode_next_user,
    key_path,
    partition_key,
    stream_key,
    topic_key,
    user_key,
)
from server_ng.metadata.slots import Slots
from server_ng.metadata.undo import UndoLog
from server_ng.wire.identifiers import Identifier
from server_ng.wire.permissions import Permissions
from server_ng.wire.refusals import MalformedError
from server_ng.wire.tables import UserStatus

__all__ = ["FIRST_USER", "STREAMS_MAX", "TOPICS_MAX", "State", "Stream", "Topic", "fold"]

STREAMS_MAX: Final = 1 << 20
TOPICS_MAX: Final = 4_096
FIRST_USER: Final = 0
"""The number of the first user, who is root."""

_ROOT_RIGHTS: Final = Rights.compile(ALL_PERMISSIONS)


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
    next_user: int = FIRST_USER
    """The number of the next user: none gets that of another, not even of one that was deleted."""
    users: dict[int, UserRow] = field(default_factory=dict)
    user_ids: dict[str, int] = field(default_factory=dict)
    rights: dict[int, Rights] = field(default_factory=lambda: {FIRST_USER: _ROOT_RIGHTS}, compare=False)
    """What each user may do. Root needs no row for that."""
    grantees: dict[int, frozenset[int]] = field(default_factory=dict, compare=False)
    """The users whose permissions name a stream, by its number."""

    def find(self, identifier: Identifier) -> Stream | None:
        """The stream that is called this."""
        number = self.stream_ids.get(identifier) if isinstance(identifier, str) else identifier
        return None if number is None else self.streams.get(number)

    def find_user(self, identifier: Identifier) -> int | None:
        """The number of the user who is called this."""
        number = self.user_ids.get(identifier) if isinstance(identifier, str) else identifier
        return number if number in self.users else None

    def rights_of(self, user: int) -> Rights | None:
        """What a user may do; none if the user is unknown or inactive. Root is never without rights."""
        row = self.users.get(user)
        is_active = row is None or row.status == UserStatus.ACTIVE or user == FIRST_USER
        return self.rights.get(user) if is_active else None

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
        if self.next_user != FIRST_USER:
            yield Put(NEXT_USER_KEY, encode_next_user(self.next_user))
        for user in sorted(self.users):
            yield Put(user_key(user), self.users[user].encode())


def fold(state: State, deltas: Iterable[Delta]) -> list[int]:
    """Writes deltas into the state; returns the groups whose partition came, changed or went.

    A row comes after the row it belongs to, and partitions come ascending and go descending, as `rows` and
    `apply` have them. All deltas are written or none: rows that do not fit together, and a bug in the middle,
    leave the state as it was.
    """
    writer = _Writer(state)
    try:
        for delta in deltas:
            writer.write(delta)
        return writer.touched  # noqa: TRY300  whatever raises before the caller has it takes all back
    except Exception:
        writer.undo.take_back()
        raise


class _Writer:
    """Changes a state, each change by way of the log that can take it back."""

    __slots__ = ("_state", "touched", "undo")

    def __init__(self, state: State) -> None:
        self.undo = UndoLog()
        self.touched: list[int] = []
        self._state = state

    def write(self, delta: Delta) -> None:
        path = key_path(delta.key)
        if isinstance(delta, Put):
            self._put(path, delta.value)
        else:
            self._delete(path)

    def _put(self, path: tuple[int, ...], value: bytes) -> None:
        match path:
            case (Root.COUNTERS,):
                self.undo.assign(self._state, "counters", Counters.decode(value))
            case (Root.STREAM, stream):
                self._put_stream(stream, StreamRow.decode(value))
            case (Root.STREAM, stream, StreamChild.TOPIC, topic):
                self._put_topic(_stream(self._state, stream), topic, TopicRow.decode(value))
            case (Root.STREAM, stream, StreamChild.TOPIC, topic, TopicChild.PARTITION, partition):
                row = PartitionRow.decode(value)
                self._put_partition(_topic(_stream(self._state, stream), topic), partition, row)
                self.touched.append(row.group)
            case (Root.USER,):
                self.undo.assign(self._state, "next_user", decode_next_user(value))
            case (Root.USER, user):
                self._put_user(user, UserRow.decode(value))

    def _put_stream(self, number: int, row: StreamRow) -> None:
        state, undo = self._state, self.undo
        stream = state.streams.get(number)
        if state.stream_ids.get(row.name, number) != number:
            raise BadRowsError(f"two streams are called {row.name!r}")
        if stream is None:
            undo.call(state.slots.take, state.slots.free, number)
            undo.put(state.streams, number, Stream(number, row))
        else:
            undo.drop(state.stream_ids, stream.row.name)
            undo.assign(stream, "row", row)
        undo.put(state.stream_ids, row.name, number)

    def _put_topic(self, stream: Stream, number: int, row: TopicRow) -> None:
        undo = self.undo
        topic = stream.topics.get(number)
        if stream.topic_ids.get(row.name, number) != number:
            raise BadRowsError(f"two topics of stream {stream.id} are called {row.name!r}")
        if topic is None:
            undo.call(stream.slots.take, stream.slots.free, number)
            undo.put(stream.topics, number, Topic(number, row))
        else:
            undo.drop(stream.topic_ids, topic.row.name)
            undo.assign(topic, "row", row)
        undo.put(stream.topic_ids, row.name, number)

    def _put_partition(self, topic: Topic, number: int, row: PartitionRow) -> None:
        if number < len(topic.partitions):
            if topic.partitions[number].group != row.group:
                raise BadRowsError(f"partition {number} of topic {topic.id} changes its group")
            self.undo.replace(topic.partitions, number, row)
        elif number == len(topic.partitions) and row.group not in self._state.groups:
            self.undo.append(topic.partitions, row)
        else:
            raise BadRowsError(f"partition {number} of topic {topic.id} does not fit behind those before it")
        self.undo.put(self._state.groups, row.group, row)

    def _put_user(self, number: int, row: UserRow) -> None:
        state, undo = self._state, self.undo
        if state.user_ids.get(row.name, number) != number:
            raise BadRowsError(f"two users are called {row.name!r}")
        rights = _ROOT_RIGHTS if number == FIRST_USER else _compiled(row)
        before = state.users.get(number)
        if before is not None:
            undo.drop(state.user_ids, before.name)
        self._follow_grants(number, rights)
        undo.put(state.rights, number, rights)
        undo.put(state.users, number, row)
        undo.put(state.user_ids, row.name, number)

    def _follow_grants(self, user: int, rights: Rights | None) -> None:
        """A user is about to have these rights, or none."""
        grantees, held = self._state.grantees, self._state.rights.get(user)
        before = held.streams.keys() if held else set[int]()
        after = rights.streams.keys() if rights else set[int]()
        for stream in before - after:
            self.undo.put(grantees, stream, grantees[stream] - {user})
            if not grantees[stream]:
                self.undo.drop(grantees, stream)
        for stream in after - before:
            self.undo.put(grantees, stream, grantees.get(stream, frozenset()) | {user})

    def _delete(self, path: tuple[int, ...]) -> None:
        state, undo = self._state, self.undo
        match path:
            case (Root.COUNTERS,):
                undo.assign(state, "counters", FIRST_COUNTERS)
            case (Root.STREAM, stream_number):
                stream = _stream(state, stream_number)
                for topic in stream.in_order():
                    self._delete_partitions(topic, 0)
                undo.drop(state.streams, stream.id)
                undo.drop(state.stream_ids, stream.row.name)
                undo.call(state.slots.free, state.slots.take, stream.id)
            case (Root.STREAM, stream_number, StreamChild.TOPIC, topic_number):
                stream = _stream(state, stream_number)
                topic = _topic(stream, topic_number)
                self._delete_partitions(topic, 0)
                undo.drop(stream.topics, topic.id)
                undo.drop(stream.topic_ids, topic.row.name)
                undo.call(stream.slots.free, stream.slots.take, topic.id)
            case (
                Root.STREAM,
                stream_number,
                StreamChild.TOPIC,
                topic_number,
                TopicChild.PARTITION,
                partition,
            ):
                topic = _topic(_stream(state, stream_number), topic_number)
                if partition != len(topic.partitions) - 1:
                    raise BadRowsError(f"partition {partition} of topic {topic.id} is not the last one")
                self._delete_partitions(topic, partition)
            case (Root.USER,):
                raise BadRowsError("users are deleted one by one")
            case (Root.USER, user):
                if user not in state.users:
                    raise BadRowsError(f"there is no user {user} to delete")
                undo.drop(state.user_ids, state.users[user].name)
                undo.drop(state.users, user)
                self._follow_grants(user, None)
                undo.drop(state.rights, user)

    def _delete_partitions(self, topic: Topic, first: int) -> None:
        for row in topic.partitions[first:]:
            self.undo.drop(self._state.groups, row.group)
            self.touched.append(row.group)
        self.undo.truncate(topic.partitions, first)


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


def _compiled(row: UserRow) -> Rights:
    try:
        return Rights.compile(Permissions.decode(row.permissions) if row.permissions else Permissions())
    except MalformedError as error:
        raise BadRowsError(f"the permissions of user {row.name!r} cannot be read: {error}") from error
