"""The engine's settings, out of the configuration."""

import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from server_ng.bootstrap.data_directory import DataDirectory
from server_ng.bootstrap.memory_budget import MemoryPlan
from server_ng.config import Settings
from server_ng.engine.settings import EngineSettings

__all__ = ["LAST_CRASH_NAME", "engine_settings"]

LAST_CRASH_NAME: Final = "last_crash.json"

# Logins that wait for a verdict. Those that wait for a hash are fewer (auth.login_queue_max): equal logins
# share one, and a known credential needs none, so a storm of reconnecting clients is not turned away here.
_LOGINS_MAX: Final = 4096


def engine_settings(
    settings: Settings,
    shard_cpus: Sequence[int | None],
    connections_max: int,
    directory: DataDirectory,
    memory: MemoryPlan,
    *,
    direct_io: bool,
    environment: Mapping[str, str],
) -> EngineSettings:
    """What the engine is told. systemd's wishes come from the environment it gives to the process."""
    maintenance = settings.data_maintenance.messages
    return EngineSettings.of(
        settings,
        shard_cpus=shard_cpus,
        connections_max=connections_max,
        logins_max=max(_LOGINS_MAX, settings.auth.login_queue_max),
        session_records=settings.audit_path is not None,
        retention_period=maintenance.interval if maintenance.cleaner_enabled else timedelta(),
        notify_socket=environment.get("NOTIFY_SOCKET", ""),
        watchdog_us=_watchdog_micros(environment),
        data_directory=directory.path,
        direct_io=direct_io,
        poll_cache_bytes_max=memory.each.poll_cache,
        poll_reads_bytes_max=memory.each.poll_reads,
        replies_bytes_max=memory.each.replies,
        unflushed_bytes_max=memory.each.unflushed,
        connections_bytes_max=memory.each.connections,
        spares_bytes_max=memory.each.spares,
        crash_file=directory.runtime_path / LAST_CRASH_NAME,
    )


def _watchdog_micros(environment: Mapping[str, str]) -> int:
    """systemd's watchdog interval, or 0 when it does not watch this process."""
    interval = environment.get("WATCHDOG_USEC", "")
    watched = environment.get("WATCHDOG_PID", "") in ("", str(os.getpid()))
    return int(interval) if watched and interval.isascii() and interval.isdigit() else 0
