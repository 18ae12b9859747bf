"""Records the engine is sent: values and their encoding."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from server_ng.engine.records.layout import HEADER_BYTES, record, string
from server_ng.wire.reconcile import ReconcileOp
from server_ng.wire.tables import FromPython, Operation, ReplyKind, Verdict

__all__ = [
    "Applied",
    "HostFigures",
    "LoginVerdict",
    "encode_adopt",
    "encode_applied",
    "encode_converged",
    "encode_cut",
    "encode_enriched",
    "encode_host_figures",
    "encode_login_verdict",
    "encode_open_doors",
    "encode_proposal",
    "encode_reconcile",
]

_VERDICT = struct.Struct("<BI")
_RESULT = struct.Struct("<I")
_FIGURES = struct.Struct("<ffQQQQQIQQ")
_APPLIED_HEAD = struct.Struct("<IBIIQ")
_RECONCILE_OP = struct.Struct("<BQQ")
_CUT_GROUP = struct.Struct("<Q")
_ADOPT_HEAD = struct.Struct("<QI")

# The ring holds 256 KiB, and a record larger than that would never find room.
_DELTAS_MAX: Final = 128 * 1024
_OPS_MAX: Final = (60 * 1024 - HEADER_BYTES) // _RECONCILE_OP.size


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


@dataclass(frozen=True, slots=True)
class Applied:
    """The answer to an `Apply`."""

    op: int
    result: int
    """0 or an error code."""
    reply: ReplyKind
    stream: int
    """The stream of the reply, or its user."""
    topic: int
    revision: int
    """Where the shards must stand before the client is answered; 0 if it need not wait."""
    deltas: bytes


def encode_login_verdict(verdict: LoginVerdict) -> bytes:
    """A ``LOGIN_VERDICT`` record."""
    return record(FromPython.LOGIN_VERDICT, verdict.token, _VERDICT.pack(verdict.verdict, verdict.user_id))


def encode_open_doors() -> bytes:
    """An ``OPEN_DOORS`` record."""
    return record(FromPython.OPEN_DOORS, 0, b"")


def encode_enriched(token: int, result: int, body: bytes = b"") -> bytes:
    """An ``ENRICHED`` record: the body that goes into the log, or an error code."""
    return record(FromPython.ENRICHED, token, _RESULT.pack(result) + body)


def encode_proposal(operation: Operation, body: bytes) -> bytes:
    """A ``PROPOSE`` record: an operation that the control plane itself wants in the metadata's log."""
    return record(FromPython.PROPOSE, 0, bytes([operation]) + body)


def encode_applied(applied: Applied) -> bytes:
    """An ``APPLIED`` record; what its deltas have too many of goes before it, as ``APPLIED_PART`` records."""
    deltas = applied.deltas
    start = 0
    parts = bytearray()
    while len(deltas) - start > _DELTAS_MAX:
        parts += record(FromPython.APPLIED_PART, applied.op, deltas[start : start + _DELTAS_MAX])
        start += _DELTAS_MAX
    head = _APPLIED_HEAD.pack(applied.result, applied.reply, applied.stream, applied.topic, applied.revision)
    return bytes(parts) + record(FromPython.APPLIED, applied.op, head + deltas[start:])


def encode_reconcile(shard: int, pass_number: int, ops: Sequence[ReconcileOp]) -> bytes:
    """``RECONCILE`` records, as many as the operations of one pass need."""
    return b"".join(
        record(
            FromPython.RECONCILE,
            pass_number,
            b"".join(_RECONCILE_OP.pack(*op) for op in ops[start : start + _OPS_MAX]),
            shard,
        )
        for start in range(0, len(ops), _OPS_MAX)
    )


def encode_converged(revision: int) -> bytes:
    """A ``CONVERGED`` record: every shard stands at least at this revision."""
    return record(FromPython.CONVERGED, revision, b"")


def encode_cut(shard: int, token: int, group: int, directory: str) -> bytes:
    """A ``CUT`` record: the segments of a partition get names in a directory, given by its whole path."""
    return record(FromPython.CUT, token, _CUT_GROUP.pack(group) + directory.encode(), shard)


def encode_adopt(shard: int, token: int, group: int, swap: bytes, directory: str) -> bytes:
    """An ``ADOPT`` record: the files of a directory, given by its whole path, take the place of segments."""
    head = _ADOPT_HEAD.pack(group, len(swap))
    return record(FromPython.ADOPT, token, head + swap + directory.encode(), shard)


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
    return record(FromPython.HOST_FIGURES, 0, body + b"".join(map(string, texts)))
