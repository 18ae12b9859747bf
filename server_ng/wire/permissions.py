"""The permission block: the flags that a user holds everywhere, in streams, and in topics.

The global flags come first, then a list of streams, and in each stream a list of topics. A byte before each
element says that it follows, and one at the end that the list is over. Each of these bytes, and each flag, is
0 or 1, so that a block has one meaning and permissions have one block.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntFlag
from typing import Final, NamedTuple, Self, TypeVar

from server_ng.wire.fields import Reader, u8, u32
from server_ng.wire.refusals import MalformedError
from server_ng.wire.tables import GlobalFlag, StreamFlag, TopicFlag

__all__ = ["PERMISSIONS_BYTES_MAX", "Permissions", "StreamPermissions", "TopicPermissions"]

PERMISSIONS_BYTES_MAX: Final = 64 * 1024

Element = TypeVar("Element", "StreamPermissions", "TopicPermissions")


class TopicPermissions(NamedTuple):
    """What a user may do in a topic."""

    number: int
    flags: int


class StreamPermissions(NamedTuple):
    """What a user may do in a stream."""

    number: int
    flags: int
    topics: tuple[TopicPermissions, ...] = ()


@dataclass(frozen=True, slots=True)
class Permissions:
    """What a user may do: streams and topics each once, in the order of the block."""

    everywhere: int = 0
    streams: tuple[StreamPermissions, ...] = ()

    @classmethod
    def decode(cls, block: bytes) -> Self:
        """The permissions that `block` lays out."""
        if len(block) > PERMISSIONS_BYTES_MAX:
            raise MalformedError(f"permissions of {len(block)} bytes")
        reader = Reader(block)
        permissions = cls(_read_flags(reader, GlobalFlag), _read_list(reader, _read_stream))
        reader.finish()
        return permissions

    def encode(self) -> bytes:
        """The block of these permissions."""
        return _flags(self.everywhere, GlobalFlag) + _list(map(_stream, self.streams))


def _read_stream(reader: Reader) -> StreamPermissions:
    return StreamPermissions(reader.u32(), _read_flags(reader, StreamFlag), _read_list(reader, _read_topic))


def _read_topic(reader: Reader) -> TopicPermissions:
    return TopicPermissions(reader.u32(), _read_flags(reader, TopicFlag))


def _stream(stream: StreamPermissions) -> bytes:
    return u32(stream.number) + _flags(stream.flags, StreamFlag) + _list(map(_topic, stream.topics))


def _topic(topic: TopicPermissions) -> bytes:
    return u32(topic.number) + _flags(topic.flags, TopicFlag)


def _read_list(reader: Reader, read: Callable[[Reader], Element]) -> tuple[Element, ...]:
    elements: dict[int, Element] = {}
    while _read_bool(reader):
        element = read(reader)
        if element.number in elements:
            raise MalformedError(f"{element.number} occurs twice")
        elements[element.number] = element
    return tuple(elements.values())


def _list(elements: Iterable[bytes]) -> bytes:
    return b"".join(b"\x01" + element for element in elements) + b"\x00"


def _read_flags(reader: Reader, flags: type[IntFlag]) -> int:
    return sum(flag.value for flag in flags if _read_bool(reader))


def _flags(mask: int, flags: type[IntFlag]) -> bytes:
    return b"".join(u8(flag.value & mask != 0) for flag in flags)


def _read_bool(reader: Reader) -> bool:
    value = reader.u8()
    if value not in (0, 1):
        raise MalformedError(f"{value} is neither 0 nor 1")
    return value == 1
