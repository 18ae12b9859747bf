//! How large everything in a world is, and how long it takes: what shrinking leaves as the seed drew it.

use std::time::Duration;

use ng_io::simulated::Random;
use ng_replication::PollLimits;
use ng_storage::PAGE;
use ng_storage::journal::Limits as JournalLimits;
use ng_storage::store::StoreLimits;
use ng_vsr::{Limits, Timing};
use ng_wire::batch::MESSAGE_HEADER_BYTES;

/// The largest frame of a simulated node.
pub(crate) const FRAME_BYTES_MAX: u32 = 32 * 1024;

/// Messages of a batch.
pub(crate) const MESSAGES_MAX: u64 = 5;

const JOURNAL: JournalLimits = JournalLimits {
    file_bytes: 128 * 1024,
    files_max: 8,
    block_bytes_target: 32 * 1024,
    queued_bytes_max: 256 * 1024,
    window_max: 1024,
    slots_max: 8 * 1024,
};

const STORE: StoreLimits = StoreLimits {
    segment_bytes: 64 * 1024,
    flush_bytes: 16 * 1024,
    flush_delay: Duration::from_millis(500),
    plan_bytes_max: 64 * 1024,
    buffered_bytes_max: 1 << 20,
    batch_bytes_max: FRAME_BYTES_MAX as u64,
    lanes: 2,
    retry_delay: Duration::from_millis(100),
};

/// Sizes and times of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conditions {
    /// Bounds of a group's log.
    pub log: Limits,
    /// What bounds the sessions of the client table.
    pub sessions: u64,
    /// Bounds of a shard's journal.
    pub journal: JournalLimits,
    /// Bounds of a shard's segments.
    pub store: StoreLimits,
    /// Bounds of reads and of the cache.
    pub polls: PollLimits,
    /// Periods of the groups.
    pub timing: Timing,
    /// Payload bytes of a message: the least, and what chance adds.
    pub payload_bytes: (u64, u64),
    /// Milliseconds between two manifests: the least, and what chance adds.
    pub checkpoints: (u64, u64),
    /// Milliseconds that a metadata machine takes for an operation: fewer than that.
    pub metadata_delay: u64,
    /// Milliseconds that a fault lasts: the least, and what chance adds.
    pub outage: (u64, u64),
    /// Milliseconds between two orders to drop something, on average, of all partitions together.
    pub between_orders: u64,
    /// Milliseconds that messages are kept where age counts: the least, and what chance adds.
    pub expiry: (u64, u64),
}

