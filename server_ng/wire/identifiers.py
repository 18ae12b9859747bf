"""What a request calls a stream or topic: its number, or its name."""

from typing import TypeAlias

from server_ng.wire.fields import Reader, name_bytes, text, u8, u32
from server_ng.wire.refusals import MalformedError

__all__ = ["Identifier", "identifier", "read_identifier"]

Identifier: TypeAlias = int | str
"""A number, from 0 on, or a name. A name of digits is a name."""

_NUMBER, _NAME = 1, 2
_NUMBER_BYTES = 4


def read_identifier(reader: Reader) -> Identifier:
    """The identifier at the front."""
    kind = reader.u8()
    value = reader.take(reader.u8())
    if kind == _NUMBER and len(value) == _NUMBER_BYTES:
        return int.from_bytes(value, "little")
    if kind == _NAME and value:
        return text(value)
    raise MalformedError(f"an identifier of kind {kind} with {len(value)} bytes")


def identifier(value: Identifier) -> bytes:
    """The identifier laid out."""
    if isinstance(value, str):
        name = name_bytes(value)
        return u8(_NAME) + u8(len(name)) + name
    return u8(_NUMBER) + u8(_NUMBER_BYTES) + u32(value)
