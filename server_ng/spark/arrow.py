"""Decoded columns as Arrow arrays, over the same memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from server_ng.segments.columns import DecodedColumns
from server_ng.wire.tables import Place

__all__ = ["Origin", "record_batch"]

_APPEND_TIME: Final = 1


@dataclass(frozen=True, slots=True)
class Origin:
    """What all rows of a batch share."""

    stream: str
    topic: str
    partition: int
    segment_start: int


def record_batch(columns: DecodedColumns, origin: Origin, schema: pa.Schema) -> pa.RecordBatch:
    """A batch of this schema, whose names are those of the source's columns."""
    arrays = [_ARRAYS[field.name](columns, origin, field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _buffer(columns: DecodedColumns, place: Place) -> pa.Buffer:
    start, length = columns.place(place)
    return columns.arena.slice(start, length)


def _numbers(place: Place) -> Callable[[DecodedColumns, Origin, pa.DataType], pa.Array]:
    def build(columns: DecodedColumns, _: Origin, kind: pa.DataType) -> pa.Array:
        return pa.Array.from_buffers(kind, columns.rows, [None, _buffer(columns, place)])

    return build


def _texts(ends: Place, data: Place, valid: Place | None = None) -> Callable[..., pa.Array]:
    def build(columns: DecodedColumns, _: Origin, kind: pa.DataType) -> pa.Array:
        bits = None if valid is None else _buffer(columns, valid)
        return pa.Array.from_buffers(
            kind, columns.rows, [bits, _buffer(columns, ends), _buffer(columns, data)]
        )

    return build


def _constant(value: Callable[[Origin], object]) -> Callable[..., pa.Array]:
    def build(columns: DecodedColumns, origin: Origin, kind: pa.DataType) -> pa.Array:
        return pa.repeat(pa.scalar(value(origin), kind), columns.rows)

    return build


def _headers(columns: DecodedColumns, _: Origin, kind: pa.DataType) -> pa.Array:
    ends = _buffer(columns, Place.HEADERS_ENDS)
    count = pa.Array.from_buffers(pa.int32(), columns.rows + 1, [None, ends])[columns.rows].as_py()
    fields = kind.value_type

    def texts(name: str, place: Place, data: Place) -> pa.Array:
        buffers = [None, _buffer(columns, place), _buffer(columns, data)]
        return pa.Array.from_buffers(fields.field(name).type, count, buffers)

    children = [
        texts("key", Place.HEADER_KEY_ENDS, Place.HEADER_KEY),
        texts("value", Place.HEADER_VALUE_ENDS, Place.HEADER_VALUE),
    ]
    if fields.num_fields > len(children):
        kinds = _buffer(columns, Place.HEADER_KIND)
        children.append(pa.Array.from_buffers(fields.field("kind").type, count, [None, kinds]))
    structs = pa.Array.from_buffers(fields, count, [None], children=children)
    bits = _buffer(columns, Place.HEADERS_VALID)
    return pa.Array.from_buffers(kind, columns.rows, [bits, ends], children=[structs])


_ARRAYS: Final[dict[str, Callable[..., pa.Array]]] = {
    "key": _texts(Place.KEY_ENDS, Place.KEY, Place.KEY_VALID),
    "value": _texts(Place.VALUE_ENDS, Place.VALUE),
    "topic": _constant(lambda origin: origin.topic),
    "partition": _constant(lambda origin: origin.partition),
    "offset": _numbers(Place.OFFSET),
    "timestamp": _numbers(Place.TIMESTAMP),
    "timestampType": _constant(lambda _: _APPEND_TIME),
    "headers": _headers,
    "typed_headers": _headers,
    "stream": _constant(lambda origin: origin.stream),
    "id": _texts(Place.ID_ENDS, Place.ID),
    "origin_timestamp": _numbers(Place.ORIGIN),
    "tombstone": _numbers(Place.TOMBSTONE),
    "user_headers": _texts(Place.USER_HEADERS_ENDS, Place.USER_HEADERS),
    "segment_start": _constant(lambda origin: origin.segment_start),
}
