"""Messages as columns: which there are, which are wanted, and the buffers they come in."""

from dataclasses import dataclass, replace
from enum import IntEnum, IntFlag
from typing import Any, Final

from server_ng.segments.keys import DEFAULT_KEY

__all__ = ["ALL_TIME", "END_OF_OFFSETS", "Columns", "DecodedColumns", "Place", "Selection"]

END_OF_OFFSETS: Final = (1 << 63) - 1
ALL_TIME: Final = (1 << 64) - 1


class Columns(IntFlag):
    """The bits that the native library knows columns by."""

    KEY = 1
    VALUE = 2
    OFFSET = 4
    TIMESTAMP = 8
    ORIGIN = 16
    ID = 32
    HEADERS = 64
    TOMBSTONE = 128
    USER_HEADERS = 256


class Place(IntEnum):
    """The buffers of an arena, by their numbers."""

    OFFSET = 0
    TIMESTAMP = 1
    ORIGIN = 2
    ID_ENDS = 3
    ID = 4
    VALUE_ENDS = 5
    VALUE = 6
    KEY_VALID = 7
    KEY_ENDS = 8
    KEY = 9
    TOMBSTONE = 10
    USER_HEADERS_ENDS = 11
    USER_HEADERS = 12
    HEADERS_VALID = 13
    HEADERS_ENDS = 14
    HEADER_KEY_ENDS = 15
    HEADER_KEY = 16
    HEADER_KIND = 17
    HEADER_VALUE_ENDS = 18
    HEADER_VALUE = 19


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
