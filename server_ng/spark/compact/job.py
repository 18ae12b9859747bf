"""One compaction of one topic: a lease, the engine, and adoption in the order of the offsets."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from server_ng.spark.compact.adopting import Adopter, adopt
from server_ng.spark.compact.engines import Engine
from server_ng.spark.compact.merging import OUTPUTS
from server_ng.spark.compact.partition import Compacted, PartitionTask
from server_ng.spark.compact.rules import Rules
from server_ng.spark.cutter import HeldLease
from server_ng.spark.errors import FencedError, LeaseEndedError
from server_ng.spark.meter import Told

__all__ = ["CompactionReport", "PartitionReport", "run"]


@dataclass(frozen=True, slots=True)
class PartitionReport:
    """What became of a partition, in figures."""

    partition: int
    segments: int
    segments_after: int
    messages: int
    messages_after: int
    bytes: int
    bytes_after: int | None
    """Nobody knows after a dry run."""
    reason: str

    @classmethod
    def of(cls, done: Compacted) -> "PartitionReport":
        """Of the segments that were, or would be, rewritten."""
        dry = bool(done.runs) and not done.outputs
        return cls(
            partition=done.partition,
            segments=sum(len(run.inputs) for run in done.runs),
            segments_after=len(done.runs),
            messages=sum(run.messages_before for run in done.runs),
            messages_after=sum(run.messages for run in done.runs),
            bytes=sum(run.bytes for run in done.runs),
            bytes_after=None if dry else sum(output.made.bytes for output in done.outputs),
            reason=done.reason,
        )


@dataclass(slots=True)
class CompactionReport:
    """What a job did."""

    partitions: list[PartitionReport] = field(default_factory=list)
    adopted: int = 0
    """Segments that the server took."""
    fenced: list[str] = field(default_factory=list)
    """Why partitions stayed as they are: somebody else was there first."""

    @property
    def total(self) -> dict[str, object]:
        """The sums."""
        names = ("segments", "segments_after", "messages", "messages_after", "bytes")
        sums: dict[str, object] = {
            name: sum(getattr(each, name) for each in self.partitions) for name in names
        }
        after = [each.bytes_after for each in self.partitions]
        known = None if None in after else sum(each or 0 for each in after)
        return {"partitions": len(self.partitions), **sums, "bytes_after": known, "adopted": self.adopted}


def run(
    leased: HeldLease, rules: Rules, engine: Engine, server: Adopter | None, told: Told
) -> CompactionReport:
    """Compacts every partition of a lease; without a server it is a dry run and writes nothing.

    Whatever ends it, and wherever: a segment is the server's, or it goes with the lease.
    """
    lease, report = leased.lease, CompactionReport()
    found = [
        PartitionTask(leased.path, cut, lease.cut_at, rules, dry=server is None)
        for cut in lease.partitions
        if cut.segments
    ]
    with _alone(leased.path):
        for done in engine(found, told):
            if server is not None:
                _adopt_all(server, lease.lease, done, report)
            report.partitions.append(PartitionReport.of(done))
    return report


def _adopt_all(server: Adopter, lease: str, done: Compacted, report: CompactionReport) -> None:
    """Whoever was first in one partition was so there, and not in the others."""
    try:
        for output in done.outputs:
            adopt(server, lease, output)
            report.adopted += 1
    except LeaseEndedError:
        raise
    except FencedError as error:
        report.fenced.append(str(error))


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Holds a lease against other jobs; removes what one that died left, and what this one leaves."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise FencedError(f"another job works on the lease {directory}; let it end") from error
        shutil.rmtree(directory / OUTPUTS, ignore_errors=True)
        try:
            yield
        finally:
            shutil.rmtree(directory / OUTPUTS, ignore_errors=True)
    finally:
        os.close(descriptor)
