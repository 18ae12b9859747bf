"""The settings: every key with its default, bounds, unit and sentence; all else is derived from here.

Generated from the tables of `native/wire` by `make generate`: change them there.
"""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

from server_ng.config.address import Address
from server_ng.config.consumer_idle import ConsumerIdle
from server_ng.config.cpu_allocation import CpuAllocation
from server_ng.config.leaf import (
    ADDRESS,
    BOOLEAN,
    CONSUMER_IDLE,
    COUNT,
    CPUS,
    DURATION,
    PATH,
    SIZE,
    TEXT,
    Leaf,
    Section,
    choice,
)

__all__ = ["SettingsTable"]


class SystemRuntime(Section):
    """Files that the running process writes for others: addresses, last crash, generated password."""

    path: Annotated[
        Path,
        Leaf(
            PATH,
            "Directory for files of the running process, below system.path unless absolute.",
            iggy=True,
        ),
    ] = Path("runtime")


class SystemSharding(Section):
    """Shards and their CPUs, and the time that a stop may take."""

    cpu_allocation: Annotated[
        CpuAllocation,
        Leaf(
            CPUS,
            "CPUs of the shards, one shard per CPU.",
            iggy=True,
        ),
    ] = CPUS.parse("auto")
    pin_cores: Annotated[
        bool,
        Leaf(
            BOOLEAN,
            "Pin each shard to its CPU. If false, there may be more shards than CPUs.",
            iggy=True,
        ),
    ] = True
    inbox_capacity: Annotated[
        int,
        Leaf(
            COUNT,
            "Frames from other shards that a shard can queue, divided evenly among those shards.",
            at_least=64,
            at_most=65536,
            counts="entries",
            iggy=True,
        ),
    ] = 1024
    shutdown_drain_timeout: Annotated[
        timedelta,
        Leaf(
            DURATION,
            "Time that a stop waits for accepted requests.",
            at_least=timedelta(milliseconds=1),
            at_most=timedelta(milliseconds=600000),
            iggy=True,
        ),
    ] = timedelta(milliseconds=10000)
    shutdown_join_timeout: Annotated[
        timedelta,
        Leaf(
            DURATION,
            "Time limit of a whole stop. After it the process exits with status 75.",
            at_least=timedelta(milliseconds=1),
            at_most=timedelta(milliseconds=900000),
            iggy=True,
        ),
    ] = timedelta(milliseconds=30000)


class SystemIo(Section):
    """Kernel interface for files and sockets."""

    backend: Annotated[
        str,
        Leaf(
            choice("auto", "posix", "uring"),
            "Kernel interface for I/O. auto: io_uring if it works, otherwise posix.",
        ),
    ] = "auto"


class SystemLogging(Section):
    """Events on standard output."""

    level: Annotated[
        str,
        Leaf(
            choice(
                "trace",
                "debug",
                "info",
                "warn",
                "error",
                "off",
                synonyms=(("none", "off"), ("warning", "warn")),
            ),
            "Lowest level of events that are written.",
            reloadable=True,
            iggy=True,
        ),
    ] = "info"
    format: Annotated[
        str,
        Leaf(
            choice("auto", "json", "console"),
            "Format of a line. auto: console on a terminal, otherwise JSON.",
        ),
    ] = "auto"


class System(Section):
    """Paths of the server on this machine."""

    path: Annotated[
        Path,
        Leaf(
            PATH,
            "Data directory, relative to the working directory unless absolute.",
            iggy=True,
        ),
    ] = Path("local_data")
    runtime: SystemRuntime = SystemRuntime()
    sharding: SystemSharding = SystemSharding()
    io: SystemIo = SystemIo()
    logging: SystemLogging = SystemLogging()


class Tcp(Section):
    """The binary protocol over TCP."""

    enabled: Annotated[
        bool,
        Leaf(
            BOOLEAN,
            "Accept clients over TCP.",
            iggy=True,
        ),
    ] = True
    address: Annotated[
        Address,
        Leaf(
            ADDRESS,
            "Address to listen on. With port 0 the kernel chooses a free port.",
            iggy=True,
        ),
    ] = ADDRESS.parse("127.0.0.1:8090")


