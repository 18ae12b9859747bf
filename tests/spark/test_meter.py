"""The bar of a job: a line on a terminal, and nothing elsewhere."""

import io
from concurrent.futures import ThreadPoolExecutor

import pytest

from server_ng.spark.meter import Meter


class Terminal(io.StringIO):
    """Somebody looks."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_the_bar_and_then_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    terminal = Terminal()
    with Meter(1_000_000, terminal) as meter:
        now[0] = 0.01
        meter.told(100_000)
        assert terminal.getvalue() == ""
        now[0] = 0.5
        meter.told(400_000)
        assert terminal.getvalue() == "\r[###############...............]  50%  1 MB/s"
        now[0] = 1.0
        meter.told(5_000_000)
        assert "] 100%  " in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_nobody_is_told_where_nobody_looks() -> None:
    stream = io.StringIO()
    with Meter(0, stream) as meter, ThreadPoolExecutor(4) as pool:
        list(pool.map(meter.told, range(1_000)))
    assert stream.getvalue() == ""
    assert meter.line(1.0).startswith("[##############################] 100%")
