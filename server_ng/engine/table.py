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
    """Entries one shard can hold from the others, shared evenly between them."""
    drain_timeout: timedelta
    """How long a stop waits for requests that were already accepted."""
    join_timeout: timedelta
    """How long a stop may take in all before the process ends with status 75."""
    backend: str
    """Kernel interface; auto takes io_uring where it works, and posix elsewhere."""
    tcp_address: Address
    """Address to listen on; port 0 lets the kernel choose."""
    strangers_max: int
    """Connections that have not logged in; beyond it the oldest of them is closed."""
    frame_time: timedelta
    """How long a started frame may take, besides one second for each KiB of it."""
    send_timeout: timedelta
    """Time in which a client must take a byte of a reply, or its connection is closed; at most 2 s while
    polls of other clients wait for memory."""
    accept_backlog: int
    """Connections the kernel holds before they are accepted."""
    frame_bytes_max: int
    """Largest frame a client may send."""
    sessions_max: int
    """Logged-in sessions the server remembers."""
    journal_files_max: int
    """Files the journal of a shard may use for messages; with more, bursts wait less for slow disks."""
    consumer_hold: ConsumerIdle
    """How long after it was seen a consumer keeps what it has not read from going; all is for ever, none
    not at all."""
    consumer_offsets_max: int
    """Consumers of one partition whose offsets are kept; fixed when the data folder is founded."""
    poll_reply_bytes_max: int
    """Bytes of one poll reply. A single larger message is still returned. A quarter of the part for
    replies in the memory budget bounds it, too. Clients not built on Iggy's Rust SDK get 64 MiB at most."""
    cluster_name: str
    """Name that clients are told when they ask for the cluster."""
    stall_dump: timedelta
    """Standstill after which the Python stacks are written to standard error."""
    stall_max: timedelta
    """Standstill after which the systemd watchdog is no longer fed."""
    shard_cpus: Sequence[int | None]
    """CPU of each shard; none leaves a shard to the scheduler. Its length is the number of shards."""
    connections_max: int
    """Connections of the process, as far as descriptors allow."""
    logins_max: int
    """Logins that wait for a verdict."""
    retention_period: timedelta
    """Interval between two looks at a partition; zero lets no messages expire."""
    notify_socket: str
    """Notification socket of systemd, empty without one."""
    watchdog_us: int
    """Microseconds in which systemd expects a sign of life, zero if it does not watch."""
    data_directory: Path
    """Folder of everything that is to last."""
    direct_io: bool
    """Whether files there may bypass the page cache."""
    poll_cache_bytes_max: int
    """Memory of a shard for batches that polls may ask for."""
    poll_reads_bytes_max: int
    """Memory of a shard for what polls under way have read."""
    replies_bytes_max: int
    """Memory of a shard for replies that clients have not taken."""
    unflushed_bytes_max: int
    """Memory of a shard for messages that are in no segment yet."""
    connections_bytes_max: int
    """Memory of a shard for long requests that are arriving."""
    spares_bytes_max: int
    """Memory of a shard for spare buffers."""
    crash_file: Path
    """File in which the reason of a crash is left."""
