"""What each op comes to: its result, its reply and its rows."""

import pytest

from server_ng.metadata.deltas import Delete, Put
from server_ng.metadata.ops import Outcome
from server_ng.metadata.partitions import PARTITIONS_MAX, PER_REQUEST_MAX
from server_ng.metadata.rows import (
    COUNTERS_KEY,
    Counters,
    PartitionRow,
    StreamRow,
    partition_key,
    stream_key,
    topic_key,
)
from server_ng.metadata.state import STREAMS_MAX, TOPICS_MAX, Stream, Topic
from server_ng.wire.options import Option, ValueKind
from server_ng.wire.requests import (
    CreatePartitions,
    CreateStream,
    CreateTopic,
    DeletePartitions,
    DeleteSegments,
    DeleteStream,
    DeleteTopic,
    PurgeStream,
    PurgeTopic,
    UpdateStream,
    UpdateTopic,
)
from server_ng.wire.tables import ErrorCode, Operation, ReplyKind
from tests.support.metadata_log import FIRST_TIMESTAMP, MetadataLog, Request

FIRST_BLOCK = 1 << 12
_OF_STREAMS = range(Operation.CREATE_STREAM, Operation.DELETE_PARTITIONS + 1)
_OF_USERS = range(Operation.CREATE_USER, Operation.UPDATE_PERMISSIONS + 1)


def topic_of(log: MetadataLog, stream: str | int = "s", topic: str | int = "t") -> Topic:
    found = stream_of(log, stream).find(topic)
    assert found is not None
    return found


def stream_of(log: MetadataLog, stream: str | int = "s") -> Stream:
    found = log.machine.state.find(stream)
    assert found is not None
    return found


def groups_of(log: MetadataLog, stream: str | int = "s", topic: str | int = "t") -> list[int]:
    return [row.group for row in topic_of(log, stream, topic).partitions]


def generations_of(log: MetadataLog, stream: str | int = "s", topic: str | int = "t") -> list[int]:
    return [row.purge_generation for row in topic_of(log, stream, topic).partitions]


def test_create_stream() -> None:
    log = MetadataLog()
    row = StreamRow(FIRST_TIMESTAMP + 1, 0, "s", b"")
    assert log.do(CreateStream("s")) == Outcome(
        reply=ReplyKind.STREAM, stream=0, deltas=(Put(stream_key(0), row.encode()),)
    )
    assert log.do(CreateStream("S")).stream == 1
    assert stream_of(log, "s").row == row


def test_the_lowest_free_stream_slot_is_taken() -> None:
    log = MetadataLog()
    for name in "abc":
        log.do(CreateStream(name))
    log.do(DeleteStream("b"))
    log.do(DeleteStream("a"))
    assert [log.do(CreateStream(name)).stream for name in "xyz"] == [0, 1, 3]


def test_update_stream(log: MetadataLog) -> None:
    log.do(CreateStream("other"))
    before = stream_of(log).row
    assert log.do(UpdateStream("s", "s")).result == 0
    assert log.do(UpdateStream("s", "other")).result == ErrorCode.STREAM_NAME_ALREADY_EXISTS
    renamed = log.do(UpdateStream(0, "new"))
    assert renamed == Outcome(deltas=(Put(stream_key(0), before._replace(name="new").encode()),))
    assert log.machine.state.find("s") is None
    assert log.do(CreateStream("s")).stream == 2


def test_delete_stream(log: MetadataLog) -> None:
    counters = log.machine.state.counters
    log.machine.take_touched()
    deleted = log.do(DeleteStream("s"))
    assert deleted.revision == counters.revision + 1
    assert deleted.deltas == (
        Delete(stream_key(0)),
        Put(COUNTERS_KEY, counters._replace(revision=deleted.revision).encode()),
    )
    assert log.machine.state.groups == {}
    assert log.machine.take_touched() == (FIRST_BLOCK, FIRST_BLOCK + 1)


def test_a_stream_without_partitions_goes_without_a_revision() -> None:
    log = MetadataLog()
    log.do(CreateStream("s"))
    log.do(CreateTopic("s", 0, "t"))
    assert log.do(DeleteStream("s")) == Outcome(deltas=(Delete(stream_key(0)),))


def test_create_topic() -> None:
    log = MetadataLog()
    log.do(CreateStream("s"))
    created = log.do(CreateTopic("s", 2, "t"))
    assert (created.result, created.reply, created.stream, created.topic) == (0, ReplyKind.TOPIC, 0, 0)
    assert created.revision == 1
    now = FIRST_TIMESTAMP + 2
    row = topic_of(log).row
    assert (row.created_at, row.created_revision, row.next_group) == (now, 1, FIRST_BLOCK + 2)
    assert created.deltas == (
        Put(topic_key(0, 0), row.encode()),
        Put(partition_key(0, 0, 0), PartitionRow(now, 1, FIRST_BLOCK, 0).encode()),
        Put(partition_key(0, 0, 1), PartitionRow(now, 1, FIRST_BLOCK + 1, 0).encode()),
        Put(COUNTERS_KEY, Counters(1, 2, 1).encode()),
    )
    assert log.machine.take_touched() == (FIRST_BLOCK, FIRST_BLOCK + 1)
    assert log.machine.take_touched() == ()


