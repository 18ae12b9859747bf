"""What should be: the partitions of the committed metadata, by the groups that hold their logs."""

from collections.abc import Iterable, Set

from server_ng.metadata.state import State
from server_ng.reconciler.placement import BLOCK_BITS

__all__ = ["Wanted"]


class Wanted:
    """Reads a state, which goes on changing underneath."""

    def __init__(self, state: State) -> None:
        self._state = state

    @property
    def revision(self) -> int:
        """The revision the state stands at."""
        return self._state.counters.revision

    def generation(self, group: int) -> int | None:
        """The purge generation of the group's partition; none if no partition has the group."""
        row = self._state.groups.get(group)
        return None if row is None else row.purge_generation

    def groups(self) -> Set[int]:
        """The groups of all partitions."""
        return self._state.groups.keys()

    def unminted(self, groups: Iterable[int]) -> set[int]:
        """Those of the groups whose numbers no operation gave to a partition, up to where the state stands.

        They belong to operations that will be applied again: what they hold is not deleted, but unknown yet.
        """
        candidates = list(groups)
        if not candidates:
            return set()
        first_untaken = max(1, self._state.counters.next_block)
        ends = self._open_blocks()
        return {
            group
            for group in candidates
            if group >> BLOCK_BITS >= first_untaken or group >= ends.get(group >> BLOCK_BITS, group + 1)
        }

    def _open_blocks(self) -> dict[int, int]:
        """The block that each topic takes numbers from, and the next number it will give."""
        return {
            topic.row.next_group - 1 >> BLOCK_BITS: topic.row.next_group
            for stream in self._state.streams.values()
            for topic in stream.topics.values()
            if topic.row.next_group
        }
