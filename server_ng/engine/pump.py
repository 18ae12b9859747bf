"""Moves records between the engine and the control plane, on the event loop."""

import asyncio
import os
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from server_ng.binding import BusyError
from server_ng.engine.engine import Engine
from server_ng.engine.records import Record, decode

__all__ = ["Pump"]

# One callback handles at most this much, so that timers and sockets of the loop get their turn in a burst.
_RECORDS_PER_TURN: Final = 256
_SECONDS_PER_TURN: Final = 0.002
# The engine takes a drain for a sign of life, and worries after several seconds without one.
_BEAT_SECONDS: Final = 1.0
_RETRY_SECONDS: Final = 0.005


class Pump:
    """Drains records as the engine announces them, and keeps what the engine has no room for.

    What waits for room is bounded: every record sent answers one received, but for a few of our own.
    """

    def __init__(self, engine: Engine, handle: Callable[[Record], None]) -> None:
        self._engine = engine
        self._handle = handle
        self._loop = asyncio.get_running_loop()
        self._received: deque[Record] = deque()
        self._outgoing = bytearray()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._next_turn: asyncio.Handle | None = None
        self._fd = engine.notify_fd

    def start(self) -> None:
        """Begins to drain."""
        self._loop.add_reader(self._fd, self._rung)
        self._beat()

    def stop(self) -> None:
        """Drains no more: the engine may be closed before the loop turns again."""
        self._loop.remove_reader(self._fd)
        if self._next_turn is not None:
            self._next_turn.cancel()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def send(self, record: bytes) -> None:
        """Hands one record to the engine, now or as soon as it has room."""
        self._outgoing += record
        self._flush()

    def _flush(self) -> None:
        if not self._outgoing:
            return
        try:
            self._engine.submit(bytes(self._outgoing))
            self._outgoing.clear()
        except BusyError as busy:
            del self._outgoing[: busy.taken]
            self._later("retry", _RETRY_SECONDS, self._flush)

    def _beat(self) -> None:
        self._turn()
        self._later("beat", _BEAT_SECONDS, self._beat)

    def _later(self, name: str, seconds: float, call: Callable[[], None]) -> None:
        pending = self._timers.get(name)
        if pending is not None:
            pending.cancel()
        self._timers[name] = self._loop.call_later(seconds, call)

    def _rung(self) -> None:
        os.eventfd_read(self._fd)
        self._turn()

    def _turn(self) -> None:
        self._next_turn = None
        deadline = time.monotonic() + _SECONDS_PER_TURN
        handled = 0
        more = True
        while more or self._received:
            if not self._received:
                data, more = self._engine.drain()
                self._received.extend(decode(data))
                continue
            if handled >= _RECORDS_PER_TURN or time.monotonic() >= deadline:
                self._schedule_turn()
                return
            self._handle(self._received.popleft())
            handled += 1

    def _schedule_turn(self) -> None:
        if self._next_turn is None:
            self._next_turn = self._loop.call_soon(self._turn)
