"""Groups that wait for their turn."""

from collections import deque
from collections.abc import Iterable

__all__ = ["GroupQueue"]


class GroupQueue:
    """First in, first out, and each group once."""

    def __init__(self) -> None:
        self._order: deque[int] = deque()
        self._members: set[int] = set()

    def __len__(self) -> int:
        return len(self._order)

    def add(self, group: int) -> None:
        """Puts a group at the end, unless it is in here."""
        if group not in self._members:
            self._members.add(group)
            self._order.append(group)

    def extend(self, groups: Iterable[int]) -> None:
        """Puts groups at the end."""
        for group in groups:
            self.add(group)

    def take(self, count: int) -> list[int]:
        """Takes the first groups out, so many at most."""
        taken = [self._order.popleft() for _ in range(min(count, len(self._order)))]
        self._members.difference_update(taken)
        return taken
