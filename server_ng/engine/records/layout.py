"""How a record lies in bytes: a header (length u32, kind u16, shard u16, token u64) and a body."""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from server_ng.engine.errors import MalformedRecordError

__all__ = ["HEADER_BYTES", "Frame", "frames", "record", "string", "take_string"]

_HEADER = struct.Struct("<IHHQ")
HEADER_BYTES: Final = _HEADER.size


class Frame(NamedTuple):
    """A record whose body was not looked at."""

    kind: int
    shard: int
    token: int
    body: memoryview


def frames(data: bytes) -> Iterator[Frame]:
    """The records that `data` consists of; raises `MalformedRecordError` or `struct.error`."""
    view = memoryview(data)
    while view:
        length, kind, shard, token = _HEADER.unpack_from(view)
        if not HEADER_BYTES <= length <= len(view):
            raise MalformedRecordError(f"a record of {length} bytes in {len(view)}")
        yield Frame(kind, shard, token, view[HEADER_BYTES:length])
        view = view[length:]


def record(kind: int, token: int, body: bytes, shard: int = 0) -> bytes:
    """A whole record."""
    return _HEADER.pack(HEADER_BYTES + len(body), kind, shard, token) + body


def take_string(view: memoryview) -> tuple[bytes, memoryview]:
    """The string that `view` begins with, and the rest."""
    (length,) = struct.unpack_from("<I", view)
    if length > len(view) - 4:
        raise MalformedRecordError(f"a string of {length} bytes in {len(view) - 4}")
    return bytes(view[4 : 4 + length]), view[4 + length :]


def string(text: str) -> bytes:
    """A string as records hold it."""
    encoded = text.encode()
    return struct.pack("<I", len(encoded)) + encoded
