"""Signals that arrive before the event loop takes them: remembered, so that a start can end in order.

This module is loaded before everything else and imports nothing that takes time.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

__all__ = ["EARLY_SIGNALS", "EarlySignals"]

_STOPS: Final = (signal.SIGTERM, signal.SIGINT)


class EarlySignals:
    """Remembers the first request to stop, and whether to read the configuration again."""

    def __init__(self) -> None:
        self.stop = ""
        """Name of the signal that asked for a stop; empty if none did."""
        self.reload = False
        """Whether a SIGHUP arrived, which by default would kill the process."""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Remembers signals within the block, until the event loop installs handlers of its own."""
        before = {number: signal.signal(number, self._remember) for number in (*_STOPS, signal.SIGHUP)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _remember(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self.reload = True
        elif not self.stop:
            self.stop = signal.Signals(number).name
        else:
            # Whoever asks twice will not wait; nothing is served yet that could be lost.
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)


EARLY_SIGNALS: Final = EarlySignals()
"""One, because signals belong to the process."""
