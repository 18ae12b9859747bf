"""A control group with a limit of memory, of whichever version this machine limits memory by."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tests.support.waiting import until

__all__ = ["MemoryGroup"]

_ROOT = Path("/sys/fs/cgroup")


class MemoryGroup:
    """Made with a limit, and removed once nobody is in it any more."""

    def __init__(self, name: str, limit: int) -> None:
        self.is_v1 = (_ROOT / "memory").is_dir()
        self._outer = (_ROOT / "memory" if self.is_v1 else _ROOT) / f"ng-{os.getpid()}-{name}"
        self.limit = limit
        self.path = self._outer / "inner"

    def __enter__(self) -> Self:
        """The limit is that of the group around the one that processes are in."""
        self._outer.mkdir()
        if not self.is_v1:
            (self._outer / "cgroup.subtree_control").write_text("+memory")
        (self._outer / ("memory.limit_in_bytes" if self.is_v1 else "memory.max")).write_text(str(self.limit))
        self.path.mkdir()
        return self

    def __exit__(self, *_exception: object) -> None:
        until(self._is_empty, "the end of all processes of the control group")
        self.path.rmdir()
        self._outer.rmdir()

    def _is_empty(self) -> bool:
        return not (self.path / "cgroup.procs").read_text()

    @property
    def entering(self) -> Sequence[str | Path]:
        """A command that starts another one in the group, under its own process number."""
        return ("sh", "-c", f'echo $$ > {self.path}/cgroup.procs && exec "$@"', "sh")

    @property
    def used_at_most(self) -> int:
        """The most bytes that were ever charged."""
        name = "memory.max_usage_in_bytes" if self.is_v1 else "memory.peak"
        return int((self._outer / name).read_text())

    @property
    def kills(self) -> int:
        """Processes that the kernel killed for want of memory."""
        folder, name = (self.path, "memory.oom_control") if self.is_v1 else (self._outer, "memory.events")
        lines = (line.split() for line in (folder / name).read_text().splitlines())
        return int(dict(line for line in lines if len(line) == 2)["oom_kill"])
