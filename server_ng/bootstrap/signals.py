"""Signals: TERM and INT stop, a second one stops at once, HUP reads the configuration again."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable

from server_ng.process_signals import ProcessSignals
from server_ng.wire.tables import ExitStatus

__all__ = ["handle_signals"]


def handle_signals(
    loop: asyncio.AbstractEventLoop,
    stop: Callable[[str], None],
    reload: Callable[[], None],
    signals: ProcessSignals,
) -> None:
    """Handles signals on the loop, and first those that arrived before. Native threads have all blocked."""
    stopping = False

    def handle(name: str) -> None:
        nonlocal stopping
        if name == signal.SIGHUP.name:
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
