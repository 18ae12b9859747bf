"""The reconciler on the event loop: gives the planner a clock, carries what it asks and what it is told."""

from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

import structlog

from server_ng.engine.records import Observed, Reconciled, encode_converged, encode_reconcile
from server_ng.metadata.state import State
from server_ng.reconciler.plan import Planner
from server_ng.wire.reconcile import ReconcileAnswer
from server_ng.wire.tables import ReconcileOutcome

__all__ = ["Clock", "Reconciler", "Timer"]

_log = structlog.get_logger()


class Timer(Protocol):
    """A call that is to come."""

    def cancel(self) -> None:
        """Lets it not come."""


class Clock(Protocol):
    """What is used of an event loop."""

    def time(self) -> float:
        """Seconds."""

    def call_at(self, when: float, callback: Callable[[], Any]) -> Timer:
        """Calls back at a time, and never before this returns."""


class Reconciler:
    """Begins when the state is caught up with the journal and every shard has said what it holds.

    Nothing polls: a pass begins when something changed, was said, or is due again.
    """

    def __init__(
        self, shards: int, send: Callable[[bytes], None], clock: Clock, converged: Callable[[], None]
    ) -> None:
        """`converged` is called once: when everything that was found at the start is as it should be."""
        self._send = send
        self._clock = clock
        self._converged = converged
        self._silent = set(range(shards))
        self._state: State | None = None
        self._started = False
        self._first_target: int | None = None
        self._told_revision = 0
        self._timer: Timer | None = None
        self._timer_at = 0.0
        self._closed = False
        self.planner: Final = Planner(shards)

    def observe(self, observed: Observed) -> None:
        """Takes a piece of what a shard holds at the start."""
        self.planner.hold(observed.shard, observed.groups)
        if observed.last:
            self._silent.discard(observed.shard)
            self._begin()

    def load(self, state: State) -> None:
        """Takes a state that is caught up, the first one or one that replaces it."""
        self._state = state
        if self._started:
            self._look_at_everything(state)
        else:
            self._begin()

    def change(self, groups: Iterable[int]) -> None:
        """The partitions of these groups came, changed or went, or the revision rose without any."""
        if self._started:
            self.planner.change(groups, self._clock.time())
            self._plan_at(self._clock.time())

    def answer(self, reconciled: Reconciled) -> None:
        """Takes what a shard says to a pass, or of a removal."""
        now = self._clock.time()
        self.planner.answer(reconciled.shard, reconciled.pass_number, reconciled.answers, now)
        _tell_failures(reconciled.shard, reconciled.answers)
        self._plan_at(now)

    def lag(self) -> float:
        """For how many seconds some group has not been as it should be."""
        return self.planner.lag(self._clock.time())

    def close(self) -> None:
        """Begins no more passes."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _begin(self) -> None:
        if self._state is not None and not self._silent and not self._started:
            self._started = True
            self._look_at_everything(self._state)
            self._first_target = self.planner.wanted.revision

    def _look_at_everything(self, state: State) -> None:
        now = self._clock.time()
        self.planner.load(state, now)
        self._plan_at(now)

    def _plan_at(self, when: float) -> None:
        if self._closed or (self._timer is not None and self._timer_at <= when):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = when
        self._timer = self._clock.call_at(when, self._plan)

    def _plan(self) -> None:
        self._timer = None
        now = self._clock.time()
        for batch in self.planner.plan(now):
            self._send(encode_reconcile(batch.shard, batch.pass_number, batch.ops))
        self._tell_converged()
        next_plan = self.planner.next_plan(now)
        if next_plan is not None:
            self._plan_at(next_plan)

    def _tell_converged(self) -> None:
        revision = self.planner.converged_revision
        if revision > self._told_revision:
            self._told_revision = revision
            self._send(encode_converged(revision))
        if self._first_target is not None and revision >= self._first_target:
            self._first_target = None
            self._converged()


def _tell_failures(shard: int, answers: Iterable[ReconcileAnswer]) -> None:
    """One line for all of a record: a broken disk fails them all."""
    failed = [answer for answer in answers if answer.outcome is ReconcileOutcome.FAILED]
    if failed:
        first = failed[0]
        _log.warning(
            "reconcile_failed",
            shard=shard,
            groups=len(failed),
            first_group=first.group,
            first_op=first.kind.name.lower(),
        )
