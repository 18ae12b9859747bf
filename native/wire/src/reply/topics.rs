//! The records of a topic and of a partition.

use crate::primitive::{Name, put_bytes32, put_name8, put_u8, put_u32, put_u64};

/// A topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topic<'a> {
    /// Its number.
    pub id: u32,
    /// When it was made, in microseconds since the epoch.
    pub created_at: u64,
    /// How many partitions it has.
    pub partitions: u32,
    /// Microseconds a message is kept.
    pub message_expiry: u64,
    /// The code of the algorithm clients compress with.
    pub compression: u8,
    /// Bytes it may hold.
    pub max_topic_size: u64,
    /// Bytes of all its batches.
    pub size_bytes: u64,
    /// Its messages.
    pub messages: u64,
    /// Its name.
    pub name: Name<'a>,
    /// The options it was given, as a block.
    pub explicit_options: &'a [u8],
    /// The options the server chose for it, as a block.
    pub derived_options: &'a [u8],
}

/// A partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its number in the topic.
    pub id: u32,
    /// When it was made, in microseconds since the epoch.
    pub created_at: u64,
    /// Its segments.
    pub segments: u32,
    /// The offset of its last message; zero also if it has none.
    pub current_offset: u64,
    /// Bytes of all its batches.
    pub size_bytes: u64,
    /// Its messages.
    pub messages: u64,
}

impl Topic<'_> {
    /// Appends the record.
    pub fn put(&self, into: &mut Vec<u8>) {
        put_u32(into, self.id);
        put_u64(into, self.created_at);
        put_u32(into, self.partitions);
        put_u64(into, self.message_expiry);
        put_u8(into, self.compression);
        put_u64(into, self.max_topic_size);
        put_u64(into, self.size_bytes);
        put_u64(into, self.messages);
        put_name8(into, self.name);
        put_bytes32(into, self.explicit_options);
        put_bytes32(into, self.derived_options);
    }
}

impl Partition {
    /// Appends the record.
    pub fn put(&self, into: &mut Vec<u8>) {
        put_u32(into, self.id);
        put_u64(into, self.created_at);
        put_u32(into, self.segments);
        put_u64(into, self.current_offset);
        put_u64(into, self.size_bytes);
        put_u64(into, self.messages);
    }
}
