"""Clients of one topic that send, read and store offsets as fast as they are answered."""

import random
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Final

from tests.support.batches import batch
from tests.support.crew import Crew, Worker
from tests.support.load_record import Batch, ConsumerKey, LoadRecord
from tests.support.node import Node
from tests.support.topic_client import Place, TopicClient, base_offset, messages_in
from tests.support.waiting import WAIT_MAX

__all__ = ["load", "send_batch"]

PRODUCERS: Final = 4
READERS: Final = 2

_BUSY: Final = 58
_PAUSE_SECONDS: Final = 0.001
_POLL_MESSAGES_MAX: Final = 200
_LARGE_BYTES_MAX: Final = 300_000
_LARGE_ONES: Final = 0.01
"""The share of batches that hold one large message."""


@contextmanager
def load(node: Node, place: Place, partitions: int, record: LoadRecord, seed: int) -> Iterator[Crew]:
    """Loads a topic. What its clients were told is in the record once the block is left."""
    ends = {partition: max(known) + 1 for partition, known in record.known.items() if known}
    with ExitStack() as connections:

        def client() -> TopicClient:
            return connections.enter_context(TopicClient(node.connect_registered()))

        dice = [random.Random(f"{seed}-{number}") for number in range(PRODUCERS + READERS)]
        workers: list[_Producer | _Reader] = [
            *(_Producer(client(), place, partitions, dice.pop()) for _ in range(PRODUCERS)),
            *(_Reader(client(), place, partitions, dice.pop(), ends, 2 * one) for one in range(READERS)),
        ]
        try:
            with Crew(workers) as crew:
                yield crew
        finally:
            for worker in workers:
                record.merge(worker.record)


def send_batch(
    client: TopicClient, place: Place, partition: int, record: LoadRecord, dice: random.Random
) -> None:
    """Sends a new batch until it is acknowledged, and records what became of it."""
    content, sent = _new_batch(dice)
    record.unanswered[partition].append(sent)
    deadline = time.monotonic() + WAIT_MAX
    while (reply := client.send(place, partition, content, len(sent.digests))).status == _BUSY:
        assert time.monotonic() < deadline, f"{place}, partition {partition}: busy for ever"
        time.sleep(_PAUSE_SECONDS)
    assert reply.status == 0, reply
    record.acknowledge(partition, base_offset(reply), sent)


def _new_batch(dice: random.Random) -> tuple[bytes, Batch]:
    sizes = [dice.randrange(400) for _ in range(dice.randint(1, 20))]
    if dice.random() < _LARGE_ONES:
        sizes = [dice.randrange(_LARGE_BYTES_MAX)]
    # An identity of its own makes each message unlike any other.
    content = batch([dice.randbytes(size) for size in sizes], dice.getrandbits(120))
    return content, Batch(tuple(message.digest for message in messages_in(memoryview(content))))


class _Producer(Worker):
    """Sends one batch after the other to any partition."""

    def __init__(self, client: TopicClient, place: Place, partitions: int, dice: random.Random) -> None:
        self.record = LoadRecord()
        self._client, self._place, self._partitions, self._dice = client, place, partitions, dice

    def once(self) -> None:
        partition = self._dice.randrange(self._partitions)
        send_batch(self._client, self._place, partition, self.record, self._dice)
        self.done += 1


class _Reader(Worker):
    """Reads what is new, committing as one consumer, and stores offsets that it has seen as another."""

    def __init__(
        self,
        client: TopicClient,
        place: Place,
        partitions: int,
        dice: random.Random,
        ends: Mapping[int, int],
        first_consumer: int,
    ) -> None:
        self.record = LoadRecord()
        self._client, self._place, self._dice = client, place, dice
        self._next = [ends.get(partition, 0) for partition in range(partitions)]
        self._following, self._storing = first_consumer, first_consumer + 1

    def once(self) -> None:
        partition = self._dice.randrange(len(self._next))
        self.record.following.add(ConsumerKey(partition, self._following))
        count = self._dice.randint(1, _POLL_MESSAGES_MAX)
        messages = self._client.poll(
            self._place, partition, self._next[partition], count, self._following, commits=True
        )
        for message in messages:
            self.record.know(partition, message.offset, message.digest)
        if messages:
            self._next[partition] = messages[-1].offset + 1
            self._store(ConsumerKey(partition, self._storing), self._dice.choice(messages).offset)

    def _store(self, key: ConsumerKey, offset: int) -> None:
        self.record.storing[key] = offset
        reply = self._client.store_offset(self._place, key.partition, key.consumer, offset)
        del self.record.storing[key]
        if reply.status == _BUSY:
            return
        assert (reply.status, reply.rejection) == (0, 0), reply
        self.record.stored[key] = offset
