"""What every op is asked, in this order: does its target exist, and may its sender do it."""

from typing import Final

from server_ng.metadata.ops import Op
from server_ng.metadata.state import State, Stream, Topic
from server_ng.wire.identifiers import Identifier
from server_ng.wire.refusals import RefusedError
from server_ng.wire.tables import ErrorCode

__all__ = ["authorize", "stream_of", "topic_of"]

_ROOT: Final = 0


def stream_of(state: State, identifier: Identifier) -> Stream:
    """The stream that is called this."""
    stream = state.find(identifier)
    if stream is None:
        raise RefusedError(ErrorCode.STREAM_ID_NOT_FOUND, f"no stream {identifier!r}")
    return stream


def topic_of(state: State, stream: Identifier, topic: Identifier) -> tuple[Stream, Topic]:
    """The topic that is called this, and its stream."""
    parent = stream_of(state, stream)
    found = parent.find(topic)
    if found is None:
        raise RefusedError(ErrorCode.TOPIC_ID_NOT_FOUND, f"no topic {topic!r} in stream {parent.id}")
    return parent, found


def authorize(op: Op) -> None:
    """Agrees that the sender may change streams and topics: so far root alone exists, and may everything."""
    if op.user_id != _ROOT:
        raise RefusedError(ErrorCode.UNAUTHORIZED, f"user {op.user_id} has no permission")
