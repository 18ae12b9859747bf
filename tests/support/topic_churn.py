"""Clients that make, fill, purge and remove topics, and what must be left of these after a restart."""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Final

from tests.support.crew import Crew, Worker
from tests.support.load import send_batch
from tests.support.load_checker import check
from tests.support.load_record import BrokenPromiseError, LoadRecord
from tests.support.node import Node
from tests.support.topic_client import Place, TopicClient

__all__ = ["TopicHistory", "check_topics", "churn"]

SEGMENT_BYTES: Final = 1 << 20
_PARTITIONS_MAX: Final = 6


@dataclass(slots=True)
class TopicHistory:
    """What one client was told about one topic."""

    place: Place
    partitions: frozenset[int | None] = frozenset({None})
    """How many there may be; none is no topic."""
    record: LoadRecord = field(default_factory=LoadRecord)
    purging: bool = False
    """Whether a purge was asked for and not answered."""


@contextmanager
def churn(node: Node, histories: Sequence[Sequence[TopicHistory]], seed: int) -> Iterator[Crew]:
    """One client for each row of topics."""
    with ExitStack() as connections:
        workers = [
            _TopicMaker(
                connections.enter_context(TopicClient(node.connect_registered())),
                topics,
                random.Random(f"{seed}-{number}"),
            )
            for number, topics in enumerate(histories)
        ]
        with Crew(workers) as crew:
            yield crew


def check_topics(client: TopicClient, stream: str, histories: Sequence[TopicHistory]) -> None:
    """Raises what is wrong; else what was found is what must be found from now on."""
    found = client.topics(stream)
    if unknown := found.keys() - {history.place.topic for history in histories}:
        raise BrokenPromiseError(f"topics that nobody made: {unknown}")
    for history in histories:
        partitions = found.get(history.place.topic)
        if partitions not in history.partitions:
            raise BrokenPromiseError(
                f"{history.place}: {partitions} partitions, not one of {history.partitions}"
            )
        history.partitions = frozenset({partitions})
        if history.purging and (partitions is None or not client.figures(history.place).messages):
            history.record = LoadRecord()
        history.purging = False
        if partitions is not None:
            check(client, history.place, history.record)


class _TopicMaker(Worker):
    """Changes its own topics, one at a time."""

    def __init__(self, client: TopicClient, topics: Sequence[TopicHistory], dice: random.Random) -> None:
        self._client, self._topics, self._dice = client, topics, dice

    def once(self) -> None:
        topic = self._dice.choice(self._topics)
        (partitions,) = topic.partitions
        if partitions is None:
            self._create(topic)
        else:
            steps: list[Callable[[TopicHistory, int], None]] = [self._send, self._purge, self._delete]
            self._dice.choice(steps)(topic, partitions)
        self.done += 1

    def _create(self, topic: TopicHistory) -> None:
        partitions = self._dice.randint(1, _PARTITIONS_MAX)
        topic.record = LoadRecord()
        topic.partitions = frozenset({None, partitions})
        self._client.create_topic(topic.place, partitions, SEGMENT_BYTES)
        topic.partitions = frozenset({partitions})

    def _send(self, topic: TopicHistory, partitions: int) -> None:
        partition = self._dice.randrange(partitions)
        # The first offset of a partition is 0, also if there was another partition of this name.
        first = not topic.record.known[partition] and not topic.record.unanswered[partition]
        send_batch(self._client, topic.place, partition, topic.record, self._dice)
        if first and 0 not in topic.record.known[partition]:
            raise BrokenPromiseError(f"{topic.place}: partition {partition} does not begin at 0")

    def _purge(self, topic: TopicHistory, _partitions: int) -> None:
        topic.purging = True
        self._client.purge_topic(topic.place)
        topic.purging = False
        topic.record = LoadRecord()

    def _delete(self, topic: TopicHistory, partitions: int) -> None:
        topic.partitions = frozenset({partitions, None})
        self._client.delete_topic(topic.place)
        topic.partitions = frozenset({None})
