"""Signals: the first asks for a stop, the second does not ask."""

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from server_ng.bootstrap.signals import install_signals


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
    install_signals(loop, lambda name: asked.append(f"stop {name}"), lambda: asked.append("reload"))
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
