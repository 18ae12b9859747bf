"""From a lease to the pieces that tasks read. Pure: the manifest says it all, and no file is opened."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from server_ng.segments.columns import ALL_TIME
from server_ng.segments.lease import Lease, PartitionCut, SegmentCut
from server_ng.spark.errors import DataLossError, OptionError
from server_ng.spark.limits import Limits
from server_ng.spark.options import EARLIEST, LATEST, Offsets

__all__ = ["Range", "Scan", "check_there", "pack", "ranges", "scans"]


@dataclass(frozen=True, slots=True)
class Range:
    """Wanted offsets of one partition: from `first`, below `end`."""

    cut: PartitionCut
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Scan:
    """A part of one segment."""

    partition: int
    segment: SegmentCut
    first_offset: int
    end_offset: int

    @property
    def bytes(self) -> int:
        """About how many bytes that is, if all messages are equally long."""
        whole = self.segment.last_offset - self.segment.first_offset + 1
        return max(1, self.segment.bytes * (self.end_offset - self.first_offset) // whole)


def ranges(
    lease: Lease, start: Offsets, end: Offsets, *, start_everywhere: int, end_everywhere: int, strict: bool
) -> list[Range]:
    """What of each partition is wanted; `strict` refuses offsets that the lease does not have."""
    known = {cut.partition for cut in lease.partitions}
    for partition in sorted({*start, *end} - known):
        raise OptionError(f"{lease.stream}/{lease.topic} has no partition {partition} in this lease")
    found = []
    for cut in lease.partitions:
        first = _offset(cut, start.get(cut.partition, start_everywhere))
        last = _offset(cut, end.get(cut.partition, end_everywhere))
        if strict:
            check_there(lease, cut, first)
            check_there(lease, cut, last)
        first, last = max(first, cut.first_offset), min(last, cut.end_offset)
        if first < last:
            found.append(Range(cut, first, last))
    return found


def check_there(lease: Lease, cut: PartitionCut, offset: int) -> None:
    """Offsets below the first were deleted, offsets beyond the end never were."""
    if not cut.first_offset <= offset <= cut.end_offset:
        raise DataLossError(
            f"partition {cut.partition} of {lease.stream}/{lease.topic} has the offsets from "
            f"{cut.first_offset} to {cut.end_offset - 1} in this lease, and not {offset}; "
            "set failOnDataLoss=false to read what is there"
        )


def _offset(cut: PartitionCut, wanted: int) -> int:
    return {EARLIEST: cut.first_offset, LATEST: cut.end_offset}.get(wanted, wanted)


def scans(wanted: Iterable[Range], limits: Limits, names: Mapping[str, str]) -> Iterator[Scan]:
    """The segments that hold wanted messages, and what of each is wanted."""
    if any(names[column] != value for column, value in limits.names):
        return
    for part in wanted:
        if limits.partitions is not None and part.cut.partition not in limits.partitions:
            continue
        first, end = max(part.first, limits.first_offset), min(part.end, limits.end_offset)
        for segment in part.cut.segments:
            within = max(first, segment.first_offset), min(end, segment.last_offset + 1)
            if within[0] < within[1] and _overlaps(segment, limits):
                yield Scan(part.cut.partition, segment, *within)


def _overlaps(segment: SegmentCut, limits: Limits) -> bool:
    latest = min(segment.max_timestamp, ALL_TIME)
    return segment.min_timestamp <= limits.max_timestamp and latest >= limits.min_timestamp


def pack(
    found: Iterable[Scan], *, bytes_max: int, rows_max: int | None = None, tasks_min: int | None = None
) -> list[tuple[Scan, ...]]:
    """Tasks of about equal size: large scans are split, small ones share a task; order is kept."""
    every = list(found)
    total = sum(scan.bytes for scan in every)
    target = bytes_max
    if tasks_min is not None:
        target = max(1, min(bytes_max, -(-total // tasks_min)))
    tasks: list[tuple[Scan, ...]] = []
    waiting: list[Scan] = []
    bytes_, rows = 0, 0
    for scan in (part for whole in every for part in _split(whole, target, rows_max)):
        offsets = scan.end_offset - scan.first_offset
        full = bytes_ + scan.bytes > target or (rows_max is not None and rows + offsets > rows_max)
        if waiting and full:
            tasks.append(tuple(waiting))
            waiting, bytes_, rows = [], 0, 0
        waiting.append(scan)
        bytes_ += scan.bytes
        rows += offsets
    return [*tasks, tuple(waiting)] if waiting else tasks


def _split(scan: Scan, bytes_max: int, rows_max: int | None) -> Iterator[Scan]:
    offsets = scan.end_offset - scan.first_offset
    parts = max(-(-scan.bytes // bytes_max), 1 if rows_max is None else -(-offsets // rows_max))
    parts = min(parts, offsets)
    bounds = [scan.first_offset + offsets * part // parts for part in range(parts + 1)]
    for first, end in pairwise(bounds):
        yield Scan(scan.partition, scan.segment, first, end)
