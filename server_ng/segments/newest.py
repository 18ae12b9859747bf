"""The newest message of each key: which offsets a compaction leaves, whatever else it does."""

import secrets
from dataclasses import dataclass
from typing import Final

from server_ng import binding
from server_ng.wire.tables import Stop

__all__ = ["KEY_TABLE_BYTES_MAX", "KEY_TABLE_BYTES_MIN", "Identity", "KeyTable", "TooManyKeysError"]

KEY_TABLE_BYTES_MIN: Final = 64 << 10
KEY_TABLE_BYTES_MAX: Final = 32 << 30
"""A table names the places of its keys by 32 bits, each for eight bytes."""


class TooManyKeysError(Exception):
    """The keys of a partition do not fit in the memory that there is for them."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What makes a message replace an older one."""

    key: str
    """The rule of keys."""
    by_id: bool
    """Whether messages without a key are identified by their ids."""


class KeyTable:
    """Every key seen so far, and its newest message; grows up to a bound."""

    def __init__(self, identity: Identity, bytes_max: int) -> None:
        self._identity, self._bytes_max = identity, min(bytes_max, KEY_TABLE_BYTES_MAX)
        self._table = _empty(min(KEY_TABLE_BYTES_MIN, bytes_max))

    def add(self, piece: memoryview, walk: tuple[int, int, int]) -> binding.Noted:
        """Takes the messages of a piece into account, or makes room for those that are left."""
        noted = binding.newest_add(
            piece, (*walk, self._identity.by_id), self._identity.key.encode(), self._table
        )
        if noted.stop == Stop.FULL:
            self._grow()
        return noted

    def newest(self, horizon: int) -> memoryview:
        """Their offsets, ascending; tombstones from before a time, microseconds, are left out."""
        return memoryview(binding.newest_offsets(self._table, horizon)).cast("Q")

    def _grow(self) -> None:
        size = 2 * len(self._table)
        if size > self._bytes_max:
            raise TooManyKeysError(f"the keys of a partition take more than {self._bytes_max} bytes")
        larger = _empty(size)
        binding.newest_move(self._table, larger)
        self._table = larger


def _empty(size: int) -> bytearray:
    table = bytearray(size)
    # Whoever sends messages must not be able to choose keys that all hash to one place.
    binding.newest_begin(table, secrets.randbits(64))
    return table
