"""The bodies of the operations on streams, topics and partitions: bytes to values and back.

A body has the one layout of its command and is consumed exactly; anything else is a `MalformedError`. Rules
that go beyond the layout are not judged here.
"""

from dataclasses import dataclass
from typing import Self

from server_ng.wire.fields import Reader, name8, u32
from server_ng.wire.identifiers import Identifier, identifier, read_identifier
from server_ng.wire.options import Option, decode_options, encode_options

__all__ = [
    "CreatePartitions",
    "CreateStream",
    "CreateTopic",
    "DeletePartitions",
    "DeleteSegments",
    "DeleteStream",
    "DeleteTopic",
    "PurgeStream",
    "PurgeTopic",
    "UpdateStream",
    "UpdateTopic",
]


@dataclass(frozen=True, slots=True)
class CreateStream:
    """Make a stream."""

    name: str
    options: tuple[Option, ...] = ()

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """The request that `body` lays out."""
        reader = Reader(body)
        return cls(reader.name8(), decode_options(reader.rest()))

    def encode(self) -> bytes:
        """The body of this request."""
        return name8(self.name) + encode_options(self.options)


@dataclass(frozen=True, slots=True)
class UpdateStream:
    """Rename a stream, patch its options."""

    stream: Identifier
    name: str
    options: tuple[Option, ...] = ()

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """The request that `body` lays out."""
        reader = Reader(body)
        return cls(read_identifier(reader), reader.name8(), decode_options(reader.rest()))

    def encode(self) -> bytes:
        """The body of this request."""
        return identifier(self.stream) + name8(self.name) + encode_options(self.options)


@dataclass(frozen=True, slots=True)
class _OfStream:
    """A stream and nothing else."""

    stream: Identifier

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """The request that `body` lays out."""
        reader = Reader(body)
        request = cls(read_identifier(reader))
        reader.finish()
        return request

    def encode(self) -> bytes:
        """The body of this request."""
        return identifier(self.stream)


class DeleteStream(_OfStream):
    """Remove a stream with all it holds."""

    __slots__ = ()


class PurgeStream(_OfStream):
    """Empty every partition of a stream."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class CreateTopic:
    """Make a topic with its first partitions."""

    stream: Identifier
    partitions_count: int
    name: str
    options: tuple[Option, ...] = ()

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """The request that `body` lays out."""
        reader = Reader(body)
        return cls(read_identifier(reader), reader.u32(), reader.name8(), decode_options(reader.rest()))

    def encode(self) -> bytes:
        """The body of this request."""
        options = encode_options(self.options)
        return identifier(self.stream) + u32(self.partitions_count) + name8(self.name) + options


@dataclass(frozen=True, slots=True)
class UpdateTopic:
    """Rename a topic, patch its options."""

    stream: Identifier
    topic: Identifier
    name: str
    options: tuple[Option, ...] = ()

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """The request that `body` lays out."""
        reader = Reader(body)
        stream, topic = read_identifier(reader), read_identifier(reader)
        return cls(stream, topic, reader.name8(), decode_options(reader.rest()))

    def encode(self) -> bytes:
        """The body of this request."""
        options = encode_options(self.options)
        return identifier(self.stream) + identifier(self.topic) + name8(self.name) + options


@dataclass(frozen=True, slots=True)
class _OfTopic:
    """A topic and nothing else."""

    stream: Identifier
    topic: Identifier

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """The request that `body` lays out."""
        reader = Reader(body)
        request = cls(read_identifier(reader), read_identifier(reader))
        reader.finish()
        return request

    def encode(self) -> bytes:
        """The body of this request."""
        return identifier(self.stream) + identifier(self.topic)


class DeleteTopic(_OfTopic):
    """Remove a topic with all it holds."""

    __slots__ = ()


class PurgeTopic(_OfTopic):
    """Empty every partition of a topic."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class _CountOfTopic:
    """A topic and a number of its partitions."""

    stream: Identifier
    topic: Identifier
    count: int

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """The request that `body` lays out."""
        reader = Reader(body)
        request = cls(read_identifier(reader), read_identifier(reader), reader.u32())
        reader.finish()
        return request

    def encode(self) -> bytes:
        """The body of this request."""
        return identifier(self.stream) + identifier(self.topic) + u32(self.count)


class CreatePartitions(_CountOfTopic):
    """Add partitions behind the highest."""

    __slots__ = ()


class DeletePartitions(_CountOfTopic):
    """Remove the highest partitions."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class DeleteSegments:
    """Remove the oldest sealed segments of a partition."""

    stream: Identifier
    topic: Identifier
    partition: int
    count: int

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """The request that `body` lays out."""
        reader = Reader(body)
        request = cls(read_identifier(reader), read_identifier(reader), reader.u32(), reader.u32())
        reader.finish()
        return request

    def encode(self) -> bytes:
        """The body of this request."""
        return identifier(self.stream) + identifier(self.topic) + u32(self.partition) + u32(self.count)
