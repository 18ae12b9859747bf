"""How much memory the process may use: that of the machine, or of the control groups around it."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

__all__ = ["MemoryLimit", "group_limits", "memory_limit", "send_buffer_max"]

_V1_FILES: Final = ("memory.limit_in_bytes",)
_V1_AROUND: Final = re.compile(r"^hierarchical_memory_limit (\d+)$", re.MULTILINE)
"""The lowest limit of the group and those around it, of which a container may not see all."""
_V2_FILES: Final = ("memory.max", "memory.high")
"""Above the second the kernel slows a group down until it has given memory back."""


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """Bytes that the process may use."""

    bytes: int
    source: str
    """``machine``, or the file with the limit."""
    has_sockets: bool = False
    """Whether the kernel charges buffers of sockets to it: version 2 does, version 1 has another limit."""


@dataclass(frozen=True, slots=True)
class _Mount:
    """Control groups where they are mounted: `root` is the group that is seen at `point`."""

    root: PurePosixPath
    point: Path
    is_v2: bool


def memory_limit(root: Path = Path("/")) -> MemoryLimit:
    """The lowest limit there is. What the kernel shows of control groups is read below `root`."""
    machine = MemoryLimit(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), "machine")
    return min((machine, *group_limits(root)), key=lambda limit: limit.bytes)


def send_buffer_max(root: Path = Path("/")) -> int:
    """Bytes that the kernel buffers at most for a client that does not read; zero if it does not say."""
    sizes = _text(root / "proc/sys/net/ipv4/tcp_wmem").split()
    return int(sizes[-1]) if sizes and sizes[-1].isascii() and sizes[-1].isdigit() else 0


def group_limits(root: Path) -> Iterator[MemoryLimit]:
    """Every limit of the process's control groups, of both versions, and of those around them."""
    own = _own_groups(root / "proc/self/cgroup")
    for mount in _mounts(root):
        group = own.get(mount.is_v2)
        if group is None:
            continue
        inside = group.relative_to(mount.root) if group.is_relative_to(mount.root) else PurePosixPath()
        folder = mount.point / inside
        for around in (folder, *folder.parents):
            if around.is_relative_to(mount.point):
                yield from _limits_in(around, is_v2=mount.is_v2)


def _own_groups(path: Path) -> dict[bool, PurePosixPath]:
    """The process's group of memory in version 1 (false) and its group in version 2 (true)."""
    groups: dict[bool, PurePosixPath] = {}
    for line in _text(path).splitlines():
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if number == "0" and not controllers:
            groups[True] = PurePosixPath(group)
        elif "memory" in controllers.split(","):
            groups[False] = PurePosixPath(group)
    return groups


def _mounts(root: Path) -> Iterator[_Mount]:
    for line in _text(root / "proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        place, kind = before.split(" "), after.split(" ")
        if len(place) < 5 or len(kind) < 3:
            continue
        is_v2 = kind[0] == "cgroup2"
        if is_v2 or (kind[0] == "cgroup" and "memory" in kind[2].split(",")):
            point = root / _unescaped(place[4]).lstrip("/")
            yield _Mount(PurePosixPath(_unescaped(place[3])), point, is_v2)


def _unescaped(path: str) -> str:
    """A path as `mountinfo` writes it: blanks and backslashes are octal numbers there."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), path)


def _limits_in(folder: Path, *, is_v2: bool) -> Iterator[MemoryLimit]:
    for name in _V2_FILES if is_v2 else _V1_FILES:
        text = _text(folder / name).strip()
        if text.isascii() and text.isdigit():
            yield MemoryLimit(int(text), str(folder / name), is_v2)
    around = None if is_v2 else _V1_AROUND.search(_text(folder / "memory.stat"))
    if around is not None:
        yield MemoryLimit(int(around[1]), str(folder / "memory.stat"))


def _text(path: Path) -> str:
    """The content of a file, or nothing where there is no such file."""
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""
