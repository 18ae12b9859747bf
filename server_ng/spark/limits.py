"""Filters of a query that the source applies itself: of what is known before a message is decoded."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Self

from server_ng.segments.columns import ALL_TIME, END_OF_OFFSETS

__all__ = ["Limits"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER_NULL: Final = frozenset({"partition", "offset", "timestamp", "topic", "stream"})


@dataclass(frozen=True, slots=True)
class Limits:
    """Messages beyond these are not wanted."""

    partitions: frozenset[int] | None = None
    first_offset: int = 0
    end_offset: int = END_OF_OFFSETS
    min_timestamp: int = 0
    max_timestamp: int = ALL_TIME
    names: tuple[tuple[str, str], ...] = ()
    """Topic and stream as the query wants them."""

    def narrowed(self, kind: str, attribute: tuple[str, ...], value: Any) -> Self | None:
        """With one more filter, by the name of Spark's class for it; None: this one is Spark's to apply."""
        narrowed: Self | None = None
        match attribute, kind:
            case (column,), "IsNotNull" if column in _NEVER_NULL:
                narrowed = self
            case ("topic" | "stream" as column,), "EqualTo" if isinstance(value, str):
                narrowed = replace(self, names=(*self.names, (column, value)))
            case ("partition",), "In" if _whole(*value):
                narrowed = self._among(value)
            case ("partition",), "EqualTo" if _whole(value):
                narrowed = self._among([value])
            case ("offset",), _ if _whole(value):
                narrowed = self._offsets(kind, value)
            case ("timestamp",), _ if isinstance(value, datetime) and value.tzinfo is not None:
                narrowed = self._times(kind, (value - _EPOCH) // timedelta(microseconds=1))
        return narrowed

    def _among(self, partitions: Iterable[int]) -> Self:
        chosen = frozenset(partitions)
        return replace(self, partitions=chosen if self.partitions is None else self.partitions & chosen)

    def _offsets(self, kind: str, value: int) -> Self | None:
        bounds = _bounds(kind, value)
        if bounds is None:
            return None
        first, last = bounds
        end = END_OF_OFFSETS if last is None else min(max(last + 1, 0), END_OF_OFFSETS)
        first = 0 if first is None else max(first, 0)
        return replace(self, first_offset=max(self.first_offset, first), end_offset=min(self.end_offset, end))

    def _times(self, kind: str, value: int) -> Self | None:
        bounds = _bounds(kind, value)
        if bounds is None:
            return None
        first, last = bounds
        if last is not None and last < 0:
            # Nothing was appended before 1970.
            return replace(self, end_offset=0)
        first = 0 if first is None else max(first, 0)
        return replace(
            self,
            min_timestamp=max(self.min_timestamp, first),
            max_timestamp=self.max_timestamp if last is None else min(self.max_timestamp, last),
        )


def _bounds(kind: str, value: int) -> tuple[int | None, int | None] | None:
    """Least and greatest value that a comparison lets through."""
    match kind:
        case "EqualTo":
            return value, value
        case "GreaterThan":
            return value + 1, None
        case "GreaterThanOrEqual":
            return value, None
        case "LessThan":
            return None, value - 1
        case "LessThanOrEqual":
            return None, value
    return None


def _whole(*values: Any) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)
