"""A bug at any line of the writer of the state: an error, no change, and the same at every replay."""

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server_ng.metadata import state as state_module
from server_ng.metadata import undo as undo_module
from server_ng.metadata.machine import Metadata
from server_ng.metadata.ops import Op, Outcome
from server_ng.metadata.rows import StreamRow
from server_ng.metadata.slots import Slots
from server_ng.metadata.state import State
from server_ng.wire.requests import (
    CreatePartitions,
    CreateStream,
    CreateTopic,
    DeletePartitions,
    DeleteStream,
    DeleteTopic,
    PurgeTopic,
    UpdateStream,
    UpdateTopic,
)
from server_ng.wire.tables import ErrorCode
from tests.support.metadata_log import MetadataLog, Request, rows_digest
from tests.support.planted_fault import PlantedError, PlantedFault
from tests.unit.metadata.test_histories import HISTORY, check_state

WRITER = frozenset({state_module.__file__, undo_module.__file__})

EVERY_CHANGE: list[Request] = [
    CreateStream("n"),
    UpdateStream("s", "n"),
    DeleteStream("s"),
    CreateTopic("s", 3, "n"),
    UpdateTopic("s", "t", "n"),
    DeleteTopic("s", "t"),
    PurgeTopic("s", "t"),
    CreatePartitions("s", "t", 2),
    DeletePartitions("s", "t", 2),
]


def contents(state: State) -> tuple[object, ...]:
    """All of a state, with the slots, which two equal states may differ in."""
    within = {number: deepcopy(_bits(stream.slots)) for number, stream in state.streams.items()}
    return deepcopy(state), _bits(state.slots), within


def _bits(slots: Slots) -> tuple[object, ...]:
    return dict(slots._words), slots._full


def lines_of(log: MetadataLog, request: Request) -> int:
    """How many lines of the writer a request runs."""
    machine = deepcopy(log.machine)
    with PlantedFault(WRITER) as fault:
        machine.apply(log.op(request))
    return fault.lines


def apply_with_fault(machine: Metadata, op: Op, line: int) -> tuple[Outcome, bool]:
    """The outcome of an op, and whether it came to the line that raises."""
    with PlantedFault(WRITER, line) as fault:
        outcome = machine.apply(op)
    return outcome, fault.raised


@pytest.mark.parametrize("request_", EVERY_CHANGE, ids=repr)
def test_a_bug_at_any_line_leaves_the_state_as_it_was(log: MetadataLog, request_: Request) -> None:
    log.machine.take_touched()
    before = contents(log.machine.state)
    lines = lines_of(log, request_)
    assert lines > 10
    op = log.op(request_)
    for line in range(1, lines + 1):
        outcome, raised = apply_with_fault(log.machine, op, line)
        assert raised
        assert isinstance(outcome.fault, PlantedError)
        assert outcome == Outcome(ErrorCode.ERROR)
        assert contents(log.machine.state) == before
    assert log.machine.take_touched() == ()
    assert log.machine.apply(op).result == 0


@given(history=HISTORY, faults=st.lists(st.integers(0, 120), max_size=30))
def test_live_and_replay_come_to_the_same(history: list[tuple[Request, int]], faults: list[int]) -> None:
    log = MetadataLog()
    plan = [*faults, *([0] * len(history))]
    ops = []
    live = []
    for (request, user), line in zip(history, plan, strict=False):
        op = log.op(request, user)
        before = contents(log.machine.state)
        outcome, raised = apply_with_fault(log.machine, op, line)
        log.ops.append(op)
        ops.append((op, line))
        live.append(outcome)
        check_state(log.machine.state)
        if raised:
            assert outcome == Outcome(ErrorCode.ERROR)
            assert contents(log.machine.state) == before
    replay = Metadata()
    assert [apply_with_fault(replay, op, line)[0] for op, line in ops] == live
    assert rows_digest(replay.state) == rows_digest(log.machine.state)


def test_a_bug_in_the_bytes_of_a_row_is_the_same_error_everywhere(
    log: MetadataLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(log.machine.state)

    def fault(_value: bytes) -> StreamRow:
        raise ZeroDivisionError

    monkeypatch.setattr(StreamRow, "decode", fault)
    outcome = log.do(CreateStream("n"))
    assert outcome == Outcome(ErrorCode.ERROR)
    assert isinstance(outcome.fault, ZeroDivisionError)
    assert contents(log.machine.state) == before


@pytest.mark.parametrize("fault", [MemoryError, RecursionError])
def test_exhaustion_is_not_an_outcome(
    log: MetadataLog, monkeypatch: pytest.MonkeyPatch, fault: type[Exception]
) -> None:
    def exhausted(_value: bytes) -> StreamRow:
        raise fault

    monkeypatch.setattr(StreamRow, "decode", exhausted)
    with pytest.raises(fault):
        log.do(CreateStream("n"))
