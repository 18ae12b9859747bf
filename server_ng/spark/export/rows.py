"""What a topic becomes in a table: columns of its messages, and of payloads where a schema says how."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from server_ng.segments.columns import Columns
from server_ng.spark.errors import OptionError
from server_ng.spark.export.payload import Decoder, decoder

__all__ = ["COLUMNS", "DEAD_LETTER_SCHEMA", "RAW_SCHEMA", "Rows", "Shape", "shaped"]

COLUMNS: Final = Columns.KEY | Columns.VALUE | Columns.OFFSET | Columns.TIMESTAMP
_TIME: Final = pa.timestamp("us", tz="UTC")
_PLACE: Final = [
    pa.field("partition", pa.int32(), nullable=False),
    pa.field("offset", pa.int64(), nullable=False),
    pa.field("timestamp", _TIME, nullable=False),
    pa.field("key", pa.binary()),
]
RAW_SCHEMA: Final = pa.schema([*_PLACE, pa.field("value", pa.binary())])
DEAD_LETTER_SCHEMA: Final = pa.schema([*RAW_SCHEMA, pa.field("reason", pa.string())])


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of the table, and the messages that fit no row."""

    good: pa.RecordBatch
    bad: pa.RecordBatch


@dataclass(frozen=True, slots=True)
class Shape:
    """How payloads are read: not at all, or as JSON or Avro of a declared schema."""

    value_format: str = "raw"
    declared: str = ""
    """The text of the schema."""

    @classmethod
    def of(cls, value_format: str, schema: Path | None) -> "Shape":
        """With the schema in a file; raises `OptionError`."""
        if (value_format == "raw") != (schema is None):
            raise OptionError("payloads of JSON and Avro need a schema, and raw ones have none")
        try:
            text = "" if schema is None else schema.read_text()
        except OSError as error:
            raise OptionError(f"{schema} cannot be read: {error.strerror}") from error
        shape = cls(value_format, text)
        shape.schema()
        return shape

    def schema(self) -> pa.Schema:
        """Of the table."""
        if self.value_format == "raw":
            return RAW_SCHEMA
        return pa.schema([*_PLACE, *self.decoder().fields])

    def decoder(self) -> Decoder:
        """Reads one payload; made anew in each task."""
        return decoder(self.value_format, self.declared)


def shaped(raw: pa.RecordBatch, schema: pa.Schema, reader: Decoder | None) -> Rows:
    """Splits a batch of raw messages in rows and dead letters."""
    if reader is None:
        return Rows(raw, raw.slice(0, 0))
    decoded: list[Any] = []
    good: list[int] = []
    bad: list[int] = []
    reasons: list[str] = []
    for index, payload in enumerate(raw.column("value").to_pylist()):
        try:
            decoded.append(reader.decode(payload))
            good.append(index)
        except ValueError as error:
            bad.append(index)
            reasons.append(str(error)[:500])
    kept = raw.take(pa.array(good, pa.int64()))
    values = [
        pa.array([row[field.name] for row in decoded], field.type) for field in list(schema)[len(_PLACE) :]
    ]
    rows = pa.RecordBatch.from_arrays([*kept.columns[: len(_PLACE)], *values], schema=schema)
    lost = raw.take(pa.array(bad, pa.int64()))
    letters = pa.RecordBatch.from_arrays(
        [*lost.columns, pa.array(reasons, pa.string())], schema=DEAD_LETTER_SCHEMA
    )
    return Rows(rows, letters)
