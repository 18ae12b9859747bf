"""The engine's settings, out of the configuration."""

import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from server_ng.bootstrap.data_directory import DataDirectory
from server_ng.bootstrap.memory_budget import MemoryPlan
from server_ng.config import ConsumerIdle, Settings
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
    sharding, connections = settings.system.sharding, settings.connections
    maintenance = settings.data_maintenance.messages
    return EngineSettings(
        backend=settings.system.io.backend,
        shard_cpus=shard_cpus,
        inbox_capacity=sharding.inbox_capacity,
        tcp_address=settings.tcp.address,
        accept_backlog=connections.accept_backlog,
        frame_bytes_max=settings.message_bus.max_message_size,
        connections_max=connections_max,
        strangers_max=connections.unauthenticated_max,
        sessions_max=settings.metadata.clients_table_max,
        logins_max=max(_LOGINS_MAX, settings.auth.login_queue_max),
        frame_time_ms=_millis(connections.frame_timeout),
        send_timeout_ms=_millis(connections.send_timeout),
        drain_timeout_ms=_millis(sharding.shutdown_drain_timeout),
        join_timeout_ms=_millis(sharding.shutdown_join_timeout),
        stall_dump_ms=_millis(settings.control_plane.stall_dump),
        stall_max_ms=_millis(settings.control_plane.stall_max),
        notify_socket=environment.get("NOTIFY_SOCKET", ""),
        watchdog_us=_watchdog_micros(environment),
        data_directory=directory.path,
        direct_io=direct_io,
        journal_files_max=settings.storage.journal.files_max,
        consumer_offsets_max=settings.partition.consumer_offsets_max,
        poll_cache_bytes_max=memory.each.poll_cache,
        poll_reads_bytes_max=memory.each.poll_reads,
        replies_bytes_max=memory.each.replies,
        unflushed_bytes_max=memory.each.unflushed,
        connections_bytes_max=memory.each.connections,
        spares_bytes_max=memory.each.spares,
        poll_reply_bytes_max=settings.poll.reply_bytes_max,
        retention_period_ms=_millis(maintenance.interval) if maintenance.cleaner_enabled else 0,
        consumer_hold=_hold(settings.partition.consumer_idle_after),
        crash_file=directory.runtime_path / LAST_CRASH_NAME,
        cluster_name=settings.cluster.name,
    )


def _millis(duration: timedelta) -> int:
    return max(1, int(duration.total_seconds() * 1000))


def _hold(idle: ConsumerIdle) -> str:
    return idle.word or str(_millis(idle.after or timedelta()))


def _watchdog_micros(environment: Mapping[str, str]) -> int:
    """systemd's watchdog interval, or 0 when it does not watch this process."""
    interval = environment.get("WATCHDOG_USEC", "")
    watched = environment.get("WATCHDOG_PID", "") in ("", str(os.getpid()))
    return int(interval) if watched and interval.isascii() and interval.isdigit() else 0
