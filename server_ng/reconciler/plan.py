"""The planner: from what should be and what the shards said to what they are asked next. It reads no clock.

Level-triggered: each decision compares a group as it should be with the group as it is (`steps`). Which
groups are looked at is a matter of hints: one changed, a shard said something of it, or a retry is due. Every
group is looked at when a state is loaded, and when a shard does not know a group that it was taken to have.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from server_ng.metadata.state import State
from server_ng.reconciler.convergence import ATTEMPTS_WAITED_FOR, Convergence
from server_ng.reconciler.group_queue import GroupQueue
from server_ng.reconciler.observed import Observed, Removal
from server_ng.reconciler.placement import owner
from server_ng.reconciler.retries import Retries
from server_ng.reconciler.steps import Cause, Step, is_settled, steps
from server_ng.reconciler.wanted import Wanted
from server_ng.wire.reconcile import HeldGroup, ReconcileAnswer, ReconcileOp
from server_ng.wire.tables import ReconcileKind, ReconcileOutcome

__all__ = ["Batch", "Planner", "Tally"]

# Bounds of one turn of the loop, at some microseconds for each; the rest waits for the next turn.
_OPS_PER_PASS: Final = 2_048
_GROUPS_PER_PLAN: Final = 2_048

_CAUSES: Final = {
    ReconcileKind.INSERT_OWNED: Cause.BUILD,
    ReconcileKind.INSERT_ROUTED: Cause.BUILD,
    ReconcileKind.REMOVE_ROUTED: Cause.REMOVE,
    ReconcileKind.CONFIRM_REMOVE: Cause.REMOVE,
    ReconcileKind.PURGE: Cause.PURGE,
}


class Batch(NamedTuple):
    """What one shard is asked in one pass."""

    shard: int
    pass_number: int
    ops: list[ReconcileOp]


class _Pass(NamedTuple):
    number: int
    unanswered: dict[int, ReconcileOp]
    """By `_key`."""


@dataclass(slots=True)
class Tally:
    """What was done since the start."""

    passes: int = 0
    examined: int = 0
    """Groups looked at."""
    materialised: int = 0
    removed: int = 0


class Planner:
    """What is known of every group, and what each shard was asked and has not answered: one pass at most."""

    def __init__(self, shards: int) -> None:
        self.wanted = Wanted(State())
        self.observed = Observed(shards)
        self.tally = Tally()
        self.failures: Counter[Cause] = Counter()
        """Attempts that failed since the start."""
        self._retries = Retries()
        self._convergence = Convergence()
        self._unminted: set[int] = set()
        self._waiting = GroupQueue()
        self._blocked = [GroupQueue() for _ in range(shards)]
        self._drafts: list[list[ReconcileOp]] = [[] for _ in range(shards)]
        self._passes: list[_Pass | None] = [None] * shards
        self._pass_number = 0
        self._disagreed = False

    @property
    def converged_revision(self) -> int:
        """The revision at which every shard stands at least, but for groups that failed again and again."""
        return self._convergence.revision(self.wanted.revision)

    @property
    def failing(self) -> Counter[Cause]:
        """Groups that failed when they were last tried."""
        return self._retries.failing

    @property
    def unsettled(self) -> int:
        """Groups that are not as they should be."""
        return len(self._convergence)

    def lag(self, now: float) -> float:
        """For how many seconds some group has not been as it should be."""
        return self._convergence.lag(now)

    def load(self, state: State, now: float) -> None:
        """Takes a state for what should be, and looks at everything: no revision is converged before."""
        self.wanted = Wanted(state)
        self._convergence = Convergence()
        self._convergence.unsettle((*self.wanted.groups(), *self.observed.groups()), 1, now)
        self.review(now)

    def hold(self, shard: int, held: Iterable[HeldGroup]) -> None:
        """Takes a piece of what a shard holds at its start."""
        self.observed.hold(shard, held)

    def review(self, now: float) -> None:
        """Looks at every group there is."""
        held = self.observed.groups()
        self._unminted = self.wanted.unminted(held - self.wanted.groups())
        self._look_at([*self.wanted.groups(), *(held - self.wanted.groups())], now)

    def change(self, groups: Iterable[int], now: float) -> None:
        """The partitions of these groups came, changed or went with the state's revision."""
        touched = list(groups)
        self._unminted.difference_update(touched)
        self._look_at(touched, now)

    def _look_at(self, groups: list[int], now: float) -> None:
        self._convergence.unsettle(groups, self.wanted.revision, now)
        self._waiting.extend(groups)

    def plan(self, now: float) -> list[Batch]:
        """What each shard is asked now. With nothing to do it looks at no group."""
        self._waiting.extend(self._retries.take_due(now))
        for running, blocked in zip(self._passes, self._blocked, strict=True):
            if running is None:
                self._waiting.extend(blocked.take(_OPS_PER_PASS))
        for group in self._waiting.take(_GROUPS_PER_PLAN):
            self._examine(group, now)
        return [self._begin_pass(shard) for shard, draft in enumerate(self._drafts) if draft]

    def next_plan(self, now: float) -> float | None:
        """When there will be something to plan, if no shard says anything before; none if never."""
        return now if self._waiting else self._retries.next_due()

    def answer(self, shard: int, pass_number: int, answers: Iterable[ReconcileAnswer], now: float) -> None:
        """Takes what a shard says, asked or unasked."""
        running = self._passes[shard]
        asked = running.unanswered if running is not None and running.number == pass_number else {}
        for answer in answers:
            op = asked.pop(_key(answer.kind, answer.group), None)
            if op is not None:
                self._take_answer(shard, op, answer.outcome, now)
            else:
                self._take_news(shard, answer, now)
            self._waiting.add(answer.group)
        if self._disagreed:
            self._disagreed = False
            self.review(now)
        if running is not None and not running.unanswered:
            self._passes[shard] = None

    def _examine(self, group: int, now: float) -> None:
        self.tally.examined += 1
        generation = self.wanted.generation(group)
        attempts = 0
        if group not in self._unminted:
            for step in steps(group, generation, self.observed):
                attempts = max(attempts, self._retries.count(group, step.cause))
                if self._retries.is_due(group, step.cause, now):
                    self._ask(step)
            if not is_settled(group, generation, self.observed):
                self._convergence.notice(group, self.wanted.revision, now)
                if attempts >= ATTEMPTS_WAITED_FOR:
                    self._convergence.give_up(group)
                return
        self._convergence.settle(group)
        self._retries.forget(group, Cause.BUILD, Cause.PURGE)
        if group not in self.observed.tombstones:
            self._retries.forget(group, Cause.REMOVE)

    def _ask(self, step: Step) -> None:
        draft = self._drafts[step.shard]
        if self._passes[step.shard] is not None or len(draft) >= _OPS_PER_PASS:
            self._blocked[step.shard].add(step.op.group)
            return
        draft.append(step.op)
        if step.op.kind is ReconcileKind.INSERT_OWNED:
            self.observed.opening.add(step.op.group)
        elif step.op.kind is ReconcileKind.INSERT_ROUTED:
            self.observed.ask_to_route(step.op.group, step.shard)

    def _begin_pass(self, shard: int) -> Batch:
        self._pass_number += 1
        self.tally.passes += 1
        ops = self._drafts[shard]
        self._drafts[shard] = []
        self._passes[shard] = _Pass(self._pass_number, {_key(op.kind, op.group): op for op in ops})
        return Batch(shard, self._pass_number, ops)

    def _take_answer(self, shard: int, op: ReconcileOp, outcome: ReconcileOutcome, now: float) -> None:
        match outcome:
            case ReconcileOutcome.DONE:
                self._take_done(shard, op)
            case ReconcileOutcome.REMOVED:
                self._take_done(shard, op)
                self._take_removed(op.group)
            case ReconcileOutcome.FAILED | ReconcileOutcome.BUSY:
                self._take_failure(op.kind, op.group, outcome, now)
            case ReconcileOutcome.UNKNOWN_GROUP:
                self._take_unknown(shard, op, now)

    def _take_done(self, shard: int, op: ReconcileOp) -> None:
        observed = self.observed
        match op.kind:
            case ReconcileKind.INSERT_OWNED:
                observed.open(op.group)
                self.tally.materialised += 1
            case ReconcileKind.INSERT_ROUTED:
                observed.route(op.group, shard)
            case ReconcileKind.REMOVE_ROUTED:
                observed.unroute(op.group, shard)
                if shard == owner(op.group, observed.shards):
                    observed.bury(op.group)
            case ReconcileKind.CONFIRM_REMOVE:
                observed.tombstones.pop(op.group, None)
                self.tally.removed += 1
            case ReconcileKind.PURGE:
                observed.purge(op.group, op.purge_generation)

    def _take_removed(self, group: int) -> None:
        """The owner fenced the group and its files are gone, even if it said that the fencing failed."""
        observed = self.observed
        if group in observed.tombstones or observed.is_open(group):
            observed.unroute(group, owner(group, observed.shards))
            observed.bury(group)
            observed.tombstones[group] = Removal.REMOVED

    def _take_failure(self, kind: ReconcileKind, group: int, outcome: ReconcileOutcome, now: float) -> None:
        cause = _CAUSES[kind]
        busy = outcome is ReconcileOutcome.BUSY
        self.failures[cause] += not busy
        self._retries.fail(group, cause, now, busy=busy)

    def _take_unknown(self, shard: int, op: ReconcileOp, now: float) -> None:
        """The shard has not what it was taken to have. What was to go is gone; the rest is built again."""
        self._disagreed = True
        observed = self.observed
        at_home = shard == owner(op.group, observed.shards)
        match op.kind:
            case ReconcileKind.CONFIRM_REMOVE:
                observed.tombstones.pop(op.group, None)
            case ReconcileKind.REMOVE_ROUTED:
                observed.unroute(op.group, shard)
                if at_home:
                    observed.close(op.group)
                    observed.tombstones.pop(op.group, None)
            case _:
                self._take_failure(op.kind, op.group, ReconcileOutcome.UNKNOWN_GROUP, now)
                if at_home:
                    observed.close(op.group)

    def _take_news(self, shard: int, answer: ReconcileAnswer, now: float) -> None:
        """What became of files whose removal was begun. Other news are late, and find nothing to change."""
        home = owner(answer.group, self.observed.shards)
        if answer.kind is not ReconcileKind.REMOVE_ROUTED or shard != home:
            return
        tombstone = self.observed.tombstones.get(answer.group)
        match answer.outcome:
            case ReconcileOutcome.REMOVED:
                self._take_removed(answer.group)
            case ReconcileOutcome.FAILED | ReconcileOutcome.BUSY if tombstone is Removal.REMOVING:
                self.observed.tombstones[answer.group] = Removal.TO_START
                self._take_failure(answer.kind, answer.group, answer.outcome, now)


def _key(kind: ReconcileKind, group: int) -> int:
    """One number for an operation of a pass: a tuple with an enumeration in it is slow to hash."""
    return group << 3 | kind
