//! The share of one shard in the memory budget.

use ng_wire::table::memory_part::MemoryPart;

/// Maximum bytes of each part; the control plane divides the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryParts {
    /// Batches cached for later polls.
    pub poll_cache: usize,
    /// Bytes that polls in progress have read. A single larger poll may exceed this.
    pub poll_reads: usize,
    /// Replies that are reserved, or written and not yet received by clients.
    pub replies: usize,
    /// Messages that no segment contains yet; beyond this, the shard refuses sends.
    pub unflushed: usize,
    /// Long requests that are still arriving. A single larger request may exceed this.
    pub connections: usize,
    /// Spare buffers.
    pub spares: usize,
}

impl MemoryParts {
    /// Maximum bytes of one part.
    #[must_use]
    pub const fn of(&self, part: MemoryPart) -> usize {
        match part {
            MemoryPart::PollCache => self.poll_cache,
            MemoryPart::PollReads => self.poll_reads,
            MemoryPart::Replies => self.replies,
            MemoryPart::Unflushed => self.unflushed,
            MemoryPart::Connections => self.connections,
            MemoryPart::Spares => self.spares,
        }
    }
}
