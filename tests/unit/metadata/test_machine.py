"""Loading rows, ops one by one, and what becomes of a bug."""

import pytest
from typing_extensions import override

from server_ng.metadata.apply import decide
from server_ng.metadata.deltas import Delete, Delta, Put, encode_deltas
from server_ng.metadata.machine import Metadata
from server_ng.metadata.ops import Outcome
from server_ng.metadata.rows import (
    BadRowsError,
    PartitionRow,
    StreamRow,
    partition_key,
    stream_key,
    topic_key,
)
from server_ng.metadata.state import State, Stream
from server_ng.wire.identifiers import Identifier
from server_ng.wire.requests import CreateStream, CreateTopic, DeleteStream, UpdateStream
from server_ng.wire.tables import ErrorCode
from tests.support.metadata_log import MetadataLog, rows_digest


class FaultyState(State):
    """A state that breaks when it is asked for a stream."""

    fault: BaseException

    @override
    def find(self, identifier: Identifier) -> Stream | None:
        raise self.fault


def faulty(fault: BaseException) -> FaultyState:
    state = FaultyState()
    state.fault = fault
    return state


def test_rows_are_loaded_in_pieces(log: MetadataLog) -> None:
    loaded = Metadata()
    *rows, last = log.machine.state.rows()
    for row in rows:
        loaded.load(encode_deltas([row]), last=False)
        assert loaded.state == State()
    loaded.load(encode_deltas([last]), last=True)
    assert loaded.state == log.machine.state
    assert rows_digest(loaded.state) == rows_digest(log.machine.state)


def test_a_load_forgets_what_was_there(log: MetadataLog) -> None:
    row = StreamRow(1, 0, "other", b"")
    log.machine.load(encode_deltas([Put(stream_key(3), row.encode())]), last=True)
    assert list(log.machine.state.rows()) == [Put(stream_key(3), row.encode())]
    assert log.machine.take_touched() == ()
    log.machine.load(b"", last=True)
    assert log.machine.state == State()


def test_an_op_in_the_middle_of_a_load_is_refused(log: MetadataLog) -> None:
    log.machine.load(b"", last=False)
    with pytest.raises(BadRowsError):
        log.do(CreateStream("n"))


def test_a_digest_tells_rows_apart(log: MetadataLog) -> None:
    before = rows_digest(log.machine.state)
    log.do(UpdateStream("s", "n"))
    assert rows_digest(log.machine.state) != before
    log.do(UpdateStream("n", "s"))
    assert rows_digest(log.machine.state) == before


STREAM = StreamRow(0, 0, "s", b"").encode()
PARTITION = PartitionRow(0, 0, 1 << 12, 0).encode()


def test_rows_that_do_not_fit_together_are_refused(log: MetadataLog) -> None:
    topic = next(row.value for row in log.machine.state.rows() if len(row.key) == len(topic_key(0, 0)))
    whole: list[Delta] = [
        Put(stream_key(0), STREAM),
        Put(topic_key(0, 0), topic),
        Put(partition_key(0, 0, 0), PARTITION),
    ]
    other_group = PartitionRow(0, 0, 5 << 12, 0).encode()
    Metadata().load(encode_deltas(whole), last=True)
    cases: list[list[Delta]] = [
        whole[1:],
        [whole[0], whole[2]],
        [whole[0], Put(stream_key(1), STREAM)],
        [*whole[:2], Put(topic_key(0, 1), topic)],
        [*whole[:2], Put(partition_key(0, 0, 1), PARTITION)],
        [*whole, Put(partition_key(0, 0, 1), PARTITION)],
        [*whole, Put(partition_key(0, 0, 0), other_group)],
        [Put(stream_key(1 << 20), STREAM)],
        [Put(b"\x01", STREAM)],
        [*whole, Delete(stream_key(0))],
    ]
    for rows in cases:
        with pytest.raises(BadRowsError):
            Metadata().load(encode_deltas(rows), last=True)


def test_a_bug_is_the_same_error_everywhere_and_changes_nothing(log: MetadataLog) -> None:
    op = log.op(DeleteStream("s"))
    fault = ZeroDivisionError("a bug")
    outcome = decide(faulty(fault), op)
    assert outcome == Outcome(ErrorCode.ERROR)
    assert outcome.fault is fault


@pytest.mark.parametrize("fault", [MemoryError(), RecursionError(), KeyboardInterrupt()])
def test_what_is_no_function_of_the_op_is_not_caught(log: MetadataLog, fault: BaseException) -> None:
    with pytest.raises(type(fault)):
        decide(faulty(fault), log.op(CreateTopic("s", 1, "n")))
