//! The record of a stream.

use crate::primitive::{Name, put_bytes32, put_name8, put_u32, put_u64};

/// A stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream<'a> {
    /// Its number.
    pub id: u32,
    /// When it was made, in microseconds since the epoch.
    pub created_at: u64,
    /// How many topics it has.
    pub topics: u32,
    /// Bytes of all its batches.
    pub size_bytes: u64,
    /// Its messages.
    pub messages: u64,
    /// Its name.
    pub name: Name<'a>,
    /// The options it was given, as a block.
    pub options: &'a [u8],
}

impl Stream<'_> {
    /// Appends the record.
    pub fn put(&self, into: &mut Vec<u8>) {
        put_u32(into, self.id);
        put_u64(into, self.created_at);
        put_u32(into, self.topics);
        put_u64(into, self.size_bytes);
        put_u64(into, self.messages);
        put_name8(into, self.name);
        put_bytes32(into, self.options);
    }
}
