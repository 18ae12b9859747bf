"""What the shards hold, as far as they said so."""

from collections.abc import Iterable
from enum import Enum

from server_ng.reconciler.placement import METADATA, owner
from server_ng.wire.reconcile import HeldGroup
from server_ng.wire.tables import HeldState

__all__ = ["MisplacedGroupError", "Observed", "Removal"]


class MisplacedGroupError(Exception):
    """A shard holds what cannot be its own: nothing may be removed on the word of such a shard."""

    def __init__(self, shard: int, group: int) -> None:
        super().__init__(f"shard {shard} holds group {group}, which is not a partition of its own")


class Removal(Enum):
    """How far the removal of a tombstone's files is."""

    TO_START = "to_start"
    REMOVING = "removing"
    REMOVED = "removed"


class Observed:
    """One entry per group, whatever the number of shards.

    What was asked and not yet answered counts as possible: a removal must not pass by it.
    """

    def __init__(self, shards: int) -> None:
        self.shards = shards
        self.everywhere = (1 << shards) - 1
        """The mask of all shards."""
        self.owned: dict[int, int] = {}
        """Groups open on their owners, with the purge generation that was reached."""
        self.opening: set[int] = set()
        """Groups whose opening was asked for."""
        self.routed: dict[int, int] = {}
        """Masks of the shards that route requests to a group."""
        self.routing: dict[int, int] = {}
        """Masks of the shards that were asked to, and perhaps do."""
        self.tombstones: dict[int, Removal] = {}
        """Groups fenced on their owners."""
        self.routed_everywhere = 0
        """How many groups every shard routes to."""

    def hold(self, shard: int, held: Iterable[HeldGroup]) -> None:
        """Takes what a shard holds at its start; raises `MisplacedGroupError`."""
        for group, state in held:
            if group >= METADATA or owner(group, self.shards) != shard:
                raise MisplacedGroupError(shard, group)
            if state is HeldState.OWNED:
                # Which purge was reached is not said: the latest is asked for again, and changes nothing.
                self.owned[group] = 0
            else:
                self.tombstones[group] = Removal.TO_START

    def groups(self) -> set[int]:
        """Every group that any shard holds."""
        return {*self.owned, *self.opening, *self.routed, *self.routing, *self.tombstones}

    def reaching(self, group: int) -> int:
        """The mask of the shards that route to the group, or perhaps do."""
        return self.routed.get(group, 0) | self.routing.get(group, 0)

    def is_open(self, group: int) -> bool:
        """Whether the owner has the group open, or perhaps has."""
        return group in self.owned or group in self.opening

    def open(self, group: int) -> None:
        """The owner opened the group."""
        self.opening.discard(group)
        self.owned.setdefault(group, 0)

    def purge(self, group: int, generation: int) -> None:
        """The owner reached a purge generation."""
        if group in self.owned:
            self.owned[group] = max(self.owned[group], generation)

    def ask_to_route(self, group: int, shard: int) -> None:
        """A shard is asked to route to the group."""
        self.routing[group] = self.routing.get(group, 0) | 1 << shard

    def route(self, group: int, shard: int) -> None:
        """A shard routes to the group."""
        _clear(self.routing, group, 1 << shard)
        before = self.routed.get(group, 0)
        mask = before | 1 << shard
        if mask == self.everywhere:
            # One object for all such groups.
            self.routed[group] = self.everywhere
            self.routed_everywhere += before != mask
        else:
            self.routed[group] = mask

    def unroute(self, group: int, shard: int) -> None:
        """A shard does not route to the group any more."""
        self.routed_everywhere -= self.routed.get(group) == self.everywhere
        _clear(self.routing, group, 1 << shard)
        _clear(self.routed, group, 1 << shard)

    def close(self, group: int) -> None:
        """The owner has the group open no more."""
        self.owned.pop(group, None)
        self.opening.discard(group)

    def bury(self, group: int) -> None:
        """The owner fenced the group and removes its files."""
        self.close(group)
        # The files of a tombstone may be gone before it is answered that it is one.
        if self.tombstones.get(group) is not Removal.REMOVED:
            self.tombstones[group] = Removal.REMOVING


def _clear(masks: dict[int, int], group: int, bit: int) -> None:
    mask = masks.get(group, 0) & ~bit
    if mask:
        masks[group] = mask
    else:
        masks.pop(group, None)
