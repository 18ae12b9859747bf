"""How far a job is, on one line of a terminal; nothing where nobody looks."""

import sys
import time
from collections.abc import Callable
from threading import Lock
from types import TracebackType
from typing import Final, Self, TextIO, TypeAlias

__all__ = ["Meter", "Told", "untold"]

Told: TypeAlias = Callable[[int], None]
"""Told how many bytes are done with, again and again."""

_WIDTH: Final = 30
_SECONDS_BETWEEN: Final = 0.1


def untold(_: int) -> None:
    """For whoever has nobody to tell."""


class Meter:
    """A bar that fills. It may be told from any thread."""

    def __init__(self, total: int, stream: TextIO = sys.stderr) -> None:
        self._total, self._stream = max(1, total), stream
        self._shown = stream.isatty()
        self._lock = Lock()
        self._done = 0
        self._begun = self._last = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def told(self, bytes_: int) -> None:
        """So many bytes more are done."""
        with self._lock:
            self._done += bytes_
            now = time.monotonic()
            if self._shown and now - self._last >= _SECONDS_BETWEEN:
                self._last = now
                self._stream.write("\r" + self.line(now - self._begun))
                self._stream.flush()

    def line(self, seconds: float) -> str:
        """What is shown after so many seconds."""
        part = min(1.0, self._done / self._total)
        filled = int(part * _WIDTH)
        rate = self._done / max(seconds, 1e-9) / 1e6
        return f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {part:4.0%}  {rate:,.0f} MB/s"
