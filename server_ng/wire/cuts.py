"""What the control plane and the shards say to each other of cuts."""

from dataclasses import dataclass

__all__ = ["CutSegment"]


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
