"""A run of segments, written as one without the messages that were replaced."""

from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from server_ng import binding
from server_ng.segments.footer import Footer, read_footer
from server_ng.segments.lease import PartitionCut, SegmentCut
from server_ng.segments.newest import Identity
from server_ng.segments.reader import SegmentReader
from server_ng.segments.sealed_writer import SealedWriter, sync_directory
from server_ng.spark.compact.planning import Run
from server_ng.spark.compact.survey import PIECE_BYTES, Newest
from server_ng.spark.meter import Told

__all__ = ["OUTPUTS", "Merge", "Output", "merge"]

OUTPUTS: Final = "outputs"
"""Below the directory of a lease, where the server looks for what a job made."""
_NO_TIME: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Output:
    """A segment that is on the disk, and not the server's yet."""

    partition: int
    inputs: tuple[SegmentCut, ...]
    made: SegmentCut


@dataclass(frozen=True, slots=True)
class Merge:
    """What the runs of a partition have in common."""

    directory: Path
    """Of the lease."""
    cut: PartitionCut
    identity: Identity
    newest: Newest
    tombstones: bool
    dense: Set[SegmentCut]
    """Segments of which each offset is a message that is about something."""


def merge(of: Merge, run: Run, told: Told) -> Output:
    """Writes, seals and syncs one segment; it stands for all offsets of the segments that it replaces."""
    first, last = run.inputs[0], run.inputs[-1]
    generation = 1 + max(segment.generation for segment in run.inputs)
    path = f"{OUTPUTS}/{of.cut.partition}/{first.first_offset:020}.{generation}.log"
    footers = [read_footer(of.directory / segment.path, segment) for segment in run.inputs]
    with SealedWriter(of.directory / path) as writer:
        messages, least, greatest = 0, _NO_TIME, 0
        for step in _steps(of, run, writer):
            writer.took(step.written)
            messages += step.messages
            least, greatest = min(least, step.min_timestamp), max(greatest, step.max_timestamp)
            told(step.consumed)
        if messages != run.messages:
            raise RuntimeError(f"{path} has {messages} messages, and {run.messages} were to stay")
        footer = Footer(
            group=int(of.cut.group_id, 16),
            base_offset=first.first_offset,
            last_offset=last.last_offset,
            messages=messages,
            first_op=_first_op(footers),
            last_op=max(footer.last_op for footer in footers),
            batch_bytes=0,
            min_timestamp=least,
            max_timestamp=greatest,
            generation=generation,
            digests=(),
        )
        digest = writer.seal(footer)
    sync_directory((of.directory / path).parent)
    made = SegmentCut(
        path=path,
        generation=generation,
        bytes=writer.bytes,
        first_offset=first.first_offset,
        last_offset=last.last_offset,
        messages=messages,
        min_timestamp=least,
        max_timestamp=greatest,
        digest=digest,
    )
    return Output(of.cut.partition, run.inputs, made)


def _steps(of: Merge, run: Run, writer: SealedWriter) -> Iterator[binding.Compacted]:
    key, by_id = of.identity.key.encode(), of.identity.by_id
    for segment in run.inputs:
        newest = of.newest.within(segment, tombstones=of.tombstones)
        if run.placeholder is not None and segment is run.inputs[-1]:
            newest = memoryview(run.placeholder.to_bytes(8, "little")).cast("Q")

        flags = by_id, segment in of.dense

        def take(
            piece: memoryview,
            walk: tuple[int, int, int],
            newest: memoryview = newest,
            flags: tuple[bool, bool] = flags,
        ) -> binding.Compacted:
            return binding.compact_segment(piece, (*walk, *flags), key, newest, writer.room(len(piece)))

        with SegmentReader(of.directory, segment, of.cut.partition) as reader:
            yield from reader.steps(take, piece_bytes=PIECE_BYTES)


def _first_op(footers: list[Footer]) -> int:
    """0, nobody knows, if that is so of one of them."""
    return min(footer.first_op for footer in footers)
