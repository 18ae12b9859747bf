"""What the engine is told at its start.

Generated from the tables of `native/wire` by `make generate`: change them there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from server_ng.config import Address, ConsumerIdle

__all__ = ["SETTING_OF", "EngineTable"]

SETTING_OF: Final[Mapping[str, str]] = {
    "inbox_capacity": "system.sharding.inbox_capacity",
    "drain_timeout": "system.sharding.shutdown_drain_timeout",
    "join_timeout": "system.sharding.shutdown_join_timeout",
    "backend": "system.io.backend",
    "tcp_address": "tcp.address",
    "strangers_max": "connections.unauthenticated_max",
    "frame_time": "connections.frame_timeout",
    "send_timeout": "connections.send_timeout",
    "accept_backlog": "connections.accept_backlog",
    "frame_bytes_max": "message_bus.max_message_size",
    "sessions_max": "metadata.clients_table_max",
    "journal_files_max": "storage.journal.files_max",
    "consumer_hold": "partition.consumer_idle_after",
    "consumer_offsets_max": "partition.consumer_offsets_max",
    "poll_reply_bytes_max": "poll.reply_bytes_max",
    "cluster_name": "cluster.name",
    "stall_dump": "control_plane.stall_dump",
    "stall_max": "control_plane.stall_max",
}
"""The key of each value that is a setting; the control plane works the others out."""


@dataclass(frozen=True, slots=True)
class EngineTable:
    """A field for each value."""

    inbox_capacity: int
    """Frames from other shards that a shard can queue, divided evenly among those shards."""
    drain_timeout: timedelta
    """Time that a stop waits for accepted requests."""
    join_timeout: timedelta
    """Time limit of a whole stop. After it the process exits with status 75."""
    backend: str
    """Kernel interface for I/O. auto: io_uring if it works, otherwise posix."""
    tcp_address: Address
    """Address to listen on. With port 0 the kernel chooses a free port."""
    strangers_max: int
    """Maximum connections that have not logged in. A further one closes the oldest of them."""
    frame_time: timedelta
    """Time allowed to receive one request: this, plus one second per KiB."""
    send_timeout: timedelta
    """A connection is closed if its client reads no byte of a reply for this time (at most 2 s while
    polls of other clients wait for memory)."""
    accept_backlog: int
    """Connections that the kernel queues until the server accepts them."""
    frame_bytes_max: int
    """Largest request of a client. Fixed when the data directory is created."""
    sessions_max: int
    """Maximum logged-in sessions. Fixed when the data directory is created."""
    journal_files_max: int
    """Maximum journal files per shard for messages. More files absorb longer bursts on a slow disk."""
    consumer_hold: ConsumerIdle
    """Retention keeps messages that a consumer has not read, for this long after the consumer was last
    seen. all: as long as its offset is stored. none: never."""
    consumer_offsets_max: int
    """Maximum consumers per partition with a stored offset. Fixed when the data directory is created."""
    poll_reply_bytes_max: int
    """Maximum bytes of one poll reply. A single larger message is still returned. Never above a quarter
    of the part for replies in the memory budget, nor above 64 MiB for clients not built on Iggy's Rust
    SDK."""
    cluster_name: str
    """Name of the cluster in its description for clients."""
    stall_dump: timedelta
    """If the Python control plane is blocked this long, write its stack traces to stderr."""
    stall_max: timedelta
    """If the control plane is blocked this long, stop feeding the watchdog, so that systemd restarts the
    server."""
    shard_cpus: Sequence[int | None]
    """CPU of each shard; none: not pinned. Its length is the number of shards."""
    connections_max: int
    """Maximum connections of the process, limited by file descriptors."""
    logins_max: int
    """Maximum logins that wait for a verdict."""
    session_records: bool
    """Whether the engine reports each session that opens or ends."""
    retention_period: timedelta
    """Interval between retention checks of a partition; zero: no message expires."""
    notify_socket: str
    """Notification socket of systemd, empty without one."""
    watchdog_us: int
    """Microseconds in which systemd expects a notification, zero without a watchdog."""
    data_directory: Path
    """Data directory."""
    direct_io: bool
    """Files of the data directory may bypass the page cache."""
    poll_cache_bytes_max: int
    """Memory of a shard for cached batches."""
    poll_reads_bytes_max: int
    """Memory of a shard for batches that current polls have read."""
    replies_bytes_max: int
    """Memory of a shard for replies that clients have not read."""
    unflushed_bytes_max: int
    """Memory of a shard for messages not yet in segments."""
    connections_bytes_max: int
    """Memory of a shard for long requests that are arriving."""
    spares_bytes_max: int
    """Memory of a shard for spare buffers."""
    crash_file: Path
    """File for the reason of a crash."""
