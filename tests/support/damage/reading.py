"""Reads all partitions of a server, across ranges it refuses to serve."""

from dataclasses import dataclass, field
from typing import Final

from tests.support.damage.ledger import Ledger, PartitionKey, PartitionLedger
from tests.support.topic_client import Message, TopicClient, polled_messages

__all__ = ["PartitionReading", "Reading", "read_everything"]

_POLL_MESSAGES_MAX: Final = 10_000
_CONSUMER: Final = 1_000


@dataclass(slots=True)
class PartitionReading:
    """Every message a partition serves, and every refusal."""

    messages: list[Message] = field(default_factory=list)
    refused: dict[int, int] = field(default_factory=dict)
    """Status of the answer by offset; only offsets that the ledger has."""
    stored: dict[int, int | None] = field(default_factory=dict)
    """Stored offset of each consumer that the ledger has."""
    counted: int = 0
    """Messages that the figures of the topic say are there."""


Reading = dict[PartitionKey, PartitionReading]


def read_everything(client: TopicClient, ledger: Ledger) -> Reading:
    """Polls every partition from its first offset to its last."""
    found = {key: _read(client, key, partition) for key, partition in ledger.partitions.items()}
    for place in dict.fromkeys(key.place for key in found):
        for number, figures in enumerate(client.figures(place).partitions):
            found[PartitionKey(place.stream, place.topic, number)].counted = figures.messages
    return found


def _read(client: TopicClient, key: PartitionKey, partition: PartitionLedger) -> PartitionReading:
    reading = PartitionReading()
    expected = sorted(partition.messages)
    at = 0
    while True:
        reply = client.ask_poll(key.place, key.number, at, _POLL_MESSAGES_MAX, _CONSUMER)
        if reply.status == 0:
            messages = polled_messages(reply, key.number, at)
            if not messages:
                break
            reading.messages += messages
            at = messages[-1].offset + 1
        else:
            if at in partition.messages:
                reading.refused[at] = reply.status
                at += 1
            # A refusal between two messages is only judged by whether the next message is served.
            following = [offset for offset in expected if offset >= at]
            if not following:
                break
            at = following[0]
    for consumer in partition.stored:
        reading.stored[consumer] = client.stored_offset(key.place, key.number, consumer)
    return reading
