"""What a task of an export does: its scans, one Parquet file for each run of offsets of a part."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from server_ng.segments.columns import Selection
from server_ng.segments.damage import DamagedSegmentError
from server_ng.segments.naming import naming
from server_ng.segments.reader import SegmentReader
from server_ng.spark.arrow import Origin, record_batch
from server_ng.spark.errors import BadRecordError
from server_ng.spark.export.data_file import DataFile, FileRun
from server_ng.spark.export.partitioning import PartitionBy, parts
from server_ng.spark.export.rows import COLUMNS, DEAD_LETTER_SCHEMA, RAW_SCHEMA, Shape, shaped
from server_ng.spark.planning import Scan

__all__ = ["DeadLetters", "WriteTask", "Written", "runs", "write"]


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Where messages go that fit no row."""

    staging: Path
    first_offset: int = 0
    """Those below it are there already: a job died behind its dead letters and before its rows."""


@dataclass(frozen=True, slots=True)
class WriteTask:
    """Scans of one partition that follow each other, and where their rows go."""

    directory: Path
    """Of the lease."""
    scans: tuple[Scan, ...]
    shape: Shape
    key: str
    staging: Path
    dead_letters: DeadLetters | None = None
    """Without them, the first message that fits no row ends the job."""
    partition_by: PartitionBy = PartitionBy.NOTHING
    skip_damage: bool = False


@dataclass(slots=True)
class Written:
    """What a task did."""

    files: list[DataFile] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """Sentences about damage that was passed over."""
    lost_offsets: int = 0

    def passed(self, damage: DamagedSegmentError, lost: tuple[int, int]) -> None:
        """Counts offsets that nobody can read."""
        self.lost.append(f"offsets {lost[0]} to {lost[1] - 1}: {damage}")
        self.lost_offsets += lost[1] - lost[0]


def write(task: WriteTask) -> Written:
    """Writes and syncs the files of a task."""
    done = Written()
    first, last = task.scans[0], task.scans[-1]
    bounds = (first.first_offset, last.end_offset)
    reader = None if task.shape.value_format == "raw" else task.shape.decoder()
    schema = task.shape.schema()
    letters = task.dead_letters
    table = FileRun(task.staging, schema, first.partition, bounds)
    dead = FileRun(letters.staging if letters else task.staging, DEAD_LETTER_SCHEMA, first.partition, bounds)
    with naming(task.staging):
        for raw in _messages(task, done):
            split = shaped(raw, schema, reader)
            for part, rows in parts(split.good, task.partition_by):
                table.write(part, rows)
            if split.bad.num_rows:
                dead.write("", _not_there_yet(split.bad, letters))
        done.files = [*table.finish(), *dead.finish(dead=True)]
    return done


def _not_there_yet(bad: pa.RecordBatch, letters: DeadLetters | None) -> pa.RecordBatch:
    if letters is None:
        first = bad.slice(0, 1).to_pylist()[0]
        place = f"partition {first['partition']}, offset {first['offset']}"
        raise BadRecordError(f"{place}: {first['reason']}; see --dead-letters")
    return bad.filter(pc.greater_equal(bad.column("offset"), letters.first_offset))


def _messages(task: WriteTask, done: Written) -> Iterator[pa.RecordBatch]:
    for scan in task.scans:
        try:
            yield from _scanned(task, scan, done)
        except DamagedSegmentError as damage:
            if not task.skip_damage:
                raise
            done.passed(damage, (damage.offset, scan.end_offset))


def _scanned(task: WriteTask, scan: Scan, done: Written) -> Iterator[pa.RecordBatch]:
    selection = Selection(COLUMNS, scan.first_offset, scan.end_offset, key=task.key)
    origin = Origin("", "", scan.partition, scan.segment.first_offset)
    passed = done.passed if task.skip_damage else None
    with SegmentReader(task.directory, scan.segment, scan.partition) as segment:
        for columns in segment.columns(selection, allocate=pa.allocate_buffer, skipped=passed):
            yield record_batch(columns, origin, RAW_SCHEMA)


def runs(scans: Sequence[Scan], bytes_max: int) -> Iterator[tuple[Scan, ...]]:
    """Scans of one partition together, up to a size: each run becomes a file."""
    waiting: list[Scan] = []
    for scan in scans:
        large = sum(each.bytes for each in waiting) + scan.bytes > bytes_max
        if waiting and (waiting[-1].partition != scan.partition or large):
            yield tuple(waiting)
            waiting = []
        waiting.append(scan)
    if waiting:
        yield tuple(waiting)
