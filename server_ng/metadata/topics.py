"""Ops on topics."""

from typing import Final

from server_ng.metadata.admission import authorize, stream_of, topic_of
from server_ng.metadata.deltas import Delete, Delta, Put
from server_ng.metadata.grants import without_topic
from server_ng.metadata.groups import mint
from server_ng.metadata.ops import Op, Outcome
from server_ng.metadata.partitions import PER_REQUEST_MAX, added, purged
from server_ng.metadata.revision import next_revision, raised
from server_ng.metadata.rights import Target
from server_ng.metadata.rows import TopicRow, topic_key
from server_ng.metadata.state import State, Stream, Topic
from server_ng.metadata.topic_options import TopicOptions, choose, patch, read_update
from server_ng.wire.refusals import RefusedError
from server_ng.wire.requests import CreateTopic, DeleteTopic, PurgeTopic, UpdateTopic
from server_ng.wire.tables import ErrorCode, ReplyKind

__all__ = ["create_topic", "delete_topic", "purge_topic", "update_topic"]

_PREALLOCATED_BYTES_MAX: Final = 64 << 30


def create_topic(state: State, op: Op) -> Outcome:
    """A new topic in the lowest free slot of its stream, with its first partitions."""
    request = CreateTopic.decode(op.body)
    options = choose(request.options)
    _check_bounds(request.partitions_count, options)
    stream = stream_of(state, request.stream)
    authorize(state, op, Target(stream=stream.id))
    _check_name(stream, request.name)
    number = stream.slots.lowest_free()
    if number is None:
        raise RefusedError(ErrorCode.TOO_MANY_TOPICS, f"no slot is free for a topic in stream {stream.id}")
    minted = mint(state.counters, 0, request.partitions_count)
    revision = next_revision(state.counters) if minted.groups else state.counters.revision
    row = _new_row(request.name, options, op.timestamp, revision, minted.next_group)
    puts = (Put(topic_key(stream.id, number), row.encode()), *without_topic(state, stream.id, number))
    if not minted.groups:
        return Outcome(reply=ReplyKind.TOPIC, stream=stream.id, topic=number, deltas=puts)
    partitions = added(stream.id, number, 0, minted.groups, now=op.timestamp, revision=revision)
    return raised(minted.counters, (*puts, *partitions), ReplyKind.TOPIC, stream.id, number)


def update_topic(state: State, op: Op) -> Outcome:
    """Another name for a topic, and other values for the options that are sent."""
    request = UpdateTopic.decode(op.body)
    update = read_update(request.options)
    stream, topic = topic_of(state, request.stream, request.topic)
    authorize(state, op, Target(stream=stream.id, topic=topic.id))
    _check_name(stream, request.name, topic)
    row = patch(topic.row, update)._replace(name=request.name)
    _check_topic_size(row.max_topic_size, row.segment_size)
    return Outcome(deltas=(Put(topic_key(stream.id, topic.id), row.encode()),))


def delete_topic(state: State, op: Op) -> Outcome:
    """No topic, and nothing of what was in it."""
    request = DeleteTopic.decode(op.body)
    stream, topic = topic_of(state, request.stream, request.topic)
    authorize(state, op, Target(stream=stream.id, topic=topic.id))
    deltas: tuple[Delta, ...] = (
        Delete(topic_key(stream.id, topic.id)),
        *without_topic(state, stream.id, topic.id),
    )
    return raised(state.counters, deltas) if topic.partitions else Outcome(deltas=deltas)


def purge_topic(state: State, op: Op) -> Outcome:
    """Every partition of a topic begins anew."""
    request = PurgeTopic.decode(op.body)
    stream, topic = topic_of(state, request.stream, request.topic)
    authorize(state, op, Target(stream=stream.id, topic=topic.id))
    return purged(state.counters, stream, (topic,))


def _check_bounds(partitions: int, options: TopicOptions) -> None:
    if partitions > PER_REQUEST_MAX:
        raise RefusedError(ErrorCode.TOO_MANY_PARTITIONS, f"{partitions} partitions in one request")
    if options.preallocate_segments and options.segment_size * partitions > _PREALLOCATED_BYTES_MAX:
        raise RefusedError(ErrorCode.INVALID_OPTION_VALUE, "the segments take too much before they are used")
    _check_topic_size(options.max_topic_size, options.segment_size)


def _check_topic_size(max_topic_size: int, segment_size: int) -> None:
    if max_topic_size < segment_size:
        raise RefusedError(ErrorCode.INVALID_TOPIC_SIZE, "the topic may not hold one segment")


def _check_name(stream: Stream, name: str, renamed: Topic | None = None) -> None:
    bearer = stream.find(name)
    if bearer is not None and bearer is not renamed:
        raise RefusedError(ErrorCode.TOPIC_NAME_ALREADY_EXISTS, f"topic {bearer.id} is called {name!r}")


def _new_row(name: str, options: TopicOptions, now: int, revision: int, next_group: int) -> TopicRow:
    return TopicRow(
        created_at=now,
        created_revision=revision,
        message_expiry=options.message_expiry,
        compression=options.compression,
        max_topic_size=options.max_topic_size,
        segment_size=options.segment_size,
        durability=options.durability,
        consumer_offset_durability=options.consumer_offset_durability,
        next_group=next_group,
        name=name,
        options=options.explicit,
        derived_options=options.derived,
    )
