"""Everything a server acknowledged, by partition: the measure of every trial."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.support.topic_client import Place

__all__ = ["Ledger", "PartitionKey", "PartitionLedger"]


@dataclass(frozen=True, slots=True, order=True)
class PartitionKey:
    """A partition of a topic, by its names and number."""

    stream: str
    topic: str
    number: int

    @property
    def place(self) -> Place:
        """The topic."""
        return Place(self.stream, self.topic)

    def __str__(self) -> str:
        return f"{self.stream}/{self.topic}/{self.number}"


@dataclass(slots=True)
class PartitionLedger:
    """The acknowledged state of a partition."""

    messages: dict[int, int] = field(default_factory=dict)
    """Digest of each retained message by its offset."""
    next_offset: int = 0
    """No acknowledged message of this purge generation has this offset or a higher one."""
    stored: dict[int, int] = field(default_factory=dict)
    """Stored offset of each consumer."""

    def acknowledge(self, base: int, digests: tuple[int, ...]) -> None:
        """Adds a batch."""
        self.messages |= dict(enumerate(digests, start=base))
        self.next_offset = base + len(digests)


@dataclass(slots=True)
class Ledger:
    """The acknowledged state of a server."""

    partitions: dict[PartitionKey, PartitionLedger] = field(default_factory=dict)

    def encode(self) -> str:
        """As JSON, for another process."""
        rows = [
            {
                "key": [key.stream, key.topic, key.number],
                "messages": list(partition.messages.items()),
                "next_offset": partition.next_offset,
                "stored": list(partition.stored.items()),
            }
            for key, partition in self.partitions.items()
        ]
        return json.dumps(rows)

    @classmethod
    def read(cls, path: Path) -> Self:
        """From a file of JSON."""
        ledger = cls()
        for row in json.loads(path.read_text()):
            stream, topic, number = row["key"]
            ledger.partitions[PartitionKey(stream, topic, number)] = PartitionLedger(
                dict(row["messages"]), row["next_offset"], dict(row["stored"])
            )
        return ledger
