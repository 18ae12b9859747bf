//! Parts of the memory budget.

use super::coded;

coded! {
    /// The `part` of `memory_budget_bytes` and `memory_used_bytes`.
    pub enum MemoryPart: u8 {
        /// Batches cached for later polls.
        PollCache = 0, "poll_cache";
        /// Batches that current polls have read.
        PollReads = 1, "poll_reads";
        /// Replies that are reserved, or written and not yet read by clients.
        Replies = 2, "replies";
        /// Messages in the journal but not yet in segments.
        Unflushed = 3, "unflushed";
        /// Long requests that are arriving.
        Connections = 4, "connections";
        /// Spare buffers, kept for a minute.
        Spares = 5, "spares";
    }
}
