"""Minting the ids of consensus groups: never again the same, and those of a topic mostly neighbours.

Ids come in blocks of 4096, and the upper bits of an id are the number of its block. A topic uses up a block,
then takes the next one that no topic ever had.
"""

from typing import Final, NamedTuple

from server_ng.metadata.rows import Counters

__all__ = ["Minted", "mint"]

_BLOCK_BITS: Final = 12
_BLOCK: Final = 1 << _BLOCK_BITS
_FIRST_BLOCK: Final = 1


class Minted(NamedTuple):
    """New ids, and where the next ones come from."""

    groups: list[int]
    next_group: int
    counters: Counters


def mint(counters: Counters, next_group: int, count: int) -> Minted:
    """`count` new ids for a topic that goes on at `next_group`."""
    groups: list[int] = []
    while len(groups) < count:
        if next_group == 0:
            block = counters.next_block or _FIRST_BLOCK
            counters = counters._replace(next_block=block + 1)
            next_group = block << _BLOCK_BITS
        end = (next_group | (_BLOCK - 1)) + 1
        taken = range(next_group, min(end, next_group + count - len(groups)))
        groups.extend(taken)
        next_group = 0 if taken.stop == end else taken.stop
    return Minted(groups, next_group, counters)
