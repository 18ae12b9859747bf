"""Data files as they are written: on the disk, and not part of a table yet."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from server_ng.spark.export.syncing import sync

__all__ = ["DataFile", "FileRun"]

_COMPRESSION: Final = "zstd"


@dataclass(frozen=True, slots=True)
class DataFile:
    """Rows of a run of offsets of one partition."""

    path: str
    partition: int
    first_offset: int
    end_offset: int
    """The next file of the partition begins here, or behind it, whatever the offset of the last row."""
    rows: int
    bytes: int
    part: str = ""
    """The day, hour or partition that all rows are of, if the table asks for that."""
    dead: bool = False
    """Whether they are dead letters."""


class FileRun:
    """Files of one run of rows, one after the other: a part that ends ends its file."""

    def __init__(self, folder: Path, schema: pa.Schema, partition: int, bounds: tuple[int, int]) -> None:
        self._folder, self._schema, self._partition = folder, schema, partition
        self._first, self._end = bounds
        self._writer: pq.ParquetWriter | None = None
        self._path = folder
        self._part = ""
        self._rows = 0
        self.files: list[DataFile] = []

    def write(self, part: str, rows: pa.RecordBatch) -> None:
        """Rows that follow those before."""
        if not rows.num_rows:
            return
        if self._writer is not None and part != self._part:
            self._close(rows.column("offset")[0].as_py())
        if self._writer is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._path, self._part = self._folder / f"{uuid4().hex}.parquet", part
            self._writer = _writer(self._path, self._schema)
        self._writer.write_batch(rows)
        self._rows += rows.num_rows

    def finish(self, *, dead: bool = False) -> list[DataFile]:
        """Ends and syncs the last file; returns all."""
        if self._writer is not None:
            self._close(self._end, dead=dead)
        return self.files

    def _close(self, end: int, *, dead: bool = False) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer = None
        sync(self._path)
        size = self._path.stat().st_size
        self.files.append(
            DataFile(str(self._path), self._partition, self._first, end, self._rows, size, self._part, dead)
        )
        self._first, self._rows = end, 0


def _writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    # Payloads seldom come again, and nobody looks for those between two others; offsets grow by little.
    short = [field.name for field in schema if field.name == "key" or field.type != pa.binary()]
    return pq.ParquetWriter(
        path,
        schema,
        compression=_COMPRESSION,
        use_dictionary=[name for name in short if name != "offset"],
        write_statistics=short,
        column_encoding={"offset": "DELTA_BINARY_PACKED"},
    )
