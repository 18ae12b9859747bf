"""Random histories: what holds after every op, and what another replica makes of the same ops."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from server_ng.metadata.apply import decide
from server_ng.metadata.deltas import decode_deltas, encode_deltas
from server_ng.metadata.machine import Metadata
from server_ng.metadata.ops import Outcome
from server_ng.metadata.state import State, Stream, fold
from server_ng.wire.options import Option, ValueKind
from server_ng.wire.requests import (
    CreatePartitions,
    CreateStream,
    CreateTopic,
    DeletePartitions,
    DeleteStream,
    DeleteTopic,
    PurgeStream,
    PurgeTopic,
    UpdateStream,
    UpdateTopic,
)
from server_ng.wire.tables import ReplyKind
from tests.support.metadata_log import MetadataLog, Request, rows_digest

NAME = st.sampled_from(["a", "b", "c", "\N{LATIN SMALL LETTER E WITH ACUTE}"])
IDENTIFIER = NAME | st.integers(0, 3)
COUNT = st.integers(0, 4)
OPTION = st.sampled_from(
    [
        Option("message_expiry", ValueKind.TEXT, b"1h"),
        Option("max_topic_size", ValueKind.U64, bytes(8)),
        Option("compression_algorithm", ValueKind.TEXT, b"gzip"),
        Option("durability", ValueKind.TEXT, b"persisted"),
        Option("enforce_fsync", ValueKind.BOOL, b"\x01"),
    ]
)
OPTIONS = st.lists(OPTION, max_size=3, unique_by=lambda option: option.key).map(tuple)
REQUEST: st.SearchStrategy[Request] = st.one_of(
    st.builds(CreateStream, NAME),
    st.builds(UpdateStream, IDENTIFIER, NAME),
    st.builds(CreateTopic, IDENTIFIER, COUNT | st.just(1_000), NAME, OPTIONS),
    st.builds(CreateTopic, IDENTIFIER, COUNT, NAME),
    st.builds(UpdateTopic, IDENTIFIER, IDENTIFIER, NAME, OPTIONS),
    st.builds(CreatePartitions, IDENTIFIER, IDENTIFIER, COUNT),
    st.builds(DeletePartitions, IDENTIFIER, IDENTIFIER, COUNT),
    st.builds(PurgeTopic, IDENTIFIER, IDENTIFIER),
    st.builds(PurgeStream, IDENTIFIER),
    st.builds(DeleteTopic, IDENTIFIER, IDENTIFIER),
    st.builds(DeleteStream, IDENTIFIER),
)
FIRST: list[tuple[Request, int]] = [
    (CreateStream("a"), 0),
    (CreateStream("b"), 0),
    (CreateTopic("a", 1, "b"), 0),
    (CreateTopic("a", 3, "a"), 0),
    (CreateTopic("b", 0, "a"), 0),
]
HISTORY = st.lists(st.tuples(REQUEST, st.sampled_from([0, 0, 0, 0, 1])), max_size=25).map(
    lambda random: FIRST + random
)


def rebuilt(state: State) -> State:
    """The state that the rows of another one make, by way of their bytes."""
    copy = State()
    fold(copy, decode_deltas(encode_deltas(state.rows())))
    return copy


def generations(state: State) -> dict[int, int]:
    return {group: row.purge_generation for group, row in state.groups.items()}


def check_stream(stream: Stream) -> None:
    assert stream.topic_ids == {topic.row.name: topic.id for topic in stream.topics.values()}
    assert all(number == topic.id for number, topic in stream.topics.items())
    assert stream.slots.lowest_free() == min(set(range(len(stream.topics) + 1)) - set(stream.topics))


def check_state(state: State) -> None:
    """Indexes agree with rows, names and groups are unique, the lowest slot is the one that is given."""
    assert state.stream_ids == {stream.row.name: stream.id for stream in state.streams.values()}
    assert state.slots.lowest_free() == min(set(range(len(state.streams) + 1)) - set(state.streams))
    for stream in state.streams.values():
        check_stream(stream)
    topics = [topic for stream in state.streams.values() for topic in stream.topics.values()]
    rows = [row for topic in topics for row in topic.partitions]
    assert state.groups == {row.group: row for row in rows}
    assert len(state.groups) == len(rows)
    blocks = Counter(block for topic in topics for block in {row.group >> 12 for row in topic.partitions})
    assert all(1 <= block < state.counters.next_block and count == 1 for block, count in blocks.items())
    assert all(row.created_revision <= state.counters.revision for row in rows)


def check_step(before: State, after: State, outcome: Outcome) -> None:
    """An op gives the lowest slot, and raises the revision if and only if partitions changed."""
    if outcome.reply == ReplyKind.STREAM:
        assert outcome.stream == before.slots.lowest_free()
    if outcome.reply == ReplyKind.TOPIC:
        assert outcome.topic == before.streams[outcome.stream].slots.lowest_free()
    changed = generations(before) != generations(after)
    assert after.counters.revision == before.counters.revision + changed
    assert outcome.revision == (after.counters.revision if changed else 0)
    assert not (outcome.result and outcome.deltas)


@given(history=HISTORY)
def test_what_holds_after_every_op(history: list[tuple[Request, int]]) -> None:
    log, minted = MetadataLog(), set[int]()
    state = log.machine.state
    for request, user in history:
        before = rebuilt(state)
        assert before == state
        # A replica that just loaded the rows decides the same, byte for byte, and deciding writes nothing.
        expected = decide(before, log.op(request, user))
        assert before == state
        outcome = log.do(request, user)
        assert outcome == expected
        check_step(before, state, outcome)
        check_state(state)
        new = set(state.groups) - set(before.groups)
        assert not new & minted
        minted |= new
        touched = set(log.machine.take_touched())
        assert touched == {group for group, _ in generations(before).items() ^ generations(state).items()}


@given(history=HISTORY, cut=st.integers(0, 30))
def test_a_replay_comes_to_the_same(history: list[tuple[Request, int]], cut: int) -> None:
    log = MetadataLog()
    outcomes = [log.do(request, user) for request, user in history]
    halfway = MetadataLog()
    for op in log.ops[:cut]:
        halfway.machine.apply(op)
    restarted = Metadata()
    restarted.load(encode_deltas(halfway.machine.state.rows()), last=True)
    assert [restarted.apply(op) for op in log.ops[cut:]] == outcomes[cut:]
    assert rows_digest(restarted.state) == rows_digest(log.machine.state)
