"""Ops on streams."""

from collections.abc import Sequence

from server_ng.metadata.admission import authorize, stream_of
from server_ng.metadata.deltas import Delete, Delta, Put
from server_ng.metadata.grants import without_stream
from server_ng.metadata.ops import Op, Outcome
from server_ng.metadata.partitions import purged
from server_ng.metadata.revision import raised
from server_ng.metadata.rights import NODE, Target
from server_ng.metadata.rows import StreamRow, stream_key
from server_ng.metadata.state import State, Stream
from server_ng.wire.options import Option
from server_ng.wire.refusals import RefusedError
from server_ng.wire.requests import CreateStream, DeleteStream, PurgeStream, UpdateStream
from server_ng.wire.tables import ErrorCode, ReplyKind

__all__ = ["create_stream", "delete_stream", "purge_stream", "update_stream"]


def create_stream(state: State, op: Op) -> Outcome:
    """A new stream in the lowest free slot."""
    request = CreateStream.decode(op.body)
    _refuse_options(request.options)
    authorize(state, op, NODE)
    _check_name(state, request.name)
    number = state.slots.lowest_free()
    if number is None:
        raise RefusedError(ErrorCode.TOO_MANY_STREAMS, "no slot is free for a stream")
    row = StreamRow(op.timestamp, state.counters.revision, request.name, b"")
    deltas = (Put(stream_key(number), row.encode()), *without_stream(state, number))
    return Outcome(reply=ReplyKind.STREAM, stream=number, deltas=deltas)


def update_stream(state: State, op: Op) -> Outcome:
    """Another name for a stream."""
    request = UpdateStream.decode(op.body)
    _refuse_options(request.options)
    stream = stream_of(state, request.stream)
    authorize(state, op, Target(stream=stream.id))
    _check_name(state, request.name, stream)
    row = stream.row._replace(name=request.name)
    return Outcome(deltas=(Put(stream_key(stream.id), row.encode()),))


def delete_stream(state: State, op: Op) -> Outcome:
    """No stream, and nothing of what was in it."""
    stream = stream_of(state, DeleteStream.decode(op.body).stream)
    authorize(state, op, Target(stream=stream.id))
    deltas: tuple[Delta, ...] = (Delete(stream_key(stream.id)), *without_stream(state, stream.id))
    if not any(topic.partitions for topic in stream.topics.values()):
        return Outcome(deltas=deltas)
    return raised(state.counters, deltas)


def purge_stream(state: State, op: Op) -> Outcome:
    """Every partition of a stream begins anew."""
    stream = stream_of(state, PurgeStream.decode(op.body).stream)
    authorize(state, op, Target(stream=stream.id))
    return purged(state.counters, stream, stream.in_order())


def _refuse_options(options: Sequence[Option]) -> None:
    if options:
        raise RefusedError(ErrorCode.UNSUPPORTED_OPTION_KEY, "streams have no options")


def _check_name(state: State, name: str, renamed: Stream | None = None) -> None:
    bearer = state.find(name)
    if bearer is not None and bearer is not renamed:
        raise RefusedError(ErrorCode.STREAM_NAME_ALREADY_EXISTS, f"stream {bearer.id} is called {name!r}")
