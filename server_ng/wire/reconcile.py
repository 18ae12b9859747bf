"""What the control plane asks of a shard for a partition's group, and what the shard says to it."""

from typing import NamedTuple

from server_ng.wire.tables import HeldState, ReconcileKind, ReconcileOutcome

__all__ = [
    "HeldGroup",
    "ReconcileAnswer",
    "ReconcileOp",
]


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
