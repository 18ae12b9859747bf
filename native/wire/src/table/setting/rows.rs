//! The rows: what an operator can set, and what the engine is told besides.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::engine::{Backend, ConsumerHold, Lines, SettingsError};
use super::kind::{
    DAY, GIB, HOUR, KIB, MIB, SECOND, SettingKind, TIB, address, boolean, choice, consumer_idle, count, cpus,
    duration, path, size, text,
};
use crate::frame::HEADER_SIZE;

/// Where a setting is known.
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

/// The highest number of shards, which is what a data directory can name.
pub const SHARDS_MAX: usize = 1024;

/// One file is written, one is freed, two are kept for what must be moved out of the way, and one is for growth.
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
    /// What it does, in a sentence for the operator.
    pub sentence: &'static str,
}

/// One value that the engine is told at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineValueRow {
    /// The name of its line and of its field.
    pub name: &'static str,
    /// How the engine reads it: the name of a method of its reader.
    pub reader: &'static str,
    /// The key of the setting that it is, unless the control plane works it out.
    pub key: Option<&'static str>,
    /// What it is, in a sentence.
    pub sentence: &'static str,
    /// A value for tests and benches, of what has no setting to have a default.
    pub sample: Option<&'static str>,
}

/// Declares sections, settings and engine values. A setting whose row ends with `=> name: type = reader(bounds)` reaches the
/// engine as it is, under that name; a given value is worked out by the control plane.
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
        /// Every section with its sentence; a section comes before those inside it.
        pub const SECTIONS: &[(&str, &str)] = &[$( ($section, $about) ),+];

        /// Every setting, in the order of the configuration file.
        pub const SETTINGS: &[SettingRow] = &[$(
            SettingRow { key: $key, kind: $kind, reach: $reach, sentence: $sentence }
        ),+];

        /// Everything that the engine is told: first the settings, then what the control plane works out.
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

        /// Everything that the engine is told at its start.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct EngineSettings {
            $( $( #[doc = $sentence] pub $field: $type, )? )+
            $( #[doc = $meaning] pub $given: $given_type, )+
        }

        impl EngineSettings {
            /// Reads lines of `key=value`. The control plane has validated and explained every value to its user before;
            /// what fails here is a disagreement between the two halves of one build, so the first fault is enough.
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
        "system" = "Where the server lives on this machine.";
        "system.runtime" = "What the running process leaves for others to read: addresses, last crash, first password.";
        "system.sharding" = "How the work is spread over processors, and how long a stop may take.";
        "system.io" = "How files and sockets are driven.";
        "system.logging" = "The log on standard output.";
        "tcp" = "The binary protocol over TCP.";
        "http" = "The HTTP interface, which is not built yet.";
        "quic" = "The binary protocol over QUIC, which is not built yet.";
        "websocket" = "The binary protocol over WebSocket, which is not built yet.";
        "connections" = "Limits on client connections, over all shards.";
        "memory" = "Memory for data and clients. docs/memory.md tells how it is divided.";
        "message_bus" = "Frames.";
        "metadata" = "Sessions, and later everything that is replicated with them.";
        "storage" = "What is kept in the data folder.";
        "storage.journal" = "The journal of each shard, where everything is written first, in files as large as two frames.";
        "data_maintenance" = "What is done with data that lies there.";
        "data_maintenance.messages" = "How messages go whose topic limits their age, or its size.";
        "partition" = "Partitions of topics.";
        "poll" = "Polls.";
        "cluster" = "Several nodes as one, which is not built yet.";
        "control_plane" = "How long the control plane may stand still.";
        "auth" = "Logins.";
        "audit" = "A file with a line for each login and each change; docs/security.md describes it.";
        "observe" = "Metrics and health over HTTP, for this machine only.";
        "leases" = "Moments of topics that are kept for offline jobs, and the socket on which jobs ask for them.";
    }
    settings {
        "system.path", path("local_data"), IGGY,
            "Data folder, relative to the working directory unless absolute.";
        "system.runtime.path", path("runtime"), IGGY,
            "Folder for files of the running process, below system.path unless absolute.";
        "system.sharding.cpu_allocation", cpus("auto"), IGGY,
            "Processors the shards take, one shard each.";
        "system.sharding.pin_cores", boolean(true), IGGY,
            "Bind each shard to its processor; without it there may be more shards than processors.";
        "system.sharding.inbox_capacity", count(1_024, 64, 65_536, "entries"), IGGY,
            "Entries one shard can hold from the others, shared evenly between them."
            => inbox_capacity: usize = number(1);
        "system.sharding.shutdown_drain_timeout", duration(10 * SECOND, 1, 600 * SECOND), IGGY,
            "How long a stop waits for requests that were already accepted."
            => drain_timeout: Duration = millis(1);
        "system.sharding.shutdown_join_timeout", duration(30 * SECOND, 1, 900 * SECOND), IGGY,
            "How long a stop may take in all before the process ends with status 75."
            => join_timeout: Duration = millis(1);
        "system.io.backend", choice("auto", Backend::NAMES, &[]), OURS,
            "Kernel interface; auto takes io_uring where it works, and posix elsewhere."
            => backend: Backend = backend();
        "system.logging.level", choice(
                "info",
                &["trace", "debug", "info", "warn", "error", "off"],
                &[("none", "off"), ("warning", "warn")]
            ), IGGY_RELOADED,
            "Least important level that is written.";
        "system.logging.format", choice("auto", &["auto", "json", "console"], &[]), OURS,
            "Form of a line; auto is console on a terminal, JSON elsewhere.";
        "tcp.enabled", boolean(true), IGGY,
            "Whether clients may connect over TCP.";
        "tcp.address", address("127.0.0.1:8090"), IGGY,
            "Address to listen on; port 0 lets the kernel choose."
            => tcp_address: SocketAddr = address();
        "http.enabled", boolean(false), IGGY,
            "Whether to serve HTTP; not built yet, so it only warns.";
        "http.address", address("127.0.0.1:3000"), IGGY,
            "Address to listen on.";
        "quic.enabled", boolean(false), IGGY,
            "Whether to serve QUIC; not built yet, so it only warns.";
        "quic.address", address("127.0.0.1:8080"), IGGY,
            "Address to listen on.";
        "websocket.enabled", boolean(false), IGGY,
            "Whether to serve WebSocket; not built yet, so it only warns.";
        "websocket.address", address("127.0.0.1:8092"), IGGY,
            "Address to listen on.";
        "connections.max", count(20_480, 16, 1_000_000, "connections"), OURS,
            "Open client connections; at the limit a new one is turned away.";
        "connections.unauthenticated_max", count(4_096, 8, 1_000_000, "connections"), OURS,
            "Connections that have not logged in; beyond it the oldest of them is closed."
            => strangers_max: usize = number(1);
        "connections.frame_timeout", duration(10 * SECOND, 100, 600 * SECOND), OURS,
            "How long a started frame may take, besides one second for each KiB of it."
            => frame_time: Duration = millis(1);
        "connections.send_timeout", duration(30 * SECOND, 100, HOUR), OURS,
            "Time in which a client must take a byte of a reply, or its connection is closed; at most 2 s while \
            polls of other clients wait for memory."
            => send_timeout: Duration = millis(1);
        "connections.accept_backlog", count(4_096, 1, 65_535, "connections"), OURS,
            "Connections the kernel holds before they are accepted."
            => accept_backlog: u32 = number(1);
        "memory.budget", size(0, 0, 16 * TIB), OURS,
            "Memory for caches, replies, unflushed messages and arriving requests, all shards together; 0 is a \
            quarter of what the machine and its control groups allow, at most 4 GiB.";
        "message_bus.max_message_size", size(64 * MIB, MIB, 64 * MIB), IGGY,
            "Largest frame a client may send."
            => frame_bytes_max: u32 = number(HEADER_SIZE);
        "metadata.clients_table_max", count(16_384, 2, 65_536, "sessions"), IGGY,
            "Logged-in sessions the server remembers."
            => sessions_max: usize = number(1);
        "storage.journal.files_max", count(8, 5, 1_024, "files"), OURS,
            "Files the journal of a shard may use for messages; with more, bursts wait less for slow disks."
            => journal_files_max: u32 = number(JOURNAL_FILES_MIN);
        "data_maintenance.messages.cleaner_enabled", boolean(true), IGGY,
            "Whether messages go by themselves when their topic says so.";
        "data_maintenance.messages.interval", duration(60 * SECOND, 100, DAY), IGGY,
            "How long after messages came, or were looked at, a partition is looked at.";
        "partition.consumer_idle_after", consumer_idle("24h"), OURS,
            "How long after it was seen a consumer keeps what it has not read from going; all is for ever, none \
            not at all."
            => consumer_hold: ConsumerHold = hold();
        "partition.consumer_offsets_max", count(4_096, 1, 65_536, "consumers"), IGGY,
            "Consumers of one partition whose offsets are kept; fixed when the data folder is founded."
            => consumer_offsets_max: u32 = number(1);
        "partition.unflushed_bytes_max", size(64 * MIB, MIB, 16 * GIB), OURS,
            "Messages of each shard that are in the journal and not in a segment yet. Above it, sends are \
            rejected with status 58 and clients retry. At most a quarter of the memory budget.";
        "poll.reply_bytes_max", size(128 * MIB, 64 * KIB, 128 * MIB), OURS,
            "Bytes of one poll reply. A single larger message is still returned. A quarter of the part for \
            replies in the memory budget bounds it, too. Clients not built on Iggy's Rust SDK get 64 MiB at \
            most."
            => poll_reply_bytes_max: usize = number(1);
        "poll.cache_bytes_max", size(512 * MIB, 0, TIB), OURS,
            "Memory for recently sent and polled messages, all shards together; at most three sixteenths of the \
            memory budget. Messages that nobody polled for a minute are dropped.";
        "cluster.enabled", boolean(false), IGGY,
            "Whether this node is one of several; refused until it is built.";
        "cluster.name", text("single-node"), IGGY,
            "Name that clients are told when they ask for the cluster."
            => cluster_name: String = text();
        // A healthy control plane is heard of once a second, and looked at twice.
        "control_plane.stall_dump", duration(5 * SECOND, 2 * SECOND, HOUR), OURS,
            "Standstill after which the Python stacks are written to standard error."
            => stall_dump: Duration = millis(1);
        "control_plane.stall_max", duration(60 * SECOND, SECOND, HOUR), OURS,
            "Standstill after which the systemd watchdog is no longer fed."
            => stall_max: Duration = millis(1);
        "auth.login_queue_max", count(256, 1, 65_536, "logins"), OURS,
            "Logins waiting for a password hash; beyond it a client is told to try again.";
        "auth.verified_cache_max", count(1_024, 1, 65_536, "credentials"), OURS,
            "Verified credentials remembered, so that a storm of the same logins costs one hash.";
        "audit.path", text("none"), OURS,
            "Audit file, relative to the working directory unless absolute; none writes none.";
        "observe.enabled", boolean(true), OURS,
            "Whether to serve /metrics, /live and /ready.";
        "observe.address", address("127.0.0.1:9464"), OURS,
            "Loopback address to listen on; port 0 lets the kernel choose. If only the default is in use, the \
            server takes a free port and logs it; an address that is set here must be free.";
        "leases.enabled", boolean(true), OURS,
            "Whether to listen on control.sock in the folder of the running process.";
        "leases.group", text("none"), OURS,
            "System group whose members may ask besides the server's user; none for nobody.";
        "leases.ttl_max", duration(DAY, SECOND, 30 * DAY), OURS,
            "How long a lease may last unless it is renewed.";
        "leases.count_max", count(64, 1, 4_096, "leases"), OURS,
            "Leases there may be at a time.";
        "leases.bytes_max", size(TIB, MIB, 1048576 * TIB), OURS,
            "Bytes that leases may hold, which retention and purge do not give back before they end.";
        "leases.cut_timeout", duration(60 * SECOND, SECOND, HOUR), OURS,
            "How long the shards may take to write out what a lease shall hold.";
    }
    given {
        shard_cpus: Vec<Option<usize>> = shards(SHARDS_MAX), "-",
            "CPU of each shard; none leaves a shard to the scheduler. Its length is the number of shards.";
        connections_max: usize = number(1), "16",
            "Connections of the process, as far as descriptors allow.";
        logins_max: usize = number(1), "16",
            "Logins that wait for a verdict.";
        retention_period: Duration = millis(0), "60000",
            "Interval between two looks at a partition; zero lets no messages expire.";
        notify_socket: String = text(), "",
            "Notification socket of systemd, empty without one.";
        watchdog_us: u64 = number(0), "0",
            "Microseconds in which systemd expects a sign of life, zero if it does not watch.";
        data_directory: PathBuf = path(), "data",
            "Folder of everything that is to last.";
        direct_io: bool = truth(), "false",
            "Whether files there may bypass the page cache.";
        poll_cache_bytes_max: usize = number(0), "1048576",
            "Memory of a shard for batches that polls may ask for.";
        poll_reads_bytes_max: usize = number(1), "1048576",
            "Memory of a shard for what polls under way have read.";
        replies_bytes_max: usize = number(1), "1048576",
            "Memory of a shard for replies that clients have not taken.";
        unflushed_bytes_max: usize = number(1), "1048576",
            "Memory of a shard for messages that are in no segment yet.";
        connections_bytes_max: usize = number(1), "1048576",
            "Memory of a shard for long requests that are arriving.";
        spares_bytes_max: usize = number(0), "1048576",
            "Memory of a shard for spare buffers.";
        crash_file: PathBuf = path(), "last_crash.json",
            "File in which the reason of a crash is left.";
    }
}
