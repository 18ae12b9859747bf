"""A leaf of the configuration: one value with its kind, bounds, unit and sentence."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from server_ng.config.address import parse_address
from server_ng.config.consumer_idle import parse_consumer_idle
from server_ng.config.cpu_allocation import parse_cpu_allocation
from server_ng.config.duration import format_duration, parse_duration
from server_ng.config.errors import BadValueError, shown
from server_ng.config.size import format_size, parse_size

__all__ = [
    "ADDRESS",
    "BOOLEAN",
    "CONSUMER_IDLE",
    "COUNT",
    "CPUS",
    "DURATION",
    "PATH",
    "SIZE",
    "TEXT",
    "Kind",
    "Leaf",
    "Section",
    "choice",
    "is_utf8",
    "walk",
]


@dataclass(frozen=True, slots=True)
class Kind:
    """How one sort of value is read and written."""

    unit: str
    """The unit or the form of the value, for the documentation."""
    parse: Callable[[object], Any]
    """From TOML, from a variable, from the command line, or from an already parsed value."""
    show: Callable[[Any], str]
    """As a TOML literal that `parse` reads back."""


def _parse_bool(raw: object) -> bool:
    text = str(raw).strip().lower() if isinstance(raw, (str, bool)) else ""
    if text not in ("true", "false"):
        raise BadValueError(f"{shown(raw)} is neither true nor false.")
    return text == "true"


def _parse_count(raw: object) -> int:
    if isinstance(raw, int) and not isinstance(raw, bool):
        return raw
    text = raw.strip() if isinstance(raw, str) else ""
    # Eighteen digits fit 64 bits; a longer text is refused before it costs a conversion.
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise BadValueError(f"{shown(raw)} is not a whole number.")
    return int(text)


def _parse_text(raw: object) -> str:
    if not isinstance(raw, str) or not raw.strip() or not raw.isprintable() or len(raw.encode()) > 255:
        raise BadValueError("this is not a printable text of 1 to 255 bytes.")
    return raw


def is_utf8(text: str) -> bool:
    """Whether a text of the operating system can be written as UTF-8."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _parse_path(raw: object) -> Path:
    if isinstance(raw, Path):
        return raw
    # A folder name that is not UTF-8 could be used but not be written to a log or a file of ours.
    if not isinstance(raw, str) or not raw or "\0" in raw or not is_utf8(raw):
        raise BadValueError("this is not a path of UTF-8 text.")
    return Path(raw)


def _quoted(value: object) -> str:
    return json.dumps(str(value), ensure_ascii=False)


BOOLEAN = Kind("true or false", _parse_bool, lambda value: str(value).lower())
COUNT = Kind("a whole number", _parse_count, str)
DURATION = Kind("a duration", parse_duration, lambda value: _quoted(format_duration(value)))
SIZE = Kind("an amount of bytes", parse_size, lambda value: _quoted(format_size(value)))
ADDRESS = Kind("an IP address and a port", parse_address, _quoted)
PATH = Kind("a path", _parse_path, _quoted)
TEXT = Kind("a text", _parse_text, _quoted)
CONSUMER_IDLE = Kind("a duration, all or none", parse_consumer_idle, _quoted)
CPUS = Kind(
    "auto, all, a count, a range such as 0..4, numa:auto or numa:nodes=0,1;cores=4;no_ht=true",
    parse_cpu_allocation,
    _quoted,
)


def choice(*words: str, synonyms: tuple[tuple[str, str], ...] = ()) -> Kind:
    """A kind with a closed list of words; each synonym is read as its word."""
    known = {word: word for word in words} | dict(synonyms)

    def parse(raw: object) -> str:
        word = known.get(raw.strip().lower()) if isinstance(raw, str) else None
        if word is None:
            raise BadValueError(f"{shown(raw)} is not one of {', '.join(words)}.")
        return word

    return Kind(f"one of {', '.join(words)}", parse, _quoted)


@dataclass(frozen=True, slots=True)
class Leaf:
    """What is known about one value; pydantic calls it to read the value."""

    kind: Kind
    meaning: str
    """One sentence for the operator."""
    at_least: int | timedelta | None = None
    at_most: int | timedelta | None = None
    counts: str = ""
    """What a `COUNT` counts."""
    reloadable: bool = False
    """Whether a running server takes a new value on SIGHUP."""
    iggy: bool = False
    """Whether Iggy has the key with this meaning, so that its ``IGGY_*`` variable is honoured."""

    @property
    def unit(self) -> str:
        """What the value is measured in."""
        return self.counts or self.kind.unit

    @property
    def bounds(self) -> str:
        """The bounds as the operator would write them, or an empty text."""
        show = self.kind.show
        low = "" if self.at_least is None else show(self.at_least).strip('"')
        high = "" if self.at_most is None else show(self.at_most).strip('"')
        return (
            f"{low} to {high}"
            if low and high
            else f"at least {low}"
            if low
            else f"at most {high}"
            if high
            else ""
        )

    def accept(self, raw: object) -> Any:
        """`raw` as a value within the bounds; raises `BadValueError`."""
        value = self.kind.parse(raw)
        low = self.at_least is not None and value < self.at_least
        high = self.at_most is not None and value > self.at_most
        if low or high:
            raise BadValueError(
                f"{self.kind.show(value).strip(chr(34))} is out of bounds.", f"The bounds are {self.bounds}."
            )
        return value

    def __get_pydantic_core_schema__(self, _source: object, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.accept)


class Section(BaseModel):
    """A table of the configuration: immutable, and closed to unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def walk(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, Leaf]]:
    """Every leaf below `model` with its dotted key, in the order of declaration."""
    for name, field in model.model_fields.items():
        leaf = next((entry for entry in field.metadata if isinstance(entry, Leaf)), None)
        if leaf is not None:
            yield f"{prefix}{name}", leaf
        elif isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from walk(field.annotation, f"{prefix}{name}.")