class Http(Section):
    """The HTTP interface, which is not built yet."""

    enabled: Annotated[
        bool,
        Leaf(
            BOOLEAN,
            "Serve HTTP. Not built yet: true only causes a warning.",
            iggy=True,
        ),
    ] = False
    address: Annotated[
        Address,
        Leaf(
            ADDRESS,
            "Address to listen on.",
            iggy=True,
        ),
    ] = ADDRESS.parse("127.0.0.1:3000")


class Quic(Section):
    """The binary protocol over QUIC, which is not built yet."""

    enabled: Annotated[
        bool,
        Leaf(
            BOOLEAN,
            "Serve QUIC. Not built yet: true only causes a warning.",
            iggy=True,
        ),
    ] = False
    address: Annotated[
        Address,
        Leaf(
            ADDRESS,
            "Address to listen on.",
            iggy=True,
        ),
    ] = ADDRESS.parse("127.0.0.1:8080")


class Websocket(Section):
    """The binary protocol over WebSocket, which is not built yet."""

    enabled: Annotated[
        bool,
        Leaf(
            BOOLEAN,
            "Serve WebSocket. Not built yet: true only causes a warning.",
            iggy=True,
        ),
    ] = False
    address: Annotated[
        Address,
        Leaf(
            ADDRESS,
            "Address to listen on.",
            iggy=True,
        ),
    ] = ADDRESS.parse("127.0.0.1:8092")


class Connections(Section):
    """Limits on client connections, all shards together."""

    max: Annotated[
        int,
        Leaf(
            COUNT,
            "Maximum client connections. A further one is closed at once.",
            at_least=16,
            at_most=1000000,
            counts="connections",
        ),
    ] = 20480
    unauthenticated_max: Annotated[
        int,
        Leaf(
            COUNT,
            "Maximum connections that have not logged in. A further one closes the oldest of them.",
            at_least=8,
            at_most=1000000,
            counts="connections",
        ),
    ] = 4096
    frame_timeout: Annotated[
        timedelta,
        Leaf(
            DURATION,
            "Time allowed to receive one request: this, plus one second per KiB.",
            at_least=timedelta(milliseconds=100),
            at_most=timedelta(milliseconds=600000),
        ),
    ] = timedelta(milliseconds=10000)
    send_timeout: Annotated[
        timedelta,
        Leaf(
            DURATION,
            "A connection is closed if its client reads no byte of a reply for this time (at most 2 s while "
            "polls of other clients wait for memory).",
            at_least=timedelta(milliseconds=100),
            at_most=timedelta(milliseconds=3600000),
        ),
    ] = timedelta(milliseconds=30000)
    accept_backlog: Annotated[
        int,
        Leaf(
            COUNT,
            "Connections that the kernel queues until the server accepts them.",
            at_least=1,
            at_most=65535,
            counts="connections",
        ),
    ] = 4096


class Memory(Section):
    """Memory for data and clients. docs/memory.md describes its parts."""

    budget: Annotated[
        int,
        Leaf(
            SIZE,
            "Memory for caches, replies, unflushed messages and arriving requests, all shards together. 0: "
            "a quarter of the memory that the machine and its control groups allow, at most 4 GiB.",
            at_least=0,
            at_most=17592186044416,
        ),
    ] = 0


class MessageBus(Section):
    """Requests of clients."""

    max_message_size: Annotated[
        int,
        Leaf(
            SIZE,
            "Largest request of a client. Fixed when the data directory is created.",
            at_least=1048576,
            at_most=67108864,
            iggy=True,
        ),
    ] = 67108864


class Metadata(Section):
    """Sessions."""

    clients_table_max: Annotated[
        int,
        Leaf(
            COUNT,
            "Maximum logged-in sessions. Fixed when the data directory is created.",
            at_least=2,
            at_most=65536,
            counts="sessions",
            iggy=True,
        ),
    ] = 16384


