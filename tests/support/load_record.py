"""What clients of one topic were told, over all the lives of its server."""

from collections import defaultdict
from dataclasses import dataclass, field

__all__ = ["Batch", "BrokenPromiseError", "ConsumerKey", "LoadRecord"]


class BrokenPromiseError(AssertionError):
    """The server does not keep a promise."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as it was sent."""

    digests: tuple[int, ...]
    """One of each message; no two messages have the same, for each has an identity of its own."""


@dataclass(frozen=True, slots=True)
class ConsumerKey:
    """A consumer of one partition."""

    partition: int
    consumer: int


@dataclass(slots=True)
class LoadRecord:
    """What must be found again, and what may be."""

    known: defaultdict[int, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    """By partition and offset, the messages that were acknowledged or that somebody has read."""
    unanswered: defaultdict[int, list[Batch]] = field(default_factory=lambda: defaultdict(list))
    """By partition, the batches of which nobody was told what became."""
    stored: dict[ConsumerKey, int] = field(default_factory=dict)
    """The offsets whose storing was acknowledged."""
    storing: dict[ConsumerKey, int] = field(default_factory=dict)
    """The offsets whose storing was not answered."""
    following: set[ConsumerKey] = field(default_factory=set)
    """Consumers whose offsets their polls commit."""

    def acknowledge(self, partition: int, base: int, batch: Batch) -> None:
        """A producer was told where its batch begins."""
        self.unanswered[partition].remove(batch)
        for offset, digest in enumerate(batch.digests, start=base):
            self.know(partition, offset, digest)

    def know(self, partition: int, offset: int, digest: int) -> None:
        """Somebody was told which message an offset names."""
        if self.known[partition].setdefault(offset, digest) != digest:
            raise BrokenPromiseError(f"partition {partition}: offset {offset} names two messages")

    def merge(self, later: "LoadRecord") -> None:
        """Adds what another client was told."""
        for partition, messages in later.known.items():
            for offset, digest in messages.items():
                self.know(partition, offset, digest)
        for partition, batches in later.unanswered.items():
            self.unanswered[partition] += batches
        self.stored |= later.stored
        self.storing |= later.storing
        self.following |= later.following
