"""An Iceberg table, through pyiceberg: no jar.

Progress is a property of the table, set in the transaction that adds the files, and repeated in the
snapshot. The transaction requires the snapshot that the job began with. pyiceberg repeats a stale append by
itself, with success and so with every row twice, unless the table says no; that it does so is seen to when
the job begins.
"""

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlparse

import pyarrow as pa

from server_ng.segments.lease import Lease
from server_ng.segments.naming import naming
from server_ng.spark.errors import FencedError, OptionError
from server_ng.spark.export.folder_kind import refuse_other_kind
from server_ng.spark.export.job_folders import remove_orphans
from server_ng.spark.export.partitioning import PartitionBy
from server_ng.spark.export.syncing import sync_names
from server_ng.spark.export.target import ExportCommit
from server_ng.spark.progress import Progress

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

__all__ = ["IcebergTarget"]

_PROGRESS: Final = "server-ng.progress"
_JOB: Final = "server-ng.job"
_RETRIES: Final = "commit.retry.num-retries"
# It warns of each column that is written without statistics: payloads are, on purpose.
_WARNS_OF_STATISTICS: Final = "pyiceberg.io.pyarrow"


class IcebergTarget:
    """One table of a catalog."""

    def __init__(
        self, catalog: "Catalog", name: str, partition_by: PartitionBy = PartitionBy.NOTHING
    ) -> None:
        self._catalog, self._name, self._partition_by = catalog, name, partition_by
        self._table: Table | None = None

    def progress(self, lease: Lease) -> Progress:  # noqa: ARG002 - of no use here
        """How far the table has come, if there is one; changes nothing."""
        if self._catalog.table_exists(self._name):
            return _progress(self._catalog.load_table(self._name))
        if self._catalog.namespace_exists(self._namespace()):
            self._refuse_other_kind()
        return Progress("", {})

    def begin(self, schema: pa.Schema, lease: Lease) -> Progress:  # noqa: ARG002 - of no use here
        """Makes the table if there is none, and says how far it has come."""
        namespace = self._namespace()
        with naming(self._name):
            self._catalog.create_namespace_if_not_exists(namespace)
            if not self._catalog.table_exists(self._name):
                self._refuse_other_kind()
            table = self._catalog.create_table_if_not_exists(self._name, schema, properties={_RETRIES: "0"})
            if table.properties.get(_RETRIES) != "0":
                with table.transaction() as transaction:
                    transaction.set_properties({_RETRIES: "0"})
            self._table = table
            self._compare(table, schema)
            self._partition(table)
        return _progress(table)

    def staging(self, job: str) -> Path:
        """Where the files of a job are written, and stay."""
        return self._data(self._open()) / job

    def _namespace(self) -> str:
        namespace, dot, _ = self._name.rpartition(".")
        if not dot:
            raise OptionError(f"{self._name!r} is not NAMESPACE.TABLE")
        return namespace

    def _refuse_other_kind(self) -> None:
        """The catalog chooses the folder of a new table, and says which when the table is staged."""
        from pyiceberg.schema import Schema

        staged = self._catalog.create_table_transaction(self._name, Schema())
        refuse_other_kind(self._folder(staged.table_metadata.location), "iceberg")

    def _data(self, table: "Table") -> Path:
        return self._folder(table.location()) / "data"

    def _folder(self, location: str) -> Path:
        parsed = urlparse(location)
        if parsed.scheme not in ("", "file"):
            raise OptionError(f"{self._name} lies on {parsed.scheme}: object stores are not written to")
        return Path(unquote(parsed.path))

    def collect(self, older_than_seconds: float) -> int:
        """Removes what jobs left behind that died before their commit; returns how many folders."""
        if not self._catalog.table_exists(self._name):
            raise OptionError(f"the catalog has no table {self._name}")
        table = self._catalog.load_table(self._name)
        return remove_orphans(self._data(table), lambda: _named(table.refresh()), older_than_seconds)

    def commit(self, commit: ExportCommit) -> None:
        """Adds the files and moves the progress, both or neither; raises `FencedError`."""
        from pyiceberg.exceptions import CommitFailedException

        paths = [Path(file.path).as_uri() for file in commit.files]
        if not paths:
            # Without a snapshot nothing would hold this commit against another; the next one covers the gap.
            return
        staging = self.staging(commit.job)
        sync_names(staging, staging.parent.parent)
        progress = json.dumps(commit.end.plain())
        marks = {_PROGRESS: progress, _JOB: commit.job}
        try:
            logging.getLogger(_WARNS_OF_STATISTICS).setLevel(logging.ERROR)
            with naming(staging.parent.parent), self._open().transaction() as transaction:
                transaction.add_files(paths, snapshot_properties=marks, check_duplicate_files=False)
                transaction.set_properties({_PROGRESS: progress})
        except CommitFailedException as error:
            raise FencedError(f"{self._name}: another job committed first: {error}") from error

    def _compare(self, table: "Table", schema: pa.Schema) -> None:
        """Holds the columns of the table against those that are wanted."""
        from pyiceberg.io.pyarrow import pyarrow_to_schema

        found = [f"{field.name} {field.field_type}" for field in table.schema().fields]
        if table.schema().column_names == schema.names:
            wanted = pyarrow_to_schema(schema, table.schema().name_mapping)
            if found == [f"{field.name} {field.field_type}" for field in wanted.fields]:
                return
        raise OptionError(f"{self._name} has other columns: {', '.join(found)}")

    def _partition(self, table: "Table") -> None:
        """Says how the table is partitioned while it is empty, and holds it to that from then on."""
        from pyiceberg.transforms import DayTransform, HourTransform, IdentityTransform, Transform

        columns: dict[PartitionBy, tuple[str, Transform[Any, Any]]] = {
            PartitionBy.PARTITION: ("partition", IdentityTransform()),
            PartitionBy.DAY: ("timestamp", DayTransform()),
            PartitionBy.HOUR: ("timestamp", HourTransform()),
        }
        wanted = columns.get(self._partition_by)
        if wanted is not None and not table.spec().fields and table.current_snapshot() is None:
            with table.update_spec() as update:
                update.add_field(*wanted, f"by_{self._partition_by.value}")
        found = [field.name for field in table.spec().fields]
        if found != ([] if wanted is None else [f"by_{self._partition_by.value}"]):
            raise OptionError(f"{self._name} is partitioned by {', '.join(found) or 'nothing'}")

    def _open(self) -> "Table":
        if self._table is None:
            raise OptionError(f"{self._name} was not opened")
        return self._table


def _named(table: "Table") -> set[str]:
    """The jobs of the files of every snapshot that can still be read."""
    manifests = {
        manifest.manifest_path: manifest
        for snapshot in table.snapshots()
        for manifest in snapshot.manifests(table.io)
    }
    return {
        Path(entry.data_file.file_path).parent.name
        for manifest in manifests.values()
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False)
    }


def _progress(table: "Table") -> Progress:
    found = table.properties.get(_PROGRESS)
    return Progress("", {}) if found is None else Progress.of(json.loads(found))
