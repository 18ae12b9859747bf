"""What a compaction knows of a partition before it plans: the newest messages of all that is committed."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from server_ng.segments.lease import PartitionCut, SegmentCut
from server_ng.segments.newest import KeyTable
from server_ng.segments.reader import SegmentReader
from server_ng.spark.compact.rules import Rules
from server_ng.spark.meter import Told

__all__ = ["PIECE_BYTES", "Newest", "Survey", "Surveyor", "Tally", "survey"]

PIECE_BYTES: Final = 1 << 20
"""Small enough that what was hashed is still close when it is looked at again."""
_NO_HORIZON: Final = 0


@dataclass(frozen=True, slots=True)
class Tally:
    """How much of a segment stays."""

    segment: SegmentCut
    identified: int
    """Messages that are about something; the others always stay."""
    last_message: int
    """The offset of its last message; that of the segment may lie behind it."""
    newest: int
    """Messages that are the newest of what they are about."""
    newest_and_tombstones: int
    """The same with tombstones that may go."""

    @property
    def is_dense(self) -> bool:
        """Whether each offset, from its first to its last, is a message that is about something."""
        return self.identified == self.segment.last_offset - self.segment.first_offset + 1

    def live(self, *, tombstones: bool) -> int:
        """Messages that stay."""
        newest = self.newest_and_tombstones if tombstones else self.newest
        return self.segment.messages - self.identified + newest


class Newest(Protocol):
    """The newest messages of a partition."""

    def within(self, segment: SegmentCut, *, tombstones: bool) -> memoryview:
        """The offsets of those in a segment, ascending; with tombstones that may go, if asked."""


@dataclass(frozen=True, slots=True)
class Survey:
    """Of one partition."""

    tallies: tuple[Tally, ...]
    """Of its sealed segments, in order."""
    newest: Newest


Surveyor: TypeAlias = Callable[[Path, PartitionCut, Rules, int, Told], Survey]
"""Given the directory and the moment of the lease, microseconds."""


@dataclass(frozen=True, slots=True)
class _InMemory:
    newest: memoryview
    newest_and_tombstones: memoryview

    def within(self, segment: SegmentCut, *, tombstones: bool) -> memoryview:
        offsets = self.newest_and_tombstones if tombstones else self.newest
        first = bisect_left(offsets, segment.first_offset)
        return offsets[first : bisect_left(offsets, segment.last_offset + 1)]


def survey(directory: Path, cut: PartitionCut, rules: Rules, cut_at: int, told: Told) -> Survey:
    """Reads a partition once; raises `TooManyKeysError` where its keys do not fit in memory."""
    table = KeyTable(rules.identity, rules.key_memory)
    counted: list[tuple[SegmentCut, int, int]] = []
    for segment in cut.segments:
        identified, after = 0, segment.first_offset
        with SegmentReader(directory, segment, cut.partition) as reader:
            for noted in reader.steps(table.add, piece_bytes=PIECE_BYTES):
                identified += noted.identified
                after = noted.after
                told(noted.consumed)
        if segment.digest is not None:
            counted.append((segment, identified, after - 1))
    newest = _InMemory(table.newest(rules.horizon(cut_at)), table.newest(_NO_HORIZON))
    tallies = [
        Tally(
            segment,
            identified,
            last_message,
            len(newest.within(segment, tombstones=False)),
            len(newest.within(segment, tombstones=True)),
        )
        for segment, identified, last_message in counted
    ]
    return Survey(tuple(tallies), newest)
