"""The planner, case by case: orders, retries, what is waited for, what is kept, and bounds."""

import pytest

from server_ng.metadata.deltas import encode_deltas
from server_ng.metadata.machine import Metadata
from server_ng.reconciler.convergence import ATTEMPTS_WAITED_FOR
from server_ng.reconciler.observed import MisplacedGroupError, Removal
from server_ng.reconciler.placement import METADATA, owner
from server_ng.reconciler.plan import Batch, Planner
from server_ng.reconciler.steps import Cause
from server_ng.wire.reconcile import HeldGroup, ReconcileAnswer
from server_ng.wire.requests import (
    CreatePartitions,
    CreateStream,
    CreateTopic,
    DeletePartitions,
    DeleteTopic,
    PurgeTopic,
)
from server_ng.wire.tables import HeldState, ReconcileKind, ReconcileOutcome
from tests.support.metadata_log import MetadataLog, Request

SHARDS = 2
GROUP = 1 << 12
HOME = owner(GROUP, SHARDS)
OTHER = 1 - HOME
CREATE = CreateTopic("s", 1, "t")
DELETE = DeleteTopic("s", "t")


class Bench:
    """A planner over metadata with an empty stream; each call is one step."""

    def __init__(self, shards: int = SHARDS) -> None:
        self.log = MetadataLog()
        self.log.do(CreateStream("s"))
        self.planner = Planner(shards)
        self.now = 0.0
        self.planner.load(self.log.machine.state, self.now)

    def do(self, request: Request) -> None:
        self.log.do(request)
        self.planner.change(self.log.machine.take_touched(), self.now)

    def plan(self) -> list[Batch]:
        return self.planner.plan(self.now)

    def answer(self, batch: Batch, outcome: ReconcileOutcome) -> None:
        answers = [ReconcileAnswer(op.kind, op.group, outcome) for op in batch.ops]
        self.planner.answer(batch.shard, batch.pass_number, answers, self.now)

    def carry_out(self, outcome: ReconcileOutcome = ReconcileOutcome.DONE) -> list[tuple[str, int]]:
        """What the next passes ask, by name and shard; all of it is answered with this."""
        batches = self.plan()
        for batch in batches:
            self.answer(batch, outcome)
        return [(op.kind.name, batch.shard) for batch in batches for op in batch.ops]

    def settle(self) -> None:
        """Carries out all that can be carried out now."""
        while self.carry_out() or self.planner.next_plan(self.now) == self.now:
            pass

    def hear(self, outcome: ReconcileOutcome, kind: ReconcileKind = ReconcileKind.REMOVE_ROUTED) -> None:
        """The owner of the group says this, unasked."""
        self.planner.answer(HOME, 0, [ReconcileAnswer(kind, GROUP, outcome)], self.now)


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def settled(bench: Bench) -> Bench:
    """A bench with one partition, which is as it should be."""
    bench.do(CREATE)
    bench.settle()
    return bench


def test_a_group_is_routed_to_everywhere_once_its_owner_has_it(bench: Bench) -> None:
    bench.do(CREATE)
    assert bench.carry_out() == [("INSERT_OWNED", HOME)]
    assert bench.planner.converged_revision == 0
    assert bench.carry_out() == [("INSERT_ROUTED", 0), ("INSERT_ROUTED", 1)]
    assert bench.carry_out() == []
    assert bench.planner.converged_revision == bench.planner.wanted.revision == 1


def test_the_owner_lets_go_last_and_forgets_when_the_files_are_gone(settled: Bench) -> None:
    settled.do(DELETE)
    assert settled.carry_out() == [("REMOVE_ROUTED", OTHER)]
    assert settled.carry_out() == [("REMOVE_ROUTED", HOME)]
    assert settled.carry_out() == []
    # Clients see no more of it; the files are another matter.
    assert settled.planner.converged_revision == 2
    settled.hear(ReconcileOutcome.REMOVED)
    assert settled.carry_out() == [("CONFIRM_REMOVE", HOME)]
    assert settled.carry_out() == []
    assert settled.planner.observed.groups() == set()


