"""The planner against shards that fail and restart: what it asks is safe, and it always gets there."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from server_ng.reconciler.convergence import ATTEMPTS_WAITED_FOR
from server_ng.reconciler.plan import Planner
from server_ng.wire.requests import (
    CreatePartitions,
    CreateStream,
    CreateTopic,
    DeletePartitions,
    DeleteStream,
    DeleteTopic,
    PurgeStream,
    PurgeTopic,
)
from tests.support.metadata_log import MetadataLog, Request
from tests.support.reconciled_shards import Fate, Shards

STREAMS = st.sampled_from(["s", "s", "s", "t"])
TOPICS = st.sampled_from(["a", "b", "c"])
COUNTS = st.integers(1, 5)
CHANGES: st.SearchStrategy[Request] = st.one_of(
    st.builds(CreateTopic, STREAMS, COUNTS, TOPICS),
    st.builds(CreateTopic, STREAMS, COUNTS, TOPICS),
    st.builds(DeleteTopic, STREAMS, TOPICS),
    st.builds(PurgeTopic, STREAMS, TOPICS),
    st.builds(CreatePartitions, STREAMS, TOPICS, COUNTS),
    st.builds(DeletePartitions, STREAMS, TOPICS, st.just(1)),
    st.builds(PurgeStream, STREAMS),
    st.builds(DeleteStream, STREAMS),
)
# More than any chain of passes of a world of this size needs.
ROUNDS_MAX = 1_000


class World(RuleBasedStateMachine):
    """Operations, answers, failures and restarts in any order."""

    log: MetadataLog
    shards: Shards
    planner: Planner
    now = 0.0

    @initialize(count=st.integers(1, 4))
    def boot(self, count: int) -> None:
        self.log = MetadataLog()
        for stream in ("s", "t"):
            self.log.do(CreateStream(stream))
        self.shards = Shards(count, self.wanted)
        self.last_change: dict[int, int] = {}
        self.start()

    def wanted(self) -> dict[int, int]:
        """Each partition's group and purge generation."""
        return {group: row.purge_generation for group, row in self.log.machine.state.groups.items()}

    def start(self) -> None:
        self.planner = Planner(len(self.shards.each))
        for shard in range(len(self.shards.each)):
            self.planner.hold(shard, self.shards.held(shard))
        self.log.machine.take_touched()
        self.planner.load(self.log.machine.state, self.now)
        self.shards.failures.clear()

    @rule(request=CHANGES)
    def change(self, request: Request) -> None:
        self.do(request)
        if isinstance(request, DeleteStream):
            self.do(CreateStream(str(request.stream)))

    @rule(stream=STREAMS, topic=TOPICS, count=COUNTS)
    def create_again_under_the_same_name(self, stream: str, topic: str, count: int) -> None:
        self.do(DeleteTopic(stream, topic))
        self.do(CreateTopic(stream, count, topic))

    def do(self, request: Request) -> None:
        self.log.do(request)
        touched = self.log.machine.take_touched()
        for group in touched:
            self.last_change[group] = self.planner.wanted.revision
        self.planner.change(touched, self.now)

    @rule(
        seconds=st.sampled_from([0.0, 0.1, 20.0]), mostly=st.sampled_from(Fate), seed=st.integers(0, 1 << 32)
    )
    def turn(self, seconds: float, mostly: Fate, seed: int) -> None:
        """Time goes on, what is due is asked, and some of what was asked is answered."""
        random = Random(seed)
        self.now += seconds
        self.shards.ask(self.planner.plan(self.now))
        for shard in [shard for shard in self.shards.asked if random.random() < 0.7]:
            self.answer_one(shard, fates(mostly, random))
        for group in [group for shard in self.shards.each for group in sorted(shard.removing)]:
            if random.random() < 0.5:
                self.tell_of_files(group, works=random.random() < 0.7)

    @rule(mostly=st.sampled_from(Fate), seed=st.integers(0, 1 << 32), restarts=st.booleans())
    def turns(self, mostly: Fate, seed: int, restarts: bool) -> None:
        """Enough turns for the longest chain of passes, and perhaps a restart in the middle of the next."""
        for step in range(8):
            self.turn(1.0, mostly, seed + step)
        if restarts:
            self.shards.ask(self.planner.plan(self.now))
            self.shards.restart()
            self.start()

    def answer_one(self, shard: int, fate: Callable[[], Fate], pieces: int = 1) -> None:
        batch, answers = self.shards.answer(shard, fate)
        for first in range(pieces):
            self.planner.answer(shard, batch.pass_number, answers[first::pieces], self.now)
        # What comes late finds nothing.
        self.planner.answer(shard, batch.pass_number, answers, self.now)

    @rule(which=st.integers(0, 100), works=st.booleans())
    def remove_files(self, which: int, works: bool) -> None:
        removing = sorted(group for shard in self.shards.each for group in shard.removing)
        if removing:
            self.tell_of_files(removing[which % len(removing)], works)

    def tell_of_files(self, group: int, works: bool) -> None:
        shard = self.shards.each.index(self.shards.home(group))
        news = self.shards.remove_files(group, works=works)
        self.planner.answer(shard, 0, [news], self.now)

    @invariant()
    def what_is_said_to_be_converged_is(self) -> None:
        if not hasattr(self, "planner"):
            return
        if self.planner.unsettled == 0:
            self.shards.failures.clear()
        wanted = self.wanted()
        converged = self.planner.converged_revision
        for group, revision in self.last_change.items():
            if revision <= converged and not self.shards.is_as_wanted(group, wanted.get(group)):
                assert self.shards.failures[group] >= ATTEMPTS_WAITED_FOR

    def teardown(self) -> None:
        if not hasattr(self, "planner"):
            return
        self.heal()
        wanted = self.wanted()
        owned = {group: at for shard in self.shards.each for group, at in shard.owned.items()}
        assert owned == wanted
        assert all(shard.routed == set(wanted) for shard in self.shards.each)
        assert not any(shard.left | shard.removing | shard.removed for shard in self.shards.each)
        assert self.planner.converged_revision == self.planner.wanted.revision
        assert self.planner.unsettled == 0
        assert self.planner.observed.routed_everywhere == len(wanted)
        assert not +self.planner.failing
        self.look_again()

    def heal(self) -> None:
        """Nothing fails any more, and time goes on."""
        for _ in range(ROUNDS_MAX):
            self.shards.ask(self.planner.plan(self.now))
            for shard in list(self.shards.asked):
                self.answer_one(shard, lambda: Fate.DONE, pieces=2)
            for group in [group for shard in self.shards.each for group in shard.removing]:
                self.tell_of_files(group, works=True)
            due = self.planner.next_plan(self.now)
            if due is None:
                return
            self.now = max(self.now, due)
        raise AssertionError("it never gets there")

    def look_again(self) -> None:
        """Nothing is left to do, which costs no look at a group; a look at all of them comes to the same."""
        examined = self.planner.tally.examined
        assert self.planner.plan(self.now + 100.0) == []
        assert self.planner.tally.examined == examined
        self.planner.review(self.now)
        assert self.planner.plan(self.now) == []
        assert self.planner.tally.examined == examined + len(self.wanted())
        assert self.planner.unsettled == 0


def fates(mostly: Fate, random: Random) -> Callable[[], Fate]:
    """What comes of each operation of a batch."""
    return lambda: random.choice([mostly, mostly, mostly, *Fate])


TestWorld: Any = World.TestCase
TestWorld.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestWorld.pytestmark = [pytest.mark.timeout(120)]