impl Conditions {
    /// Where little waits for anything.
    pub(crate) fn calm(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x6c69_6d69);
        let backlog = 16 + random.below(64);
        let log = Limits {
            pipeline: 1 + random.below(16),
            backlog,
            retained: 1 + random.below(16),
            applying: 1 + random.below(8),
            repair: 1 + random.below(16),
            ..Limits::default()
        };
        // Some read every batch from the disk again, some seldom do.
        let cache_bytes = [0, 4 << 10, 64 << 20][usize::try_from(seed % 3).unwrap_or(0)];
        Self {
            log,
            sessions: random.next(),
            journal: JOURNAL,
            store: STORE,
            polls: PollLimits { cache_bytes, ..PollLimits::default() },
            timing: Timing::default(),
            payload_bytes: (16, 600),
            checkpoints: (200, 3_000),
            metadata_delay: 30,
            outage: (20, 1_500),
            between_orders: 700,
            expiry: (1_500, 8_000),
        }
    }

    /// Milliseconds in which journals take in so many batches, even if one shard leads all groups: the smallest holds a few of the
    /// largest at a time, until a manifest covers them.
    pub(crate) fn time_in_journals(&self, batches: u64) -> u64 {
        let (least, spread) = self.payload_bytes;
        let messages = MESSAGES_MAX * (least + spread + MESSAGE_HEADER_BYTES as u64);
        let batch_bytes = messages.min(FRAME_BYTES_MAX.into()) + PAGE as u64;
        let at_a_time = (self.journal.live_bytes_max() / batch_bytes).max(1);
        batches.div_ceil(at_a_time) * (self.checkpoints.0 + self.checkpoints.1)
    }

    /// Everything drawn by itself, so that one thing is scarce while another is plentiful.
    pub(crate) fn stormy(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x0073_746f_726d);
        let pipeline = log_uniform(&mut random, 1, 64);
        let backlog = pipeline + log_uniform(&mut random, 1, 64);
        let log = Limits {
            pipeline,
            backlog,
            retained: log_uniform(&mut random, 1, backlog.min(64)),
            applying: log_uniform(&mut random, 1, 64),
            repair: log_uniform(&mut random, 1, 32),
            ..Limits::default()
        };
        let journal = JournalLimits {
            files_max: u32::try_from(log_uniform(&mut random, 5, 20)).unwrap_or(5),
            block_bytes_target: size(&mut random, 4 << 10, 64 << 10),
            queued_bytes_max: size(&mut random, 96 << 10, 512 << 10),
            ..JOURNAL
        };
        let store = StoreLimits {
            flush_bytes: size(&mut random, 4 << 10, 64 << 10),
            flush_delay: Duration::from_millis(log_uniform(&mut random, 10, 500)),
            buffered_bytes_max: size(&mut random, 64 << 10, 1 << 20),
            ..STORE
        };
        let polls = PollLimits {
            cache_bytes: if random.below(4) == 0 { 0 } else { size(&mut random, 4 << 10, 64 << 20) },
            bytes_max: size(&mut random, 64 << 10, 64 << 20),
            piece_bytes: size(&mut random, 64 << 10, 2 << 20),
            ..PollLimits::default()
        };
        let heartbeat = log_uniform(&mut random, 25, 200);
        let timing = Timing {
            heartbeat,
            suspicion: (heartbeat * (3 + random.below(6))).max(150),
            resend: log_uniform(&mut random, 25, 200),
        };
        let checkpoint = log_uniform(&mut random, 20, 3_000);
        let outage = log_uniform(&mut random, 10, 1_500);
        let expiry = log_uniform(&mut random, 100, 8_000);
        Self {
            log,
            sessions: random.next(),
            journal,
            store,
            polls,
            timing,
            payload_bytes: (1, log_uniform(&mut random, 1, FRAME_BYTES_MAX.into())),
            checkpoints: (checkpoint, checkpoint),
            metadata_delay: log_uniform(&mut random, 1, 30),
            outage: (outage / 2, outage),
            between_orders: log_uniform(&mut random, 20, 700),
            expiry: (expiry / 2, expiry),
        }
    }
}

/// A number of which each order of magnitude is as likely as any other.
pub(crate) fn log_uniform(random: &mut Random, least: u64, most: u64) -> u64 {
    let octaves = u64::from((most / least).ilog2()) + 1;
    loop {
        let low = least << random.below(octaves);
        let drawn = low + random.below(low);
        if drawn <= most {
            return drawn;
        }
    }
}

fn size(random: &mut Random, least: usize, most: usize) -> usize {
    usize::try_from(log_uniform(random, least as u64, most as u64)).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_of_magnitude_is_as_likely() {
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..8_000).map(|_| log_uniform(&mut random, 20, 5_000)).collect();
        assert!(drawn.iter().all(|drawn| (20..=5_000).contains(drawn)));
        for low in [20, 40, 80, 160, 320, 640, 1_280] {
            let share = drawn.iter().filter(|drawn| (low..2 * low).contains(*drawn)).count();
            assert!((800..1_400).contains(&share), "{share} from {low} on");
        }
        let mut narrow = (0..100).map(|_| log_uniform(&mut random, 5, 7));
        assert!(narrow.all(|drawn| (5..=7).contains(&drawn)));
        assert_eq!(log_uniform(&mut random, 1, 1), 1);
    }
}