def test_files_that_are_gone_at_once_need_no_news(settled: Bench) -> None:
    settled.do(DELETE)
    settled.carry_out()
    assert settled.carry_out(ReconcileOutcome.REMOVED) == [("REMOVE_ROUTED", HOME)]
    assert settled.carry_out() == [("CONFIRM_REMOVE", HOME)]


def test_files_that_are_gone_say_that_the_group_was_fenced(settled: Bench) -> None:
    settled.do(DELETE)
    settled.carry_out()
    assert settled.carry_out(ReconcileOutcome.FAILED) == [("REMOVE_ROUTED", HOME)]
    settled.hear(ReconcileOutcome.REMOVED)
    settled.now = 1.0
    assert settled.carry_out() == [("CONFIRM_REMOVE", HOME)]
    assert settled.planner.observed.groups() == set()


def test_a_purge_is_asked_for_until_its_generation_is_reached(settled: Bench) -> None:
    settled.do(PurgeTopic("s", "t"))
    (batch,) = settled.plan()
    assert [(op.kind, op.purge_generation) for op in batch.ops] == [(ReconcileKind.PURGE, 1)]
    settled.do(PurgeTopic("s", "t"))
    settled.answer(batch, ReconcileOutcome.DONE)
    (batch,) = settled.plan()
    assert [op.purge_generation for op in batch.ops] == [2]
    settled.answer(batch, ReconcileOutcome.DONE)
    assert settled.plan() == []


def test_a_deletion_waits_for_the_answer_of_what_it_undoes(bench: Bench) -> None:
    bench.do(CREATE)
    bench.carry_out()
    routing = {batch.shard: batch for batch in bench.plan()}
    bench.answer(routing[HOME], ReconcileOutcome.DONE)
    bench.do(DELETE)
    assert bench.plan() == [], "the other shard may be about to route"
    bench.answer(routing[OTHER], ReconcileOutcome.FAILED)
    assert bench.carry_out() == [("REMOVE_ROUTED", OTHER)], "a failure does not say that nothing happened"
    assert bench.carry_out() == [("REMOVE_ROUTED", HOME)]


def test_what_is_recreated_has_a_group_of_its_own_and_does_not_wait(settled: Bench) -> None:
    settled.do(DELETE)
    settled.do(CREATE)
    asked = [(op.kind, op.group) for batch in settled.plan() for op in batch.ops]
    new = next(group for kind, group in asked if kind is ReconcileKind.INSERT_OWNED)
    assert (ReconcileKind.REMOVE_ROUTED, GROUP) in asked
    assert new != GROUP


def test_pauses_double_up_to_ten_seconds_for_each_cause_alone(settled: Bench) -> None:
    settled.do(PurgeTopic("s", "t"))
    pauses = []
    for _ in range(10):
        assert settled.carry_out(ReconcileOutcome.FAILED) == [("PURGE", HOME)]
        assert settled.carry_out() == []
        due = settled.planner.next_plan(settled.now)
        assert due is not None
        pauses.append(round(due - settled.now, 6))
        settled.now = due
    assert pauses == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]
    assert settled.planner.failing == {Cause.PURGE: 1}
    settled.carry_out(ReconcileOutcome.FAILED)
    settled.do(DELETE)
    assert settled.carry_out() == [("REMOVE_ROUTED", OTHER)], "a removal does not pay for a purge"


def test_a_busy_shard_is_asked_again_and_has_not_failed(bench: Bench) -> None:
    bench.do(CREATE)
    bench.carry_out(ReconcileOutcome.BUSY)
    assert +bench.planner.failing == {}
    bench.now = 0.05
    assert bench.carry_out() == [("INSERT_OWNED", HOME)]


def test_a_group_that_fails_again_and_again_keeps_nobody_waiting(bench: Bench) -> None:
    bench.do(CREATE)
    for attempt in range(ATTEMPTS_WAITED_FOR):
        assert bench.planner.converged_revision == 0, attempt
        bench.now += 10.0
        bench.carry_out(ReconcileOutcome.FAILED)
    bench.plan()
    assert bench.planner.converged_revision == 1
    assert (bench.planner.unsettled, bench.planner.lag(bench.now)) == (1, bench.now)
    bench.now += 10.0
    bench.settle()
    assert (bench.planner.unsettled, bench.planner.lag(bench.now)) == (0, 0.0)
    assert not +bench.planner.failing


