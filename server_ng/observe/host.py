"""Figures of the machine and the process, sampled every few seconds on the loop."""

import os
import platform
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil
import structlog

__all__ = ["HostFigures", "HostSampler"]

_log = structlog.get_logger()
_T = TypeVar("_T")
_MICROS = 1_000_000
# What psutil raises when a hardened unit, a container or an exotic kernel hides a figure.
_HIDDEN = (OSError, psutil.Error, ValueError, AttributeError, NotImplementedError)


@dataclass(frozen=True, slots=True)
class HostFigures:
    """One sample; a figure that cannot be read is zero or empty."""

    process_id: int
    cpu_percent: float
    """Of this process since the last sample; 100 is one processor."""
    total_cpu_percent: float
    """Of the whole machine since the last sample; 100 is all processors."""
    memory_bytes: int
    total_memory_bytes: int
    available_memory_bytes: int
    run_time_micros: int
    start_time_micros: int
    """Since the epoch."""
    read_bytes: int
    written_bytes: int
    threads: int
    free_disk_bytes: int
    """What an unprivileged process may still write below the data folder."""
    total_disk_bytes: int
    hostname: str
    os_name: str
    os_version: str
    kernel_version: str


class HostSampler:
    """Reads the figures; what cannot change is read once, and what is hidden is reported once."""

    def __init__(self, data_path: Path) -> None:
        self._data_path = data_path
        self._hidden: set[str] = set()
        # None without a /proc, of which psutil makes all that it knows of a process.
        self._known = self._read("process", psutil.Process, None)
        self._started = self._read("start_time", lambda: float(self._process.create_time()), 0.0)
        self._hostname = self._read("hostname", socket.gethostname, "")
        unnamed: dict[str, str] = {}
        release = self._read("os_release", platform.freedesktop_os_release, unnamed)
        self._os_name = release.get("NAME", platform.system())
        self._os_version = release.get("VERSION_ID", "")
        self._kernel = self._read("kernel_version", lambda: os.uname().release, "")
        # The first call of each only sets the point that the next one measures from.
        self._read("cpu", self._cpu_percent, 0.0)
        self._read("total_cpu", _total_cpu_percent, 0.0)

    def sample(self) -> HostFigures:
        """The figures now; takes about a millisecond and never raises for a figure that is hidden."""
        memory = self._read("memory", psutil.virtual_memory, None)
        read, written = self._read("process_io", self._transferred, (0, 0))
        disk = self._read("disk", lambda: os.statvfs(self._data_path), None)
        return HostFigures(
            process_id=os.getpid(),
            cpu_percent=self._read("cpu", self._cpu_percent, 0.0),
            total_cpu_percent=self._read("total_cpu", _total_cpu_percent, 0.0),
            memory_bytes=self._read("process_memory", lambda: int(self._process.memory_info().rss), 0),
            total_memory_bytes=memory.total if memory else 0,
            available_memory_bytes=memory.available if memory else 0,
            run_time_micros=max(0, int((time.time() - self._started) * _MICROS)) if self._started else 0,
            start_time_micros=int(self._started * _MICROS),
            read_bytes=read,
            written_bytes=written,
            threads=self._read("threads", lambda: int(self._process.num_threads()), 0),
            free_disk_bytes=disk.f_bavail * disk.f_frsize if disk else 0,
            total_disk_bytes=disk.f_blocks * disk.f_frsize if disk else 0,
            hostname=self._hostname,
            os_name=self._os_name,
            os_version=self._os_version,
            kernel_version=self._kernel,
        )

    @property
    def _process(self) -> psutil.Process:
        """This process; raises one of `_HIDDEN` if nothing can be read of it."""
        if self._known is None:
            raise psutil.NoSuchProcess(os.getpid())
        return self._known

    def _transferred(self) -> tuple[int, int]:
        counters = self._process.io_counters()
        return counters.read_bytes, counters.write_bytes

    def _cpu_percent(self) -> float:
        return float(self._process.cpu_percent(interval=None))

    def _read(self, figure: str, read: Callable[[], _T], hidden: _T) -> _T:
        try:
            return read()
        except _HIDDEN as error:
            if figure not in self._hidden:
                self._hidden.add(figure)
                _log.debug("host_figure_hidden", figure=figure, reason=str(error))
            return hidden


def _total_cpu_percent() -> float:
    return float(psutil.cpu_percent(interval=None))
