"""Signals: the first asks for a stop, the second does not ask, and those before the loop are not lost."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import uvloop

from server_ng.bootstrap.signals import handle_signals
from server_ng.process_signals import ProcessSignals

STOPS = [signal.SIGTERM, signal.SIGINT]


class Loop:
    """Stands in for the event loop, and calls at once."""

    def __init__(self) -> None:
        self.closed = False

    def is_closed(self) -> bool:
        """As the loop's."""
        return self.closed

    def call_soon_threadsafe(self, callback: Callable[..., None], *arguments: Any) -> None:
        """As the loop's."""
        assert not self.closed
        callback(*arguments)


class Ended(BaseException):
    """The process would have ended here."""


@pytest.fixture
def asked() -> list[str]:
    """What the daemon was asked to do."""
    return []


@pytest.fixture
def loop(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> Loop:
    """A loop, in a process that cannot end."""

    def end(status: int) -> None:
        asked.append(f"exit {status}")
        raise Ended

    monkeypatch.setattr(os, "_exit", end)
    return Loop()


def handle(loop: Any, asked: list[str], signals: ProcessSignals) -> None:
    """Handles the signals of the process on a loop."""
    handle_signals(loop, lambda name: asked.append(f"stop {name}"), lambda: asked.append("reload"), signals)


@pytest.mark.parametrize("number", STOPS)
def test_the_first_asks_for_a_stop(loop: Loop, asked: list[str], number: signal.Signals) -> None:
    signals = ProcessSignals()
    with signals.held():
        handle(loop, asked, signals)
        signal.raise_signal(number)
    assert asked == [f"stop {number.name}"]


def test_the_second_ends_the_process(
    loop: Loop, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    signals = ProcessSignals()
    with signals.held():
        handle(loop, asked, signals)
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(Ended):
            signal.raise_signal(signal.SIGTERM)
    assert asked == ["stop SIGINT", "exit 75"]
    assert "SIGTERM during the stop" in capsys.readouterr().err


def test_hangups_reload_as_often_as_they_come(loop: Loop, asked: list[str]) -> None:
    signals = ProcessSignals()
    with signals.held():
        handle(loop, asked, signals)
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGHUP)
    assert asked == ["reload", "reload"]


def test_a_signal_behind_the_end_of_the_loop_changes_nothing(loop: Loop, asked: list[str]) -> None:
    signals = ProcessSignals()
    with signals.held():
        handle(loop, asked, signals)
        loop.closed = True
        signal.raise_signal(signal.SIGTERM)
    assert asked == []


@pytest.mark.parametrize("number", STOPS)
def test_a_stop_before_the_loop_is_remembered(loop: Loop, asked: list[str], number: signal.Signals) -> None:
    signals = ProcessSignals()
    with signals.held():
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(number)
        assert signals.stop == number.name
        handle(loop, asked, signals)
    assert asked == ["reload", f"stop {number.name}"]


async def _asked_while_handlers_change(asked: list[str]) -> None:
    signals, reloaded = ProcessSignals(), asyncio.Event()
    with signals.held():
        # The loop is woken by the signal itself, too, after its handler has run.
        signal.raise_signal(signal.SIGTERM)
        handle_signals(asyncio.get_running_loop(), asked.append, reloaded.set, signals)
        for _ in range(3):
            await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGHUP)
        await reloaded.wait()


def test_the_loop_sees_no_signal_twice(asked: list[str]) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_asked_while_handlers_change(asked))
    assert asked == ["SIGTERM"]


def test_handlers_are_given_back() -> None:
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    with ProcessSignals().held():
        assert [signal.getsignal(number) for number in numbers] != before
    assert [signal.getsignal(number) for number in numbers] == before


def test_who_asks_twice_before_the_loop_does_not_wait() -> None:
    script = (
        "import signal; from server_ng.process_signals import ProcessSignals\n"
        "with ProcessSignals().held():\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "    signal.raise_signal(signal.SIGTERM)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGTERM
