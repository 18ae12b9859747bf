"""Records the engine sends: values and their decoding."""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from typing_extensions import override

from server_ng.engine.errors import MalformedRecordError
from server_ng.engine.records.layout import Frame, frames, take_string
from server_ng.wire.cuts import CutSegment
from server_ng.wire.reconcile import HeldGroup, ReconcileAnswer
from server_ng.wire.tables import (
    AdoptionEnd,
    CutEnd,
    EvictionReason,
    HeldState,
    ReconcileKind,
    ReconcileOutcome,
    SessionChange,
    ToPython,
)

__all__ = [
    "Adopted",
    "Apply",
    "CaughtUp",
    "ControlRecord",
    "Cut",
    "Enrich",
    "Login",
    "NativeEvent",
    "Observed",
    "Progress",
    "Reconciled",
    "Record",
    "Rows",
    "Session",
    "StartFailed",
    "Started",
    "Stopped",
    "decode",
]

_EVENT = struct.Struct("<HQQQ")
_APPLY = struct.Struct("<QQQBI")
_ENRICH = struct.Struct("<BI")
_ANSWER = struct.Struct("<BQB")
_SESSION = struct.Struct("<BBQQQI")
_HELD = struct.Struct("<QB")
_CUT_HEAD = struct.Struct("<QQ")
_CUT_SEGMENT = struct.Struct("<QQQQQIIQQ")
_NO_OFFSET = (1 << 64) - 1
_NO_SHARD = 0xFFFF


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
class Enrich:
    """A command that needs a hash before the log takes it."""

    token: int
    operation: int
    user_id: int
    body: bytes
    """What the client sent; it holds a secret."""

    @override
    def __repr__(self) -> str:
        return f"Enrich(token={self.token}, operation={self.operation}, user_id={self.user_id})"


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


@dataclass(frozen=True, slots=True)
class Rows:
    """A piece of a whole metadata state."""

    op: int
    """The operation the state stands at."""
    last: bool
    deltas: bytes


@dataclass(frozen=True, slots=True)
class Apply:
    """A committed metadata operation."""

    op: int
    timestamp: int
    """Microseconds since the epoch, the same on every replica."""
    client: int
    operation: int
    user_id: int
    body: bytes
    """What the client sent; it may hold a secret."""

    @override
    def __repr__(self) -> str:
        return f"Apply(op={self.op}, operation={self.operation}, user_id={self.user_id})"


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """Everything that was in the journal at the start has been handed over."""

    op: int


@dataclass(frozen=True, slots=True)
class Reconciled:
    """How a shard gets on with a reconcile pass, or what became of a removal."""

    shard: int
    pass_number: int
    answers: tuple[ReconcileAnswer, ...]


