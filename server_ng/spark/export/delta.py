"""A Delta table, through delta-rs: no jar.

Progress is kept as application transactions, which are part of the commit that adds the files: for each
partition its next offset, and a digest of what that is an offset of. They refuse only jobs that run at the
same time; one that comes later reads them first.
"""

import hashlib
import json
import os
import re
import time
from errno import EIO
from pathlib import Path
from typing import Final

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction

from server_ng.segments.lease import Lease, PartitionCut
from server_ng.spark.errors import FencedError, OptionError
from server_ng.spark.export.data_file import DataFile
from server_ng.spark.export.job_folders import remove_orphans
from server_ng.spark.export.partitioning import PartitionBy
from server_ng.spark.export.syncing import sync_names
from server_ng.spark.export.target import ExportCommit
from server_ng.spark.progress import Point, Progress

__all__ = ["DeltaTarget"]

_APPLICATION: Final = "server-ng"


class DeltaTarget:
    """A table in a folder."""

    def __init__(self, folder: Path, partition_by: PartitionBy = PartitionBy.NOTHING) -> None:
        self._folder, self._partition_by = folder, partition_by
        self._table: DeltaTable | None = None

    def progress(self, lease: Lease) -> Progress:
        """How far the table has come, if there is one; changes nothing."""
        if not DeltaTable.is_deltatable(str(self._folder)):
            return Progress("", {})
        return self._progress(DeltaTable(self._folder), lease)

    def begin(self, schema: pa.Schema, lease: Lease) -> Progress:
        """Makes the table if there is none, and says how far it has come."""
        self._folder.mkdir(parents=True, exist_ok=True)
        wanted = self._with_part(schema)
        by = [] if self._partition_by is PartitionBy.NOTHING else [self._partition_by.value]
        table = DeltaTable.create(self._folder, wanted, mode="ignore", partition_by=by)
        found = _columns(table.schema())
        if found != _columns(Schema.from_arrow(wanted)):
            raise OptionError(f"{self._folder} has other columns: {', '.join(found)}")
        if table.metadata().partition_columns != by:
            parts = ", ".join(table.metadata().partition_columns) or "nothing"
            raise OptionError(f"{self._folder} is partitioned by {parts}")
        self._table = table
        return self._progress(table, lease)

    def _progress(self, table: DeltaTable, lease: Lease) -> Progress:
        points = {}
        for cut in lease.partitions:
            point = self._point(table, lease.cluster, cut)
            if point is not None:
                points[cut.partition] = point
        return Progress(lease.cluster, points)

    def staging(self, job: str) -> Path:
        """Where the files of a job are written, and stay."""
        return self._folder / "data" / job

    def commit(self, commit: ExportCommit) -> None:
        """Adds the files and moves the progress, both or neither; raises `FencedError`."""
        if self._table is None:
            raise OptionError(f"{self._folder} was not opened")
        marks = []
        for partition, point in commit.end.points.items():
            identity = _identity(commit.end.cluster, point.group_id, point.purge_generation)
            marks.append(Transaction(f"{_APPLICATION}/{partition}/identity", identity))
            marks.append(Transaction(f"{_APPLICATION}/{partition}/offset", point.offset))
        written = commit.files
        if written:
            sync_names(self.staging(commit.job), self._folder)
        try:
            self._table.create_write_transaction(
                [self._added(file) for file in written],
                mode="append",
                schema=self._table.schema(),
                commit_properties=CommitProperties(
                    custom_metadata={f"{_APPLICATION}.progress": json.dumps(commit.end.plain())},
                    max_commit_retries=0,
                    app_transactions=marks,
                ),
            )
        except CommitFailedError as error:
            raise FencedError(f"{self._folder}: another job committed first: {error}") from error
        except OSError as error:
            raise self._of_system(error) from error

    def collect(self, older_than_seconds: float) -> int:
        """Removes what jobs left behind that died before their commit; returns how many folders."""
        if not DeltaTable.is_deltatable(str(self._folder)):
            raise OptionError(f"{self._folder} is no Delta table")
        return remove_orphans(self._folder / "data", self._named, older_than_seconds)

    def _named(self) -> set[str]:
        """The jobs of its files, and of those it had, which older versions of it are read from."""
        table = DeltaTable(self._folder)
        had = table.vacuum(retention_hours=0, dry_run=True, enforce_retention_duration=False)
        return {Path(name).parent.name for name in [*table.file_uris(), *had]}

    def _of_system(self, error: OSError) -> OSError:
        """An error of delta-rs, which has the number of the system in a text of several lines."""
        found = re.search(r"\(os error (\d+)\)", str(error))
        number = int(found[1]) if found else EIO
        return OSError(number, os.strerror(number) if found else str(error), str(self._folder))

    def _point(self, table: DeltaTable, cluster: str, cut: PartitionCut) -> Point | None:
        identity = table.transaction_version(f"{_APPLICATION}/{cut.partition}/identity")
        offset = table.transaction_version(f"{_APPLICATION}/{cut.partition}/offset")
        if identity is None or offset is None:
            return None
        same = identity == _identity(cluster, cut.group_id, cut.purge_generation)
        return Point(cut.group_id if same else f"digest {identity:x}", cut.purge_generation, offset)

    def _with_part(self, schema: pa.Schema) -> pa.Schema:
        """Days and hours are columns of their own, of which the log of the table has the values."""
        if self._partition_by in (PartitionBy.DAY, PartitionBy.HOUR):
            return schema.append(pa.field(self._partition_by.value, pa.string()))
        return schema

    def _added(self, file: DataFile) -> AddAction:
        return AddAction(
            path=str(Path(file.path).relative_to(self._folder)),
            size=file.bytes,
            partition_values={self._partition_by.value: file.part} if file.part else {},
            modification_time=int(time.time() * 1000),
            data_change=True,
            stats=json.dumps({"numRecords": file.rows}),
        )


def _columns(schema: Schema) -> list[str]:
    """Names and types."""
    return [f"{field.name} {field.type}" for field in schema.fields]


def _identity(cluster: str, group_id: str, purge_generation: int) -> int:
    """A transaction has a number and no text: 63 bits of a digest tell one topic from another."""
    text = f"{cluster}/{group_id}/{purge_generation}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
