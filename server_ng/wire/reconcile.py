"""What the control plane asks of a shard for a partition's group, and what the shard says to it."""

from enum import IntEnum
from typing import NamedTuple

__all__ = [
    "HeldGroup",
    "HeldState",
    "ReconcileAnswer",
    "ReconcileKind",
    "ReconcileOp",
    "ReconcileOutcome",
]


class ReconcileKind(IntEnum):
    """What a shard is asked to do with a group."""

    INSERT_OWNED = 1
    """The owner: open the group's log."""
    INSERT_ROUTED = 2
    """Any shard: requests may go to the group now."""
    REMOVE_ROUTED = 3
    """Any shard: no more requests to the group. The owner fences it too, and starts to remove its files."""
    CONFIRM_REMOVE = 4
    """The owner: the files are gone, forget the tombstone."""
    PURGE = 5
    """The owner: bring the purge of this generation into the group's log."""


class ReconcileOutcome(IntEnum):
    """How what was asked went."""

    DONE = 0
    REMOVED = 1
    """The files of a tombstone are gone; said unasked, after the removal was done."""
    FAILED = 2
    BUSY = 3
    UNKNOWN_GROUP = 4


class HeldState(IntEnum):
    """What a shard holds of a group when it starts."""

    OWNED = 1
    TOMBSTONE = 2


class ReconcileOp(NamedTuple):
    """One thing asked of a shard."""

    kind: ReconcileKind
    group: int
    purge_generation: int


class ReconcileAnswer(NamedTuple):
    """One thing a shard says."""

    kind: ReconcileKind
    group: int
    outcome: ReconcileOutcome


class HeldGroup(NamedTuple):
    """One group that a shard holds."""

    group: int
    state: HeldState
