"""What an op does to the rows: rows that are put, and keys under which everything goes."""

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from server_ng.metadata.rows import BadRowsError

__all__ = ["Delete", "Delta", "Put", "decode_deltas", "encode_deltas"]

_PUT, _DELETE = 1, 2
_HEAD = struct.Struct("<BH")
_VALUE_LENGTH = struct.Struct("<I")


class Put(NamedTuple):
    """The row with this key has this value now."""

    key: bytes
    value: bytes


class Delete(NamedTuple):
    """No row has a key that begins with this any more."""

    key: bytes


Delta: TypeAlias = Put | Delete


def encode_deltas(deltas: Iterable[Delta]) -> bytes:
    """The deltas as they cross to the engine."""
    parts: list[bytes] = []
    for delta in deltas:
        if isinstance(delta, Put):
            parts += (_HEAD.pack(_PUT, len(delta.key)), delta.key)
            parts += (_VALUE_LENGTH.pack(len(delta.value)), delta.value)
        else:
            parts += (_HEAD.pack(_DELETE, len(delta.key)), delta.key)
    return b"".join(parts)


def decode_deltas(encoded: bytes) -> Iterator[Delta]:
    """The deltas that `encoded` consists of."""
    position = 0
    while position < len(encoded):
        try:
            kind, length = _HEAD.unpack_from(encoded, position)
            key, position = _piece(encoded, position + _HEAD.size, length)
            if kind == _DELETE:
                yield Delete(key)
                continue
            (length,) = _VALUE_LENGTH.unpack_from(encoded, position)
        except struct.error as error:
            raise BadRowsError("a delta ends early") from error
        if kind != _PUT:
            raise BadRowsError(f"a delta of kind {kind}")
        value, position = _piece(encoded, position + _VALUE_LENGTH.size, length)
        yield Put(key, value)


def _piece(encoded: bytes, start: int, length: int) -> tuple[bytes, int]:
    end = start + length
    if end > len(encoded):
        raise BadRowsError("a delta ends early")
    return encoded[start:end], end
