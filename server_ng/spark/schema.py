"""The columns of a topic: Kafka's first, then ours."""

from collections.abc import Sequence
from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from server_ng.spark.errors import OptionError
from server_ng.spark.options import Options
from server_ng.wire.tables import Columns

__all__ = ["COLUMNS", "check", "declared", "native_columns"]

_HEADER: Final = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_TYPED_HEADER: Final = StructType([*_HEADER.fields, StructField("kind", ByteType())])
COLUMNS: Final[dict[str, tuple[DataType, Columns]]] = {
    "key": (BinaryType(), Columns.KEY),
    "value": (BinaryType(), Columns.VALUE),
    "topic": (StringType(), Columns(0)),
    "partition": (IntegerType(), Columns(0)),
    "offset": (LongType(), Columns.OFFSET),
    "timestamp": (TimestampType(), Columns.TIMESTAMP),
    "timestampType": (IntegerType(), Columns(0)),
    "headers": (ArrayType(_HEADER), Columns.HEADERS),
    "typed_headers": (ArrayType(_TYPED_HEADER), Columns.HEADERS),
    "stream": (StringType(), Columns(0)),
    "id": (BinaryType(), Columns.ID),
    "origin_timestamp": (TimestampType(), Columns.ORIGIN),
    "tombstone": (BooleanType(), Columns.TOMBSTONE),
    "user_headers": (BinaryType(), Columns.USER_HEADERS),
    "segment_start": (LongType(), Columns(0)),
}
_NULLABLE: Final = frozenset({"key", "headers", "typed_headers"})
"""A message may have no key, and bytes that are no headers. Spark need not look for other nulls."""
_BY_DEFAULT: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")


def declared(options: Options) -> StructType:
    """The schema that the options ask for."""
    names = options.columns
    if names is None:
        names = (*_BY_DEFAULT, "headers") if options.include_headers else _BY_DEFAULT
    for name in names:
        if name not in COLUMNS:
            raise OptionError(f"columns: {name!r} is not a column; these are: {', '.join(COLUMNS)}")
    if len(set(names)) != len(names) or not names:
        raise OptionError("columns: each once, and one at least")
    return StructType([StructField(name, COLUMNS[name][0], name in _NULLABLE) for name in names])


def check(schema: StructType) -> None:
    """A schema that the user gave prunes columns, and cannot change their types."""
    for field in schema.fields:
        known = COLUMNS.get(field.name)
        if known is None:
            raise OptionError(f"schema: {field.name!r} is not a column; these are: {', '.join(COLUMNS)}")
        if field.dataType != known[0]:
            raise OptionError(f"schema: {field.name} is {known[0].simpleString()}")


def native_columns(names: Sequence[str]) -> Columns:
    """What is to be decoded for these columns."""
    found = Columns(0)
    for name in names:
        found |= COLUMNS[name][1]
    return found
