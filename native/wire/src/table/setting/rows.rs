//! The rows: every setting of an operator, and the values that the control plane computes for the engine.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::engine::{Backend, ConsumerHold, Lines, SettingsError};
use super::kind::{
    DAY, GIB, HOUR, KIB, MIB, SECOND, SettingKind, TIB, address, boolean, choice, consumer_idle, count, cpus,
    duration, path, size, text,
};
use crate::frame::HEADER_SIZE;

/// Other places that know a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Iggy has the key with this meaning, so that its `IGGY_*` variable is honoured.
    pub iggy: bool,
    /// A running server takes a new value on SIGHUP.
    pub reloadable: bool,
}

const OURS: Reach = Reach { iggy: false, reloadable: false };
const IGGY: Reach = Reach { iggy: true, reloadable: false };
const IGGY_RELOADED: Reach = Reach { iggy: true, reloadable: true };

/// The highest number of shards: a data directory cannot name more.
pub const SHARDS_MAX: usize = 1024;

/// One file is written, one is freed, two are reserved for records that must be moved, and one is for growth.
pub const JOURNAL_FILES_MIN: u32 = 5;

/// One value that an operator can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingRow {
    /// The section and the name, with dots between them.
    pub key: &'static str,
    /// How the value is read, its default and its bounds.
    pub kind: SettingKind,
    /// Where the setting is known.
    pub reach: Reach,
    /// The meaning, in a sentence for operators.
    pub sentence: &'static str,
}

/// One value that the engine gets at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineValueRow {
    /// The name of its line and of its field.
    pub name: &'static str,
    /// How the engine reads it: the name of a method of its reader.
    pub reader: &'static str,
    /// The key of the setting that it is, unless the control plane works it out.
    pub key: Option<&'static str>,
    /// The meaning, in a sentence.
    pub sentence: &'static str,
    /// A value for tests and benches, if no setting has a default for it.
    pub sample: Option<&'static str>,
}

