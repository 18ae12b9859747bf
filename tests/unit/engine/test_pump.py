"""The pump: every record once and in order, a bounded turn, and what waits for room keeps its order."""

import asyncio
import os
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from server_ng.binding import BusyError
from server_ng.engine import Engine, Pump, pump
from server_ng.engine.records import NativeEvent, Record
from tests.unit.engine.test_records import encode

RECORDS_PER_TURN = 256


def event(number: int) -> NativeEvent:
    """A record that can be told from others."""
    return NativeEvent(0, 1, number, 0, 0)


class SteppedClock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        """As `time.monotonic`."""
        return self.now


class ScriptedEngine:
    """An engine whose rings the test fills and empties."""

    def __init__(self) -> None:
        self.notify_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.answers: list[tuple[bytes, bool]] = []
        self.drains = 0
        self.room = 1 << 20
        self.submitted = b""

    def announce(self, *numbers: int, more: bool = False) -> None:
        """Has records to drain in one call, and rings."""
        self.answers.append((b"".join(encode(event(number)) for number in numbers), more))
        os.eventfd_write(self.notify_fd, 1)

    def drain(self) -> tuple[bytes, bool]:
        """What was announced, call by call."""
        self.drains += 1
        return self.answers.pop(0) if self.answers else (b"", False)

    def submit(self, records: bytes) -> None:
        """Takes what it has room for."""
        taken = min(len(records), self.room)
        self.submitted += records[:taken]
        self.room -= taken
        if taken < len(records):
            error = BusyError("full")
            error.taken = taken
            raise error


@pytest.fixture
def engine() -> Iterator[ScriptedEngine]:
    scripted = ScriptedEngine()
    yield scripted
    os.close(scripted.notify_fd)


def pump_for(engine: ScriptedEngine, handle: Callable[[Record], None]) -> Pump:
    """A pump over the scripted engine; to be called on the loop."""
    return Pump(cast("Engine", engine), handle)


async def run_until(holds: Callable[[], bool]) -> None:
    """Lets the loop turn until the condition holds."""
    for _ in range(100_000):
        if holds():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never held")


async def test_records_are_handled_once_and_in_order(engine: ScriptedEngine) -> None:
    handled: list[Record] = []
    running = pump_for(engine, handled.append)
    running.start()
    engine.announce(1, 2, more=True)
    engine.announce(3)
    await run_until(lambda: len(handled) == 3)
    engine.announce(4)
    await run_until(lambda: len(handled) == 4)
    running.stop()
    assert handled == [event(number) for number in (1, 2, 3, 4)]


async def test_a_burst_leaves_others_their_turn(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump, "_SECONDS_PER_TURN", 1e9)
    handled: list[Record] = []
    turns: list[int] = []
    running = pump_for(engine, handled.append)
    running.start()
    burst = 3 * RECORDS_PER_TURN + 1
    engine.announce(*range(burst))

    def all_handled() -> bool:
        turns.append(len(handled))
        return len(handled) == burst

    await run_until(all_handled)
    running.stop()
    assert max(after - before for before, after in zip([0, *turns], turns, strict=False)) <= RECORDS_PER_TURN
    assert handled == [event(number) for number in range(burst)]


async def test_a_slow_record_ends_the_turn(engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SteppedClock()
    monkeypatch.setattr(pump, "time", clock)
    handled: list[Record] = []

    def handle_slowly(record: Record) -> None:
        clock.now += 1.0
        handled.append(record)

    running = pump_for(engine, handle_slowly)
    engine.announce(1, 2, 3)
    running.start()
    assert handled == [event(1)]
    await run_until(lambda: len(handled) == 3)
    running.stop()


async def test_what_finds_no_room_goes_later_and_in_order(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump, "_RETRY_SECONDS", 0.0)
    running = pump_for(engine, lambda _: None)
    engine.room = 3
    running.send(b"abcd")
    running.send(b"ef")
    assert engine.submitted == b"abc"
    engine.room = 100
    await run_until(lambda: len(engine.submitted) == 6)
    running.send(b"g")
    assert engine.submitted == b"abcdefg"
    running.stop()


async def test_it_gives_signs_of_life_without_records(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump, "_BEAT_SECONDS", 0.0)
    running = pump_for(engine, lambda _: None)
    running.start()
    await run_until(lambda: engine.drains >= 5)
    running.stop()


async def test_after_a_stop_nothing_is_drained(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump, "_BEAT_SECONDS", 0.0)
    handled: list[Record] = []
    running = pump_for(engine, handled.append)
    running.start()
    running.stop()
    drained = engine.drains
    engine.announce(1)
    for _ in range(50):
        await asyncio.sleep(0)
    assert (handled, engine.drains) == ([], drained)


async def test_nothing_is_drained_after_a_stop_in_the_middle_of_a_burst(engine: ScriptedEngine) -> None:
    handled: list[Record] = []
    running = pump_for(engine, handled.append)
    running.start()
    engine.announce(*range(RECORDS_PER_TURN + 1), more=True)
    await run_until(lambda: len(handled) >= RECORDS_PER_TURN)
    running.stop()
    drained = engine.drains
    for _ in range(3):
        await asyncio.sleep(0)
    assert (engine.drains, len(handled)) == (drained, RECORDS_PER_TURN)
