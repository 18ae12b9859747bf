"""What a call into the native library costs, next to a call that stays in Python."""

import tempfile
import timeit
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from benches.figures import Figure
from server_ng import binding
from server_ng.config import load
from server_ng.engine.settings import EngineSettings

__all__ = ["measure"]

_CALLS: Final = 50_000
_REPEATS: Final = 7


def measure() -> Iterator[Figure]:
    """A call that does next to nothing, and a drain that finds nothing."""
    with tempfile.TemporaryDirectory() as folder:
        handle = binding.open_engine(_settings(Path(folder)).lines())
        try:
            plain = _nanos(lambda: _stay(handle))
            look = _nanos(lambda: binding.notify_fd(handle))
            drain = _nanos(lambda: binding.drain(handle))
        finally:
            binding.close(handle)
    yield Figure("native call / Python call", look / plain, "x", f"{look:.0f} ns / {plain:.0f} ns")
    yield Figure("drain of nothing / Python call", drain / plain, "x", f"{drain:.0f} ns / {plain:.0f} ns")


def _stay(handle: int) -> int:
    return handle


def _nanos(call: Callable[[], object]) -> float:
    """Of one call, in the quietest of several runs; what the loop itself costs is in every figure."""
    return min(timeit.repeat(call, number=_CALLS, repeat=_REPEATS)) / _CALLS * 1e9


def _settings(folder: Path) -> EngineSettings:
    return EngineSettings(
        backend="posix",
        shard_cpus=[None],
        inbox_capacity=1024,
        tcp_address=load(None, {}, ["tcp.address=127.0.0.1:0"]).settings.tcp.address,
        accept_backlog=16,
        frame_bytes_max=64 * 2**20,
        connections_max=16,
        strangers_max=16,
        sessions_max=16,
        logins_max=16,
        frame_time_ms=10_000,
        send_timeout_ms=30_000,
        drain_timeout_ms=1_000,
        join_timeout_ms=1_000,
        stall_dump_ms=5_000,
        stall_max_ms=60_000,
        notify_socket="",
        watchdog_us=0,
        data_directory=folder / "data",
        direct_io=False,
        journal_files_max=5,
        consumer_offsets_max=16,
        unflushed_bytes_max=1 << 20,
        poll_cache_bytes_max=1 << 20,
        poll_reads_bytes_max=1 << 20,
        replies_bytes_max=1 << 20,
        connections_bytes_max=1 << 20,
        spares_bytes_max=1 << 20,
        poll_reply_bytes_max=1 << 20,
        retention_period_ms=60_000,
        consumer_hold="all",
        crash_file=folder / "last_crash.json",
        cluster_name="bench",
    )
