//! What answers get consumer offset.

use crate::primitive::{put_u32, put_u64};

/// The offset a consumer has stored. Where none is stored, the body is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredOffset {
    /// The partition.
    pub partition_id: u32,
    /// The offset of its last message; zero also if it has none.
    pub current_offset: u64,
    /// The stored offset.
    pub stored_offset: u64,
}

impl StoredOffset {
    /// Appends the payload.
    pub fn put(&self, into: &mut Vec<u8>) {
        put_u32(into, self.partition_id);
        put_u64(into, self.current_offset);
        put_u64(into, self.stored_offset);
    }
}
