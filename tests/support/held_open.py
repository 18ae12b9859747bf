"""A file that keeps waiting whoever opens it: the place in a job at which a test does something to it.

The kernel asks whoever holds a lease of a file to let go of it before another process opens it, and lets that
one wait meanwhile (fcntl(2), F_SETLEASE; for /proc/sys/fs/lease-break-time, 45 s, at most).
"""

import fcntl
import os
import shutil
import signal
from pathlib import Path
from typing import Self

import psutil

from tests.support.waiting import until

__all__ = ["HeldOpen"]

_WAITS_IN = "__break_lease"
_JOB_WITHIN = 120.0
"""A job has libraries and workers to start before it reads."""


class HeldOpen:
    """A copy takes the place of the file: under its other names it may be open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1

    def __enter__(self) -> Self:
        copy = self._path.with_name(f"{self._path.name}.copy")
        shutil.copy2(self._path, copy)
        copy.replace(self._path)
        self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        # Which is ignored; the default would end this process.
        fcntl.fcntl(self._descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(self._descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Lets everybody open it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def wait(self) -> None:
        """Returns once somebody waits."""

        def is_asked_for() -> bool:
            return fcntl.fcntl(self._descriptor, fcntl.F_GETLEASE) != fcntl.F_WRLCK

        until(is_asked_for, f"somebody opens {self._path}", _JOB_WITHIN)

    def waiting(self) -> psutil.Process:
        """The process below this one that waits."""
        self.wait()
        found: list[psutil.Process] = []

        def is_found() -> bool:
            found.extend(each for each in psutil.Process().children(recursive=True) if _waits(each.pid))
            return bool(found)

        until(is_found, f"a process below this one opens {self._path}")
        (process,) = found
        return process


def _waits(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/wchan").read_text() == _WAITS_IN
    except OSError:
        # It has ended.
        return False
