"""sd_notify: exact datagrams, and nothing without systemd."""

import secrets
import socket
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import structlog

from server_ng.observe.notify import ServiceNotifier

_CALLS: dict[bytes, Callable[[ServiceNotifier], None]] = {
    b"READY=1\nSTATUS=Serving.": lambda notifier: notifier.ready("Serving."),
    b"STATUS=Recovering 3 of 8.": lambda notifier: notifier.status("Recovering 3 of 8."),
    b"STOPPING=1\nSTATUS=Draining.": lambda notifier: notifier.stopping("Draining."),
    b"EXTEND_TIMEOUT_USEC=1500000": lambda notifier: notifier.extend_timeout(timedelta(seconds=1.5)),
    b"STATUS=one READY=1": lambda notifier: notifier.status("one\nREADY=1"),
}


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, socket.socket]]:
    name = str(tmp_path / "notify") if request.param == "path" else f"@server-ng-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(f"\0{name[1:]}" if name.startswith("@") else name)
        receiver.setblocking(False)
        yield name, receiver


@pytest.mark.parametrize("message", _CALLS)
def test_each_state_is_one_exact_datagram(manager: tuple[str, socket.socket], message: bytes) -> None:
    name, receiver = manager
    notifier = ServiceNotifier({"NOTIFY_SOCKET": name})
    assert notifier.present
    _CALLS[message](notifier)
    assert receiver.recv(4096) == message
    with pytest.raises(BlockingIOError):
        receiver.recv(4096)


def test_reloading_carries_the_clock(manager: tuple[str, socket.socket]) -> None:
    name, receiver = manager
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000
    ServiceNotifier({"NOTIFY_SOCKET": name}).reloading()
    first, second = receiver.recv(4096).split(b"\n")
    assert first == b"RELOADING=1"
    assert int(second.removeprefix(b"MONOTONIC_USEC=")) >= before


@pytest.mark.parametrize("call", _CALLS.values())
def test_without_systemd_nothing_happens(call: Callable[[ServiceNotifier], None]) -> None:
    notifier = ServiceNotifier({})
    assert not notifier.present
    with structlog.testing.capture_logs() as logs:
        call(notifier)
    assert logs == []


def test_a_socket_that_is_gone_is_a_warning(tmp_path: Path) -> None:
    with structlog.testing.capture_logs() as logs:
        ServiceNotifier({"NOTIFY_SOCKET": str(tmp_path / "absent")}).ready("Serving.")
    assert [log["event"] for log in logs] == ["notify_failed"]


def test_a_socket_of_another_kind_is_passed_over() -> None:
    with structlog.testing.capture_logs() as logs:
        assert not ServiceNotifier({"NOTIFY_SOCKET": "vsock:2:1234"}).present
    assert [log["event"] for log in logs] == ["notify_socket_ignored"]
