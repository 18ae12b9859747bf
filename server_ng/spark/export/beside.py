"""Dead letters in a table of their own, beside one whose commits cannot hold both.

They are committed first, with their own progress. A job that dies between the two commits does its rows
again, and leaves out the dead letters that are there; of two jobs at once one is fenced by either commit.
"""

from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from server_ng.segments.lease import Lease
from server_ng.spark.export.rows import DEAD_LETTER_SCHEMA
from server_ng.spark.export.target import EXPORT_REMEDIES, ExportCommit
from server_ng.spark.progress import Progress, check

__all__ = ["Rows", "WithDeadLetters"]


class Rows(Protocol):
    """A table of one kind of rows."""

    def progress(self, lease: Lease) -> Progress:
        """As of `Target`."""

    def begin(self, schema: pa.Schema, lease: Lease) -> Progress:
        """As of `Target`."""

    def staging(self, job: str) -> Path:
        """As of `Target`."""

    def commit(self, commit: ExportCommit) -> None:
        """As of `Target`."""

    def collect(self, older_than_seconds: float) -> int:
        """As of `Target`."""


class WithDeadLetters:
    """A target of two tables; the second one is made if dead letters are wanted."""

    def __init__(self, rows: Rows, letters: Rows, *, wanted: bool) -> None:
        self._rows, self._letters, self._wanted = rows, letters, wanted
        self._there = Progress("", {})

    def progress(self, lease: Lease) -> Progress:
        """How far the table of rows has come."""
        return self._rows.progress(lease)

    def begin(self, schema: pa.Schema, lease: Lease) -> Progress:
        """Makes the tables if there are none, and says how far the one of rows has come."""
        found = self._rows.begin(schema, lease)
        if self._wanted:
            self._there = self._letters.begin(DEAD_LETTER_SCHEMA, lease)
            check(self._there, lease, strict=False, restart=False, remedies=EXPORT_REMEDIES)
        return found

    def staging(self, job: str) -> Path:
        """Where the files of a job are written."""
        return self._rows.staging(job)

    def dead_letters(self, job: str) -> Path:
        """Where those of a job are written."""
        return self._letters.staging(job)

    def dead_letters_from(self, partition: int) -> int:
        """How far the table of dead letters has come."""
        point = self._there.points.get(partition)
        return 0 if point is None else point.offset

    def commit(self, commit: ExportCommit) -> None:
        """Adds dead letters, then rows with the progress of the target."""
        dead = [file for file in commit.files if file.dead]
        if dead:
            self._letters.commit(replace(commit, files=dead, schema=DEAD_LETTER_SCHEMA))
        self._rows.commit(replace(commit, files=[file for file in commit.files if not file.dead]))

    def collect(self, older_than_seconds: float) -> int:
        """Of the table of rows, and if they are wanted of the dead letters."""
        letters = self._letters.collect(older_than_seconds) if self._wanted else 0
        return letters + self._rows.collect(older_than_seconds)
