"""A lease with a bit of everything in it."""

from pathlib import Path

from server_ng.segments.lease import Lease
from tests.support.lease_files import Message, WrittenSegment, header_field, headers, segment, write_lease

__all__ = ["message", "sealed", "small_topic"]


def message(offset: int, partition: int = 0) -> Message:
    """A message that its offset tells everything about."""
    found = headers({"key": b"k%d" % (offset % 3)}) if offset % 4 else b""
    return Message(offset, b"%d/%d" % (partition, offset), found, identity=offset + 1, origin=offset)


def sealed(
    first: int, count: int, *, partition: int = 0, group: int = 7, per_batch: int = 5
) -> WrittenSegment:
    """A segment of so many messages."""
    offsets = range(first, first + count)
    batches = [
        [message(offset, partition) for offset in offsets[at : at + per_batch]]
        for at in range(0, count, per_batch)
    ]
    return segment(batches, partition=partition, group=group)


def small_topic(directory: Path) -> Lease:
    """Three partitions: of two segments, of one with a gap and odd messages, of none."""
    odd = [
        Message(3, b"payload", headers({"key": b"one", "other": b"\xff"}), identity=1 << 100),
        Message(5, b"", headers({"key": b"one"})),
        Message(9, b"x", header_field(2, b"tombstone") + header_field(3, b"\x01")),
        Message(11, b"y", b"no headers at all"),
    ]
    return write_lease(
        directory,
        {
            0: [sealed(0, 20), sealed(20, 13)],
            1: [segment([odd[:2], odd[2:]], partition=1, group=8)],
            2: [],
        },
        groups={0: 7, 1: 8, 2: 9},
    )
