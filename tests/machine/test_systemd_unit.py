"""The unit under which the daemon runs: sealed as far as its work allows, and no further."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from server_ng.config import load
from server_ng.wire.tables import ExitStatus
from tests.machine.unit_file import allowed_system_calls, exposure, values
from tests.support.notify_socket import NotifySocket

EXPOSURE_MAX = 1.5
# A restart would find what the last start found.
NOT_RESTARTED = {ExitStatus.DAMAGED_DATA, ExitStatus.JOURNAL_IO, ExitStatus.CONFIGURATION}

_CALL = re.compile(r"\d+\s+(\w+)\(")


@pytest.fixture
def unit_path(root: Path) -> Path:
    return root / "deploy/systemd/server-ng.service"


@pytest.fixture
def unit(unit_path: Path) -> str:
    return unit_path.read_text()


def test_the_unit_is_sealed(unit_path: Path) -> None:
    assert exposure(unit_path) <= EXPOSURE_MAX


def test_an_open_unit_is_told_apart(unit: str, tmp_path: Path) -> None:
    opened = tmp_path / "server-ng.service"
    opened.write_text("\n".join(line for line in unit.splitlines() if not line.startswith("Protect")))
    assert exposure(opened) > EXPOSURE_MAX


def test_systemd_understands_every_line(unit: str, tmp_path: Path) -> None:
    installed = tmp_path / "server-ng.service"
    installed.write_text(unit.replace("/opt/server-ng/bin/server-ng", "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", installed], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_a_restart_cannot_mend_is_not_restarted(unit: str) -> None:
    (statuses,) = values(unit, "RestartPreventExitStatus")
    assert {int(status) for status in statuses.split()} == NOT_RESTARTED


def test_the_daemon_ends_by_itself_before_systemd_ends_it(unit: str) -> None:
    sharding = load(None, {}, []).settings.system.sharding
    (seconds,) = values(unit, "TimeoutStopSec")
    longest = sharding.shutdown_drain_timeout + sharding.shutdown_join_timeout
    assert int(seconds) > longest.total_seconds()


def test_what_the_daemon_stands_on_is_not_denied(unit: str) -> None:
    (denied,) = (line for line in values(unit, "SystemCallFilter") if line.startswith("~"))
    assert {"@ipc", "@resources"}.isdisjoint(denied.removeprefix("~").split())
    assert values(unit, "ProtectProc") == values(unit, "ProcSubset") == []
    assert {
        "io_uring_setup",
        "io_uring_enter",
        "io_uring_register",
        "sched_setaffinity",
    } <= allowed_system_calls(unit)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("backend", ["posix", "uring"])
def test_a_run_stays_within_the_filter(unit: str, tmp_path: Path, backend: str) -> None:
    """Aim: the filter denies nothing the daemon calls. Method: trace a whole run and compare the calls."""
    trace = tmp_path / "trace"
    settings = {
        "system.path": tmp_path / "data",
        "system.io.backend": backend,
        "tcp.address": "127.0.0.1:0",
        "observe.address": "127.0.0.1:0",
    }
    status, output = traced_run(trace, [f"{key}={value}" for key, value in settings.items()])
    assert status == ExitStatus.CLEAN, output
    called = {found[1] for line in trace.read_text().splitlines() if (found := _CALL.match(line))}
    assert called >= ({"io_uring_enter"} if backend == "uring" else {"epoll_ctl"})
    assert called - allowed_system_calls(unit) == set()


def traced_run(trace: Path, settings: list[str]) -> tuple[int, str]:
    """Start the daemon under strace, stop it once it is ready, and tell its status and what it printed."""
    command = Path(sys.executable).with_name("server-ng")
    # -D: the daemon is our child and the tracer is its grandchild, so that signal and status are its own.
    tracer = ["strace", "-D", "-f", "-qq", "--signal=none", f"--output={trace}"]
    with (
        NotifySocket(trace.parent) as notifications,
        subprocess.Popen(
            [*tracer, command, "serve", *(word for setting in settings for word in ("--set", setting))],
            env=os.environ | notifications.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as daemon,
    ):
        try:
            notifications.wait_for("READY=1", daemon)
            daemon.terminate()
            # The tracer holds the pipe too: its end is the end of the trace.
            output, _ = daemon.communicate()
        finally:
            daemon.kill()
    return daemon.returncode, output