def test_a_topic_without_partitions_takes_no_block_and_raises_no_revision(log: MetadataLog) -> None:
    counters = log.machine.state.counters
    created = log.do(CreateTopic("s", 0, "empty"))
    assert (created.reply, created.topic, created.revision) == (ReplyKind.TOPIC, 1, 0)
    row = topic_of(log, topic="empty").row
    assert (row.created_revision, row.next_group) == (counters.revision, 0)
    assert log.machine.state.counters == counters


def test_topics_of_two_streams_may_share_a_name(log: MetadataLog) -> None:
    log.do(CreateStream("other"))
    created = log.do(CreateTopic("other", 1, "t"))
    assert (created.result, created.stream, created.topic) == (0, 1, 0)
    assert groups_of(log, "other") == [2 << 12]


def test_a_topic_may_have_a_thousand_partitions_at_once(log: MetadataLog) -> None:
    assert log.do(CreateTopic("s", PER_REQUEST_MAX, "wide")).result == 0
    assert log.do(CreateTopic("s", PER_REQUEST_MAX + 1, "wider")).result == ErrorCode.TOO_MANY_PARTITIONS


def test_update_topic(log: MetadataLog) -> None:
    log.do(CreateTopic("s", 0, "other"))
    before = topic_of(log).row
    assert log.do(UpdateTopic("s", "t", "t")).result == 0
    assert log.do(UpdateTopic("s", "t", "other")).result == ErrorCode.TOPIC_NAME_ALREADY_EXISTS
    renamed = log.do(UpdateTopic(0, 0, "new"))
    assert renamed == Outcome(deltas=(Put(topic_key(0, 0), before._replace(name="new").encode()),))
    assert stream_of(log).find("t") is None


def test_delete_topic(log: MetadataLog) -> None:
    log.do(CreateTopic("s", 1, "other"))
    counters = log.machine.state.counters
    deleted = log.do(DeleteTopic("s", "t"))
    assert deleted.revision == counters.revision + 1
    assert deleted.deltas[0] == Delete(topic_key(0, 0))
    assert groups_of(log, topic="other") == [2 << 12]
    created = log.do(CreateTopic("s", 1, "t"))
    assert created.topic == 0
    assert groups_of(log) == [3 << 12]
    assert log.do(DeleteTopic("s", "t")).revision == created.revision + 1


def test_purge_topic(log: MetadataLog) -> None:
    groups, counters = groups_of(log), log.machine.state.counters
    log.machine.take_touched()
    purged = log.do(PurgeTopic("s", "t"))
    assert (purged.result, purged.reply, purged.revision) == (0, ReplyKind.EMPTY, counters.revision + 1)
    assert (groups_of(log), generations_of(log)) == (groups, [1, 1])
    assert log.machine.take_touched() == tuple(groups)
    log.do(CreatePartitions("s", "t", 1))
    log.do(PurgeTopic("s", "t"))
    assert generations_of(log) == [2, 2, 1]


def test_purge_stream(log: MetadataLog) -> None:
    log.do(CreateTopic("s", 1, "other"))
    log.do(CreateStream("untouched"))
    log.do(CreateTopic("untouched", 1, "t"))
    revision = log.machine.state.counters.revision
    assert log.do(PurgeStream("s")).revision == revision + 1
    assert generations_of(log) == [1, 1]
    assert generations_of(log, topic="other") == [1]
    assert generations_of(log, "untouched") == [0]


def test_a_purge_goes_through_topics_by_number_whatever_their_history(log: MetadataLog) -> None:
    log.do(CreateTopic("s", 1, "second"))
    log.do(DeleteTopic("s", "t"))
    log.do(CreateTopic("s", 1, "first"))
    purged = log.do(PurgeStream("s"))
    assert [delta.key for delta in purged.deltas[:-1]] == [partition_key(0, 0, 0), partition_key(0, 1, 0)]


def test_a_purge_of_nothing_is_a_success_without_a_revision() -> None:
    log = MetadataLog()
    log.do(CreateStream("s"))
    log.do(CreateTopic("s", 0, "t"))
    assert log.do(PurgeTopic("s", "t")) == log.do(PurgeStream("s")) == Outcome()


