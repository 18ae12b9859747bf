"""What every op is asked, in this order: does its target exist, and may its sender do it."""

from collections.abc import Mapping
from typing import Final

from server_ng.metadata.ops import Op
from server_ng.metadata.rights import Target
from server_ng.metadata.state import State, Stream, Topic
from server_ng.wire.identifiers import Identifier
from server_ng.wire.refusals import RefusedError
from server_ng.wire.tables import COMMANDS, ErrorCode, Requirement

__all__ = ["authorize", "stream_of", "topic_of"]

_REQUIREMENTS: Final[Mapping[int, Requirement]] = {
    row.operation: row.requirement for row in COMMANDS if row.plane == "metadata"
}


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


def authorize(state: State, op: Op, target: Target) -> None:
    """Agrees that the sender of an op meets its requirement on a target that was found."""
    rights = state.rights_of(op.user_id)
    if rights is None or not rights.meet(op.user_id, _REQUIREMENTS[op.operation], target):
        raise RefusedError(ErrorCode.UNAUTHORIZED, f"user {op.user_id} has no permission for {target}")
