"""How far a streaming query has come: its offsets, and the identity of what they are offsets of. Pure.

An offset means something only within one purge generation of one group. So each carries both, and a topic
that was purged, or deleted and made again, is seen by that and never by its name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from server_ng.segments.lease import Lease, PartitionCut
from server_ng.spark.errors import DataLossError, TopicChangedError
from server_ng.spark.planning import Range

__all__ = ["Point", "Progress", "Remedies", "advanced", "begin", "between", "check"]


@dataclass(frozen=True, slots=True)
class Point:
    """The next offset of a partition."""

    group_id: str
    purge_generation: int
    offset: int

    def fits(self, cut: PartitionCut) -> bool:
        """Whether the partition is still the one that it speaks of."""
        return (self.group_id, self.purge_generation) == (cut.group_id, cut.purge_generation)


@dataclass(frozen=True, slots=True)
class Progress:
    """A point for each partition that was seen so far."""

    cluster: str
    points: Mapping[int, Point]

    def plain(self) -> dict[str, Any]:
        """What Spark keeps in its checkpoint."""
        points = {
            str(partition): {
                "group": point.group_id,
                "purge": point.purge_generation,
                # JSON of other readers ends at 2^53.
                "offset": str(point.offset),
            }
            for partition, point in sorted(self.points.items())
        }
        return {"version": 1, "cluster": self.cluster, "partitions": points}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        """Reads it back."""
        if plain.get("version") != 1:
            raise TopicChangedError(
                f"the checkpoint has offsets of version {plain.get('version')}, and not 1"
            )
        points = {
            int(partition): Point(point["group"], int(point["purge"]), int(point["offset"]))
            for partition, point in plain["partitions"].items()
        }
        return cls(plain["cluster"], points)


@dataclass(frozen=True, slots=True)
class Remedies:
    """What whoever reads may do, in the words of what it was started with."""

    loss: str = "set failOnDataLoss=false"
    change: str = "set onTopicChange=earliest to begin anew with what it has now"


OF_OPTIONS: Final = Remedies()


def advanced(start: Progress, lease: Lease, ends: Mapping[int, int]) -> Progress:
    """Every partition of a lease where `ends` says, never back; what it lacks stays where it was."""
    before = _of_cluster(start, lease)
    points = {
        cut.partition: Point(
            cut.group_id, cut.purge_generation, max(begin(start, lease, cut), ends.get(cut.partition, 0))
        )
        for cut in lease.partitions
    }
    return Progress(lease.cluster, {**before, **points})


def begin(start: Progress, lease: Lease, cut: PartitionCut) -> int:
    """Where a partition goes on: at its point, or at its first message if it is new or another one."""
    point = _of_cluster(start, lease).get(cut.partition)
    return point.offset if point is not None and point.fits(cut) else cut.first_offset


def _of_cluster(progress: Progress, lease: Lease) -> Mapping[int, Point]:
    """Groups of a server that was founded anew have the same numbers."""
    return progress.points if progress.cluster == lease.cluster else {}


def between(
    start: Progress,
    end: Progress,
    lease: Lease,
    *,
    strict: bool,
    restart: bool,
    remedies: Remedies = OF_OPTIONS,
) -> list[Range]:
    """What of a lease lies between two points; refuses what would be lost or mixed in silence."""
    check(start, lease, strict=strict, restart=restart, remedies=remedies)
    found = []
    for cut in lease.partitions:
        last = end.points.get(cut.partition)
        if last is None:
            continue
        if end.cluster != lease.cluster or not last.fits(cut):
            if restart:
                # Nothing is left of what that was; the next micro-batch begins with what there is now.
                continue
            raise TopicChangedError(f"partition {cut.partition} became another one while it was read")
        first = begin(start, lease, cut)
        if first < cut.first_offset and strict:
            raise DataLossError(
                f"partition {cut.partition}: the offsets from {first} to {cut.first_offset - 1} were deleted "
                f"before they were read; {remedies.loss} to go on behind them"
            )
        first = max(first, cut.first_offset)
        stop = min(last.offset, cut.end_offset)
        if first < stop:
            found.append(Range(cut, first, stop))
    return found


def check(
    start: Progress, lease: Lease, *, strict: bool, restart: bool, remedies: Remedies = OF_OPTIONS
) -> None:
    """Refuses a topic that is not the one that was read before, unless told to begin anew."""
    if restart:
        return
    name = f"{lease.stream}/{lease.topic}"
    if start.cluster not in ("", lease.cluster):
        raise TopicChangedError(
            f"{name} is of cluster {lease.cluster}, and not of {start.cluster} as before; {remedies.change}"
        )
    cuts = {cut.partition: cut for cut in lease.partitions}
    for partition, point in start.points.items():
        cut = cuts.get(partition)
        if cut is None:
            if strict and lease.whole:
                raise DataLossError(f"partition {partition} of {name} was deleted; {remedies.loss} to go on")
        elif not point.fits(cut):
            raise TopicChangedError(
                f"partition {partition} of {name} was purged, or deleted and made again, since it was read; "
                f"{remedies.change}"
            )
