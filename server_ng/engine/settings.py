"""What the engine is told at its start, as the lines it reads."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from server_ng.config import Address
from server_ng.engine.errors import UnprintableSettingError

__all__ = ["EngineSettings"]


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """One field for each key of the engine, by its name; `native/shard/src/settings.rs` is the other half."""

    backend: str
    """``auto``, ``posix`` or ``uring``."""
    shard_cpus: Sequence[int | None]
    """One entry for each shard: its CPU, or none for any."""
    inbox_capacity: int
    tcp_address: Address
    accept_backlog: int
    frame_bytes_max: int
    connections_max: int
    strangers_max: int
    sessions_max: int
    logins_max: int
    frame_time_ms: int
    send_timeout_ms: int
    drain_timeout_ms: int
    join_timeout_ms: int
    stall_dump_ms: int
    stall_max_ms: int
    notify_socket: str
    watchdog_us: int
    data_directory: Path
    direct_io: bool
    journal_files_max: int
    """Of each shard."""
    consumer_offsets_max: int
    """Of each partition."""
    poll_cache_bytes_max: int
    """Of each shard, as the other parts of the memory budget are."""
    poll_reads_bytes_max: int
    replies_bytes_max: int
    unflushed_bytes_max: int
    connections_bytes_max: int
    spares_bytes_max: int
    poll_reply_bytes_max: int
    retention_period_ms: int
    """Between two looks at a partition; 0 lets no messages go by themselves."""
    consumer_hold: str
    """``all``, ``none``, or the milliseconds after which a consumer that is not seen holds nothing back."""
    crash_file: Path
    cluster_name: str

    def lines(self) -> str:
        """The settings as the engine reads them."""
        values = {field.name: str(getattr(self, field.name)) for field in fields(self)}
        values["direct_io"] = "true" if self.direct_io else "false"
        values["shard_cpus"] = ",".join("-" if cpu is None else str(cpu) for cpu in self.shard_cpus)
        for key, value in values.items():
            if not value.isprintable():
                raise UnprintableSettingError(key, value)
        return "\n".join(f"{key}={value}" for key, value in values.items())
