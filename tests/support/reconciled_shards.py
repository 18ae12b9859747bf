"""Shards as the reconciler sees them: they do what they are asked or fail, and check what they are asked."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum

from server_ng.reconciler.placement import owner
from server_ng.reconciler.plan import Batch
from server_ng.wire.reconcile import HeldGroup, ReconcileAnswer, ReconcileOp
from server_ng.wire.tables import HeldState, ReconcileKind, ReconcileOutcome

__all__ = ["Fate", "Shard", "Shards"]


class Fate(Enum):
    """What comes of one operation."""

    DONE = "done"
    FAILED = "failed"
    DONE_BUT_FAILED = "done but failed"
    """It took effect, and the shard says that it failed."""
    BUSY = "busy"


@dataclass
class Shard:
    """What one shard really holds."""

    owned: dict[int, int] = field(default_factory=dict)
    routed: set[int] = field(default_factory=set)
    removing: set[int] = field(default_factory=set)
    """Tombstones whose files are being removed."""
    left: set[int] = field(default_factory=set)
    """Tombstones whose files are there, and nobody removes them."""
    removed: set[int] = field(default_factory=set)
    """Tombstones without files."""


class Shards:
    """All shards of a node, and what they were asked and did not answer."""

    def __init__(self, count: int, wanted: Callable[[], Iterable[int]]) -> None:
        self.each = [Shard() for _ in range(count)]
        self.asked: dict[int, Batch] = {}
        self.failures: Counter[int] = Counter()
        """Failures per group since it was last as it should be."""
        self._wanted = wanted

    def home(self, group: int) -> Shard:
        """The group's owner."""
        return self.each[owner(group, len(self.each))]

    def ask(self, batches: Iterable[Batch]) -> None:
        """Takes batches; a shard that has not answered gets none."""
        for batch in batches:
            assert batch.shard not in self.asked
            assert len({(op.kind, op.group) for op in batch.ops}) == len(batch.ops) > 0
            self.asked[batch.shard] = batch

    def answer(self, shard: int, fate: Callable[[], Fate]) -> tuple[Batch, list[ReconcileAnswer]]:
        """Does what a shard was asked, as fate wills."""
        batch = self.asked.pop(shard)
        return batch, [self._do(shard, op, fate()) for op in batch.ops]

    def held(self, shard: int) -> list[HeldGroup]:
        """What a shard would say it holds."""
        at = self.each[shard]
        owned = [HeldGroup(group, HeldState.OWNED) for group in at.owned]
        return owned + [HeldGroup(group, HeldState.TOMBSTONE) for group in at.left | at.removing | at.removed]

    def restart(self) -> None:
        """All that is not on a disk is gone."""
        self.asked.clear()
        for shard in self.each:
            shard.routed.clear()
            shard.left |= shard.removing | shard.removed
            shard.removing.clear()
            shard.removed.clear()

    def remove_files(self, group: int, *, works: bool = True) -> ReconcileAnswer:
        """What becomes of the files of a tombstone."""
        home = self.home(group)
        home.removing.remove(group)
        (home.removed if works else home.left).add(group)
        outcome = ReconcileOutcome.REMOVED if works else ReconcileOutcome.FAILED
        self.failures[group] += not works
        return ReconcileAnswer(ReconcileKind.REMOVE_ROUTED, group, outcome)

    def is_as_wanted(self, group: int, generation: int | None) -> bool:
        """Whether clients find the group as it should be."""
        routed = sum(group in shard.routed for shard in self.each)
        if generation is None:
            return not routed and group not in self.home(group).owned
        return routed == len(self.each) and self.home(group).owned.get(group, -1) >= generation

    def _do(self, shard: int, op: ReconcileOp, fate: Fate) -> ReconcileAnswer:
        outcome = ReconcileOutcome.BUSY if fate is Fate.BUSY else ReconcileOutcome.FAILED
        if fate in (Fate.DONE, Fate.DONE_BUT_FAILED):
            came_to = self._carry_out(shard, op)
            outcome = came_to if fate is Fate.DONE else outcome
        done = outcome in (ReconcileOutcome.DONE, ReconcileOutcome.REMOVED)
        self.failures[op.group] += not done
        return ReconcileAnswer(op.kind, op.group, outcome)

    def _carry_out(self, shard: int, op: ReconcileOp) -> ReconcileOutcome:
        at, group = self.each[shard], op.group
        at_home = at is self.home(group)
        match op.kind:
            case ReconcileKind.INSERT_OWNED:
                assert at_home
                assert group not in at.left | at.removing | at.removed
                at.owned.setdefault(group, 0)
            case ReconcileKind.INSERT_ROUTED:
                assert group in self.home(group).owned, "routed to a group that is not owned"
                at.routed.add(group)
            case ReconcileKind.PURGE:
                assert at_home
                at.owned[group] = max(at.owned[group], op.purge_generation)
            case ReconcileKind.REMOVE_ROUTED:
                assert group not in self._wanted(), "a desired group is removed"
                return self._fence(at, group) if at_home else _discarded(at.routed, group)
            case ReconcileKind.CONFIRM_REMOVE:
                assert at_home
                assert group not in at.left | at.removing, "confirmed before it was removed"
                return _discarded(at.removed, group)
        return ReconcileOutcome.DONE

    def _fence(self, home: Shard, group: int) -> ReconcileOutcome:
        others = [shard for shard in self.each if shard is not home and group in shard.routed]
        assert not others, "fenced while others route to it"
        home.routed.discard(group)
        if group in home.removed:
            return ReconcileOutcome.REMOVED
        if group not in home.owned and group not in home.left | home.removing:
            return ReconcileOutcome.UNKNOWN_GROUP
        home.owned.pop(group, None)
        home.left.discard(group)
        home.removing.add(group)
        return ReconcileOutcome.DONE


def _discarded(groups: set[int], group: int) -> ReconcileOutcome:
    if group not in groups:
        return ReconcileOutcome.UNKNOWN_GROUP
    groups.remove(group)
    return ReconcileOutcome.DONE
