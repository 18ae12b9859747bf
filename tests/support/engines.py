"""Engines in the test's own process, without a control plane."""

import itertools
from dataclasses import replace
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from server_ng import binding
from server_ng.config import Address, Settings
from server_ng.engine.settings import EngineSettings

__all__ = ["engine_settings", "open_handle"]

_directories = itertools.count()


def engine_settings(folder: Path, **changes: Any) -> EngineSettings:
    """Settings of a small engine on a free port."""
    settings = EngineSettings.of(
        Settings(),
        shard_cpus=(None,),
        connections_max=64,
        logins_max=32,
        session_records=False,
        retention_period=timedelta(minutes=1),
        notify_socket="",
        watchdog_us=0,
        data_directory=folder / f"data-{next(_directories)}",
        direct_io=False,
        poll_cache_bytes_max=1 << 20,
        poll_reads_bytes_max=1 << 20,
        replies_bytes_max=1 << 20,
        unflushed_bytes_max=1 << 20,
        connections_bytes_max=1 << 20,
        spares_bytes_max=1 << 20,
        crash_file=folder / "last_crash.json",
    )
    small: dict[str, Any] = {
        "backend": "posix",
        "inbox_capacity": 64,
        "tcp_address": Address(ip_address("127.0.0.1"), 0),
        "accept_backlog": 16,
        "frame_bytes_max": 1 << 20,
        "strangers_max": 32,
        "sessions_max": 32,
        "drain_timeout": timedelta(seconds=1),
        "join_timeout": timedelta(seconds=1),
        # The signal that asks for stacks would end a process without a handler for it.
        "stall_dump": timedelta(hours=1),
        "stall_max": timedelta(hours=1),
        "journal_files_max": 5,
        "consumer_offsets_max": 16,
        "poll_reply_bytes_max": 1 << 20,
    }
    return replace(settings, **(small | changes))


def open_handle(folder: Path, **changes: Any) -> int:
    """The handle of an engine that has not started."""
    return binding.open_engine(engine_settings(folder, **changes).lines())
