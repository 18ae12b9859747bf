use std::num::NonZeroU32;

use crate::checksum::xxh32;
use crate::primitive::{Malformed, Reader};

/// How a producer chooses the partition of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partitioning<'a> {
    /// The server takes them in turn.
    Balanced,
    /// This one.
    Partition(u32),
    /// The one that this key of 1 to 255 bytes falls on.
    Key(&'a [u8]),
}

impl<'a> Partitioning<'a> {
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let kind = reader.u8()?;
        let value = reader.bytes8()?;
        match (kind, value) {
            (1, []) => Ok(Self::Balanced),
            (2, &[a, b, c, d]) => Ok(Self::Partition(u32::from_le_bytes([a, b, c, d]))),
            (3, [_, ..]) => Ok(Self::Key(value)),
            _ => Err(Malformed::Value(kind.into())),
        }
    }
}

/// The place among `partitions` that a key falls on, as every client reckons it.
#[must_use]
pub fn place_of_key(key: &[u8], partitions: NonZeroU32) -> u32 {
    xxh32(key) % partitions
}
