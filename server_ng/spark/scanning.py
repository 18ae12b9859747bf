"""What a task does: reads its scans and yields Arrow batches. Runs in Spark's Python workers."""

import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from server_ng.segments.columns import Selection
from server_ng.segments.damage import DamagedSegmentError
from server_ng.segments.reader import SegmentReader
from server_ng.spark.arrow import Origin, record_batch
from server_ng.spark.cutter import CutRefusedError, Cutter, renewing
from server_ng.spark.planning import Scan
from server_ng.spark.workers import settle

__all__ = ["Kept", "Reading", "ScanPartition", "read"]

_log: Final = logging.getLogger("server_ng.spark")


@dataclass(frozen=True, slots=True)
class Kept:
    """A lease that nobody but the tasks that read it can keep: Spark ends the process that planned them."""

    control: Path
    lease: str
    seconds: int


@dataclass(frozen=True, slots=True)
class Reading:
    """What all tasks of a query have in common."""

    directory: Path
    stream: str
    topic: str
    selection: Selection
    skip_damage: bool
    damage_path: Path | None
    batch_rows: int
    batch_bytes: int
    kept: Kept | None = None


class ScanPartition(InputPartition):
    """The scans of one task."""

    def __init__(self, reading: Reading, scans: tuple[Scan, ...]) -> None:
        super().__init__(None)
        self.reading, self.scans = reading, scans


def read(partition: ScanPartition, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Every wanted message of a task."""
    settle()
    reading = partition.reading
    with _keeping(reading):
        for scan in partition.scans:
            try:
                yield from _scan(reading, scan, schema)
            except DamagedSegmentError as damage:
                if not reading.skip_damage:
                    raise
                _tell(reading, scan.partition, damage, (damage.offset, scan.end_offset))


@contextmanager
def _keeping(reading: Reading) -> Iterator[None]:
    """Renews a lease while a task reads it; where the socket is out of reach, others must do so."""
    kept = reading.kept
    if kept is None:
        yield
        return
    cutter = Cutter(kept.control)
    with suppress(OSError, ValueError, CutRefusedError):
        left = int((reading.directory / "expires").read_text()) / 1e6 - time.time()
        # Tasks may be short and many: the first behind a third of the time asks for all.
        if left < kept.seconds * 2 / 3:
            cutter.renew(kept.lease, kept.seconds)
    with renewing(cutter, kept.lease, kept.seconds):
        yield


def _scan(reading: Reading, scan: Scan, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    selection = reading.selection.between(scan.first_offset, scan.end_offset)
    origin = Origin(reading.stream, reading.topic, scan.partition, scan.segment.first_offset)
    with SegmentReader(reading.directory, scan.segment, scan.partition) as segment:
        found = segment.columns(
            selection,
            allocate=pa.allocate_buffer,
            piece_bytes=reading.batch_bytes,
            rows=reading.batch_rows,
            skipped=partial(_tell, reading, scan.partition) if reading.skip_damage else None,
        )
        for columns in found:
            yield record_batch(columns, origin, schema)


def _tell(reading: Reading, partition: int, damage: DamagedSegmentError, lost: tuple[int, int]) -> None:
    """Counts what is skipped: a line of the log, and a file for each damage where they are asked for."""
    first, end = lost
    _log.warning("skipped the offsets from %d to %d: %s", first, end - 1, damage)
    if reading.damage_path is not None:
        told = {
            "partition": partition,
            "path": str(damage.path),
            "position": damage.position,
            "first_offset": first,
            "end_offset": end,
            "reason": damage.reason,
        }
        reading.damage_path.mkdir(parents=True, exist_ok=True)
        # The same at every try of a task, and another one for each damage.
        name = f"{partition}-{damage.path.stem}-{damage.position}-{first}.json"
        (reading.damage_path / name).write_text(json.dumps(told))