def test_a_removal_that_is_stuck_is_seen_and_goes_on_when_it_can(settled: Bench) -> None:
    settled.do(DELETE)
    settled.settle()
    pauses = []
    for _ in range(4):
        settled.hear(ReconcileOutcome.FAILED)
        assert settled.planner.observed.tombstones == {GROUP: Removal.TO_START}
        assert settled.planner.failing == {Cause.REMOVE: 1}
        assert settled.plan() == []
        due = settled.planner.next_plan(settled.now)
        assert due is not None
        pauses.append(round(due - settled.now, 6))
        settled.now = due
        assert settled.carry_out() == [("REMOVE_ROUTED", HOME)]
    assert pauses == [0.05, 0.1, 0.2, 0.4], "a removal that begins is not one that succeeds"
    settled.hear(ReconcileOutcome.REMOVED)
    settled.settle()
    assert settled.planner.observed.groups() == set()
    assert not +settled.planner.failing


def test_a_group_that_the_owner_does_not_know_is_built_again(settled: Bench) -> None:
    settled.do(PurgeTopic("s", "t"))
    assert settled.carry_out(ReconcileOutcome.UNKNOWN_GROUP) == [("PURGE", HOME)]
    assert settled.carry_out() == [("INSERT_OWNED", HOME)]
    settled.now = 1.0
    assert settled.carry_out() == [("PURGE", HOME)]
    assert settled.carry_out() == []
    assert settled.planner.unsettled == 0


def test_what_is_unknown_needs_no_removal(settled: Bench) -> None:
    settled.do(DELETE)
    settled.carry_out(ReconcileOutcome.UNKNOWN_GROUP)
    assert settled.carry_out(ReconcileOutcome.UNKNOWN_GROUP) == [("REMOVE_ROUTED", HOME)]
    assert settled.carry_out() == []
    assert settled.planner.observed.groups() == set()


def test_news_that_do_not_fit_change_nothing(settled: Bench) -> None:
    settled.hear(ReconcileOutcome.DONE)
    settled.hear(ReconcileOutcome.FAILED)
    settled.hear(ReconcileOutcome.DONE, ReconcileKind.CONFIRM_REMOVE)
    other = ReconcileAnswer(ReconcileKind.REMOVE_ROUTED, GROUP, ReconcileOutcome.REMOVED)
    settled.planner.answer(OTHER, 0, [other], settled.now)
    assert settled.plan() == []
    assert settled.planner.unsettled == 0


def restarted(log: MetadataLog, held: list[HeldGroup]) -> Planner:
    """A planner whose shards said what they hold, and nothing was asked yet."""
    planner = Planner(SHARDS)
    for group, state in held:
        planner.hold(owner(group, SHARDS), [HeldGroup(group, state)])
    planner.load(log.machine.state, 0.0)
    return planner


def asked(planner: Planner) -> list[tuple[str, int]]:
    return [(op.kind.name, op.group) for batch in planner.plan(0.0) for op in batch.ops]


def test_what_a_shard_holds_at_the_start_is_corrected() -> None:
    log = MetadataLog()
    log.do(CreateStream("s"))
    log.do(CreateTopic("s", 3, "t"))
    log.do(DeletePartitions("s", "t", 1))
    owned, missing, gone = (GROUP + partition for partition in range(3))
    planner = restarted(log, [HeldGroup(owned, HeldState.OWNED), HeldGroup(gone, HeldState.OWNED)])
    assert sorted(asked(planner)) == [
        ("INSERT_OWNED", missing),
        *[("INSERT_ROUTED", owned)] * SHARDS,
        ("REMOVE_ROUTED", gone),
    ]


def test_a_tombstone_at_the_start_is_removed_further() -> None:
    log = MetadataLog()
    log.do(CreateStream("s"))
    log.do(CREATE)
    log.do(DELETE)
    planner = restarted(log, [HeldGroup(GROUP, HeldState.TOMBSTONE)])
    assert asked(planner) == [("REMOVE_ROUTED", GROUP)]
    assert planner.converged_revision == planner.wanted.revision, "no client sees it"


