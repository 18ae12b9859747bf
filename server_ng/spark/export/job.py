"""One export: what the table lacks, written and committed at once."""

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from errno import EDQUOT, ENOSPC
from pathlib import Path
from typing import Final, TypeAlias

from server_ng.segments.damage import DamagedSegmentError, SegmentReadError
from server_ng.segments.keys import DEFAULT_KEY
from server_ng.segments.lease import Lease
from server_ng.spark.cutter import HeldLease
from server_ng.spark.errors import BadRecordError, OptionError
from server_ng.spark.export.data_file import DataFile
from server_ng.spark.export.job_folders import new_job
from server_ng.spark.export.partitioning import PartitionBy
from server_ng.spark.export.rows import Shape
from server_ng.spark.export.target import EXPORT_REMEDIES, ExportCommit, Target
from server_ng.spark.export.writing import DeadLetters, WriteTask, Written, runs, write
from server_ng.spark.limits import Limits
from server_ng.spark.meter import Told, untold
from server_ng.spark.planning import Range, pack, scans
from server_ng.spark.progress import Progress, advanced, between
from server_ng.spark.workers import settle

__all__ = ["Engine", "Exported", "Lacking", "Settings", "export", "lacking", "on_spark", "on_threads"]

_log: Final = logging.getLogger("server_ng.spark")

_FULL: Final = frozenset({ENOSPC, EDQUOT})

Engine: TypeAlias = Callable[[Sequence[WriteTask]], list[Written]]


@dataclass(frozen=True, slots=True)
class Settings:
    """How rows are made."""

    shape: Shape
    key: str = DEFAULT_KEY
    dead_letters: bool = False
    file_bytes: int = 128 << 20
    """Of the log: what it becomes as Parquet is smaller."""
    accept_loss: bool = False
    partition_by: PartitionBy = PartitionBy.NOTHING
    skip_damage: bool = False


@dataclass(frozen=True, slots=True)
class Exported:
    """What a job did."""

    rows: int
    dead_rows: int
    files: int
    log_bytes: int
    lost_offsets: int = 0
    """Of damage that was passed over, as it was asked to be."""

    @classmethod
    def nothing(cls) -> "Exported":
        """What a job did whose table was up to date."""
        return cls(rows=0, dead_rows=0, files=0, log_bytes=0)


@dataclass(frozen=True, slots=True)
class Lacking:
    """What a table lacks of a partition."""

    partition: int
    first_offset: int
    end_offset: int
    log_bytes: int


def lacking(leased: HeldLease, target: Target, settings: Settings) -> list[Lacking]:
    """What `export` would add; nothing is changed, and no table is made."""
    found = []
    for part in _wanted(leased.lease, target.progress(leased.lease), settings)[1]:
        names = {"stream": leased.lease.stream, "topic": leased.lease.topic}
        size = sum(scan.bytes for scan in scans([part], Limits(), names))
        found.append(Lacking(part.cut.partition, part.first, part.end, size))
    return found


def _wanted(lease: Lease, start: Progress, settings: Settings) -> tuple[Progress, list[Range]]:
    end = advanced(start, lease, {cut.partition: cut.end_offset for cut in lease.partitions})
    strict = not settings.accept_loss
    return end, between(start, end, lease, strict=strict, restart=False, remedies=EXPORT_REMEDIES)


def export(leased: HeldLease, target: Target, settings: Settings, engine: Engine) -> Exported | None:
    """Brings a table to where the lease is; None if it is there already.

    Whatever ends it, and wherever, the table has all of it or nothing, and the next run goes on from there.
    """
    lease, schema = leased.lease, settings.shape.schema()
    if settings.partition_by in (PartitionBy.DAY, PartitionBy.HOUR) and settings.partition_by in schema.names:
        raise OptionError(
            f"the schema names {settings.partition_by}, by which the table is to be partitioned"
        )
    start = target.begin(schema, lease)
    end, wanted = _wanted(lease, start, settings)
    if not wanted:
        return None
    job = new_job()
    found = [
        scan
        for part in pack(
            scans(wanted, Limits(), {"stream": lease.stream, "topic": lease.topic}),
            bytes_max=settings.file_bytes,
        )
        for scan in part
    ]
    tasks = [
        WriteTask(
            directory=leased.path,
            scans=run,
            shape=settings.shape,
            key=settings.key,
            staging=target.staging(job),
            dead_letters=_dead_letters(target, job, run[0].partition) if settings.dead_letters else None,
            partition_by=settings.partition_by,
            skip_damage=settings.skip_damage,
        )
        for run in runs(found, settings.file_bytes)
    ]
    try:
        written = engine(tasks)
    except (Exception, KeyboardInterrupt):
        _keep_only([], _folders(tasks))
        raise
    files = [file for each in written for file in each.files]
    _keep_only(files, _folders(tasks))
    for sentence in (sentence for each in written for sentence in each.lost):
        _log.warning("skipped %s", sentence)
    try:
        target.commit(ExportCommit(job, lease.stream, lease.topic, start, end, schema, files))
    except OSError as error:
        # Of any other failure nobody knows here whether it was a commit. Dead letters may have been one.
        if error.errno in _FULL and target.progress(lease) == start:
            _keep_only([], {target.staging(job)})
        raise
    return Exported(
        rows=sum(file.rows for file in files if not file.dead),
        dead_rows=sum(file.rows for file in files if file.dead),
        files=sum(1 for file in files if not file.dead),
        log_bytes=sum(scan.bytes for scan in found),
        lost_offsets=sum(each.lost_offsets for each in written),
    )


def _folders(tasks: Sequence[WriteTask]) -> set[Path]:
    """Where they write."""
    letters = {task.dead_letters.staging for task in tasks if task.dead_letters is not None}
    return {task.staging for task in tasks} | letters


def _keep_only(files: Sequence[DataFile], folders: Iterable[Path]) -> None:
    """Removes what tries of tasks wrote that failed, or whose worker died: no table would ever name it."""
    named = {Path(file.path) for file in files}
    for folder in folders:
        for path in folder.glob("*"):
            if path not in named:
                path.unlink(missing_ok=True)
        with suppress(OSError):
            # Unless it has files of the commit.
            folder.rmdir()


def _dead_letters(target: Target, job: str, partition: int) -> DeadLetters:
    return DeadLetters(target.dead_letters(job), target.dead_letters_from(partition))


def on_threads(tasks: Sequence[WriteTask], told: Told = untold) -> list[Written]:
    """In this process: decoding and writing leave the interpreter's lock alone."""

    def done(task: WriteTask) -> Written:
        written = write(task)
        told(sum(scan.bytes for scan in task.scans))
        return written

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(done, tasks))


def on_spark(master: str, told: Told = untold) -> Engine:
    """One task of a cluster for each file; the lease and the table must be where every worker finds them."""
    from server_ng.spark.session import builder
    from server_ng.spark.watching import watching

    def run(tasks: Sequence[WriteTask]) -> list[Written]:
        context = builder("server-ng spark export", master).getOrCreate().sparkContext
        found: list[Written] = []
        size = sum(scan.bytes for task in tasks for scan in task.scans)
        with watching(context, size, told):
            ended = context.parallelize(tasks, max(1, len(tasks))).map(_attempt).collect()
        for done in ended:
            if isinstance(done, Exception):
                raise done
            found.append(done)
        return found

    return run


def _attempt(task: WriteTask) -> Written | Exception:
    """What would be the same at every try comes back as what it is, and not as the text of a failed task."""
    settle()
    try:
        return write(task)
    except (DamagedSegmentError, SegmentReadError, BadRecordError, OSError) as error:
        return error