@dataclass(frozen=True, slots=True)
class Observed:
    """A piece of what a shard holds at the start."""

    shard: int
    last: bool
    groups: tuple[HeldGroup, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """A piece of what came of a cut."""

    token: int
    last: bool
    end: CutEnd
    purge_generation: int = 0
    commit_offset: int | None = None
    segments: tuple[CutSegment, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Adopted:
    """What came of an adoption."""

    token: int
    end: AdoptionEnd
    why: str = ""


@dataclass(frozen=True, slots=True)
class Session:
    """A session that opened or ended."""

    sequence: int
    """How many such records the engine had made before, those without room included."""
    change: SessionChange
    reason: EvictionReason | None
    """Of an eviction."""
    number: int
    client: int
    user_id: int
    address: str


ControlRecord: TypeAlias = Rows | Apply | CaughtUp | Reconciled | Observed
Record: TypeAlias = (
    Login
    | Enrich
    | Session
    | Started
    | StartFailed
    | Stopped
    | NativeEvent
    | Progress
    | Cut
    | Adopted
    | ControlRecord
)


def decode(data: bytes) -> Iterator[Record]:
    """The records that `data` consists of."""
    try:
        for frame in frames(data):
            yield _DECODERS[ToPython(frame.kind)](frame)
    except (struct.error, ValueError, IndexError) as error:
        raise MalformedRecordError(f"a record cannot be read: {error}") from error


def _login(frame: Frame) -> Login:
    username, rest = take_string(frame.body)
    password, rest = take_string(rest)
    address, _ = take_string(rest)
    return Login(frame.token, username.decode(), password, address.decode())


def _enrich(frame: Frame) -> Enrich:
    operation, user_id = _ENRICH.unpack_from(frame.body)
    return Enrich(frame.token, operation, user_id, bytes(frame.body[_ENRICH.size :]))


def _session(frame: Frame) -> Session:
    code, eviction, number, low, high, user_id = _SESSION.unpack_from(frame.body)
    address, _ = take_string(frame.body[_SESSION.size :])
    change = SessionChange(code)
    reason = EvictionReason(eviction) if change == SessionChange.EVICTED else None
    return Session(frame.token, change, reason, number, high << 64 | low, user_id, address.decode())


def _start_failed(frame: Frame) -> StartFailed:
    reason, _ = take_string(frame.body[1:])
    shard = None if frame.shard == _NO_SHARD else frame.shard
    return StartFailed(shard, frame.body[0], reason.decode())


def _native_event(frame: Frame) -> NativeEvent:
    code, first, second, time_micros = _EVENT.unpack(frame.body)
    return NativeEvent(frame.shard, code, first, second, time_micros)


def _progress(frame: Frame) -> Progress:
    phrase, _ = take_string(frame.body)
    return Progress(phrase.decode())


def _apply(frame: Frame) -> Apply:
    timestamp, client_low, client_high, operation, user_id = _APPLY.unpack_from(frame.body)
    body = bytes(frame.body[_APPLY.size :])
    return Apply(frame.token, timestamp, client_high << 64 | client_low, operation, user_id, body)


def _caught_up(frame: Frame) -> CaughtUp:
    if frame.body:
        raise MalformedRecordError(f"{len(frame.body)} bytes where none belong")
    return CaughtUp(frame.token)


def _reconciled(frame: Frame) -> Reconciled:
    answers = tuple(
        ReconcileAnswer(ReconcileKind(kind), group, ReconcileOutcome(outcome))
        for kind, group, outcome in _ANSWER.iter_unpack(frame.body)
    )
    return Reconciled(frame.shard, frame.token, answers)


def _observed(frame: Frame) -> Observed:
    groups = tuple(HeldGroup(group, HeldState(state)) for group, state in _HELD.iter_unpack(frame.body[1:]))
    return Observed(frame.shard, _flag(frame.body), groups)


def _cut(frame: Frame) -> Cut:
    last, end = _flag(frame.body), CutEnd(frame.body[1])
    body = frame.body[2:]
    match end:
        case CutEnd.DONE:
            generation, commit = _CUT_HEAD.unpack_from(body)
            segments = tuple(map(_cut_segment, _CUT_SEGMENT.iter_unpack(body[_CUT_HEAD.size :])))
            offset = None if commit == _NO_OFFSET else commit
            return Cut(frame.token, last, end, generation, offset, segments)
        case CutEnd.FAILED | CutEnd.FULL:
            why, _ = take_string(body)
            return Cut(frame.token, last, end, why=why.decode(errors="replace"))
        case _:
            return Cut(frame.token, last, end)


def _cut_segment(fields: tuple[int, ...]) -> CutSegment:
    first, last, since, until, size, messages, generation, footer_low, footer_high = fields
    return CutSegment(first, last, since, until, size, messages, generation, footer_high << 64 | footer_low)


def _adopted(frame: Frame) -> Adopted:
    why, _ = take_string(frame.body[1:])
    return Adopted(frame.token, AdoptionEnd(frame.body[0]), why.decode(errors="replace"))


def _flag(body: memoryview) -> bool:
    if body[0] > 1:
        raise MalformedRecordError(f"a flag of {body[0]}")
    return bool(body[0])


_DECODERS: dict[ToPython, Callable[[Frame], Record]] = {
    ToPython.LOGIN: _login,
    ToPython.ENRICH: _enrich,
    ToPython.STARTED: lambda _: Started(),
    ToPython.START_FAILED: _start_failed,
    ToPython.STOPPED: lambda frame: Stopped(bool(frame.body[0])),
    ToPython.NATIVE_EVENT: _native_event,
    ToPython.PROGRESS: _progress,
    ToPython.ROWS: lambda frame: Rows(frame.token, _flag(frame.body), bytes(frame.body[1:])),
    ToPython.APPLY: _apply,
    ToPython.CAUGHT_UP: _caught_up,
    ToPython.RECONCILED: _reconciled,
    ToPython.OBSERVED: _observed,
    ToPython.CUT: _cut,
    ToPython.ADOPTED: _adopted,
    ToPython.SESSION: _session,
}
