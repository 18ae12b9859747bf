"""Created and deleted streams and topics, by name, for a log at level debug."""

from typing import Final, NamedTuple

from server_ng.metadata.admission import stream_of, topic_of
from server_ng.metadata.ops import Op
from server_ng.metadata.state import State
from server_ng.wire.refusals import MalformedError, RefusedError
from server_ng.wire.requests import CreateStream, CreateTopic, DeleteStream, DeleteTopic
from server_ng.wire.tables import Operation

__all__ = ["Change", "change_of"]

_UNNAMED: Final = ""


class Change(NamedTuple):
    """What an op does if it succeeds."""

    event: str
    stream: str
    topic: str = _UNNAMED
    """Empty if the op is about a stream."""

    def fields(self) -> dict[str, str]:
        """As the log has them."""
        return {"stream": self.stream, **({"topic": self.topic} if self.topic else {})}


def change_of(state: State, op: Op) -> Change | None:
    """The change that an op asks for, read before it is applied: a deleted name is gone after that."""
    try:
        return _read(state, op)
    except (MalformedError, RefusedError):
        return None


def _read(state: State, op: Op) -> Change | None:
    match op.operation:
        case Operation.CREATE_STREAM:
            return Change("stream_created", CreateStream.decode(op.body).name)
        case Operation.DELETE_STREAM:
            return Change("stream_deleted", stream_of(state, DeleteStream.decode(op.body).stream).row.name)
        case Operation.CREATE_TOPIC:
            made = CreateTopic.decode(op.body)
            return Change("topic_created", stream_of(state, made.stream).row.name, made.name)
        case Operation.DELETE_TOPIC:
            request = DeleteTopic.decode(op.body)
            stream, topic = topic_of(state, request.stream, request.topic)
            return Change("topic_deleted", stream.row.name, topic.row.name)
        case _:
            # Every other op changes what is there, or is refused.
            return None
