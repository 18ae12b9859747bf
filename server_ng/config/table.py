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
    """What the running process leaves for others to read: addresses, last crash, first password."""

    path: Annotated[
        Path,
        Leaf(
            PATH,
            "Folder for files of the running process, below system.path unless absolute.",
            iggy=True,
        ),
    ] = Path("runtime")


class SystemSharding(Section):
    """How the work is spread over processors, and how long a stop may take."""

    cpu_allocation: Annotated[
        CpuAllocation,
        Leaf(
            CPUS,
            "Processors the shards take, one shard each.",
            iggy=True,
        ),
    ] = CPUS.parse("auto")
    pin_cores: Annotated[
        bool,
        Leaf(
            BOOLEAN,
            "Bind each shard to its processor; without it there may be more shards than processors.",
            iggy=True,
        ),
    ] = True
    inbox_capacity: Annotated[
        int,
        Leaf(
            COUNT,
            "Entries one shard can hold from the others, shared evenly between them.",
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
            "How long a stop waits for requests that were already accepted.",
            at_least=timedelta(milliseconds=1),
            at_most=timedelta(milliseconds=600000),
            iggy=True,
        ),
    ] = timedelta(milliseconds=10000)
    shutdown_join_timeout: Annotated[
        timedelta,
        Leaf(
            DURATION,
            "How long a stop may take in all before the process ends with status 75.",
            at_least=timedelta(milliseconds=1),
            at_most=timedelta(milliseconds=900000),
            iggy=True,
        ),
    ] = timedelta(milliseconds=30000)


class SystemIo(Section):
    """How files and sockets are driven."""

    backend: Annotated[
        str,
        Leaf(
            choice("auto", "posix", "uring"),
            "Kernel interface; auto takes io_uring where it works, and posix elsewhere.",
        ),
    ] = "auto"


class SystemLogging(Section):
    """The log on standard output."""

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
            "Least important level that is written.",
            reloadable=True,
            iggy=True,
        ),
    ] = "info"
    format: Annotated[
        str,
        Leaf(
            choice("auto", "json", "console"),
            "Form of a line; auto is console on a terminal, JSON elsewhere.",
        ),
    ] = "auto"


class System(Section):
    """Where the server lives on this machine."""

    path: Annotated[
        Path,
        Leaf(
            PATH,
            "Data folder, relative to the working directory unless absolute.",
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
            "Whether clients may connect over TCP.",
            iggy=True,
        ),
    ] = True
    address: Annotated[
        Address,
        Leaf(
            ADDRESS,
            "Address to listen on; port 0 lets the kernel choose.",
            iggy=True,
        ),
    ] = ADDRESS.parse("127.0.0.1:8090")


