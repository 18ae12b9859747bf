"""What a job may ask on the control socket: one JSON object a line."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from server_ng.leases.errors import LeaseRefusedError, Refusal
from server_ng.wire.adoptions import SEGMENTS_MAX

__all__ = [
    "AdoptSegments",
    "CutTopic",
    "InputName",
    "ListLeases",
    "OutputFile",
    "Release",
    "Renew",
    "Request",
    "parse",
]

_PARTITIONS_MAX: Final = 100_000
_SECONDS_MAX: Final = 10 * 365 * 86_400
_U32_END: Final = 1 << 32
_U64_END: Final = 1 << 64
_HEXADECIMAL: Final = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class CutTopic:
    """Make a lease of a topic."""

    stream: str | int
    topic: str | int
    partitions: frozenset[int] | None
    """Which ones; None for all."""
    ttl: float
    """Seconds it lasts unless it is renewed."""
    shared: bool = False
    """Whether a lease of the same, that somebody has already, will do: nobody releases such a one."""


@dataclass(frozen=True, slots=True)
class Renew:
    """Let a lease last for so long from now on."""

    lease: str
    ttl: float


@dataclass(frozen=True, slots=True)
class Release:
    """End a lease."""

    lease: str


@dataclass(frozen=True, slots=True)
class ListLeases:
    """Tell which leases there are."""


@dataclass(frozen=True, slots=True)
class InputName:
    """A segment of a lease."""

    first_offset: int
    generation: int


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file that stands for the offsets of a run of segments."""

    path: str
    """Below the lease's directory."""
    generation: int
    bytes: int
    first_offset: int
    last_offset: int
    messages: int
    min_timestamp: int
    max_timestamp: int
    digest: str


@dataclass(frozen=True, slots=True)
class AdoptSegments:
    """Let files take the place of segments of a partition."""

    lease: str
    partition: int
    inputs: tuple[InputName, ...]
    outputs: tuple[OutputFile, ...]


Request: TypeAlias = CutTopic | Renew | Release | ListLeases | AdoptSegments


def parse(line: bytes) -> Request:
    """Reads a line; raises `LeaseRefusedError`."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _bad(f"The line is not JSON: {error}.") from error
    if not isinstance(found, Mapping):
        raise _bad("The line is not a JSON object.")
    match found.get("verb"):
        case "cut":
            _only(found, "stream", "topic", "partitions", "ttl", "shared")
            return CutTopic(
                _name(found, "stream"),
                _name(found, "topic"),
                _partitions(found),
                _seconds(found, "ttl"),
                _flag(found, "shared"),
            )
        case "renew":
            _only(found, "lease", "ttl")
            return Renew(_text(found, "lease"), _seconds(found, "ttl"))
        case "release":
            _only(found, "lease")
            return Release(_text(found, "lease"))
        case "leases":
            _only(found)
            return ListLeases()
        case "adopt":
            _only(found, "lease", "partition", "inputs", "outputs")
            return AdoptSegments(
                _text(found, "lease"),
                _number(found, "partition", _U32_END),
                tuple(map(_input, _objects(found, "inputs"))),
                tuple(map(_output, _objects(found, "outputs"))),
            )
        case other:
            raise _bad(f"{other!r} is not a verb: cut, renew, release, leases and adopt are.")


def _bad(message: str) -> LeaseRefusedError:
    return LeaseRefusedError(Refusal.BAD_REQUEST, message)


def _only(found: Mapping[str, Any], *names: str) -> None:
    for name in found:
        if name != "verb" and name not in names:
            raise _bad(f"{found['verb']} knows no {name!r}; it takes {', '.join(names) or 'nothing'}.")


def _name(found: Mapping[str, Any], key: str) -> str | int:
    value = found.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise _bad(f"{key} must be a name or a number.")
    return value


def _flag(found: Mapping[str, Any], key: str) -> bool:
    value = found.get(key, False)
    if not isinstance(value, bool):
        raise _bad(f"{key} must be true or false.")
    return value


def _text(found: Mapping[str, Any], key: str) -> str:
    value = found.get(key)
    if not isinstance(value, str):
        raise _bad(f"{key} must be a text.")
    return value


def _seconds(found: Mapping[str, Any], key: str) -> float:
    value = found.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _SECONDS_MAX:
        raise _bad(f"{key} must be a number of seconds above 0.")
    return float(value)


def _partitions(found: Mapping[str, Any]) -> frozenset[int] | None:
    value = found.get("partitions")
    if value is None:
        return None
    if not isinstance(value, list) or not 0 < len(value) <= _PARTITIONS_MAX:
        raise _bad("partitions must be a list of numbers, or null for all.")
    if not all(isinstance(each, int) and not isinstance(each, bool) and each >= 0 for each in value):
        raise _bad("partitions must be a list of numbers, or null for all.")
    return frozenset(value)


def _objects(found: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    value = found.get(key)
    if not isinstance(value, list) or not 0 < len(value) <= SEGMENTS_MAX:
        raise _bad(f"{key} must be a list of 1 to {SEGMENTS_MAX} segments.")
    for each in value:
        if not isinstance(each, Mapping):
            raise _bad(f"{key} must be a list of objects.")
    return value


def _number(found: Mapping[str, Any], key: str, end: int) -> int:
    value = found.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < end:
        raise _bad(f"{key} must be a number from 0, below {end}.")
    return value


def _input(found: Mapping[str, Any]) -> InputName:
    return InputName(_number(found, "first_offset", _U64_END - 1), _number(found, "generation", _U32_END))


def _output(found: Mapping[str, Any]) -> OutputFile:
    digest = _text(found, "digest")
    if len(digest) != 32 or not set(digest) <= _HEXADECIMAL:
        raise _bad("digest must be 32 hexadecimal digits.")
    return OutputFile(
        path=_text(found, "path"),
        generation=_number(found, "generation", _U32_END),
        bytes=_number(found, "bytes", _U64_END),
        first_offset=_number(found, "first_offset", _U64_END - 1),
        last_offset=_number(found, "last_offset", _U64_END - 1),
        messages=_number(found, "messages", _U32_END),
        min_timestamp=_number(found, "min_timestamp", _U64_END),
        max_timestamp=_number(found, "max_timestamp", _U64_END),
        digest=digest,
    )
