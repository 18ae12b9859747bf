"""Holds the leases that are left against their template: a job must meet an error or the right bytes."""

from collections.abc import Iterator
from pathlib import Path

from server_ng.segments.damage import DamagedSegmentError, SegmentReadError
from server_ng.segments.lease import Lease, LeaseError, SegmentCut
from server_ng.segments.verify import verify
from tests.support.damage.judge import Complaint, Forbidden

__all__ = ["judge_leases"]


def judge_leases(data: Path, template: Path) -> Iterator[Complaint]:
    """Every segment of a lease that passes the checks of a job and is not what the lease was made of."""
    for path in sorted((data / "leases").iterdir()):
        kept = template / "leases" / path.name
        try:
            lease = Lease.read(path)
        except LeaseError:
            continue
        for partition in lease.partitions:
            for cut in partition.segments:
                if _passes(path, cut, partition.partition) and _content(path, cut) != _content(kept, cut):
                    yield Complaint(Forbidden.WRONG, f"lease {path.name}: {cut.path} has other bytes")


def _passes(path: Path, cut: SegmentCut, partition: int) -> bool:
    try:
        verify(path, cut, partition)
    except (DamagedSegmentError, SegmentReadError):
        return False
    return True


def _content(lease: Path, cut: SegmentCut) -> bytes | None:
    path = lease / cut.path
    return path.read_bytes()[: cut.bytes] if path.exists() else None
