//! How large everything in a node is: each drawn by itself, so that one thing is scarce while another is plentiful.

use std::net::SocketAddr;
use std::time::Duration;

use ng_control::log_pace::LogPace;
use ng_control::memory_parts::MemoryParts;
use ng_control::settings::Settings;
use ng_io::simulated::{Random, StreamWeather};
use ng_wire::table::setting::{Backend, ConsumerHold, EngineSettings};

use super::process::Surroundings;
use crate::conditions::log_uniform;

/// The largest frame of a node.
pub(super) const FRAME_BYTES_MAX: u32 = 64 << 10;

/// Everything that stays the same over all lives of a node.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    pub(super) settings: Settings,
    pub(super) surroundings: Surroundings,
    pub(super) weather: StreamWeather,
}

pub(super) fn server() -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], 8090))
}

impl Sizes {
    pub(super) fn draw(seed: u64, drops: bool) -> Self {
        let mut random = Random::new(seed ^ 0x0077_686f_6c65);
        let random = &mut random;
        let pace = LogPace {
            checkpoint_period: log_uniform(random, 20, 3_000),
            block_bytes_target: size(random, 4 << 10, 64 << 10),
            queued_bytes: size(random, 96 << 10, 1 << 20),
            flush_bytes: size(random, 4 << 10, 64 << 10),
            flush_delay: Duration::from_millis(log_uniform(random, 10, 500)),
        };
        let memory = memory(random);
        let mailbox_entries = size(random, 1, 64);
        let engine = EngineSettings {
            backend: Backend::Posix,
            shard_cpus: vec![None],
            inbox_capacity: mailbox_entries,
            tcp_address: server(),
            accept_backlog: 64,
            frame_bytes_max: FRAME_BYTES_MAX,
            connections_max: 256,
            strangers_max: 256,
            sessions_max: 64,
            logins_max: 64,
            session_records: false,
            frame_time: Duration::from_secs(1),
            send_timeout: Duration::from_secs(1),
            drain_timeout: Duration::from_secs(2),
            join_timeout: Duration::from_secs(2),
            stall_dump: Duration::from_secs(3_600),
            stall_max: Duration::from_secs(3_600),
            notify_socket: String::new(),
            watchdog_us: 0,
            data_directory: "data".into(),
            direct_io: true,
            journal_files_max: u32::try_from(log_uniform(random, 5, 20)).unwrap_or(5),
            consumer_offsets_max: 1 << 16,
            poll_cache_bytes_max: memory.poll_cache,
            poll_reads_bytes_max: memory.poll_reads,
            replies_bytes_max: memory.replies,
            unflushed_bytes_max: memory.unflushed,
            connections_bytes_max: memory.connections,
            spares_bytes_max: memory.spares,
            poll_reply_bytes_max: size(random, 1 << 10, 64 << 10),
            retention_period: Duration::from_millis(500),
            consumer_hold: ConsumerHold::Never,
            crash_file: "crash".into(),
            cluster_name: "sim".to_owned(),
        };
        let settings = Settings {
            engine,
            mailbox_entries,
            pace,
            #[cfg(feature = "plants")]
            plant: None,
        };
        let surroundings = Surroundings {
            segment_bytes: log_uniform(random, 32 << 10, 1 << 20),
            python_delay: log_uniform(random, 1_000, 10_000_000),
        };
        let weather = StreamWeather {
            delay_min: 1_000,
            delay_max: log_uniform(random, 2_000, 5_000_000),
            buffer_bytes: size(random, 1 << 10, 256 << 10),
            piece_max: size(random, 64, 64 << 10),
        };
        let sizes = Self { settings, surroundings, weather };
        if drops { sizes.where_messages_go(seed) } else { sizes }
    }

    /// Segments are short, and looked at often, so that some go.
    fn where_messages_go(mut self, seed: u64) -> Self {
        let random = &mut Random::new(seed ^ 0x7365_676d_656e);
        self.surroundings.segment_bytes = (8 << 10) << random.below(5);
        self.settings.engine.retention_period = Duration::from_millis(log_uniform(random, 20, 500));
        self
    }
}

fn memory(random: &mut Random) -> MemoryParts {
    MemoryParts {
        poll_cache: if random.below(4) == 0 { 0 } else { size(random, 4 << 10, 16 << 20) },
        poll_reads: size(random, 64 << 10, 4 << 20),
        replies: size(random, 256 << 10, 4 << 20),
        unflushed: size(random, 128 << 10, 4 << 20),
        connections: size(random, 64 << 10, 1 << 20),
        spares: size(random, 1 << 10, 1 << 20),
    }
}

fn size(random: &mut Random, least: usize, most: usize) -> usize {
    usize::try_from(log_uniform(random, least as u64, most as u64)).unwrap_or(most)
}