class StorageJournal(Section):
    """The write-ahead journal of each shard. Each file is twice message_bus.max_message_size."""

    files_max: Annotated[
        int,
        Leaf(
            COUNT,
            "Maximum journal files per shard for messages. More files absorb longer bursts on a slow disk.",
            at_least=5,
            at_most=1024,
            counts="files",
        ),
    ] = 8


class Storage(Section):
    """Files in the data directory."""

    journal: StorageJournal = StorageJournal()


class DataMaintenanceMessages(Section):
    """Retention by age and by size, as the topic sets them."""

    cleaner_enabled: Annotated[
        bool,
        Leaf(
            BOOLEAN,
            "Delete messages that exceed their topic's message_expiry or max_topic_size.",
            iggy=True,
        ),
    ] = True
    interval: Annotated[
        timedelta,
        Leaf(
            DURATION,
            "Interval between retention checks of a partition.",
            at_least=timedelta(milliseconds=100),
            at_most=timedelta(milliseconds=86400000),
            iggy=True,
        ),
    ] = timedelta(milliseconds=60000)


class DataMaintenance(Section):
    """Periodic work on stored data."""

    messages: DataMaintenanceMessages = DataMaintenanceMessages()


class Partition(Section):
    """Limits of each partition, and consumers that delay retention."""

    consumer_idle_after: Annotated[
        ConsumerIdle,
        Leaf(
            CONSUMER_IDLE,
            "Retention keeps messages that a consumer has not read, for this long after the consumer was "
            "last seen. all: as long as its offset is stored. none: never.",
        ),
    ] = CONSUMER_IDLE.parse("24h")
    consumer_offsets_max: Annotated[
        int,
        Leaf(
            COUNT,
            "Maximum consumers per partition with a stored offset. Fixed when the data directory is created.",
            at_least=1,
            at_most=65536,
            counts="consumers",
            iggy=True,
        ),
    ] = 4096
    unflushed_bytes_max: Annotated[
        int,
        Leaf(
            SIZE,
            "Maximum bytes per shard in the journal but not yet in segments. Above it, sends are rejected "
            "with status 58 and clients retry. At most a quarter of the memory budget.",
            at_least=1048576,
            at_most=17179869184,
        ),
    ] = 67108864


class Poll(Section):
    """Replies of polls, and the cache for them."""

    reply_bytes_max: Annotated[
        int,
        Leaf(
            SIZE,
            "Maximum bytes of one poll reply. A single larger message is still returned. Never above a "
            "quarter of the part for replies in the memory budget, nor above 64 MiB for clients not built "
            "on Iggy's Rust SDK.",
            at_least=65536,
            at_most=134217728,
        ),
    ] = 134217728
    cache_bytes_max: Annotated[
        int,
        Leaf(
            SIZE,
            "Memory for recent messages, all shards together; at most three sixteenths of the memory "
            "budget. Messages not polled for a minute are dropped from it.",
            at_least=0,
            at_most=1099511627776,
        ),
    ] = 536870912


class Cluster(Section):
    """Clusters of nodes, which are not built yet."""

    enabled: Annotated[
        bool,
        Leaf(
            BOOLEAN,
            "Run this node in a cluster. Not built yet: true is refused.",
            iggy=True,
        ),
    ] = False
    name: Annotated[
        str,
        Leaf(
            TEXT,
            "Name of the cluster in its description for clients.",
            iggy=True,
        ),
    ] = "single-node"


class ControlPlane(Section):
    """Detection of a blocked Python control plane."""

    stall_dump: Annotated[
        timedelta,
        Leaf(
            DURATION,
            "If the Python control plane is blocked this long, write its stack traces to stderr.",
            at_least=timedelta(milliseconds=2000),
            at_most=timedelta(milliseconds=3600000),
        ),
    ] = timedelta(milliseconds=5000)
    stall_max: Annotated[
        timedelta,
        Leaf(
            DURATION,
            "If the control plane is blocked this long, stop feeding the watchdog, so that systemd restarts "
            "the server.",
            at_least=timedelta(milliseconds=1000),
            at_most=timedelta(milliseconds=3600000),
        ),
    ] = timedelta(milliseconds=60000)


