"""``server-ng spark verify``: whether every byte of a lease is what its manifest says."""

from collections.abc import Iterator
from pathlib import Path

from server_ng.segments.damage import DamagedSegmentError, SegmentReadError
from server_ng.segments.lease import Lease
from server_ng.segments.verify import verify
from server_ng.spark.meter import Told, untold

__all__ = ["findings"]


def findings(directory: Path, lease: Lease, told: Told = untold) -> Iterator[dict[str, object]]:
    """One value per segment, told of by its bytes; one that is not right has an ``error``."""
    for cut in lease.partitions:
        for segment in cut.segments:
            found: dict[str, object] = {
                "partition": cut.partition,
                "path": segment.path,
                "messages": segment.messages,
                "bytes": segment.bytes,
            }
            try:
                verify(directory, segment, cut.partition)
            except (DamagedSegmentError, SegmentReadError) as error:
                found["error"] = str(error)
            told(segment.bytes)
            yield found
