"""Payloads of a declared schema: JSON objects, and Avro records without their header."""

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa

from server_ng.spark.errors import OptionError

__all__ = ["UNFIT", "Decoder", "decoder"]

UNFIT: Final = (
    ValueError,
    TypeError,
    LookupError,
    EOFError,
    # A number beyond its column, or values within values without end.
    OverflowError,
    RecursionError,
)
"""What a payload that does not fit its schema may raise, here and where it becomes a value of Arrow."""


@dataclass(frozen=True, slots=True)
class Decoder:
    """The columns of a payload, and how it is read; raises one of `UNFIT` where it does not fit."""

    fields: list[pa.Field]
    decode: Callable[[bytes], Mapping[str, Any]]


def decoder(value_format: str, declared: str) -> Decoder:
    """For a format and the text of a schema; raises `OptionError`."""
    made = {"json": _json, "avro": _avro}.get(value_format)
    if made is None:
        raise OptionError(f"{value_format!r} is none of raw, json, avro")
    try:
        return made(json.loads(declared))
    except (*UNFIT, AttributeError) as error:
        raise OptionError(f"the schema cannot be used: {error}") from error


def _whole(bits: int) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if type(value) is not int or not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise ValueError(f"{value!r} is not a number of {bits} bits")
        return value

    return check


def _of(*kinds: type) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if type(value) not in kinds:
            raise ValueError(f"{value!r} is not a {kinds[0].__name__}")
        return value

    return check


def _time(value: Any) -> datetime:
    found = datetime.fromisoformat(_of(str)(value))
    # In UTC it may lie beyond the years that there are.
    return found.astimezone(UTC) if found.tzinfo is not None else found.replace(tzinfo=UTC)


_JSON_KINDS: Final[dict[str, tuple[pa.DataType, Callable[[Any], Any]]]] = {
    "boolean": (pa.bool_(), _of(bool)),
    "int": (pa.int32(), _whole(32)),
    "long": (pa.int64(), _whole(64)),
    "double": (pa.float64(), lambda value: float(_of(float, int)(value))),
    "string": (pa.string(), _of(str)),
    "timestamp": (pa.timestamp("us", tz="UTC"), _time),
}


def _json(declared: Any) -> Decoder:
    """The schema is an object of names and kinds; what is missing is null, what it does not name is lost."""
    for name, kind in declared.items():
        if kind not in _JSON_KINDS:
            raise ValueError(f"{name}: {kind!r} is none of {', '.join(_JSON_KINDS)}")
    checks = {name: _JSON_KINDS[kind][1] for name, kind in declared.items()}

    def decode(payload: bytes) -> Mapping[str, Any]:
        found = json.loads(payload)
        row = {}
        for name, check in checks.items():
            value = _of(dict)(found).get(name)
            try:
                row[name] = None if value is None else check(value)
            except UNFIT as error:
                raise ValueError(f"{name}: {error}") from error
        return row

    return Decoder([pa.field(name, _JSON_KINDS[kind][0]) for name, kind in declared.items()], decode)


_AVRO_KINDS: Final[dict[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
    "timestamp-micros": pa.timestamp("us", tz="UTC"),
    "timestamp-millis": pa.timestamp("us", tz="UTC"),
}


def _avro(declared: Any) -> Decoder:
    """The schema is that of an Avro record; of unions only those with null are known."""
    try:
        import fastavro
    except ImportError as error:
        raise OptionError("payloads of Avro need the extra avro of server-ng") from error
    from fastavro.schema import SchemaParseException, UnknownType

    try:
        schema: Any = fastavro.parse_schema(declared)
    except (SchemaParseException, UnknownType) as error:
        raise ValueError(f"it is no schema of Avro: {error}") from error
    fields = [pa.field(field["name"], _avro_kind(field["name"], field["type"])) for field in schema["fields"]]

    def decode(payload: bytes) -> Mapping[str, Any]:
        stream = io.BytesIO(payload)
        try:
            row: Any = fastavro.schemaless_reader(stream, schema, None)
        except UNFIT as error:
            raise ValueError(f"not a record of the schema: {error!r}") from error
        if stream.tell() != len(payload):
            raise ValueError(f"{len(payload) - stream.tell()} bytes follow the record")
        return dict(row)

    return Decoder(fields, decode)


def _avro_kind(name: str, kind: Any) -> pa.DataType:
    if isinstance(kind, list):
        some = [each for each in kind if each != "null"]
        if len(some) == 1 and len(kind) == 2:
            return _avro_kind(name, some[0])
    if isinstance(kind, dict):
        kind = kind.get("logicalType", kind["type"])
    if not isinstance(kind, str) or kind not in _AVRO_KINDS:
        raise ValueError(f"{name}: {kind!r} is none of {', '.join(_AVRO_KINDS)}")
    return _AVRO_KINDS[kind]
