"""An exception at one line of a piece of code, for tests of what a bug leaves behind."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any, Self

__all__ = ["PlantedError", "PlantedFault"]


class PlantedError(Exception):
    """A bug that a test asked for."""


@dataclass(slots=True)
class PlantedFault:
    """Within the block, the n-th line that is run in some files raises; with 0 the lines are counted only."""

    files: frozenset[str]
    line: int = 0
    lines: int = 0
    """Lines that were run."""
    raised: bool = False
    _before: Callable[..., Any] | None = None

    def __enter__(self) -> Self:
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_exception: object) -> None:
        sys.settrace(self._before)

    def _trace(self, frame: FrameType, event: str, _argument: object) -> Callable[..., Any] | None:
        if frame.f_code.co_filename not in self.files:
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.line:
                self.raised = True
                raise PlantedError
        return self._trace
