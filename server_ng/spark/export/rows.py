"""What a topic becomes in a table: columns of its messages, and of payloads where a schema says how."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from server_ng.spark.errors import OptionError
from server_ng.spark.export.payload import UNFIT, Decoder, decoder
from server_ng.wire.tables import Columns

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
        fields = [*_PLACE, *self.decoder().fields]
        # Readers that know no cases would not tell them apart.
        names = Counter(field.name.lower() for field in fields)
        for field in fields[len(_PLACE) :]:
            if names[field.name.lower()] > 1:
                raise OptionError(f"the schema names {field.name!r}, which is a column of the table already")
        return pa.schema(fields)

    def decoder(self) -> Decoder:
        """Reads one payload; made anew in each task."""
        return decoder(self.value_format, self.declared)


def shaped(raw: pa.RecordBatch, schema: pa.Schema, reader: Decoder | None) -> Rows:
    """Splits a batch of raw messages in rows and dead letters."""
    if reader is None:
        return Rows(raw, raw.slice(0, 0))
    fields = list(schema)[len(_PLACE) :]
    decoded: dict[int, Mapping[str, Any]] = {}
    reasons: dict[int, str] = {}
    for index, payload in enumerate(raw.column("value").to_pylist()):
        try:
            decoded[index] = reader.decode(payload)
        except UNFIT as error:
            reasons[index] = _reason(error)
    try:
        values = _arrays(decoded.values(), fields)
    except UNFIT:
        # A value that Arrow cannot hold spoils its column: who has one is found row by row.
        for index, row in list(decoded.items()):
            try:
                _arrays([row], fields)
            except UNFIT as error:
                reasons[index] = _reason(error)
                del decoded[index]
        values = _arrays(decoded.values(), fields)
    kept = raw.take(pa.array(decoded, pa.int64()))
    rows = pa.RecordBatch.from_arrays([*kept.columns[: len(_PLACE)], *values], schema=schema)
    bad = sorted(reasons)
    lost = raw.take(pa.array(bad, pa.int64()))
    why = pa.array([reasons[index] for index in bad], pa.string())
    return Rows(rows, pa.RecordBatch.from_arrays([*lost.columns, why], schema=DEAD_LETTER_SCHEMA))


def _arrays(rows: Collection[Mapping[str, Any]], fields: Sequence[pa.Field]) -> list[pa.Array]:
    return [pa.array([row[field.name] for row in rows], field.type) for field in fields]


def _reason(error: Exception) -> str:
    """It may quote the payload, in which there may be what no text can hold."""
    return str(error)[:500].encode("utf-8", "backslashreplace").decode()
