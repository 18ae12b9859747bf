"""What is to be done next for one group: a function of what should be and what is, and of nothing else."""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from server_ng.reconciler.observed import Observed, Removal
from server_ng.reconciler.placement import owner
from server_ng.wire.reconcile import ReconcileOp
from server_ng.wire.tables import ReconcileKind

__all__ = ["Cause", "Step", "is_settled", "steps"]


class Cause(Enum):
    """What a step is for; each cause has retries of its own."""

    BUILD = "build"
    PURGE = "purge"
    REMOVE = "remove"


class Step(NamedTuple):
    """One operation for one shard."""

    shard: int
    cause: Cause
    op: ReconcileOp


def steps(group: int, generation: int | None, observed: Observed) -> Iterator[Step]:
    """Everything that may be done for the group now, at once and in any order.

    `generation` is the purge generation of the partition that has the group; none if it is to go.
    """
    if generation is None:
        yield from _removal(group, observed)
    elif group not in observed.tombstones:
        # A tombstone of a partition that exists is from the future of a log that is being read again: the
        # operation that deletes the partition will come.
        yield from _insertion(group, generation, observed)


def is_settled(group: int, generation: int | None, observed: Observed) -> bool:
    """Whether a client sees the group as it should be. The files of what is deleted may still be there."""
    if generation is None:
        return not observed.is_open(group) and not observed.reaching(group)
    if group in observed.tombstones:
        return True
    return observed.owned.get(group, -1) >= generation and observed.routed.get(group) == observed.everywhere


def _insertion(group: int, generation: int, observed: Observed) -> Iterator[Step]:
    home = owner(group, observed.shards)
    reached = observed.owned.get(group)
    if reached is None:
        yield Step(home, Cause.BUILD, ReconcileOp(ReconcileKind.INSERT_OWNED, group, generation))
        return
    if reached < generation:
        yield Step(home, Cause.PURGE, ReconcileOp(ReconcileKind.PURGE, group, generation))
    for shard in _shards(observed.everywhere & ~observed.routed.get(group, 0)):
        yield Step(shard, Cause.BUILD, ReconcileOp(ReconcileKind.INSERT_ROUTED, group, generation))


def _removal(group: int, observed: Observed) -> Iterator[Step]:
    """Whoever else routes to the group stops before its owner does: files go when nobody can ask for them."""
    home = owner(group, observed.shards)
    others = observed.reaching(group) & ~(1 << home)
    if others:
        for shard in _shards(others):
            yield Step(shard, Cause.REMOVE, ReconcileOp(ReconcileKind.REMOVE_ROUTED, group, 0))
        return
    tombstone = observed.tombstones.get(group)
    if tombstone is Removal.REMOVED:
        yield Step(home, Cause.REMOVE, ReconcileOp(ReconcileKind.CONFIRM_REMOVE, group, 0))
    elif tombstone is Removal.TO_START or observed.is_open(group) or observed.reaching(group):
        yield Step(home, Cause.REMOVE, ReconcileOp(ReconcileKind.REMOVE_ROUTED, group, 0))


def _shards(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
