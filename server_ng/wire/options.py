"""Options blocks: pairs of typed fields, a key and a value, that fill their block to the end."""

import struct
from collections.abc import Iterable
from typing import Final, NamedTuple

from server_ng.wire.fields import Reader, name_bytes, text
from server_ng.wire.refusals import MalformedError, RefusedError
from server_ng.wire.tables import ErrorCode, ValueKind

__all__ = ["BLOCK_BYTES_MAX", "ENTRIES_MAX", "Option", "ValueKind", "decode_options", "encode_options"]

BLOCK_BYTES_MAX: Final = 100_000
ENTRIES_MAX: Final = 1_024

_FIELD = struct.Struct("<BI")
_DATA_BYTES = range(1, 256)
_KINDS = range(1, 256)


class Option(NamedTuple):
    """One entry of a block, its value as it lies there."""

    key: str
    kind: int
    data: bytes


def decode_options(block: bytes) -> tuple[Option, ...]:
    """The entries of a block in their order; no key occurs twice."""
    if len(block) > BLOCK_BYTES_MAX:
        raise RefusedError(ErrorCode.OPTIONS_BLOCK_TOO_LARGE, f"an options block of {len(block)} bytes")
    reader = Reader(block)
    options: dict[str, Option] = {}
    while reader.remaining:
        if len(options) == ENTRIES_MAX:
            raise RefusedError(ErrorCode.OPTIONS_BLOCK_TOO_LARGE, f"more than {ENTRIES_MAX} options")
        option = _entry(reader)
        if option.key in options:
            raise MalformedError("an option is given twice")
        options[option.key] = option
    return tuple(options.values())


def encode_options(options: Iterable[Option]) -> bytes:
    """The block with these entries in this order."""
    parts: list[bytes] = []
    for key, kind, data in options:
        parts += (_field(ValueKind.TEXT, name_bytes(key)), _field(kind, data))
    return b"".join(parts)


def _entry(reader: Reader) -> Option:
    kind, key = _read_field(reader)
    if kind != ValueKind.TEXT:
        raise MalformedError(f"the key of an option has kind {kind}")
    return Option(text(key), *_read_field(reader))


def _read_field(reader: Reader) -> tuple[int, bytes]:
    kind, length = reader.u8(), reader.u32()
    if kind not in _KINDS or length not in _DATA_BYTES:
        raise MalformedError(f"an option field of kind {kind} with {length} bytes")
    return kind, reader.take(length)


def _field(kind: int, data: bytes) -> bytes:
    if kind not in _KINDS or len(data) not in _DATA_BYTES:
        raise MalformedError(f"an option field of kind {kind} with {len(data)} bytes")
    return _FIELD.pack(kind, len(data)) + data
