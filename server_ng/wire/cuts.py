"""What the control plane and the shards say to each other of cuts."""

from dataclasses import dataclass
from enum import IntEnum

__all__ = ["CutEnd", "CutSegment"]


class CutEnd(IntEnum):
    """What came of an order to cut a partition."""

    DONE = 0
    BUSY = 1
    """The partition is not past its beginning; it may be asked for again."""
    NO_GROUP = 2
    FAILED = 3
    FULL = 4
    """What it shall contain cannot be written out for now; it may be asked for again."""


@dataclass(frozen=True, slots=True)
class CutSegment:
    """A segment that got a second name."""

    first_offset: int
    last_offset: int
    min_timestamp: int
    max_timestamp: int
    bytes: int
    messages: int
    generation: int
    footer: int
    """Checksum of its footer; 0 while it is not sealed."""

    def file_name(self) -> str:
        """The name the shard gives it."""
        if self.generation:
            return f"{self.first_offset:020}.{self.generation}.log"
        return f"{self.first_offset:020}.log"