def test_create_partitions(log: MetadataLog) -> None:
    revision = log.machine.state.counters.revision
    created = log.do(CreatePartitions("s", "t", 2))
    assert (created.result, created.reply, created.revision) == (0, ReplyKind.EMPTY, revision + 1)
    assert groups_of(log) == [FIRST_BLOCK + number for number in range(4)]
    assert [row.created_revision for row in topic_of(log).partitions] == [
        revision,
        revision,
        *(2 * [revision + 1]),
    ]


def test_delete_partitions(log: MetadataLog) -> None:
    log.do(CreatePartitions("s", "t", 2))
    revision = log.machine.state.counters.revision
    deleted = log.do(DeletePartitions("s", "t", 3))
    assert deleted.revision == revision + 1
    assert deleted.deltas[:3] == tuple(Delete(partition_key(0, 0, number)) for number in (3, 2, 1))
    assert groups_of(log) == [FIRST_BLOCK]
    assert log.do(DeletePartitions("s", "t", 2)).result == ErrorCode.INVALID_PARTITIONS_COUNT
    assert log.do(DeletePartitions("s", "t", 1)).result == 0
    log.do(CreatePartitions("s", "t", 1))
    assert groups_of(log) == [FIRST_BLOCK + 4]


def test_a_topic_takes_another_block_when_one_is_used_up() -> None:
    log = MetadataLog()
    log.do(CreateStream("s"))
    log.do(CreateTopic("s", 1_000, "t"))
    log.do(CreateTopic("s", 1, "between"))
    for _ in range(3):
        log.do(CreatePartitions("s", "t", 1_000))
    log.do(CreatePartitions("s", "t", 96))
    assert topic_of(log).row.next_group == 0
    log.do(CreatePartitions("s", "t", 1))
    expected = [*range(1 << 12, 2 << 12), 3 << 12]
    assert (groups_of(log), topic_of(log).row.next_group) == (expected, (3 << 12) + 1)
    log.do(CreatePartitions("s", "t", 1_000))
    assert groups_of(log)[-1] == (3 << 12) + 1_000
    assert groups_of(log, topic="between") == [2 << 12]


@pytest.mark.parametrize(
    "request_made",
    [
        UpdateStream("missing", "n"),
        DeleteStream(9),
        PurgeStream("missing"),
        CreateTopic("missing", 1, "n"),
        UpdateTopic("missing", "t", "n"),
        DeleteTopic(9, "t"),
        PurgeTopic("missing", "t"),
        CreatePartitions("0", "t", 1),
        DeletePartitions("missing", "t", 1),
    ],
)
@pytest.mark.parametrize("user", [0, 1])
def test_a_stream_that_is_not_there_is_not_found(log: MetadataLog, request_made: Request, user: int) -> None:
    assert log.do(request_made, user) == Outcome(ErrorCode.STREAM_ID_NOT_FOUND)


@pytest.mark.parametrize(
    "request_made",
    [
        UpdateTopic("s", "missing", "n"),
        DeleteTopic("s", 9),
        PurgeTopic(0, "missing"),
        CreatePartitions("s", "0", 1),
        DeletePartitions("s", "missing", 1),
    ],
)
@pytest.mark.parametrize("user", [0, 1])
def test_a_topic_that_is_not_there_is_not_found(log: MetadataLog, request_made: Request, user: int) -> None:
    assert log.do(request_made, user) == Outcome(ErrorCode.TOPIC_ID_NOT_FOUND)


@pytest.mark.parametrize(
    "request_made",
    [
        CreateStream("s"),
        UpdateStream("s", "s"),
        DeleteStream("s"),
        PurgeStream("s"),
        CreateTopic("s", 1, "t"),
        UpdateTopic("s", "t", "t"),
        DeleteTopic("s", "t"),
        PurgeTopic("s", "t"),
        CreatePartitions("s", "t", 1),
        DeletePartitions("s", "t", 9),
    ],
)
def test_anybody_but_root_is_refused_before_rules_are_asked(log: MetadataLog, request_made: Request) -> None:
    assert log.do(request_made, user_id=1) == Outcome(ErrorCode.UNAUTHORIZED)


OPTION = Option("segment_size", ValueKind.U64, (1 << 20).to_bytes(8, "little"))
PREALLOCATE = Option("preallocate_segments", ValueKind.BOOL, b"\x01")


def max_topic_size(size: int) -> Option:
    return Option("max_topic_size", ValueKind.U64, size.to_bytes(8, "little"))


