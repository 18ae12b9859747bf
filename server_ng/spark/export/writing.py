"""What a task of an export does: its scans, one Parquet file for each run of offsets."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from server_ng.segments.columns import Selection
from server_ng.segments.reader import SegmentReader
from server_ng.spark.arrow import Origin, record_batch
from server_ng.spark.errors import BadRecordError
from server_ng.spark.export.rows import COLUMNS, DEAD_LETTER_SCHEMA, RAW_SCHEMA, Shape, shaped
from server_ng.spark.planning import Scan

__all__ = ["DataFile", "WriteTask", "runs", "sync", "sync_names", "write"]

_COMPRESSION: Final = "zstd"


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that was written and is not part of a table yet."""

    path: str
    partition: int
    first_offset: int
    end_offset: int
    """The next file of the partition begins here, whatever the offset of the last row."""
    rows: int
    bytes: int
    dead_path: str | None = None
    dead_rows: int = 0


@dataclass(frozen=True, slots=True)
class WriteTask:
    """Scans of one partition that follow each other, and where their rows go."""

    directory: Path
    """Of the lease."""
    scans: tuple[Scan, ...]
    shape: Shape
    key: str
    dead_letters: bool
    staging: Path


def write(task: WriteTask) -> DataFile:
    """Writes and syncs one file, and one for dead letters if there are any."""
    name = f"{uuid4().hex}.parquet"
    good, bad = task.staging / name, task.staging / f"dead-{name}"
    task.staging.mkdir(parents=True, exist_ok=True)
    schema = task.shape.schema()
    reader = None if task.shape.value_format == "raw" else task.shape.decoder()
    rows = dead = 0
    with _Parquet(good, schema) as table, _Parquet(bad, DEAD_LETTER_SCHEMA) as letters:
        for raw in _messages(task):
            split = shaped(raw, schema, reader)
            if split.bad.num_rows and not task.dead_letters:
                first = split.bad.slice(0, 1).to_pylist()[0]
                place = f"partition {first['partition']}, offset {first['offset']}"
                raise BadRecordError(f"{place}: {first['reason']}; see --dead-letters")
            table.write(split.good)
            letters.write(split.bad)
            rows += split.good.num_rows
            dead += split.bad.num_rows
    first, last = task.scans[0], task.scans[-1]
    return DataFile(
        path=str(good),
        partition=first.partition,
        first_offset=first.first_offset,
        end_offset=last.end_offset,
        rows=rows,
        bytes=good.stat().st_size if rows else 0,
        dead_path=str(bad) if dead else None,
        dead_rows=dead,
    )


def _messages(task: WriteTask) -> Iterator[pa.RecordBatch]:
    for scan in task.scans:
        selection = Selection(COLUMNS, scan.first_offset, scan.end_offset, key=task.key)
        origin = Origin("", "", scan.partition, scan.segment.first_offset)
        with SegmentReader(task.directory, scan.segment, scan.partition) as segment:
            for columns in segment.columns(selection, allocate=pa.allocate_buffer):
                yield record_batch(columns, origin, RAW_SCHEMA)


class _Parquet:
    """A file that exists once there is a row for it."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path, self._schema = path, schema
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> "_Parquet":
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()
            sync(self._path)

    def write(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, self._schema, compression=_COMPRESSION)
        self._writer.write_batch(batch)


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


def sync(path: Path) -> None:
    """Puts a file, or the names in a directory, on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_names(folder: Path, top: Path) -> None:
    """Puts the names in a folder on the disk, and those of the folders between it and `top`."""
    while folder != top:
        sync(folder)
        folder = folder.parent
    sync(top)