class Http(Section):
    """The HTTP interface, which is not built yet."""

    enabled: Annotated[
        bool,
        Leaf(
            BOOLEAN,
            "Whether to serve HTTP; not built yet, so it only warns.",
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
            "Whether to serve QUIC; not built yet, so it only warns.",
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
            "Whether to serve WebSocket; not built yet, so it only warns.",
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
    """Limits on client connections, over all shards."""

    max: Annotated[
        int,
        Leaf(
            COUNT,
            "Open client connections; at the limit a new one is turned away.",
            at_least=16,
            at_most=1000000,
            counts="connections",
        ),
    ] = 20480
    unauthenticated_max: Annotated[
        int,
        Leaf(
            COUNT,
            "Connections that have not logged in; beyond it the oldest of them is closed.",
            at_least=8,
            at_most=1000000,
            counts="connections",
        ),
    ] = 4096
    frame_timeout: Annotated[
        timedelta,
        Leaf(
            DURATION,
            "How long a started frame may take, besides one second for each KiB of it.",
            at_least=timedelta(milliseconds=100),
            at_most=timedelta(milliseconds=600000),
        ),
    ] = timedelta(milliseconds=10000)
    send_timeout: Annotated[
        timedelta,
        Leaf(
            DURATION,
            "Time in which a client must take a byte of a reply, or its connection is closed; at most 2 s "
            "while polls of other clients wait for memory.",
            at_least=timedelta(milliseconds=100),
            at_most=timedelta(milliseconds=3600000),
        ),
    ] = timedelta(milliseconds=30000)
    accept_backlog: Annotated[
        int,
        Leaf(
            COUNT,
            "Connections the kernel holds before they are accepted.",
            at_least=1,
            at_most=65535,
            counts="connections",
        ),
    ] = 4096


class Memory(Section):
    """Memory for data and clients. docs/memory.md tells how it is divided."""

    budget: Annotated[
        int,
        Leaf(
            SIZE,
            "Memory for caches, replies, unflushed messages and arriving requests, all shards together; 0 "
            "is a quarter of what the machine and its control groups allow, at most 4 GiB.",
            at_least=0,
            at_most=17592186044416,
        ),
    ] = 0


class MessageBus(Section):
    """Frames."""

    max_message_size: Annotated[
        int,
        Leaf(
            SIZE,
            "Largest frame a client may send.",
            at_least=1048576,
            at_most=67108864,
            iggy=True,
        ),
    ] = 67108864


class Metadata(Section):
    """Sessions, and later everything that is replicated with them."""

    clients_table_max: Annotated[
        int,
        Leaf(
            COUNT,
            "Logged-in sessions the server remembers.",
            at_least=2,
            at_most=65536,
            counts="sessions",
            iggy=True,
        ),
    ] = 16384


class StorageJournal(Section):
    """The journal of each shard, where everything is written first, in files as large as two frames."""

    files_max: Annotated[
        int,
        Leaf(
            COUNT,
            "Files the journal of a shard may use for messages; with more, bursts wait less for slow disks.",
            at_least=5,
            at_most=1024,
            counts="files",
        ),
    ] = 8


class Storage(Section):
    """What is kept in the data folder."""

    journal: StorageJournal = StorageJournal()


class DataMaintenanceMessages(Section):
    """How messages go whose topic limits their age, or its size."""

    cleaner_enabled: Annotated[
        bool,
        Leaf(
            BOOLEAN,
            "Whether messages go by themselves when their topic says so.",
            iggy=True,
        ),
    ] = True
    interval: Annotated[
        timedelta,
        Leaf(
            DURATION,
            "How long after messages came, or were looked at, a partition is looked at.",
            at_least=timedelta(milliseconds=100),
            at_most=timedelta(milliseconds=86400000),
            iggy=True,
        ),
    ] = timedelta(milliseconds=60000)


class DataMaintenance(Section):
    """What is done with data that lies there."""

    messages: DataMaintenanceMessages = DataMaintenanceMessages()


class Partition(Section):
    """Partitions of topics."""

    consumer_idle_after: Annotated[
        ConsumerIdle,
        Leaf(
            CONSUMER_IDLE,
            "How long after it was seen a consumer keeps what it has not read from going; all is for ever, "
            "none not at all.",
        ),
    ] = CONSUMER_IDLE.parse("24h")
    consumer_offsets_max: Annotated[
        int,
        Leaf(
            COUNT,
            "Consumers of one partition whose offsets are kept; fixed when the data folder is founded.",
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
            "Messages of each shard that are in the journal and not in a segment yet. Above it, sends are "
            "rejected with status 58 and clients retry. At most a quarter of the memory budget.",
            at_least=1048576,
            at_most=17179869184,
        ),
    ] = 67108864


class Poll(Section):
    """Polls."""

    reply_bytes_max: Annotated[
        int,
        Leaf(
            SIZE,
            "Bytes of one poll reply. A single larger message is still returned. A quarter of the part for "
            "replies in the memory budget bounds it, too. Clients not built on Iggy's Rust SDK get 64 MiB "
            "at most.",
            at_least=65536,
            at_most=134217728,
        ),
    ] = 134217728
    cache_bytes_max: Annotated[
        int,
        Leaf(
            SIZE,
            "Memory for recently sent and polled messages, all shards together; at most three sixteenths of "
            "the memory budget. Messages that nobody polled for a minute are dropped.",
            at_least=0,
            at_most=1099511627776,
        ),
    ] = 536870912


class Cluster(Section):
    """Several nodes as one, which is not built yet."""

    enabled: Annotated[
        bool,
        Leaf(
            BOOLEAN,
            "Whether this node is one of several; refused until it is built.",
            iggy=True,
        ),
    ] = False
    name: Annotated[
        str,
        Leaf(
            TEXT,
            "Name that clients are told when they ask for the cluster.",
            iggy=True,
        ),
    ] = "single-node"


class ControlPlane(Section):
    """How long the control plane may stand still."""

    stall_dump: Annotated[
        timedelta,
        Leaf(
            DURATION,
            "Standstill after which the Python stacks are written to standard error.",
            at_least=timedelta(milliseconds=2000),
            at_most=timedelta(milliseconds=3600000),
        ),
    ] = timedelta(milliseconds=5000)
    stall_max: Annotated[
        timedelta,
        Leaf(
            DURATION,
            "Standstill after which the systemd watchdog is no longer fed.",
            at_least=timedelta(milliseconds=1000),
            at_most=timedelta(milliseconds=3600000),
        ),
    ] = timedelta(milliseconds=60000)


class Auth(Section):
    """Logins."""

    login_queue_max: Annotated[
        int,
        Leaf(
            COUNT,
            "Logins waiting for a password hash; beyond it a client is told to try again.",
            at_least=1,
            at_most=65536,
            counts="logins",
        ),
    ] = 256
    verified_cache_max: Annotated[
        int,
        Leaf(
            COUNT,
            "Verified credentials remembered, so that a storm of the same logins costs one hash.",
            at_least=1,
            at_most=65536,
            counts="credentials",
        ),
    ] = 1024


class Audit(Section):
    """A file with a line for each login and each change; docs/security.md describes it."""

    path: Annotated[
        str,
        Leaf(
            TEXT,
            "Audit file, relative to the working directory unless absolute; none writes none.",
        ),
    ] = "none"


class Observe(Section):
    """Metrics and health over HTTP, for this machine only."""

    enabled: Annotated[
        bool,
        Leaf(
            BOOLEAN,
            "Whether to serve /metrics, /live and /ready.",
        ),
    ] = True
    address: Annotated[
        Address,
        Leaf(
            ADDRESS,
            "Loopback address to listen on; port 0 lets the kernel choose. If only the default is in use, "
            "the server takes a free port and logs it; an address that is set here must be free.",
        ),
    ] = ADDRESS.parse("127.0.0.1:9464")


class Leases(Section):
    """Moments of topics that are kept for offline jobs, and the socket on which jobs ask for them."""

    enabled: Annotated[
        bool,
        Leaf(
            BOOLEAN,
            "Whether to listen on control.sock in the folder of the running process.",
        ),
    ] = True
    group: Annotated[
        str,
        Leaf(
            TEXT,
            "System group whose members may ask besides the server's user; none for nobody.",
        ),
    ] = "none"
    ttl_max: Annotated[
        timedelta,
        Leaf(
            DURATION,
            "How long a lease may last unless it is renewed.",
            at_least=timedelta(milliseconds=1000),
            at_most=timedelta(milliseconds=2592000000),
        ),
    ] = timedelta(milliseconds=86400000)
    count_max: Annotated[
        int,
        Leaf(
            COUNT,
            "Leases there may be at a time.",
            at_least=1,
            at_most=4096,
            counts="leases",
        ),
    ] = 64
    bytes_max: Annotated[
        int,
        Leaf(
            SIZE,
            "Bytes that leases may hold, which retention and purge do not give back before they end.",
            at_least=1048576,
            at_most=1152921504606846976,
        ),
    ] = 1099511627776
    cut_timeout: Annotated[
        timedelta,
        Leaf(
            DURATION,
            "How long the shards may take to write out what a lease shall hold.",
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
