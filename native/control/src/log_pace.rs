//! How much of a log is done at a time. No operator sets these; a simulation makes them scarce.

use std::time::Duration;

use ng_vsr::Ticks;

/// Sizes and periods of a shard's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogPace {
    /// Milliseconds between two manifests of a shard that works.
    pub checkpoint_period: Ticks,
    /// A block of the journal is closed when it has this many bytes.
    pub block_bytes_target: usize,
    /// Bytes that may wait for their write to the journal, besides the largest frame.
    pub queued_bytes: usize,
    /// Bytes of a partition that are written to its segment at once.
    pub flush_bytes: usize,
    /// The longest that they wait for that.
    pub flush_delay: Duration,
}

impl Default for LogPace {
    fn default() -> Self {
        Self {
            checkpoint_period: 10_000,
            block_bytes_target: 1 << 20,
            queued_bytes: 16 << 20,
            // Less needs more syncs of segments, more keeps the journal waiting behind each write: both cost
            // a fifth of the rate.
            flush_bytes: 512 << 10,
            flush_delay: Duration::from_secs(1),
        }
    }
}
