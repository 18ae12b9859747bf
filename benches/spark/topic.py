"""A lease with a gigabyte in it: batches of 1,000 messages of 200 bytes, keys that come again ten times."""

import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from xxhash import xxh3_64_intdigest

from server_ng.segments.footer import Footer
from server_ng.segments.lease import MANIFEST_NAME, Lease, PartitionCut, SegmentCut
from server_ng.segments.sealed_writer import SealedWriter

__all__ = ["PARTITIONS", "Written", "write_topic"]

PARTITIONS: Final = 4
_MESSAGES: Final = 1_000
_PAYLOAD: Final = 200
_TIMES_PER_KEY: Final = 10
_SEGMENT_BYTES: Final = 64 << 20
_TIME: Final = 1_700_000_000_000_000
_COUNTED: Final = struct.Struct("<QQQQQ")
_FRAME: Final = struct.Struct("<QQIIIIQ")


@dataclass(frozen=True, slots=True)
class Written:
    """A topic for the benches."""

    directory: Path
    lease: Lease

    @property
    def bytes(self) -> int:
        """Of all batches."""
        return sum(segment.bytes for cut in self.lease.partitions for segment in cut.segments)

    @property
    def messages(self) -> int:
        """In all partitions."""
        return sum(cut.messages for cut in self.lease.partitions)


def write_topic(directory: Path, size: int) -> Written:
    """Writes about so many bytes."""
    cuts = []
    for partition in range(PARTITIONS):
        (directory / str(partition)).mkdir(parents=True)
        cuts.append(_partition(directory, partition, size // PARTITIONS))
    lease = Lease(directory.name, "b" * 32, "benches", "topic", _TIME + 1_000_000_000, tuple(cuts))
    (directory / MANIFEST_NAME).write_text(lease.encode())
    return Written(directory, lease)


def _partition(directory: Path, partition: int, size: int) -> PartitionCut:
    batch_bytes = 256 + _MESSAGES * (48 + _PAYLOAD + 34)
    batches = max(_TIMES_PER_KEY, size // batch_bytes)
    kinds = [_frames(kind) for kind in range(batches // _TIMES_PER_KEY)]
    per_segment = max(1, _SEGMENT_BYTES // batch_bytes)
    segments = [
        _segment(directory, partition, kinds, range(first, min(first + per_segment, batches)))
        for first in range(0, batches, per_segment)
    ]
    return PartitionCut(partition, f"{partition:016x}", 0, 0, segments[-1].last_offset, tuple(segments))


def _frames(kind: int) -> bytes:
    """The messages of a batch, and keys that no other kind has."""
    frames = []
    for number in range(_MESSAGES):
        key = f"{kind * _MESSAGES + number:016}".encode()
        headers = struct.pack("<BI3sBI", 2, 3, b"key", 2, 16) + key
        content = os.urandom(_PAYLOAD // 2) + bytes(_PAYLOAD - _PAYLOAD // 2) + headers
        rest = _FRAME.pack(number, kind, number, number, len(headers), _PAYLOAD, 0) + content
        frames.append(struct.pack("<Q", xxh3_64_intdigest(rest)) + rest)
    return b"".join(frames)


def _segment(directory: Path, partition: int, kinds: Sequence[bytes], numbers: range) -> SegmentCut:
    path = f"{partition}/{numbers.start * _MESSAGES:020}.log"
    with SealedWriter(directory / path) as writer:
        for number in numbers:
            frames = kinds[number % len(kinds)]
            batch = _batch(partition, number, frames)
            writer.room(len(batch))[:] = batch
            writer.took(len(batch))
        footer = Footer(
            group=partition,
            base_offset=numbers.start * _MESSAGES,
            last_offset=numbers.stop * _MESSAGES - 1,
            messages=len(numbers) * _MESSAGES,
            first_op=1,
            last_op=1,
            batch_bytes=0,
            min_timestamp=_TIME + numbers.start,
            max_timestamp=_TIME + numbers.stop - 1,
            generation=0,
            digests=(),
        )
        digest = writer.seal(footer)
    return SegmentCut(
        path=path,
        generation=0,
        bytes=writer.bytes,
        first_offset=footer.base_offset,
        last_offset=footer.last_offset,
        messages=footer.messages,
        min_timestamp=footer.min_timestamp,
        max_timestamp=footer.max_timestamp,
        digest=digest,
    )


def _batch(partition: int, number: int, frames: bytes) -> bytes:
    length = 256 + len(frames)
    counted = _COUNTED.pack(partition, number * _MESSAGES, _TIME + number, _TIME, length)
    step = len(frames) // _MESSAGES
    sums = b"".join(frames[at : at + 8] for at in range(0, len(frames), step))
    checksum = xxh3_64_intdigest(counted + struct.pack("<I", _MESSAGES) + sums)
    return (counted + struct.pack("<QI", checksum, _MESSAGES)).ljust(256, b"\0") + frames
