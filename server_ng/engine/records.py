"""Records: what crosses between the engine and Python, as values.

A record is a header (length u32, kind u16, shard u16, token u64) and a body; integers are little-endian,
strings a u32 length and UTF-8. `native/shard/src/record.rs` is the other half.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from typing_extensions import override

from server_ng.engine.errors import MalformedRecordError

__all__ = [
    "HostFigures",
    "Login",
    "LoginVerdict",
    "NativeEvent",
    "Progress",
    "Record",
    "StartFailed",
    "Started",
    "Stopped",
    "Verdict",
    "decode",
    "encode_host_figures",
    "encode_login_verdict",
    "encode_open_doors",
]

_HEADER = struct.Struct("<IHHQ")
_EVENT = struct.Struct("<HQQQ")
_VERDICT = struct.Struct("<BI")
_FIGURES = struct.Struct("<ffQQQQQIQQ")

_LOGIN, _STARTED, _START_FAILED, _STOPPED, _EVENT_KIND, _PROGRESS = 1, 2, 3, 4, 5, 6
_LOGIN_VERDICT, _HOST_FIGURES, _OPEN_DOORS = 1, 2, 3
_NO_SHARD = 0xFFFF


class Verdict(IntEnum):
    """What authentication says to a login."""

    ACCEPTED = 0
    REFUSED = 1
    BUSY = 2


@dataclass(frozen=True, slots=True)
class Login:
    """A password to verify."""

    token: int
    username: str
    password: bytes
    address: str

    @override
    def __repr__(self) -> str:
        return f"Login(token={self.token}, username={self.username!r}, address={self.address!r})"


@dataclass(frozen=True, slots=True)
class Started:
    """Every shard runs."""


@dataclass(frozen=True, slots=True)
class StartFailed:
    """The start failed; shards that run are stopped."""

    shard: int | None
    """Whose fault it was, if it was one shard's."""
    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """Every shard has stopped, or was given up."""

    in_order: bool


@dataclass(frozen=True, slots=True)
class NativeEvent:
    """Something for the log."""

    shard: int
    code: int
    first: int
    second: int
    time_micros: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How a start gets on."""

    phrase: str


Record: TypeAlias = Login | Started | StartFailed | Stopped | NativeEvent | Progress


@dataclass(frozen=True, slots=True)
class LoginVerdict:
    """The answer to a `Login`."""

    token: int
    verdict: Verdict
    user_id: int = 0


@dataclass(frozen=True, slots=True)
class HostFigures:
    """Figures of the host and the process, for statistics that clients ask for."""

    cpu_usage: float
    total_cpu_usage: float
    memory_usage: int
    total_memory: int
    available_memory: int
    read_bytes: int
    written_bytes: int
    threads_count: int
    free_disk_space: int
    total_disk_space: int
    hostname: str
    os_name: str
    os_version: str
    kernel_version: str


def decode(data: bytes) -> Iterator[Record]:
    """The records that `data` consists of."""
    view = memoryview(data)
    while view:
        try:
            length, kind, shard, token = _HEADER.unpack_from(view)
            body = view[_HEADER.size : length]
            if not _HEADER.size <= length <= len(view):
                raise MalformedRecordError(f"a record of {length} bytes in {len(view)}")
            yield _decode(kind, shard, token, body)
        except (struct.error, UnicodeDecodeError, IndexError) as error:
            raise MalformedRecordError(f"a record cannot be read: {error}") from error
        view = view[length:]


def _decode(kind: int, shard: int, token: int, body: memoryview) -> Record:
    match kind:
        case 1:
            username, body = _bytes(body)
            password, body = _bytes(body)
            address, _ = _bytes(body)
            return Login(token, username.decode(), password, address.decode())
        case 2:
            return Started()
        case 3:
            reason, _ = _bytes(body[1:])
            return StartFailed(None if shard == _NO_SHARD else shard, body[0], reason.decode())
        case 4:
            return Stopped(bool(body[0]))
        case 5:
            code, first, second, time_micros = _EVENT.unpack(body)
            return NativeEvent(shard, code, first, second, time_micros)
        case 6:
            phrase, _ = _bytes(body)
            return Progress(phrase.decode())
        case _:
            raise MalformedRecordError(f"a record of kind {kind}")


def _bytes(view: memoryview) -> tuple[bytes, memoryview]:
    (length,) = struct.unpack_from("<I", view)
    if length > len(view) - 4:
        raise MalformedRecordError(f"a string of {length} bytes in {len(view) - 4}")
    return bytes(view[4 : 4 + length]), view[4 + length :]


def encode_login_verdict(verdict: LoginVerdict) -> bytes:
    """A ``LOGIN_VERDICT`` record."""
    return _record(_LOGIN_VERDICT, verdict.token, _VERDICT.pack(verdict.verdict, verdict.user_id))


def encode_open_doors() -> bytes:
    """An ``OPEN_DOORS`` record."""
    return _record(_OPEN_DOORS, 0, b"")


def encode_host_figures(figures: HostFigures) -> bytes:
    """A ``HOST_FIGURES`` record."""
    body = _FIGURES.pack(
        figures.cpu_usage,
        figures.total_cpu_usage,
        figures.memory_usage,
        figures.total_memory,
        figures.available_memory,
        figures.read_bytes,
        figures.written_bytes,
        figures.threads_count,
        figures.free_disk_space,
        figures.total_disk_space,
    )
    texts = (figures.hostname, figures.os_name, figures.os_version, figures.kernel_version)
    return _record(_HOST_FIGURES, 0, body + b"".join(map(_string, texts)))


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<I", len(encoded)) + encoded


def _record(kind: int, token: int, body: bytes) -> bytes:
    return _HEADER.pack(_HEADER.size + len(body), kind, 0, token) + body