class Auth(Section):
    """Logins by password."""

    login_queue_max: Annotated[
        int,
        Leaf(
            COUNT,
            "Maximum logins that wait for a password hash. A further one is rejected, and the client "
            "retries.",
            at_least=1,
            at_most=65536,
            counts="logins",
        ),
    ] = 256
    verified_cache_max: Annotated[
        int,
        Leaf(
            COUNT,
            "Maximum cached credentials, so that many logins of the same user cost one hash.",
            at_least=1,
            at_most=65536,
            counts="credentials",
        ),
    ] = 1024


class Audit(Section):
    """A file with one line per login and change; docs/security.md describes it."""

    path: Annotated[
        str,
        Leaf(
            TEXT,
            "Audit file, relative to the working directory unless absolute. none: no audit file.",
        ),
    ] = "none"


class Observe(Section):
    """Metrics and health over HTTP, on loopback only."""

    enabled: Annotated[
        bool,
        Leaf(
            BOOLEAN,
            "Serve /metrics, /live and /ready.",
        ),
    ] = True
    address: Annotated[
        Address,
        Leaf(
            ADDRESS,
            "Loopback address to listen on. With port 0 the kernel chooses a free port. If this is not set "
            "and the default is in use, the server takes a free port and logs it; an address that is set "
            "must be free.",
        ),
    ] = ADDRESS.parse("127.0.0.1:9464")


class Leases(Section):
    """Leases: read-only snapshots of topics for offline jobs, and the socket that grants them."""

    enabled: Annotated[
        bool,
        Leaf(
            BOOLEAN,
            "Listen on control.sock in system.runtime.path.",
        ),
    ] = True
    group: Annotated[
        str,
        Leaf(
            TEXT,
            "Unix group that may use the socket and read leases, like the server's user. none: no group.",
        ),
    ] = "none"
    ttl_max: Annotated[
        timedelta,
        Leaf(
            DURATION,
            "Maximum time of a lease until it is renewed.",
            at_least=timedelta(milliseconds=1000),
            at_most=timedelta(milliseconds=2592000000),
        ),
    ] = timedelta(milliseconds=86400000)
    count_max: Annotated[
        int,
        Leaf(
            COUNT,
            "Maximum number of leases.",
            at_least=1,
            at_most=4096,
            counts="leases",
        ),
    ] = 64
    bytes_max: Annotated[
        int,
        Leaf(
            SIZE,
            "Maximum bytes pinned by leases. Retention and purge cannot free them until the lease ends.",
            at_least=1048576,
            at_most=1152921504606846976,
        ),
    ] = 1099511627776
    cut_timeout: Annotated[
        timedelta,
        Leaf(
            DURATION,
            "Time allowed for the shards to write a lease's messages to segments.",
            at_least=timedelta(milliseconds=1000),
            at_most=timedelta(milliseconds=3600000),
        ),
    ] = timedelta(milliseconds=60000)


class SettingsTable(Section):
    """Every section."""

    system: System = System()
    tcp: Tcp = Tcp()
    http: Http = Http()
    quic: Quic = Quic()
    websocket: Websocket = Websocket()
    connections: Connections = Connections()
    memory: Memory = Memory()
    message_bus: MessageBus = MessageBus()
    metadata: Metadata = Metadata()
    storage: Storage = Storage()
    data_maintenance: DataMaintenance = DataMaintenance()
    partition: Partition = Partition()
    poll: Poll = Poll()
    cluster: Cluster = Cluster()
    control_plane: ControlPlane = ControlPlane()
    auth: Auth = Auth()
    audit: Audit = Audit()
    observe: Observe = Observe()
    leases: Leases = Leases()
