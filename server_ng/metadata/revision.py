"""The outcome of an op after which other partitions exist, or partitions begin anew."""

from collections.abc import Iterable

from server_ng.metadata.deltas import Delta, Put
from server_ng.metadata.ops import Outcome
from server_ng.metadata.rows import COUNTERS_KEY, Counters
from server_ng.wire.tables import ReplyKind

__all__ = ["next_revision", "raised"]


def next_revision(counters: Counters) -> int:
    """The revision after such an op."""
    return counters.revision + 1


def raised(
    counters: Counters,
    deltas: Iterable[Delta],
    reply: ReplyKind = ReplyKind.EMPTY,
    stream: int = 0,
    topic: int = 0,
) -> Outcome:
    """An outcome with these deltas, the counters at the next revision, and that to wait for."""
    revision = next_revision(counters)
    put = Put(COUNTERS_KEY, counters._replace(revision=revision).encode())
    return Outcome(reply=reply, stream=stream, topic=topic, revision=revision, deltas=(*deltas, put))