def behind(log: MetadataLog, ops: int) -> Metadata:
    """The state that the first operations of a log make."""
    machine = Metadata()
    for op in log.ops[:ops]:
        machine.apply(op)
    return machine


@pytest.mark.parametrize("state", HeldState)
def test_what_a_later_operation_makes_is_kept(state: HeldState) -> None:
    log = MetadataLog()
    for request in (CreateStream("s"), CREATE, CreatePartitions("s", "t", 1), CreateTopic("s", 1, "u")):
        log.do(request)
    later = [GROUP + 1, 2 * GROUP]
    planner = Planner(SHARDS)
    for group in (GROUP, *later):
        planner.hold(owner(group, SHARDS), [HeldGroup(group, HeldState.OWNED if group == GROUP else state)])
    machine = behind(log, 2)
    planner.load(machine.state, 0.0)
    assert {group for _, group in asked(planner)} == {GROUP}
    for op in log.ops[2:]:
        machine.apply(op)
    planner.change(machine.take_touched(), 0.0)
    planner.plan(0.0)
    assert all(planner.wanted.generation(group) == 0 for group in later)
    assert planner.observed.groups() == {GROUP, *later}


def test_a_full_block_belongs_to_nobody_who_gives_more_of_it() -> None:
    log = MetadataLog()
    log.do(CreateStream("s"))
    log.do(CreateTopic("s", 1000, "t"))
    for _ in range(4):
        log.do(CreatePartitions("s", "t", 774))
    last = 2 * GROUP - 1
    assert log.machine.state.streams[0].topics[0].row.next_group == 0
    log.do(DeletePartitions("s", "t", 1))
    wanted = restarted(log, []).wanted
    assert last not in wanted.groups()
    assert wanted.unminted([last, last + 1]) == {last + 1}


@pytest.mark.parametrize("group", [METADATA, METADATA + 1, GROUP])
def test_a_shard_that_holds_what_is_not_its_own_is_not_believed(group: int) -> None:
    with pytest.raises(MisplacedGroupError):
        Planner(SHARDS).hold(OTHER, [HeldGroup(group, HeldState.OWNED)])


def test_a_state_that_replaces_another_is_compared_as_a_whole(settled: Bench) -> None:
    settled.log.do(DELETE)
    settled.log.do(CreateTopic("s", 1, "u"))
    replacing = Metadata()
    replacing.load(encode_deltas(settled.log.machine.state.rows()), last=True)
    settled.planner.load(replacing.state, settled.now)
    assert settled.planner.converged_revision == 0
    settled.settle()
    assert settled.planner.converged_revision == replacing.state.counters.revision
    assert set(settled.planner.observed.owned) == set(replacing.state.groups)


def test_a_pass_is_bounded_and_what_it_leaves_is_looked_at_once_for_each_pass() -> None:
    bench = Bench(shards=1)
    for topic in range(10):
        bench.do(CreateTopic("s", 1000, str(topic)))
    sizes = []
    while bench.planner.next_plan(bench.now) == bench.now:
        for batch in bench.plan():
            sizes.append(len(batch.ops))
            bench.answer(batch, ReconcileOutcome.DONE)
    assert max(sizes) == 2048
    assert sum(sizes) == 20_000
    assert bench.planner.unsettled == 0
    assert bench.planner.tally.examined < 80_000


def test_one_new_topic_costs_a_look_at_its_own_partitions_only() -> None:
    bench = Bench()
    for topic in range(5):
        bench.do(CreateTopic("s", 1000, str(topic)))
    bench.settle()
    examined = bench.planner.tally.examined
    bench.do(CREATE)
    bench.settle()
    assert bench.planner.tally.examined - examined < 10


def test_nothing_to_do_costs_no_look_at_a_group(settled: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    settled.plan()
    monkeypatch.delattr(Planner, "_examine")
    assert settled.plan() == []
    assert settled.planner.next_plan(settled.now) is None
