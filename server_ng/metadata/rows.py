"""The rows that are the durable state: keys whose byte order is the order of their numbers, and values.

| Row | Key |
|---|---|
| counters | `00` |
| stream | `01 stream` |
| topic | `01 stream 01 topic` |
| partition | `01 stream 01 topic 01 partition` |
| number of the next user | `02` |
| user | `02 user` |

A key is a path of tags and numbers. The numbers of a key have 32 bits and are big-endian; those of a value
are little-endian. `native/catalog` is the other half.
"""

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, Final, NamedTuple, Self

from typing_extensions import override

from server_ng.wire.fields import Reader, bytes32, name8, u8, u32, u64
from server_ng.wire.refusals import MalformedError
from server_ng.wire.tables import USER_FIELD_KINDS, FieldKind, UserFields, UserStatus

__all__ = [
    "COUNTERS_KEY",
    "FIRST_COUNTERS",
    "NEXT_USER_KEY",
    "BadRowsError",
    "Compression",
    "Counters",
    "Durability",
    "PartitionRow",
    "Root",
    "StreamChild",
    "StreamRow",
    "TopicChild",
    "TopicRow",
    "UserRow",
    "decode_next_user",
    "encode_next_user",
    "key_path",
    "partition_key",
    "stream_key",
    "topic_key",
    "user_key",
]


class Root(IntEnum):
    """The tags that keys begin with."""

    COUNTERS = 0
    STREAM = 1
    USER = 2


class StreamChild(IntEnum):
    """The tags of what belongs to a stream."""

    TOPIC = 1


class TopicChild(IntEnum):
    """The tags of what belongs to a topic."""

    PARTITION = 1


COUNTERS_KEY: Final = bytes([Root.COUNTERS])
NEXT_USER_KEY: Final = bytes([Root.USER])

_ALONE = frozenset({Root.COUNTERS, Root.USER})
"""Tags that are a key by themselves."""
_PATHS = frozenset(
    {
        (Root.STREAM,),
        (Root.STREAM, StreamChild.TOPIC),
        (Root.STREAM, StreamChild.TOPIC, TopicChild.PARTITION),
        (Root.USER,),
    }
)
"""The tags of the keys that have a number behind each."""
_ROOT_KEY = struct.Struct(">BI")
_TOPIC_KEY = struct.Struct(">BIBI")
_PARTITION_KEY = struct.Struct(">BIBIBI")
_LAYOUTS = {layout.size: layout for layout in (_ROOT_KEY, _TOPIC_KEY, _PARTITION_KEY)}
_PARTITION_VALUE = struct.Struct("<QQQQ")


class BadRowsError(Exception):
    """Bytes that are no rows, or rows that do not fit together: they were damaged, or a newer version's."""


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except (MalformedError, ValueError) as error:
        raise BadRowsError(f"a row cannot be read: {error}") from error


class Compression(IntEnum):
    """What clients compress payloads with."""

    NONE = 1
    GZIP = 2


class Durability(IntEnum):
    """What a confirmation waits for."""

    REPLICATED = 0
    PERSISTED = 1


class Counters(NamedTuple):
    """What is counted once for all."""

    feature_level: int
    """Which semantics every replica follows."""
    next_block: int
    """The block of group ids that the next topic in need takes; 0 stands for 1."""
    revision: int
    """Grows by one with every op after which other partitions exist, or a partition begins anew."""

    @classmethod
    def decode(cls, value: bytes) -> "Counters":
        """The row with this value."""
        reader = Reader(value)
        with _reading():
            row = cls(reader.u32(), reader.u64(), reader.u64())
            reader.finish()
        return row

    def encode(self) -> bytes:
        """The value of this row."""
        return u32(self.feature_level) + u64(self.next_block) + u64(self.revision)


FIRST_COUNTERS: Final = Counters(feature_level=1, next_block=0, revision=0)
"""The counters before a row of them was written."""


class StreamRow(NamedTuple):
    """A stream."""

    created_at: int
    created_revision: int
    name: str
    options: bytes
    """The block that the client chose."""

    @classmethod
    def decode(cls, value: bytes) -> "StreamRow":
        """The row with this value."""
        reader = Reader(value)
        with _reading():
            row = cls(reader.u64(), reader.u64(), reader.name8(), reader.bytes32())
            reader.finish()
        return row

    def encode(self) -> bytes:
        """The value of this row."""
        return u64(self.created_at) + u64(self.created_revision) + name8(self.name) + bytes32(self.options)


