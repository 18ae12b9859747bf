"""What a fold has changed, so that a fault in its middle leaves the state as it was."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

__all__ = ["UndoLog"]

_K = TypeVar("_K")
_V = TypeVar("_V")


class UndoLog:
    """Makes changes, and takes all of them back on request.

    Each change is recorded before it is made, and what takes it back sets the old value whether or not the
    change was made: a fault between the two does no harm.
    """

    __slots__ = ("_steps",)

    def __init__(self) -> None:
        self._steps: list[Callable[[], object]] = []

    def put(self, items: dict[_K, _V], key: _K, value: _V) -> None:
        """Sets an item of a dict."""
        self._record_item(items, key)
        items[key] = value

    def drop(self, items: dict[_K, _V], key: _K) -> None:
        """Removes an item of a dict."""
        self._record_item(items, key)
        del items[key]

    def assign(self, owner: object, name: str, value: object) -> None:
        """Sets an attribute."""
        self._steps.append(partial(setattr, owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def replace(self, items: list[_V], index: int, value: _V) -> None:
        """Sets an element of a list."""
        self._steps.append(partial(items.__setitem__, index, items[index]))
        items[index] = value

    def append(self, items: list[_V], value: _V) -> None:
        """Appends to a list."""
        self._record_tail(items, len(items))
        items.append(value)

    def truncate(self, items: list[_V], length: int) -> None:
        """Removes what is behind the first elements of a list."""
        self._record_tail(items, length)
        del items[length:]

    def call(self, change: Callable[[int], object], inverse: Callable[[int], object], number: int) -> None:
        """Calls a change of a number that the inverse takes back, also if it was not made."""
        self._steps.append(partial(inverse, number))
        change(number)

    def take_back(self) -> None:
        """Takes every change back, the last one first."""
        for step in reversed(self._steps):
            step()
        self._steps.clear()

    def _record_item(self, items: dict[_K, _V], key: _K) -> None:
        if key in items:
            self._steps.append(partial(items.__setitem__, key, items[key]))
        else:
            self._steps.append(partial(_discard, items, key))

    def _record_tail(self, items: list[_V], start: int) -> None:
        self._steps.append(partial(items.__setitem__, slice(start, None), items[start:]))


def _discard(items: dict[Any, Any], key: object) -> None:
    items.pop(key, None)
