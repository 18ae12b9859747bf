"""Host figures: plausible when they can be read, zero when they are hidden."""

import os
import socket
from pathlib import Path

import psutil
import pytest
import structlog

from server_ng.observe.host import HostSampler


def test_the_figures_are_those_of_this_process_and_machine(tmp_path: Path) -> None:
    figures = HostSampler(tmp_path).sample()
    assert figures.process_id == os.getpid()
    assert 0 < figures.memory_bytes < figures.total_memory_bytes
    assert 0 < figures.available_memory_bytes <= figures.total_memory_bytes
    assert figures.threads >= 1
    assert 0 < figures.free_disk_bytes <= figures.total_disk_bytes
    assert figures.hostname == socket.gethostname()
    assert figures.kernel_version == os.uname().release
    assert figures.os_name
    assert figures.start_time_micros > 1_600_000_000_000_000
    assert figures.run_time_micros >= 0
    assert figures.cpu_percent >= 0
    assert 0 <= figures.total_cpu_percent <= 100


def test_hidden_figures_are_zero_and_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hidden(*_args: object, **_kwargs: object) -> None:
        raise psutil.AccessDenied

    sampler = HostSampler(tmp_path)
    for name in ("io_counters", "memory_info", "num_threads", "cpu_percent"):
        monkeypatch.setattr(psutil.Process, name, hidden)
    monkeypatch.setattr(psutil, "virtual_memory", hidden)
    monkeypatch.setattr(psutil, "cpu_percent", hidden)
    with structlog.testing.capture_logs() as logs:
        figures = sampler.sample()
        sampler.sample()
    assert (figures.read_bytes, figures.written_bytes, figures.memory_bytes, figures.threads) == (0, 0, 0, 0)
    assert (figures.total_memory_bytes, figures.cpu_percent, figures.total_cpu_percent) == (0, 0.0, 0.0)
    assert {log["figure"] for log in logs} == {
        "memory",
        "process_io",
        "cpu",
        "total_cpu",
        "process_memory",
        "threads",
    }
    assert len(logs) == 6
    assert {log["log_level"] for log in logs} == {"debug"}


def test_a_data_folder_that_is_gone_has_no_disk(tmp_path: Path) -> None:
    figures = HostSampler(tmp_path / "absent").sample()
    assert (figures.free_disk_bytes, figures.total_disk_bytes) == (0, 0)
