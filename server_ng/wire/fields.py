"""Scalars and length-prefixed texts, little-endian: read within bounds, and laid out."""

import struct

from server_ng.wire.refusals import MalformedError

__all__ = ["Reader", "bytes8", "bytes32", "name8", "name_bytes", "text", "u8", "u32", "u64"]

_NAME_BYTES = range(1, 256)

_U8 = struct.Struct("<B")
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")


class Reader:
    """Reads fields from the front of a body; every length is held against what is left before it is used."""

    __slots__ = ("_body", "_position")

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._position = 0

    @property
    def remaining(self) -> int:
        """How many bytes are left."""
        return len(self._body) - self._position

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        if count > self.remaining:
            raise MalformedError(f"the body ends {count - self.remaining} bytes before the field does")
        start = self._position
        self._position += count
        return self._body[start : self._position]

    def rest(self) -> bytes:
        """All that is left."""
        return self.take(self.remaining)

    def u8(self) -> int:
        """One byte."""
        return self.take(1)[0]

    def u32(self) -> int:
        """Four bytes."""
        return int.from_bytes(self.take(4), "little")

    def u64(self) -> int:
        """Eight bytes."""
        return int.from_bytes(self.take(8), "little")

    def name8(self) -> str:
        """A byte of length, then 1 to 255 bytes of UTF-8."""
        name = self.take(self.u8())
        if not name:
            raise MalformedError("a name is empty")
        return text(name)

    def bytes8(self) -> bytes:
        """A byte of length, then that many bytes."""
        return self.take(self.u8())

    def bytes32(self) -> bytes:
        """Four bytes of length, then that many bytes."""
        return self.take(self.u32())

    def finish(self) -> None:
        """Agrees that every byte was read."""
        if self.remaining:
            raise MalformedError(f"{self.remaining} bytes follow the last field")


def text(encoded: bytes) -> str:
    """The text that is UTF-8 in `encoded`."""
    try:
        return encoded.decode()
    except UnicodeDecodeError as error:
        raise MalformedError("text is not UTF-8") from error


def u8(value: int) -> bytes:
    """One byte."""
    return _packed(_U8, value)


def u32(value: int) -> bytes:
    """Four bytes."""
    return _packed(_U32, value)


def u64(value: int) -> bytes:
    """Eight bytes."""
    return _packed(_U64, value)


def name8(name: str) -> bytes:
    """A byte of length and the text."""
    encoded = name_bytes(name)
    return u8(len(encoded)) + encoded


def bytes8(value: bytes) -> bytes:
    """A byte of length and the bytes."""
    return u8(len(value)) + value


def bytes32(value: bytes) -> bytes:
    """Four bytes of length and the bytes."""
    return u32(len(value)) + value


def name_bytes(name: str) -> bytes:
    """`name` as UTF-8, if it is one that a length byte can announce."""
    try:
        encoded = name.encode()
    except UnicodeEncodeError as error:
        raise MalformedError("a name has no UTF-8 form") from error
    if len(encoded) not in _NAME_BYTES:
        raise MalformedError(f"a name of {len(encoded)} bytes")
    return encoded


def _packed(layout: struct.Struct, value: int) -> bytes:
    try:
        return layout.pack(value)
    except struct.error as error:
        raise MalformedError(f"{value} does not fit {layout.size} bytes") from error