class TopicRow(NamedTuple):
    """A topic."""

    created_at: int
    created_revision: int
    message_expiry: int
    compression: Compression
    max_topic_size: int
    segment_size: int
    durability: Durability
    consumer_offset_durability: Durability
    next_group: int
    """The group id its next partition gets; 0 when the topic must take a block first."""
    name: str
    options: bytes
    """The block that the client chose."""
    derived_options: bytes
    """The block of the defaults that the server put in for what the client did not choose."""

    @classmethod
    def decode(cls, value: bytes) -> "TopicRow":
        """The row with this value."""
        reader = Reader(value)
        with _reading():
            row = cls(
                created_at=reader.u64(),
                created_revision=reader.u64(),
                message_expiry=reader.u64(),
                compression=Compression(reader.u8()),
                max_topic_size=reader.u64(),
                segment_size=reader.u64(),
                durability=Durability(reader.u8()),
                consumer_offset_durability=Durability(reader.u8()),
                next_group=reader.u64(),
                name=reader.name8(),
                options=reader.bytes32(),
                derived_options=reader.bytes32(),
            )
            reader.finish()
        return row

    def encode(self) -> bytes:
        """The value of this row."""
        return b"".join(
            (
                u64(self.created_at),
                u64(self.created_revision),
                u64(self.message_expiry),
                u8(self.compression),
                u64(self.max_topic_size),
                u64(self.segment_size),
                u8(self.durability),
                u8(self.consumer_offset_durability),
                u64(self.next_group),
                name8(self.name),
                bytes32(self.options),
                bytes32(self.derived_options),
            )
        )


class PartitionRow(NamedTuple):
    """A partition."""

    created_at: int
    created_revision: int
    group: int
    """The consensus group that holds its log; minted once, never given again."""
    purge_generation: int
    """How often the partition was emptied."""

    @classmethod
    def decode(cls, value: bytes) -> "PartitionRow":
        """The row with this value."""
        try:
            return cls._make(_PARTITION_VALUE.unpack(value))
        except struct.error as error:
            raise BadRowsError(f"a partition row of {len(value)} bytes") from error

    def encode(self) -> bytes:
        """The value of this row."""
        return _PARTITION_VALUE.pack(*self)


_READ: dict[FieldKind, Callable[[Reader], Any]] = {
    FieldKind.U64: Reader.u64,
    FieldKind.USER_STATUS: lambda reader: UserStatus(reader.u8()),
    FieldKind.NAME8: Reader.name8,
    FieldKind.BYTES32: Reader.bytes32,
}
_LAID_OUT: dict[FieldKind, Callable[[Any], bytes]] = {
    FieldKind.U64: u64,
    FieldKind.USER_STATUS: u8,
    FieldKind.NAME8: name8,
    FieldKind.BYTES32: bytes32,
}


class UserRow(UserFields):
    """A user, with the fields that the tables of `native/wire` list."""

    __slots__ = ()

    @classmethod
    def decode(cls, value: bytes) -> Self:
        """The row with this value."""
        reader = Reader(value)
        with _reading():
            row = cls._make(_READ[kind](reader) for kind in USER_FIELD_KINDS)
            reader.finish()
        return row

    def encode(self) -> bytes:
        """The value of this row."""
        return b"".join(_LAID_OUT[kind](value) for kind, value in zip(USER_FIELD_KINDS, self, strict=True))

    @override
    def __repr__(self) -> str:
        return f"UserRow(name={self.name!r}, status={self.status.name})"


def decode_next_user(value: bytes) -> int:
    """The number that the next user gets, from the value of its row."""
    reader = Reader(value)
    with _reading():
        number = reader.u32()
        reader.finish()
    return number


def encode_next_user(number: int) -> bytes:
    """The value of the row with the number that the next user gets."""
    return u32(number)


def stream_key(stream: int) -> bytes:
    """The key of a stream; every key of what is in it begins with this."""
    return _ROOT_KEY.pack(Root.STREAM, stream)


def topic_key(stream: int, topic: int) -> bytes:
    """The key of a topic; every key of what is in it begins with this."""
    return _TOPIC_KEY.pack(Root.STREAM, stream, StreamChild.TOPIC, topic)


def partition_key(stream: int, topic: int, partition: int) -> bytes:
    """The key of a partition."""
    tags = Root.STREAM, StreamChild.TOPIC, TopicChild.PARTITION
    return _PARTITION_KEY.pack(tags[0], stream, tags[1], topic, tags[2], partition)


def user_key(user: int) -> bytes:
    """The key of a user; every key of what is the user's begins with this."""
    return _ROOT_KEY.pack(Root.USER, user)


def key_path(key: bytes) -> tuple[int, ...]:
    """The tags and numbers in a key, in turn."""
    if len(key) == 1 and key[0] in _ALONE:
        return tuple(key)
    if len(key) in _LAYOUTS:
        path: tuple[int, ...] = _LAYOUTS[len(key)].unpack(key)
        if path[::2] in _PATHS:
            return path
    raise BadRowsError(f"{key.hex()} is not the key of a row")
