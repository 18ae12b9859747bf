"""Which shard of a node a group lives on; `native/replication/src/owner.rs` is the other half."""

from typing import Final

__all__ = ["BLOCK_BITS", "METADATA", "owner"]

METADATA: Final = 1 << 63
"""The group of streams, topics, users and sessions; groups of partitions have lower numbers."""
BLOCK_BITS: Final = 12
"""A topic takes the numbers of its partitions' groups in blocks of 2 to the power of this."""
_U64: Final = (1 << 64) - 1


def owner(group: int, shards: int) -> int:
    """The shard of a partition's group on a node with this many shards."""
    return (_mix(group >> BLOCK_BITS) + (group & ((1 << BLOCK_BITS) - 1)) & _U64) % shards


def _mix(value: int) -> int:
    """Spreads every bit of a number over all bits."""
    value = (value ^ value >> 30) * 0xBF58_476D_1CE4_E5B9 & _U64
    value = (value ^ value >> 27) * 0x94D0_49BB_1331_11EB & _U64
    return value ^ value >> 31
