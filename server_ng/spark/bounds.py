"""Where reading begins and ends in a lease: offsets as they are, times looked up in the segments."""

from pathlib import Path
from typing import Any

from server_ng.segments.columns import Selection
from server_ng.segments.damage import DamagedSegmentError
from server_ng.segments.lease import Lease, PartitionCut
from server_ng.segments.reader import SegmentReader
from server_ng.spark.errors import OptionError
from server_ng.spark.options import Bound, Offsets
from server_ng.wire.tables import Columns, Place

__all__ = ["offsets_of"]


def offsets_of(directory: Path, lease: Lease, bound: Bound, *, skip_damage: bool = False) -> Offsets:
    """Per partition an offset or a word of its own; a time is the first message appended then or later."""
    found = dict(bound.offsets)
    for cut in lease.partitions:
        time = bound.times.get(cut.partition, bound.time)
        if time is not None:
            first = _first_since(directory, cut, time, skip_damage)
            if first is None and bound.needs_message:
                raise OptionError(
                    f"partition {cut.partition}: no message was appended at {time // 1000} ms or later"
                )
            found[cut.partition] = cut.end_offset if first is None else first
    return found


def _first_since(directory: Path, cut: PartitionCut, time: int, skip_damage: bool) -> int | None:
    wanted = Selection(Columns.OFFSET, first_offset=cut.first_offset, min_timestamp=time)
    for segment in cut.segments:
        if segment.max_timestamp < time:
            continue
        try:
            with SegmentReader(directory, segment, cut.partition) as reader:
                for found in reader.columns(wanted, rows=1, skipped=_passed if skip_damage else None):
                    return _first(found.buffer(Place.OFFSET))
        except DamagedSegmentError:
            if not skip_damage:
                raise
    return None


def _passed(_damage: DamagedSegmentError, _lost: tuple[int, int]) -> None:
    """Who reads the offsets tells of it."""


def _first(numbers: Any) -> int:
    return int.from_bytes(numbers[:8], "little")
