"""What a table must be able to do, so that an export into it is exactly once."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import pyarrow as pa

from server_ng.segments.lease import Lease
from server_ng.spark.export.data_file import DataFile
from server_ng.spark.progress import Progress, Remedies

__all__ = ["EXPORT_REMEDIES", "ExportCommit", "Target"]

EXPORT_REMEDIES: Final = Remedies("give --accept-loss", "export what it has now to another table")


@dataclass(frozen=True, slots=True)
class ExportCommit:
    """What becomes part of a table at once: rows, and how far they reach."""

    job: str
    stream: str
    topic: str
    start: Progress
    """As the table said when the job began; the commit holds only if it still says so."""
    end: Progress
    schema: pa.Schema
    files: Sequence[DataFile]


class Target(Protocol):
    """A table. `Progress` lives in its own commits, so that rows and progress are one."""

    def progress(self, lease: Lease) -> Progress:
        """How far the table has come, if there is one; changes nothing."""

    def begin(self, schema: pa.Schema, lease: Lease) -> Progress:
        """Makes the table if there is none, ends what a crash left half done, says how far it has come."""

    def staging(self, job: str) -> Path:
        """Where the files of a job are written."""

    def dead_letters(self, job: str) -> Path:
        """Where those of a job are written."""

    def dead_letters_from(self, partition: int) -> int:
        """Those of lower offsets are there already, whatever the table says of its rows."""

    def commit(self, commit: ExportCommit) -> None:
        """Adds the files and moves the progress, both or neither; raises `FencedError`."""

    def collect(self, older_than_seconds: float) -> int:
        """Removes what jobs left behind that died before their commit; returns how many folders."""
