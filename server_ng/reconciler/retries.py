"""When what failed is tried again: for each group and cause a pause that doubles."""

import heapq
from collections import Counter
from typing import Final, NamedTuple

from server_ng.reconciler.steps import Cause

__all__ = ["Retries"]

_FIRST_SECONDS: Final = 0.05
_LAST_SECONDS: Final = 10.0


class _Attempt(NamedTuple):
    failures: int
    due: float
    failed: bool


class Retries:
    """Attempts that did not succeed. What is not in here may be tried at once."""

    def __init__(self) -> None:
        self._attempts: dict[tuple[int, Cause], _Attempt] = {}
        self._due: list[tuple[float, int]] = []
        self.failing: Counter[Cause] = Counter()
        """Groups that failed when they were last tried; those whose shard was busy are not among them."""

    def fail(self, group: int, cause: Cause, now: float, *, busy: bool = False) -> None:
        """An attempt did not succeed."""
        count = self.count(group, cause) + 1
        self._forget(group, cause)
        # The exponent is bounded, for a float is.
        pause = min(_LAST_SECONDS, _FIRST_SECONDS * 2.0 ** min(count - 1, 64))
        self._attempts[group, cause] = _Attempt(count, now + pause, failed=not busy)
        self.failing[cause] += not busy
        heapq.heappush(self._due, (now + pause, group))

    def forget(self, group: int, *causes: Cause) -> None:
        """What these causes asked for was reached, or is wanted no more."""
        if self._attempts:
            for cause in causes:
                self._forget(group, cause)

    def _find(self, group: int, cause: Cause) -> _Attempt | None:
        # Mostly nothing failed, and then this is asked for every step of every group.
        return self._attempts.get((group, cause)) if self._attempts else None

    def _forget(self, group: int, cause: Cause) -> None:
        attempt = self._attempts.pop((group, cause), None)
        if attempt is not None:
            self.failing[cause] -= attempt.failed

    def count(self, group: int, cause: Cause) -> int:
        """How often in a row it did not succeed."""
        attempt = self._find(group, cause)
        return 0 if attempt is None else attempt.failures

    def is_due(self, group: int, cause: Cause, now: float) -> bool:
        """Whether it may be tried."""
        attempt = self._find(group, cause)
        return attempt is None or attempt.due <= now

    def take_due(self, now: float) -> list[int]:
        """The groups that have become due."""
        due = []
        while self._due and self._due[0][0] <= now:
            due.append(heapq.heappop(self._due)[1])
        return due

    def next_due(self) -> float | None:
        """When the next group becomes due."""
        return self._due[0][0] if self._due else None
