"""Messages as columns: which there are, which are wanted, and the buffers they come in."""

from dataclasses import dataclass, replace
from typing import Any, Final

from server_ng.segments.keys import DEFAULT_KEY
from server_ng.wire.tables import Columns, Place

__all__ = ["ALL_TIME", "END_OF_OFFSETS", "DecodedColumns", "Selection"]

END_OF_OFFSETS: Final = (1 << 63) - 1
ALL_TIME: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Selection:
    """Which messages of a segment are wanted, and what of them."""

    columns: Columns
    first_offset: int = 0
    end_offset: int = END_OF_OFFSETS
    """None with this offset or one beyond."""
    min_timestamp: int = 0
    """Of the append, microseconds; all messages of a batch share it."""
    max_timestamp: int = ALL_TIME
    key: str = DEFAULT_KEY
    """The rule of keys."""
    hashed: bool = True
    """Whether payloads are held against their checksums."""

    def between(self, first_offset: int, end_offset: int) -> "Selection":
        """The same of a part of the offsets."""
        return replace(self, first_offset=first_offset, end_offset=end_offset)


@dataclass(frozen=True, slots=True)
class DecodedColumns:
    """Rows in the layout of Arrow; `arena` is whatever the allocator gave."""

    rows: int
    arena: Any
    places: tuple[int, ...]

    def place(self, place: Place) -> tuple[int, int]:
        """Start and length of a buffer in the arena."""
        return self.places[2 * place], self.places[2 * place + 1]

    def buffer(self, place: Place) -> memoryview:
        """The bytes of a buffer."""
        start, length = self.place(place)
        return memoryview(self.arena).cast("B")[start : start + length]
