"""Signals: TERM and INT stop, a second one stops at once, HUP reads the configuration again."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable

from server_ng.early_signals import EarlySignals
from server_ng.wire.tables import ExitStatus

__all__ = ["install_signals"]


def install_signals(
    loop: asyncio.AbstractEventLoop,
    stop: Callable[[str], None],
    reload: Callable[[], None],
    early: EarlySignals,
) -> None:
    """Installs the handlers on the loop's thread, and handles what arrived before.

    Native threads have every signal blocked.
    """
    stopping = False

    def asked(name: str) -> None:
        nonlocal stopping
        if stopping:
            sys.stderr.write(f"server-ng: {name} during the stop: ending at once\n")
            sys.stderr.flush()
            os._exit(ExitStatus.UNCLEAN_STOP)
        stopping = True
        stop(name)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked, number.name)
    loop.add_signal_handler(signal.SIGHUP, reload)
    if early.reload:
        reload()
    if early.stop:
        asked(early.stop)
