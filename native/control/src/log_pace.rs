//! Sizes and periods of a shard's log. They are no settings: only a simulation changes them, to make room and
//! time scarce.

use std::time::Duration;

use ng_vsr::Ticks;

/// Sizes and periods of a shard's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogPace {
    /// Milliseconds between two manifests of a shard under load.
    pub checkpoint_period: Ticks,
    /// Size in bytes at which a block of the journal is closed.
    pub block_bytes_target: usize,
    /// Maximum bytes that wait to be written to the journal, in addition to the largest frame.
    pub queued_bytes: usize,
    /// Bytes of a partition per write to its segment.
    pub flush_bytes: usize,
    /// Maximum time before a smaller write.
    pub flush_delay: Duration,
}

impl Default for LogPace {
    fn default() -> Self {
        Self {
            checkpoint_period: 10_000,
            block_bytes_target: 1 << 20,
            queued_bytes: 16 << 20,
            // A smaller size needs more syncs of segments; with a larger one the journal waits longer after
            // each write. Both cost a fifth of the throughput.
            flush_bytes: 512 << 10,
            flush_delay: Duration::from_secs(1),
        }
    }
}
