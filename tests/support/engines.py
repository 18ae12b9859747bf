"""Engines in the test's own process, without a control plane."""

import itertools
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from server_ng import binding
from server_ng.config import Address
from server_ng.engine.settings import EngineSettings

__all__ = ["engine_settings", "open_handle"]

_HOUR_MILLIS = 3_600_000
_directories = itertools.count()


def engine_settings(folder: Path, **changes: Any) -> EngineSettings:
    """Settings of a small engine on a free port."""
    settings = EngineSettings(
        backend="posix",
        shard_cpus=(None,),
        inbox_capacity=64,
        tcp_address=Address(ip_address("127.0.0.1"), 0),
        accept_backlog=16,
        frame_bytes_max=1 << 20,
        connections_max=64,
        strangers_max=32,
        sessions_max=32,
        logins_max=32,
        frame_time_ms=10_000,
        send_timeout_ms=30_000,
        drain_timeout_ms=1_000,
        join_timeout_ms=1_000,
        # The signal that asks for stacks would end a process without a handler for it.
        stall_dump_ms=_HOUR_MILLIS,
        stall_max_ms=_HOUR_MILLIS,
        notify_socket="",
        watchdog_us=0,
        data_directory=folder / f"data-{next(_directories)}",
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
        cluster_name="single-node",
    )
    return replace(settings, **changes)


def open_handle(folder: Path, **changes: Any) -> int:
    """The handle of an engine that has not started."""
    return binding.open_engine(engine_settings(folder, **changes).lines())
