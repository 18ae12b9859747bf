"""Where polls found messages damaged, by the names of their topics, for the log and the metrics."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from server_ng.metadata.state import State
from server_ng.observe.catalogue import sample
from server_ng.observe.metrics import Sample
from server_ng.wire.tables import EVENTS

__all__ = ["MESSAGES_DAMAGED", "DamagedMessages"]

MESSAGES_DAMAGED: Final = next(row.code for row in EVENTS if row.name == "messages_damaged")
"""The event that brings a group and an offset."""

_SHOWN_MAX: Final = 64
"""Series of the metrics page; the log has all."""


@dataclass(frozen=True, slots=True)
class _Place:
    stream: int
    topic: int
    partition: int
    group: int
    purge_generation: int


class DamagedMessages:
    """Places of damage in partitions that are as they were when it was met."""

    def __init__(self, state: Callable[[], State]) -> None:
        self._state = state
        self._lowest: dict[_Place, int] = {}

    def met(self, group: int, offset: int) -> Mapping[str, str | int]:
        """A shard found messages damaged from an offset on; what their partition is called, if it is."""
        place = self._find(group)
        names = self._names(place) if place else None
        if place is None or names is None:
            return {}
        if place in self._lowest or len(self._lowest) < _SHOWN_MAX:
            self._lowest[place] = min(offset, self._lowest.get(place, offset))
        return {"stream": names[0], "topic": names[1], "partition": place.partition}

    def samples(self) -> Iterator[Sample]:
        """The lowest offset of damage in each partition that is not purged or gone."""
        for place, offset in list(self._lowest.items()):
            names = self._names(place)
            if names is None:
                del self._lowest[place]
                continue
            stream, topic = names
            labels = {"stream": stream, "topic": topic, "partition": str(place.partition)}
            yield sample("damaged_offset", offset, **labels)

    def _find(self, group: int) -> _Place | None:
        for stream in self._state().streams.values():
            for topic in stream.topics.values():
                for number, row in enumerate(topic.partitions):
                    if row.group == group:
                        return _Place(stream.id, topic.id, number, group, row.purge_generation)
        return None

    def _names(self, place: _Place) -> tuple[str, str] | None:
        stream = self._state().find(place.stream)
        topic = stream.find(place.topic) if stream else None
        if stream is None or topic is None or place.partition >= len(topic.partitions):
            return None
        row = topic.partitions[place.partition]
        if (row.group, row.purge_generation) != (place.group, place.purge_generation):
            return None
        return stream.row.name, topic.row.name
