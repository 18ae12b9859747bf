//! The share of one shard in the memory budget.

use ng_wire::table::memory_part::MemoryPart;

/// Bytes that each part may have. The control plane has divided the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryParts {
    /// Batches kept for the polls to come.
    pub poll_cache: usize,
    /// What polls under way have read, unless one of them alone needs more.
    pub poll_reads: usize,
    /// Replies that are promised, or written and not taken by clients.
    pub replies: usize,
    /// Messages in no segment yet, beyond which sends are turned away.
    pub unflushed: usize,
    /// Long requests that are arriving, unless one of them alone needs more.
    pub connections: usize,
    /// Spare buffers.
    pub spares: usize,
}

impl MemoryParts {
    /// What one part may have.
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
