"""What a compaction is asked for."""

from dataclasses import dataclass
from typing import Final

from server_ng.segments.keys import DEFAULT_KEY
from server_ng.segments.newest import Identity

__all__ = ["Rules"]

_SECOND: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Rules:
    """The same for every engine; ages are seconds before the moment of the lease, so no clock has a say."""

    key: str = DEFAULT_KEY
    deduplicate: bool = False
    """Messages without a key are held for the same if their ids are."""
    tombstones_after: float = 86_400.0
    """The newest message of a key stays so long if it is a tombstone, so that consumers hear of it."""
    older_than: float = 0.0
    """Segments with younger messages are left alone, and those behind them."""
    dirty_min: float = 0.0
    """A partition is left alone while a smaller part of its sealed messages would go."""
    segment_bytes: int = 256 << 20
    """What small segments are merged up to."""
    bytes_max: int | None = None
    """At most so many bytes of each partition are rewritten; the rest is for the next job."""
    key_memory: int = 1 << 30
    """Bytes that the keys of one partition may take."""

    @property
    def identity(self) -> Identity:
        """What makes a message replace an older one."""
        return Identity(self.key, self.deduplicate)

    def horizon(self, cut_at: int) -> int:
        """Tombstones from before this time go, microseconds."""
        return max(0, cut_at - int(self.tombstones_after * _SECOND))

    def youngest(self, cut_at: int) -> int | None:
        """Segments with messages of a later time are left alone."""
        return cut_at - int(self.older_than * _SECOND) if self.older_than else None
