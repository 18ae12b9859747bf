"""Signals of this process, from its first line on: remembered until the event loop takes them.

This module is loaded before everything else and imports nothing that takes time.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

__all__ = ["PROCESS_SIGNALS", "ProcessSignals"]

_TAKEN: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class ProcessSignals:
    """One handler for the whole life of the process.

    A second one, of the event loop, would see a signal that arrives while the first is replaced twice: the
    kernel's wake-up of the loop outlives the change.
    """

    def __init__(self) -> None:
        self.stop = ""
        """Name of the signal that asked for a stop before anybody took it; empty if none did."""
        self._reload = False
        self._deliver: Callable[[str], None] | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Handles TERM, INT and HUP within the block."""
        before = {number: signal.signal(number, self._handle) for number in _TAKEN}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def deliver_to(self, deliver: Callable[[str], None]) -> None:
        """Hands over the names of signals from now on, and those that are remembered.

        `deliver` is called on the main thread, between any two of its instructions.
        """
        # First of all, because a signal may arrive after any of these lines.
        self._deliver = deliver
        if self._reload:
            deliver(signal.SIGHUP.name)
        if self.stop:
            deliver(self.stop)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        if self._deliver is not None:
            self._deliver(name)
        elif number == signal.SIGHUP:
            self._reload = True
        elif not self.stop:
            self.stop = name
        else:
            # Whoever asks twice will not wait, and nothing is served yet that could be lost.
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)


PROCESS_SIGNALS: Final = ProcessSignals()
"""One, because signals belong to the process."""
