//! What answers a send, and what stands in front of the batches that answer a poll.

use crate::primitive::{put_count, put_u32, put_u64};

/// Bytes in front of the batches of a poll.
pub const POLL_HEADER_BYTES: usize = 16;

/// Where messages that were sent now stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confirmation {
    /// The stream.
    pub stream_id: u32,
    /// The topic.
    pub topic_id: u32,
    /// The partition.
    pub partition_id: u32,
    /// The offset of the first of them.
    pub base_offset: u64,
}

/// What is said of a partition that was polled. Stored batches follow, one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollHeader {
    /// The partition.
    pub partition_id: u32,
    /// The offset of its last message; zero also if it has none.
    pub current_offset: u64,
    /// How many messages follow, exactly.
    pub messages: u32,
}

/// Appends the body that answers a send. Without confirmations it says: committed, and no more.
pub fn put_confirmations(into: &mut Vec<u8>, confirmations: &[Confirmation]) {
    put_count(into, confirmations.len());
    for confirmation in confirmations {
        put_u32(into, confirmation.stream_id);
        put_u32(into, confirmation.topic_id);
        put_u32(into, confirmation.partition_id);
        put_u64(into, confirmation.base_offset);
    }
}

impl PollHeader {
    /// Appends the header.
    pub fn put(&self, into: &mut Vec<u8>) {
        put_u32(into, self.partition_id);
        put_u64(into, self.current_offset);
        put_u32(into, self.messages);
    }
}
