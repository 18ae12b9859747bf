"""A compaction job in small: sealed segments of a lease rewritten to what survives."""

import os
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server_ng import binding
from server_ng.segments.lease import Lease, PartitionCut, SegmentCut

__all__ = ["Offer", "compact", "sealed"]

_PAGE = 4096
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Offer:
    """What a job asks to be adopted."""

    lease: str
    partition: int
    inputs: list[dict[str, int]]
    outputs: list[dict[str, Any]]

    @property
    def fields(self) -> dict[str, Any]:
        """The request without its verb."""
        return {
            "lease": self.lease,
            "partition": self.partition,
            "inputs": self.inputs,
            "outputs": self.outputs,
        }

    @property
    def end(self) -> int:
        """The offset behind the last segment that goes."""
        return int(self.outputs[-1]["last_offset"]) + 1


def sealed(path: Path, partition: int) -> list[SegmentCut]:
    """The segments of a lease that are not written to any more."""
    return [cut for cut in _partition(path, partition).segments if cut.digest is not None]


def compact(
    path: Path,
    partition: int,
    keeps: Callable[[int], bool],
    runs: Sequence[Sequence[SegmentCut]] | None = None,
) -> Offer:
    """Writes one segment for each run, by default one for all; `keeps` says which offsets survive."""
    cut = _partition(path, partition)
    runs = runs or [sealed(path, partition)]
    outputs = [_write(path, cut, run, keeps) for run in runs]
    inputs = [
        {"first_offset": each.first_offset, "generation": each.generation} for run in runs for each in run
    ]
    return Offer(path.name, partition, inputs, outputs)


def _partition(path: Path, partition: int) -> PartitionCut:
    (cut,) = (cut for cut in Lease.read(path).partitions if cut.partition == partition)
    return cut


def _write(
    path: Path, cut: PartitionCut, run: Sequence[SegmentCut], keeps: Callable[[int], bool]
) -> dict[str, Any]:
    batches = b"".join(_survivors(path, segment, cut.partition, keeps) for segment in run)
    times, messages = [], 0
    for timestamp, count in _headers(batches):
        times.append(timestamp)
        messages += count
    generation = 1 + max(segment.generation for segment in run)
    first, last = run[0].first_offset, run[-1].last_offset
    sums = [binding.digest(batches[at : at + _MIB]) for at in range(0, len(batches), _MIB)]
    group = int(cut.group_id, 16)
    numbers = (group, first, last, messages, 0, 0, len(batches), min(times), max(times), generation)
    digest, footer = binding.write_footer(numbers, sums)
    name = f"outputs/{cut.partition}/{first:020}.{generation}.log"
    _put(path / name, _padded(batches) + _padded(footer))
    return {
        "path": name,
        "generation": generation,
        "bytes": len(batches),
        "first_offset": first,
        "last_offset": last,
        "messages": messages,
        "min_timestamp": min(times),
        "max_timestamp": max(times),
        "digest": digest.hex(),
    }


def _survivors(path: Path, segment: SegmentCut, partition: int, keeps: Callable[[int], bool]) -> bytes:
    content = (path / segment.path).read_bytes()[: segment.bytes]
    offsets = [offset for offset in range(segment.first_offset, segment.last_offset + 1) if keeps(offset)]
    kept = struct.pack(f"<{len(offsets)}Q", *offsets)
    rewritten = binding.rewrite_segment(content, (segment.bytes, segment.first_offset, partition), kept)
    assert (rewritten.stop, rewritten.consumed) == (0, segment.bytes), rewritten.sentence
    return bytes(rewritten.written)


def _headers(batches: bytes) -> list[tuple[int, int]]:
    """Timestamp and number of messages of each batch."""
    found, at = [], 0
    while at < len(batches):
        _, _, timestamp, _, length, _, count = struct.unpack_from("<QQQQQQI", batches, at)
        found.append((timestamp, count))
        at += length
    return found


def _padded(content: bytes) -> bytes:
    return content.ljust(-(-len(content) // _PAGE) * _PAGE, b"\0")


def _put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
