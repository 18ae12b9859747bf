"""Leases with segments in them, made from the byte tables and not by the product."""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from xxhash import xxh3_64_intdigest, xxh3_128_intdigest

from server_ng.segments.lease import MANIFEST_NAME, Lease, PartitionCut, SegmentCut

__all__ = [
    "BASE_TIME",
    "CLUSTER",
    "Message",
    "WrittenSegment",
    "batch",
    "header_field",
    "headers",
    "segment",
    "write_lease",
]

CLUSTER = "c1" * 16
BASE_TIME = 1_700_000_000_000_000
CUT_AT = BASE_TIME + 86_400_000_000
_PAGE = 4096
_MIB = 1 << 20
_COUNTED = struct.Struct("<QQQQQ")
_FRAME = struct.Struct("<QQIIIIQ")


@dataclass(frozen=True, slots=True)
class Message:
    """What a producer sends."""

    offset: int
    payload: bytes = b""
    user_headers: bytes = b""
    identity: int = 1
    origin: int = 0
    """Microseconds after the origin timestamp of the batch."""


def header_field(kind: int, data: bytes) -> bytes:
    """A name or a value of a user header."""
    return struct.pack("<BI", kind, len(data)) + data


def headers(found: Mapping[str, bytes]) -> bytes:
    """User headers whose values are raw bytes."""
    return b"".join(header_field(2, key.encode()) + header_field(1, value) for key, value in found.items())


def batch(messages: Sequence[Message], *, partition: int = 0, timestamp: int = BASE_TIME) -> bytes:
    """A stamped batch; its base offset is that of its first message."""
    base = messages[0].offset
    frames = []
    for message in messages:
        low, high = message.identity & (1 << 64) - 1, message.identity >> 64
        content = message.payload + message.user_headers
        sizes = (len(message.user_headers), len(message.payload), 0)
        rest = _FRAME.pack(low, high, message.offset - base, message.origin, *sizes) + content
        frames.append(struct.pack("<Q", xxh3_64_intdigest(rest)) + rest)
    length = 256 + sum(map(len, frames))
    fields = _COUNTED.pack(partition, base, timestamp, BASE_TIME - 5, length)
    counted = fields + struct.pack("<I", len(frames))
    checksum = xxh3_64_intdigest(counted + b"".join(frame[:8] for frame in frames))
    header = fields + struct.pack("<QI", checksum, len(frames))
    return header.ljust(256, b"\0") + b"".join(frames)


@dataclass(slots=True)
class WrittenSegment:
    """A segment in memory."""

    content: bytes
    cut: SegmentCut


def segment(
    batches: Iterable[Sequence[Message]],
    *,
    partition: int = 0,
    group: int = 7,
    times: Sequence[int] = (),
    sealed: bool = True,
) -> WrittenSegment:
    """The bytes of a segment, and how a manifest speaks of it; each batch is a second younger."""
    content, stamped = b"", []
    all_messages = [list(messages) for messages in batches]
    for number, messages in enumerate(all_messages):
        time = times[number] if times else BASE_TIME + number * 1_000_000
        stamped.append(time)
        content += batch(messages, partition=partition, timestamp=time)
    first, last = all_messages[0][0].offset, all_messages[-1][-1].offset
    count = sum(map(len, all_messages))
    valid = len(content)
    digest = None
    content = content.ljust(-(-valid // _PAGE) * _PAGE, b"\0")
    if sealed:
        numbers = (group, first, last, count, 1, len(all_messages), valid, min(stamped), max(stamped))
        footer, digest = _footer(numbers, content[:valid])
        content += footer.ljust(-(-len(footer) // _PAGE) * _PAGE, b"\0")
    cut = SegmentCut(
        path=f"{group:016x}/{first:020}.log",
        generation=0,
        bytes=valid,
        first_offset=first,
        last_offset=last,
        messages=count,
        min_timestamp=min(stamped),
        max_timestamp=max(stamped),
        digest=digest,
    )
    return WrittenSegment(content, cut)


def _footer(numbers: tuple[int, ...], batches: bytes) -> tuple[bytes, str]:
    digests = [xxh3_128_intdigest(batches[at : at + _MIB]) for at in range(0, len(batches), _MIB)]
    content = struct.pack("<9QII16x", *numbers, 0, len(digests))
    content += b"".join(digest.to_bytes(16, "little") for digest in digests)
    envelope = struct.pack("<8sHHI", b"NGFOOTER", 1, 0, 32 + len(content))
    checksum = xxh3_128_intdigest(envelope + content)
    return checksum.to_bytes(16, "little") + envelope + content, f"{checksum:032x}"


def write_lease(
    directory: Path,
    partitions: Mapping[int, Sequence[WrittenSegment]],
    *,
    stream: str = "orders",
    topic: str = "events",
    groups: Mapping[int, int] | None = None,
    purge_generation: int = 0,
    first_offset: int | None = None,
    cluster: str = CLUSTER,
    whole: bool = True,
) -> Lease:
    """Writes the files of a lease and its manifest."""
    cuts = []
    for number, segments in sorted(partitions.items()):
        for each in segments:
            path = directory / each.cut.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(each.content)
        group = (groups or {}).get(number, 7)
        first = segments[0].cut.first_offset if segments else 0
        cuts.append(
            PartitionCut(
                partition=number,
                group_id=f"{group:016x}",
                purge_generation=purge_generation,
                first_offset=first if first_offset is None else first_offset,
                commit_offset=segments[-1].cut.last_offset if segments else None,
                segments=tuple(each.cut for each in segments),
            )
        )
    lease = Lease(directory.name, cluster, stream, topic, CUT_AT, tuple(cuts), whole)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / MANIFEST_NAME).write_text(lease.encode())
    return lease
