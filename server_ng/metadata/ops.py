"""What a committed op is, and what it comes to."""

from dataclasses import dataclass, field
from typing import Final

from server_ng.metadata.deltas import Delta
from server_ng.wire.tables import ReplyKind

__all__ = ["SUCCESS", "Op", "Outcome"]

SUCCESS: Final = 0


@dataclass(frozen=True, slots=True)
class Op:
    """An op of the metadata log."""

    number: int
    timestamp: int
    """When it was proposed, in microseconds: the only time that `apply` knows."""
    client: int
    operation: int
    user_id: int
    body: bytes
    """As the client sent it, or with hashes in the place of passwords."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an op comes to."""

    result: int = SUCCESS
    """`SUCCESS` or an error code; with an error nothing else is set."""
    reply: ReplyKind = ReplyKind.EMPTY
    stream: int = 0
    topic: int = 0
    user: int = 0
    """What the reply is about."""
    revision: int = 0
    """What the shards converge on before the answer; 0 when there is nothing to wait for."""
    deltas: tuple[Delta, ...] = ()
    fault: Exception | None = field(default=None, compare=False)
    """The bug that made this an internal error: for the log, and no part of what replicas agree on."""
