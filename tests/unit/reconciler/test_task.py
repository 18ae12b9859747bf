"""The reconciler's task: when it begins, what it sends and in which order, and that it rests."""

import heapq
import struct
from collections.abc import Callable
from typing import Any

import pytest
import structlog

from server_ng.engine.records import Observed, Reconciled
from server_ng.metadata.deltas import Put
from server_ng.metadata.rows import COUNTERS_KEY
from server_ng.metadata.state import fold
from server_ng.reconciler.placement import owner
from server_ng.reconciler.task import Reconciler
from server_ng.wire.reconcile import HeldGroup, ReconcileAnswer
from server_ng.wire.requests import CreateStream, CreateTopic, DeleteTopic
from server_ng.wire.tables import FromPython, HeldState, ReconcileKind, ReconcileOutcome
from tests.support.metadata_log import MetadataLog, Request

GROUP = 1 << 12
OP = struct.Struct("<BQQ")


class Timer:
    """One call to come."""

    def __init__(self, callback: Callable[[], Any]) -> None:
        self.callback: Callable[[], Any] | None = callback

    def cancel(self) -> None:
        self.callback = None


class SteppedClock:
    """An event loop of nothing but timers; time goes on when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self._timers: list[tuple[float, int, Timer]] = []
        self._count = 0

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[[], Any]) -> Timer:
        self._count += 1
        timer = Timer(callback)
        heapq.heappush(self._timers, (when, self._count, timer))
        return timer

    def run(self) -> None:
        """Calls what is due now."""
        while (due := self.next_call()) is not None and due <= self.now:
            callback = heapq.heappop(self._timers)[2].callback
            assert callback is not None
            callback()

    def next_call(self) -> float | None:
        """When the next call comes; none if none will."""
        while self._timers and self._timers[0][2].callback is None:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None


class Bench:
    """A reconciler for shards that answer when the test says so."""

    def __init__(self, shards: int = 2) -> None:
        self.log = MetadataLog()
        self.log.do(CreateStream("s"))
        self.clock = SteppedClock()
        self.sent: list[bytes] = []
        self.converged = 0
        self.reconciler = Reconciler(shards, self.sent.append, self.clock, self._count)

    def _count(self) -> None:
        self.converged += 1

    def do(self, request: Request) -> None:
        self.log.do(request)
        self.reconciler.change(self.log.machine.take_touched())

    def take_sent(self) -> list[tuple[int, int, int, list[tuple[int, ...]]]]:
        """Kind, shard, token and operations of what was sent since, after what is due was done."""
        self.clock.run()
        taken = []
        data = b"".join(self.sent)
        self.sent.clear()
        while data:
            length, kind, shard, token = struct.unpack_from("<IHHQ", data)
            taken.append((kind, shard, token, list(OP.iter_unpack(data[16:length]))))
            data = data[length:]
        return taken

    def carry_out(self, outcome: ReconcileOutcome = ReconcileOutcome.DONE) -> list[int]:
        """Answers what was sent; tells the revisions that converged."""
        converged = []
        while sent := self.take_sent():
            for kind, shard, token, ops in sent:
                if kind == FromPython.CONVERGED:
                    converged.append(token)
                else:
                    answers = tuple(
                        ReconcileAnswer(ReconcileKind(op), group, outcome) for op, group, _ in ops
                    )
                    self.reconciler.answer(Reconciled(shard, token, answers))
        return converged

    def start(self) -> None:
        for shard in (0, 1):
            self.reconciler.observe(Observed(shard, True, ()))
        self.reconciler.load(self.log.machine.state)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_it_begins_when_the_state_is_caught_up_and_every_shard_has_spoken(bench: Bench) -> None:
    bench.log.do(CreateTopic("s", 1, "t"))
    home = owner(GROUP, 2)
    bench.reconciler.observe(Observed(home, False, (HeldGroup(GROUP, HeldState.OWNED),)))
    bench.reconciler.observe(Observed(1 - home, True, ()))
    bench.reconciler.load(bench.log.machine.state)
    assert bench.take_sent() == []
    bench.reconciler.observe(Observed(home, True, ()))
    sent = bench.take_sent()
    routed = [(2, GROUP, 0)]
    assert sorted((kind, shard, ops) for kind, shard, _, ops in sent) == [
        (FromPython.RECONCILE, shard, routed) for shard in (0, 1)
    ]


def test_with_nothing_to_correct_it_is_converged_at_once_and_rests(bench: Bench) -> None:
    bench.start()
    assert bench.converged == 0
    assert bench.take_sent() == []
    assert bench.converged == 1
    assert bench.clock.next_call() is None


def test_the_start_is_over_once_what_was_found_is_corrected(bench: Bench) -> None:
    bench.log.do(CreateTopic("s", 3, "t"))
    bench.start()
    assert bench.converged == 0
    assert bench.carry_out() == [1]
    assert bench.converged == 1
    bench.do(DeleteTopic("s", "t"))
    assert bench.carry_out() == [2]
    assert bench.converged == 1


def test_changes_of_one_turn_go_into_one_pass(bench: Bench) -> None:
    bench.start()
    bench.take_sent()
    for topic in "abc":
        bench.do(CreateTopic("s", 4, topic))
    sent = bench.take_sent()
    assert len(sent) == len({shard for _, shard, _, _ in sent})
    assert sum(len(ops) for _, _, _, ops in sent) == 12


def test_a_change_before_the_start_is_found_by_it(bench: Bench) -> None:
    bench.do(CreateTopic("s", 1, "t"))
    assert bench.take_sent() == []
    bench.start()
    assert bench.carry_out() == [1]


def test_a_failure_is_told_and_tried_again_when_it_is_due(bench: Bench) -> None:
    bench.start()
    bench.take_sent()
    bench.do(CreateTopic("s", 1, "t"))
    with structlog.testing.capture_logs() as logs:
        assert bench.carry_out(ReconcileOutcome.FAILED) == []
    (line,) = logs
    assert (line["event"], line["groups"], line["first_op"]) == ("reconcile_failed", 1, "insert_owned")
    assert bench.clock.next_call() == 0.05
    bench.clock.now = 0.05
    assert bench.reconciler.lag() == 0.05
    assert bench.carry_out() == [1]
    assert (bench.reconciler.lag(), bench.clock.next_call()) == (0.0, None)


def test_a_group_that_fails_for_good_does_not_keep_the_doors_shut(bench: Bench) -> None:
    bench.log.do(CreateTopic("s", 1, "t"))
    bench.start()
    while not bench.converged:
        bench.carry_out(ReconcileOutcome.FAILED)
        due = bench.clock.next_call()
        assert due is not None
        bench.clock.now = due
    assert bench.clock.now < 2.0 + 1.6
    assert bench.reconciler.planner.unsettled == 1


def test_a_revision_without_a_change_of_partitions_converges_too(bench: Bench) -> None:
    bench.start()
    bench.do(CreateTopic("s", 1, "t"))
    bench.carry_out()
    state = bench.log.machine.state
    raised = state.counters._replace(revision=2)
    fold(state, [Put(COUNTERS_KEY, raised.encode())])
    bench.reconciler.change(())
    assert bench.carry_out() == [2]


def test_a_state_that_replaces_another_is_followed(bench: Bench) -> None:
    bench.start()
    bench.carry_out()
    other = MetadataLog()
    other.do(CreateStream("s"))
    other.do(CreateTopic("s", 2, "t"))
    bench.reconciler.load(other.machine.state)
    assert bench.carry_out() == [1]
    assert set(bench.reconciler.planner.observed.owned) == set(other.machine.state.groups)


def test_after_its_close_it_begins_nothing(bench: Bench) -> None:
    bench.start()
    bench.do(CreateTopic("s", 1, "t"))
    bench.reconciler.close()
    bench.reconciler.change((GROUP,))
    assert bench.take_sent() == []
    assert bench.clock.next_call() is None
