"""What the damage of a file excuses, and what an accepted loss does."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from tests.support.damage.journals import journal_blocks, shard_directories
from tests.support.damage.judge import Expectation
from tests.support.damage.ledger import PartitionKey
from tests.support.damage.template import Template

__all__ = ["expect", "may_lose"]

_SHARD: Final = re.compile(r"^shard-(?P<shard>\d+)\.(?:group-(?P<group>[0-9a-f]{16})\.)?")


def expect(template: Template, touched: Sequence[Path]) -> Expectation:
    """Everything that was acknowledged is served, but for the offsets that the damaged files hold."""
    fences = []
    for path in touched:
        listed = path.parent if path.name == "SEGMENTS" else path
        if str(listed) in template.ranges:
            fences.append(template.ranges[str(listed)])
    return Expectation(template.ledger(), fences)


def may_lose(template: Template, accepted: Sequence[str]) -> set[PartitionKey]:
    """The partitions that accepted names speak of: one group, or with nameless blocks all of a shard."""
    lost: set[PartitionKey] = set()
    groups = _groups(template)
    for name in accepted:
        found = _SHARD.match(name)
        assert found is not None, name
        if found["group"] is not None:
            lost |= {key for group, key in groups.items() if group == int(found["group"], 16)}
        else:
            lost |= {
                key
                for group, key in groups.items()
                if group in _groups_of_shard(template, int(found["shard"]))
            }
    return lost


def _groups(template: Template) -> dict[int, PartitionKey]:
    """The partition of each group that has a directory."""
    return {
        int(Path(path).name, 16): found.partition
        for path, found in template.ranges.items()
        if not path.endswith(".log")
    }


def _groups_of_shard(template: Template, shard: int) -> frozenset[int]:
    return _journal_groups(shard_directories(template.data)[shard])


@cache
def _journal_groups(shard: Path) -> frozenset[int]:
    return frozenset(record.group for block in journal_blocks(shard) for record in block.records)
