"""Signals: the first asks for a stop, the second does not ask, and those before the loop are not lost."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from server_ng.bootstrap.signals import install_signals
from server_ng.early_signals import EarlySignals


class Handlers:
    """Stands in for the loop and keeps what would be called."""

    def __init__(self) -> None:
        self._handlers: dict[int, Callable[[], None]] = {}

    def add_signal_handler(self, number: int, handler: Callable[..., None], *arguments: Any) -> None:
        """As the loop's."""
        self._handlers[number] = lambda: handler(*arguments)

    def arrive(self, number: int) -> None:
        """A signal comes."""
        self._handlers[number]()


class Ended(BaseException):
    """The process would have ended here."""


@pytest.fixture
def asked() -> list[str]:
    """What the daemon was asked to do."""
    return []


@pytest.fixture
def handlers(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> Handlers:
    """Installed handlers, in a process that cannot end."""

    def end(status: int) -> None:
        asked.append(f"exit {status}")
        raise Ended

    monkeypatch.setattr(os, "_exit", end)
    installed = Handlers()
    loop: Any = installed
    early = EarlySignals()
    install_signals(loop, lambda name: asked.append(f"stop {name}"), lambda: asked.append("reload"), early)
    return installed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_asks_for_a_stop(handlers: Handlers, asked: list[str], number: signal.Signals) -> None:
    handlers.arrive(number)
    assert asked == [f"stop {number.name}"]


def test_the_second_ends_the_process(
    handlers: Handlers, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    handlers.arrive(signal.SIGINT)
    with pytest.raises(Ended):
        handlers.arrive(signal.SIGTERM)
    assert asked == ["stop SIGINT", "exit 75"]
    assert "SIGTERM during the stop" in capsys.readouterr().err


def test_hangups_reload_as_often_as_they_come(handlers: Handlers, asked: list[str]) -> None:
    handlers.arrive(signal.SIGHUP)
    handlers.arrive(signal.SIGHUP)
    assert asked == ["reload", "reload"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_before_the_loop_is_remembered(asked: list[str], number: signal.Signals) -> None:
    early, installed = EarlySignals(), Handlers()
    loop: Any = installed
    with early.held():
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(number)
        assert (early.stop, early.reload) == (number.name, True)
    install_signals(loop, lambda name: asked.append(f"stop {name}"), lambda: asked.append("reload"), early)
    assert asked == ["reload", f"stop {number.name}"]


def test_handlers_are_given_back() -> None:
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    with EarlySignals().held():
        assert [signal.getsignal(number) for number in numbers] != before
    assert [signal.getsignal(number) for number in numbers] == before


def test_who_asks_twice_before_the_loop_does_not_wait() -> None:
    script = (
        "import signal; from server_ng.early_signals import EarlySignals\n"
        "with EarlySignals().held():\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "    signal.raise_signal(signal.SIGTERM)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGTERM
