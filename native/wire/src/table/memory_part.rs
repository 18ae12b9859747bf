//! What the memory budget is divided among.

use super::coded;

coded! {
    /// The `part` of `memory_budget_bytes` and `memory_used_bytes`.
    pub enum MemoryPart: u8 {
        /// Batches kept for the polls to come.
        PollCache = 0, "poll_cache";
        /// What polls under way have read.
        PollReads = 1, "poll_reads";
        /// Replies that are promised, or written and not taken by clients.
        Replies = 2, "replies";
        /// Messages that are in the journal and in no segment yet.
        Unflushed = 3, "unflushed";
        /// Long requests that are arriving.
        Connections = 4, "connections";
        /// Spare buffers, kept for a minute.
        Spares = 5, "spares";
    }
}