/// Declares sections, settings and engine values. A setting whose row ends with `=> name: type = reader(bounds)` reaches the
/// engine as it is, under that name; the control plane computes a given value.
macro_rules! settings {
    (
        sections { $( $section:literal = $about:literal; )+ }
        settings { $(
            $key:literal, $kind:expr, $reach:ident, $sentence:literal
            $( => $field:ident: $type:ty = $reader:ident($($bound:expr),*) )?;
        )+ }
        given { $(
            $given:ident: $given_type:ty = $given_reader:ident($($given_bound:expr),*), $sample:literal, $meaning:literal;
        )+ }
    ) => {
        /// Every section with its sentence; a section precedes those inside it.
        pub const SECTIONS: &[(&str, &str)] = &[$( ($section, $about) ),+];

        /// Every setting, in the order of the configuration file.
        pub const SETTINGS: &[SettingRow] = &[$(
            SettingRow { key: $key, kind: $kind, reach: $reach, sentence: $sentence }
        ),+];

        /// All values of the engine: first the settings, then those that the control plane computes.
        pub const ENGINE_VALUES: &[EngineValueRow] = &[
            $( $( EngineValueRow {
                name: stringify!($field),
                reader: stringify!($reader),
                key: Some($key),
                sentence: $sentence,
                sample: None,
            }, )? )+
            $( EngineValueRow {
                name: stringify!($given),
                reader: stringify!($given_reader),
                key: None,
                sentence: $meaning,
                sample: Some($sample),
            }, )+
        ];

        /// All values that the engine gets at its start.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct EngineSettings {
            $( $( #[doc = $sentence] pub $field: $type, )? )+
            $( #[doc = $meaning] pub $given: $given_type, )+
        }

        impl EngineSettings {
            /// Reads lines of `key=value`. The control plane has already validated every value and reported errors to its
            /// user, so a failure here is a disagreement between the two halves of one build: the first one is enough.
            pub fn parse(bytes: &[u8]) -> Result<Self, SettingsError> {
                let mut lines = Lines::read(bytes)?;
                let settings = Self {
                    $( $( $field: lines.$reader(stringify!($field) $(, $bound)*)?, )? )+
                    $( $given: lines.$given_reader(stringify!($given) $(, $given_bound)*)?, )+
                };
                lines.finish()?;
                Ok(settings)
            }
        }
    };
}

settings! {
    sections {
        "system" = "Paths of the server on this machine.";
        "system.runtime" = "Files that the running process writes for others: addresses, last crash, generated password.";
        "system.sharding" = "Shards and their CPUs, and the time that a stop may take.";
        "system.io" = "Kernel interface for files and sockets.";
        "system.logging" = "Events on standard output.";
        "tcp" = "The binary protocol over TCP.";
        "http" = "The HTTP interface, which is not built yet.";
        "quic" = "The binary protocol over QUIC, which is not built yet.";
        "websocket" = "The binary protocol over WebSocket, which is not built yet.";
        "connections" = "Limits on client connections, all shards together.";
        "memory" = "Memory for data and clients. docs/memory.md describes its parts.";
        "message_bus" = "Requests of clients.";
        "metadata" = "Sessions.";
        "storage" = "Files in the data directory.";
        "storage.journal" = "The write-ahead journal of each shard. Each file is twice message_bus.max_message_size.";
        "data_maintenance" = "Periodic work on stored data.";
        "data_maintenance.messages" = "Retention by age and by size, as the topic sets them.";
        "partition" = "Limits of each partition, and consumers that delay retention.";
        "poll" = "Replies of polls, and the cache for them.";
        "cluster" = "Clusters of nodes, which are not built yet.";
        "control_plane" = "Detection of a blocked Python control plane.";
        "auth" = "Logins by password.";
        "audit" = "A file with one line per login and change; docs/security.md describes it.";
        "observe" = "Metrics and health over HTTP, on loopback only.";
        "leases" = "Leases: read-only snapshots of topics for offline jobs, and the socket that grants them.";
    }
    settings {
        "system.path", path("local_data"), IGGY,
            "Data directory, relative to the working directory unless absolute.";
        "system.runtime.path", path("runtime"), IGGY,
            "Directory for files of the running process, below system.path unless absolute.";
        "system.sharding.cpu_allocation", cpus("auto"), IGGY,
            "CPUs of the shards, one shard per CPU.";
        "system.sharding.pin_cores", boolean(true), IGGY,
            "Pin each shard to its CPU. If false, there may be more shards than CPUs.";
        "system.sharding.inbox_capacity", count(1_024, 64, 65_536, "entries"), IGGY,
            "Frames from other shards that a shard can queue, divided evenly among those shards."
            => inbox_capacity: usize = number(1);
        "system.sharding.shutdown_drain_timeout", duration(10 * SECOND, 1, 600 * SECOND), IGGY,
            "Time that a stop waits for accepted requests."
            => drain_timeout: Duration = millis(1);
        "system.sharding.shutdown_join_timeout", duration(30 * SECOND, 1, 900 * SECOND), IGGY,
            "Time limit of a whole stop. After it the process exits with status 75."
            => join_timeout: Duration = millis(1);
        "system.io.backend", choice("auto", Backend::NAMES, &[]), OURS,
            "Kernel interface for I/O. auto: io_uring if it works, otherwise posix."
            => backend: Backend = backend();
        "system.logging.level", choice(
                "info",
                &["trace", "debug", "info", "warn", "error", "off"],
                &[("none", "off"), ("warning", "warn")]
            ), IGGY_RELOADED,
            "Lowest level of events that are written.";
        "system.logging.format", choice("auto", &["auto", "json", "console"], &[]), OURS,
            "Format of a line. auto: console on a terminal, otherwise JSON.";
        "tcp.enabled", boolean(true), IGGY,
            "Accept clients over TCP.";
        "tcp.address", address("127.0.0.1:8090"), IGGY,
            "Address to listen on. With port 0 the kernel chooses a free port."
            => tcp_address: SocketAddr = address();
        "http.enabled", boolean(false), IGGY,
            "Serve HTTP. Not built yet: true only causes a warning.";
        "http.address", address("127.0.0.1:3000"), IGGY,
            "Address to listen on.";
        "quic.enabled", boolean(false), IGGY,
            "Serve QUIC. Not built yet: true only causes a warning.";
        "quic.address", address("127.0.0.1:8080"), IGGY,
            "Address to listen on.";
        "websocket.enabled", boolean(false), IGGY,
            "Serve WebSocket. Not built yet: true only causes a warning.";
        "websocket.address", address("127.0.0.1:8092"), IGGY,
            "Address to listen on.";
        "connections.max", count(20_480, 16, 1_000_000, "connections"), OURS,
            "Maximum client connections. A further one is closed at once.";
        "connections.unauthenticated_max", count(4_096, 8, 1_000_000, "connections"), OURS,
            "Maximum connections that have not logged in. A further one closes the oldest of them."
            => strangers_max: usize = number(1);
        "connections.frame_timeout", duration(10 * SECOND, 100, 600 * SECOND), OURS,
            "Time allowed to receive one request: this, plus one second per KiB."
            => frame_time: Duration = millis(1);
        "connections.send_timeout", duration(30 * SECOND, 100, HOUR), OURS,
            "A connection is closed if its client reads no byte of a reply for this time (at most 2 s \
            while polls of other clients wait for memory)."
            => send_timeout: Duration = millis(1);
        "connections.accept_backlog", count(4_096, 1, 65_535, "connections"), OURS,
            "Connections that the kernel queues until the server accepts them."
            => accept_backlog: u32 = number(1);
        "memory.budget", size(0, 0, 16 * TIB), OURS,
            "Memory for caches, replies, unflushed messages and arriving requests, all shards together. \
            0: a quarter of the memory that the machine and its control groups allow, at most 4 GiB.";
        "message_bus.max_message_size", size(64 * MIB, MIB, 64 * MIB), IGGY,
            "Largest request of a client. Fixed when the data directory is created."
            => frame_bytes_max: u32 = number(HEADER_SIZE);
        "metadata.clients_table_max", count(16_384, 2, 65_536, "sessions"), IGGY,
            "Maximum logged-in sessions. Fixed when the data directory is created."
            => sessions_max: usize = number(1);
        "storage.journal.files_max", count(8, 5, 1_024, "files"), OURS,
            "Maximum journal files per shard for messages. More files absorb longer bursts on a slow disk."
            => journal_files_max: u32 = number(JOURNAL_FILES_MIN);
        "data_maintenance.messages.cleaner_enabled", boolean(true), IGGY,
            "Delete messages that exceed their topic's message_expiry or max_topic_size.";
        "data_maintenance.messages.interval", duration(60 * SECOND, 100, DAY), IGGY,
            "Interval between retention checks of a partition.";
        "partition.consumer_idle_after", consumer_idle("24h"), OURS,
            "Retention keeps messages that a consumer has not read, for this long after the consumer was \
            last seen. all: as long as its offset is stored. none: never."
            => consumer_hold: ConsumerHold = hold();
        "partition.consumer_offsets_max", count(4_096, 1, 65_536, "consumers"), IGGY,
            "Maximum consumers per partition with a stored offset. Fixed when the data directory is created."
            => consumer_offsets_max: u32 = number(1);
        "partition.unflushed_bytes_max", size(64 * MIB, MIB, 16 * GIB), OURS,
            "Maximum bytes per shard in the journal but not yet in segments. Above it, sends are rejected \
            with status 58 and clients retry. At most a quarter of the memory budget.";
        "poll.reply_bytes_max", size(128 * MIB, 64 * KIB, 128 * MIB), OURS,
            "Maximum bytes of one poll reply. A single larger message is still returned. Never above a \
            quarter of the part for replies in the memory budget, nor above 64 MiB for clients not built \
            on Iggy's Rust SDK."
            => poll_reply_bytes_max: usize = number(1);
        "poll.cache_bytes_max", size(512 * MIB, 0, TIB), OURS,
            "Memory for recent messages, all shards together; at most three sixteenths of the memory \
            budget. Messages not polled for a minute are dropped from it.";
        "cluster.enabled", boolean(false), IGGY,
            "Run this node in a cluster. Not built yet: true is refused.";
        "cluster.name", text("single-node"), IGGY,
            "Name of the cluster in its description for clients."
            => cluster_name: String = text();
        // A healthy control plane is heard of once a second, and looked at twice.
        "control_plane.stall_dump", duration(5 * SECOND, 2 * SECOND, HOUR), OURS,
            "If the Python control plane is blocked this long, write its stack traces to stderr."
            => stall_dump: Duration = millis(1);
        "control_plane.stall_max", duration(60 * SECOND, SECOND, HOUR), OURS,
            "If the control plane is blocked this long, stop feeding the watchdog, so that systemd restarts the server."
            => stall_max: Duration = millis(1);
        "auth.login_queue_max", count(256, 1, 65_536, "logins"), OURS,
            "Maximum logins that wait for a password hash. A further one is rejected, and the client retries.";
        "auth.verified_cache_max", count(1_024, 1, 65_536, "credentials"), OURS,
            "Maximum cached credentials, so that many logins of the same user cost one hash.";
        "audit.path", text("none"), OURS,
            "Audit file, relative to the working directory unless absolute. none: no audit file.";
        "observe.enabled", boolean(true), OURS,
            "Serve /metrics, /live and /ready.";
        "observe.address", address("127.0.0.1:9464"), OURS,
            "Loopback address to listen on. With port 0 the kernel chooses a free port. If this is not \
            set and the default is in use, the server takes a free port and logs it; an address that is \
            set must be free.";
        "leases.enabled", boolean(true), OURS,
            "Listen on control.sock in system.runtime.path.";
        "leases.group", text("none"), OURS,
            "Unix group that may use the socket and read leases, like the server's user. none: no group.";
        "leases.ttl_max", duration(DAY, SECOND, 30 * DAY), OURS,
            "Maximum time of a lease until it is renewed.";
        "leases.count_max", count(64, 1, 4_096, "leases"), OURS,
            "Maximum number of leases.";
        "leases.bytes_max", size(TIB, MIB, 1048576 * TIB), OURS,
            "Maximum bytes pinned by leases. Retention and purge cannot free them until the lease ends.";
        "leases.cut_timeout", duration(60 * SECOND, SECOND, HOUR), OURS,
            "Time allowed for the shards to write a lease's messages to segments.";
    }
    given {
        shard_cpus: Vec<Option<usize>> = shards(SHARDS_MAX), "-",
            "CPU of each shard; none: not pinned. Its length is the number of shards.";
        connections_max: usize = number(1), "16",
            "Maximum connections of the process, limited by file descriptors.";
        logins_max: usize = number(1), "16",
            "Maximum logins that wait for a verdict.";
        session_records: bool = truth(), "false",
            "Whether the engine reports each session that opens or ends.";
        retention_period: Duration = millis(0), "60000",
            "Interval between retention checks of a partition; zero: no message expires.";
        notify_socket: String = text(), "",
            "Notification socket of systemd, empty without one.";
        watchdog_us: u64 = number(0), "0",
            "Microseconds in which systemd expects a notification, zero without a watchdog.";
        data_directory: PathBuf = path(), "data",
            "Data directory.";
        direct_io: bool = truth(), "false",
            "Files of the data directory may bypass the page cache.";
        poll_cache_bytes_max: usize = number(0), "1048576",
            "Memory of a shard for cached batches.";
        poll_reads_bytes_max: usize = number(1), "1048576",
            "Memory of a shard for batches that current polls have read.";
        replies_bytes_max: usize = number(1), "1048576",
            "Memory of a shard for replies that clients have not read.";
        unflushed_bytes_max: usize = number(1), "1048576",
            "Memory of a shard for messages not yet in segments.";
        connections_bytes_max: usize = number(1), "1048576",
            "Memory of a shard for long requests that are arriving.";
        spares_bytes_max: usize = number(0), "1048576",
            "Memory of a shard for spare buffers.";
        crash_file: PathBuf = path(), "last_crash.json",
            "File for the reason of a crash.";
    }
}