@pytest.mark.parametrize(
    ("request_made", "error"),
    [
        (CreateStream("s"), ErrorCode.STREAM_NAME_ALREADY_EXISTS),
        (CreateStream("n", (OPTION,)), ErrorCode.UNSUPPORTED_OPTION_KEY),
        (UpdateStream("missing", "n", (OPTION,)), ErrorCode.UNSUPPORTED_OPTION_KEY),
        (CreateTopic("s", 1, "t"), ErrorCode.TOPIC_NAME_ALREADY_EXISTS),
        (CreateTopic("missing", 1_001, "n"), ErrorCode.TOO_MANY_PARTITIONS),
        (CreateTopic("s", 1, "n", (max_topic_size((1 << 30) - 1),)), ErrorCode.INVALID_TOPIC_SIZE),
        (CreateTopic("s", 65, "n", (PREALLOCATE,)), ErrorCode.INVALID_OPTION_VALUE),
        (UpdateTopic("s", "t", "t", (max_topic_size((1 << 30) - 1),)), ErrorCode.INVALID_TOPIC_SIZE),
        (UpdateTopic("missing", "t", "t", (OPTION,)), ErrorCode.UNSUPPORTED_OPTION_KEY),
        (CreatePartitions("missing", "t", 0), ErrorCode.TOO_MANY_PARTITIONS),
        (CreatePartitions("s", "t", 1_001), ErrorCode.TOO_MANY_PARTITIONS),
        (DeletePartitions("missing", "t", 0), ErrorCode.TOO_MANY_PARTITIONS),
        (DeletePartitions("s", "t", 1_001), ErrorCode.TOO_MANY_PARTITIONS),
        (DeletePartitions("s", "t", 3), ErrorCode.INVALID_PARTITIONS_COUNT),
    ],
)
def test_what_breaks_a_rule_is_refused_and_changes_nothing(
    log: MetadataLog, request_made: Request, error: ErrorCode
) -> None:
    before = list(log.machine.state.rows())
    assert log.do(request_made) == Outcome(error)
    assert list(log.machine.state.rows()) == before


def test_a_limit_itself_is_allowed(log: MetadataLog) -> None:
    assert log.do(CreateTopic("s", 64, "n", (PREALLOCATE,))).result == 0
    assert log.do(CreateTopic("s", 1_000, "m", (PREALLOCATE, OPTION))).result == 0
    assert log.do(UpdateTopic("s", "t", "t", (max_topic_size(1 << 30),))).result == 0


def test_streams_are_bounded() -> None:
    log = MetadataLog()
    for slot in range(STREAMS_MAX - 1):
        log.machine.state.slots.take(slot)
    assert log.do(CreateStream("a")).stream == STREAMS_MAX - 1
    assert log.do(CreateStream("b")) == Outcome(ErrorCode.TOO_MANY_STREAMS)


def test_topics_of_a_stream_are_bounded() -> None:
    log = MetadataLog()
    log.do(CreateStream("s"))
    for slot in range(TOPICS_MAX - 1):
        stream_of(log).slots.take(slot)
    assert log.do(CreateTopic("s", 0, "a")).topic == TOPICS_MAX - 1
    assert log.do(CreateTopic("s", 0, "b")) == Outcome(ErrorCode.TOO_MANY_TOPICS)
    log.do(DeleteTopic("s", "a"))
    assert log.do(CreateTopic("s", 0, "b")).topic == TOPICS_MAX - 1


def test_partition_ids_are_bounded(log: MetadataLog) -> None:
    topic = topic_of(log)
    topic.partitions = (PARTITIONS_MAX - 1) * topic.partitions[:1]
    assert log.do(CreatePartitions("s", "t", 2)) == Outcome(ErrorCode.PARTITION_ID_SPACE_EXHAUSTED)
    assert log.do(CreatePartitions("s", "t", 1)).result == 0
    assert log.do(CreatePartitions("s", "t", 1)) == Outcome(ErrorCode.PARTITION_ID_SPACE_EXHAUSTED)


@pytest.mark.parametrize("operation", list(Operation))
def test_a_body_that_is_cut_short_is_malformed_or_of_no_feature(
    log: MetadataLog, operation: Operation
) -> None:
    served = operation == Operation.CREATE_ROOT or operation in (*_OF_STREAMS, *_OF_USERS)
    expected = ErrorCode.INVALID_COMMAND if served else ErrorCode.FEATURE_UNAVAILABLE
    assert log.do_bytes(operation, b"\x01") == Outcome(expected)


@pytest.mark.parametrize("operation", [0, 127, 150, 255])
def test_an_unknown_operation_is_a_feature_we_lack(log: MetadataLog, operation: int) -> None:
    assert log.do_bytes(operation, b"") == Outcome(ErrorCode.FEATURE_UNAVAILABLE)


def test_segments_are_not_deleted_by_the_metadata(log: MetadataLog) -> None:
    assert log.do(DeleteSegments("s", "t", 0, 1)) == Outcome(ErrorCode.FEATURE_UNAVAILABLE)


def test_an_options_block_that_is_too_large_is_refused(log: MetadataLog) -> None:
    body = CreateStream("n").encode() + bytes(100_001)
    assert log.do_bytes(Operation.CREATE_STREAM, body) == Outcome(ErrorCode.OPTIONS_BLOCK_TOO_LARGE)
