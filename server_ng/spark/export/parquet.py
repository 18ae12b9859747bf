"""A directory of Parquet files with a log of commits beside them.

A commit is a file whose number is one higher than the last, made under another name, synced, and given its
name by a link, which fails if the name is taken: that is the commit point, and the fence. Only then do the
data files it lists get their places among those that readers see. Whoever begins next ends that step for a
job that died in it.
"""

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from server_ng.segments.lease import Lease
from server_ng.segments.naming import naming
from server_ng.spark.errors import FencedError, OptionError
from server_ng.spark.export.data_file import DataFile
from server_ng.spark.export.job_folders import remove_orphans
from server_ng.spark.export.partitioning import PartitionBy
from server_ng.spark.export.syncing import sync, sync_names
from server_ng.spark.export.target import ExportCommit
from server_ng.spark.progress import Progress

__all__ = ["ParquetTarget"]

_EMPTY: Final = Progress("", {})


class ParquetTarget:
    """A table for every reader of Parquet files."""

    def __init__(self, folder: Path, partition_by: PartitionBy = PartitionBy.NOTHING) -> None:
        self._folder, self._partition_by = folder, partition_by
        # Readers leave out what begins with an underscore.
        self._log = folder / "_server_ng" / "commits"
        self._staging = folder / "_server_ng" / "staging"
        self._dead = "_dead_letters"
        self._last = 0

    def progress(self, lease: Lease) -> Progress:  # noqa: ARG002 - of no use here
        """How far the table has come, if there is one; changes nothing."""
        last = self._last_commit()
        return Progress.of(self._commit(last)["progress"]) if last else _EMPTY

    def begin(self, schema: pa.Schema, lease: Lease) -> Progress:  # noqa: ARG002 - of no use here
        """Makes the table if there is none, ends what a crash left half done, says how far it has come."""
        self._log.mkdir(parents=True, exist_ok=True)
        self._last = self._last_commit()
        if not self._last:
            return _EMPTY
        found = self._commit(self._last)
        if found["schema"] != str(schema.remove_metadata()):
            raise OptionError(f"{self._folder} has other columns:\n{found['schema']}")
        if found.get("partition_by", PartitionBy.NOTHING) != self._partition_by:
            raise OptionError(f"{self._folder} is partitioned by {found.get('partition_by', 'nothing')}")
        self._publish(found)
        return Progress.of(found["progress"])

    def staging(self, job: str) -> Path:
        """Where the files of a job are written."""
        return self._staging / job

    def dead_letters(self, job: str) -> Path:
        """Beside the others: one commit names both."""
        return self.staging(job)

    def dead_letters_from(self, partition: int) -> int:  # noqa: ARG002 - the same for all
        """They are added with the rows."""
        return 0

    def commit(self, commit: ExportCommit) -> None:
        """Adds the files and moves the progress, both or neither; raises `FencedError`."""
        number = self._last + 1
        content = {
            "version": 1,
            "job": commit.job,
            "stream": commit.stream,
            "topic": commit.topic,
            "schema": str(commit.schema.remove_metadata()),
            "partition_by": self._partition_by.value,
            "progress": commit.end.plain(),
            "files": [self._entry(each) for each in commit.files],
        }
        if commit.files:
            sync_names(self.staging(commit.job), self._folder)
        prepared = self._log / f".{number:020}.{commit.job}"
        try:
            with naming(prepared):
                prepared.write_text(json.dumps(content))
                sync(prepared)
            os.link(prepared, self._log / f"{number:020}.json")
        except FileExistsError as error:
            raise FencedError(
                f"{self._folder}: another job made commit {number} first; nothing of this one was added"
            ) from error
        finally:
            prepared.unlink(missing_ok=True)
        sync(self._log)
        self._last = number
        self._publish(content)
        shutil.rmtree(self.staging(commit.job), ignore_errors=True)

    def collect(self, older_than_seconds: float) -> int:
        """Removes what jobs left behind that died before their commit; returns how many folders."""
        if not self._log.is_dir():
            raise OptionError(f"{self._folder} is no table that exports made")
        return remove_orphans(self._staging, self._named, older_than_seconds)

    def _named(self) -> set[str]:
        """The job of the last commit, whose files may not have got their places yet."""
        last = self._last_commit()
        files = self._commit(last)["files"] if last else []
        return {Path(entry["staged"]).parent.name for entry in files}

    def _last_commit(self) -> int:
        return max((int(each.stem) for each in self._log.glob("*.json")), default=0)

    def _commit(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self._log / f"{number:020}.json").read_text())
        return found

    def _entry(self, file: DataFile) -> dict[str, Any]:
        name = f"{file.partition:05}-{file.first_offset:020}-{file.end_offset:020}.parquet"
        if file.dead:
            name = f"{self._dead}/{name}"
        elif file.part:
            name = f"{self._partition_by}={file.part}/{name}"
        return {"name": name, "staged": self._below(file.path), "rows": file.rows, "bytes": file.bytes}

    def _below(self, path: str) -> str:
        """Relative, so that the directory may be moved."""
        return str(Path(path).relative_to(self._folder))

    def _publish(self, found: dict[str, Any]) -> None:
        """Gives the files of a commit their places; whoever comes second finds it done."""
        folders = {self._folder}
        for entry in found["files"]:
            place = self._folder / entry["name"]
            place.parent.mkdir(exist_ok=True)
            folders.add(place.parent)
            with suppress(FileNotFoundError):
                (self._folder / entry["staged"]).rename(place)
        for folder in sorted(folders, reverse=True):
            sync(folder)
