"""Up to which revision the shards are as they should be, and since when something is not."""

from collections.abc import Iterable
from typing import Final, NamedTuple

__all__ = ["ATTEMPTS_WAITED_FOR", "Convergence"]

ATTEMPTS_WAITED_FOR: Final = 6
"""A group that failed this often in a row is not waited for any more: after a second and a half if attempts
fail at once, after 14 s if a shard reports each as failed because no group becomes ready."""


class _Unsettled(NamedTuple):
    revision: int
    since: float


class Convergence:
    """The groups that are not settled: those waited for, and those that failed too often for that."""

    def __init__(self) -> None:
        self._waited: dict[int, _Unsettled] = {}
        self._given_up: dict[int, _Unsettled] = {}

    def __len__(self) -> int:
        return len(self._waited) + len(self._given_up)

    def unsettle(self, groups: Iterable[int], revision: int, now: float) -> None:
        """Groups changed with this revision. Revisions never go down, so the first group has the lowest."""
        unsettled = _Unsettled(revision, now)
        for group in groups:
            if group not in self._waited:
                before = self._given_up.pop(group, None)
                self._waited[group] = unsettled if before is None else _Unsettled(revision, before.since)

    def notice(self, group: int, revision: int, now: float) -> None:
        """A group is not settled, and perhaps nothing said that it changed."""
        if group not in self._given_up:
            self.unsettle((group,), revision, now)

    def give_up(self, group: int) -> None:
        """The group failed too often to be waited for."""
        unsettled = self._waited.pop(group, None)
        if unsettled is not None:
            self._given_up[group] = unsettled

    def settle(self, group: int) -> None:
        """The group is as it should be."""
        self._waited.pop(group, None)
        self._given_up.pop(group, None)

    def revision(self, latest: int) -> int:
        """The highest revision up to which nothing is waited for."""
        first = next(iter(self._waited.values()), None)
        return latest if first is None else max(0, first.revision - 1)

    def lag(self, now: float) -> float:
        """For how many seconds the group that is longest unsettled has been so."""
        waited = next(iter(self._waited.values()), None)
        since = [unsettled.since for unsettled in self._given_up.values()]
        return now - min([*since, now if waited is None else waited.since])
