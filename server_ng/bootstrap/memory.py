"""How much memory the process may use."""

import os
from pathlib import Path
from typing import Final

__all__ = ["limit_of_group", "poll_cache_bytes", "usable_memory"]

_GROUPS: Final = Path("/sys/fs/cgroup")
_OWN_GROUP: Final = Path("/proc/self/cgroup")

_CACHE_SHARE: Final = 8
"""What is kept for polls is at most one part in so many of the memory."""


def usable_memory() -> int:
    """Bytes of the machine, or of the control group if that is given less."""
    # Not from /proc/meminfo: a container or a chroot may have no /proc.
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = limit_of_group(_OWN_GROUP, _GROUPS)
    return total if limit is None else min(total, limit)


def limit_of_group(own_group: Path, groups: Path) -> int | None:
    """The lowest limit of the process's control group and those around it; none where there is none."""
    try:
        lines = own_group.read_text().splitlines()
    except OSError:
        return None
    name = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), None)
    if name is None:
        return None
    around = groups / name
    limits = [_limit(folder) for folder in (around, *around.parents) if folder.is_relative_to(groups)]
    return min((limit for limit in limits if limit is not None), default=None)


def poll_cache_bytes(wanted: int, memory: int, shards: int) -> int:
    """What each shard may keep for polls of what was asked for all of them."""
    return min(wanted, memory // _CACHE_SHARE) // shards


def _limit(folder: Path) -> int | None:
    try:
        text = (folder / "memory.max").read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
