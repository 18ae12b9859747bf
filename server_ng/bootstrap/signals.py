"""Signals: TERM and INT stop, a second one stops at once, HUP reads the configuration again.

Where the terminal that the server was started on is gone, HUP says so, and stops it.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import Final

from server_ng.process_signals import ProcessSignals
from server_ng.wire.tables import ExitStatus

__all__ = ["handle_signals"]

_STDIN: Final = 0


def handle_signals(
    loop: asyncio.AbstractEventLoop,
    stop: Callable[[str], None],
    reload: Callable[[], None],
    signals: ProcessSignals,
) -> None:
    """Handles signals on the loop, and first those that arrived before. Native threads have all blocked."""
    stopping = False
    on_terminal = os.isatty(_STDIN)

    def handle(name: str) -> None:
        nonlocal stopping
        if name == signal.SIGHUP.name and not (on_terminal and not os.isatty(_STDIN)):
            reload()
            return
        if stopping:
            sys.stderr.write(f"server-ng: {name} during the stop: ending at once\n")
            sys.stderr.flush()
            os._exit(ExitStatus.UNCLEAN_STOP)
        stopping = True
        stop(name)

    def deliver(name: str) -> None:
        # A process whose loop is closed ends, whatever it is asked for.
        if not loop.is_closed():
            loop.call_soon_threadsafe(handle, name)

    signals.deliver_to(deliver)
