"""Ops on partitions, and the rows of partitions that other ops make."""

from collections.abc import Iterable
from typing import Final

from server_ng.metadata.admission import authorize, topic_of
from server_ng.metadata.deltas import Delete, Put
from server_ng.metadata.groups import mint
from server_ng.metadata.ops import Op, Outcome
from server_ng.metadata.revision import next_revision, raised
from server_ng.metadata.rights import Target
from server_ng.metadata.rows import Counters, PartitionRow, partition_key, topic_key
from server_ng.metadata.state import State, Stream, Topic
from server_ng.wire.refusals import RefusedError
from server_ng.wire.requests import CreatePartitions, DeletePartitions
from server_ng.wire.tables import ErrorCode

__all__ = ["PARTITIONS_MAX", "PER_REQUEST_MAX", "added", "create_partitions", "delete_partitions", "purged"]

PER_REQUEST_MAX: Final = 1_000
PARTITIONS_MAX: Final = 1_000_000


def create_partitions(state: State, op: Op) -> Outcome:
    """New partitions behind the highest of a topic."""
    request = CreatePartitions.decode(op.body)
    _check_count(request.count)
    stream, topic = topic_of(state, request.stream, request.topic)
    authorize(state, op, Target(stream=stream.id, topic=topic.id))
    first = len(topic.partitions)
    if first + request.count > PARTITIONS_MAX:
        raise RefusedError(ErrorCode.PARTITION_ID_SPACE_EXHAUSTED, f"{first} partitions, and {request.count}")
    minted = mint(state.counters, topic.row.next_group, request.count)
    row = topic.row._replace(next_group=minted.next_group)
    revision = next_revision(state.counters)
    partitions = added(stream.id, topic.id, first, minted.groups, now=op.timestamp, revision=revision)
    return raised(minted.counters, (Put(topic_key(stream.id, topic.id), row.encode()), *partitions))


def delete_partitions(state: State, op: Op) -> Outcome:
    """The highest partitions of a topic are gone."""
    request = DeletePartitions.decode(op.body)
    _check_count(request.count)
    stream, topic = topic_of(state, request.stream, request.topic)
    authorize(state, op, Target(stream=stream.id, topic=topic.id))
    end = len(topic.partitions)
    if request.count > end:
        raise RefusedError(ErrorCode.INVALID_PARTITIONS_COUNT, f"{request.count} partitions of {end}")
    going = range(end - 1, end - 1 - request.count, -1)
    deltas = (Delete(partition_key(stream.id, topic.id, partition)) for partition in going)
    return raised(state.counters, deltas)


def added(
    stream: int, topic: int, first: int, groups: Iterable[int], *, now: int, revision: int
) -> list[Put]:
    """Rows for new partitions from `first` on, one for each group."""
    return [
        Put(partition_key(stream, topic, partition), PartitionRow(now, revision, group, 0).encode())
        for partition, group in enumerate(groups, first)
    ]


def purged(counters: Counters, stream: Stream, topics: Iterable[Topic]) -> Outcome:
    """The outcome in which every partition of some topics of a stream begins anew."""
    puts = [
        Put(
            partition_key(stream.id, topic.id, partition),
            row._replace(purge_generation=row.purge_generation + 1).encode(),
        )
        for topic in topics
        for partition, row in enumerate(topic.partitions)
    ]
    return raised(counters, puts) if puts else Outcome()


def _check_count(count: int) -> None:
    if not 1 <= count <= PER_REQUEST_MAX:
        raise RefusedError(ErrorCode.TOO_MANY_PARTITIONS, f"{count} partitions in one request")
