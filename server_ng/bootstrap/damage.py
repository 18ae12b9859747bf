"""Damaged and lost messages by the names of their topics, for the log and for `/ready`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from server_ng.bootstrap.fenced_ranges import read_fenced_ranges
from server_ng.metadata.state import State
from server_ng.wire.tables import EVENTS

__all__ = ["MESSAGES_DAMAGED", "MESSAGES_FENCED", "DamagedMessages"]

MESSAGES_DAMAGED: Final = next(row.code for row in EVENTS if row.name == "messages_damaged")
"""The event of a poll that met damage: a group and an offset."""

MESSAGES_FENCED: Final = next(row.code for row in EVENTS if row.name == "messages_fenced")
"""The event of messages that are lost: a group and the first lost offset."""

_PARTITIONS_MAX: Final = 64
"""Partitions that `/ready` names. The log has all, and the metrics count all."""


@dataclass(frozen=True, slots=True)
class _Place:
    stream: str
    topic: str
    partition: int


class DamagedMessages:
    """Partitions of the data directory `path` that have damaged or lost messages."""

    def __init__(self, path: Path, state: Callable[[], State]) -> None:
        self._path = path
        self._state = state
        self._fenced = dict[int, None]()

    def met(self, group: int) -> Mapping[str, str | int]:
        """The names of a partition in which a poll met damage, if it still exists."""
        place = self._find(group)
        return {} if place is None else _names(place)

    def fenced(self, group: int) -> list[Mapping[str, str | int]]:
        """The lost ranges of a partition, each with names and file, to be logged once."""
        if len(self._fenced) < _PARTITIONS_MAX:
            self._fenced[group] = None
        return list(self._ranges_of(group))

    def ranges(self) -> tuple[Mapping[str, str | int], ...]:
        """The ranges that are lost now, in partitions that still exist."""
        return tuple(known for group in self._fenced for known in self._ranges_of(group) if "stream" in known)

    def _ranges_of(self, group: int) -> Iterator[Mapping[str, str | int]]:
        names = self.met(group)
        for lost in read_fenced_ranges(self._path, group):
            yield {
                **names,
                "first_offset": lost.first_offset,
                "last_offset": lost.last_offset,
                "file": str(lost.file),
            }

    def _find(self, group: int) -> _Place | None:
        for stream in self._state().streams.values():
            for topic in stream.topics.values():
                for number, row in enumerate(topic.partitions):
                    if row.group == group:
                        return _Place(stream.row.name, topic.row.name, number)
        return None


def _names(place: _Place) -> Mapping[str, str | int]:
    return {"stream": place.stream, "topic": place.topic, "partition": place.partition}
