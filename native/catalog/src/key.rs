//! The keys of rows. A key begins with the key of the row it belongs to, so that what is deleted by its key
//! takes along what it holds.

use std::cmp::Ordering;
use std::ops::Deref;

use ng_wire::primitive::{Malformed, Reader};

use crate::refusal::RowRefusal;

/// What keys begin with.
pub(crate) const COUNTERS: u8 = 0;
pub(crate) const STREAM: u8 = 1;
/// What stands between the number of a row and the number of one that it holds.
pub(crate) const CHILD: u8 = 1;

/// The longest key: that of a partition.
const KEY_BYTES_MAX: usize = 15;

/// Which row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowKey {
    /// The counters, of which there is one row.
    Counters,
    /// A stream.
    Stream(u32),
    /// A topic.
    Topic {
        /// Its stream.
        stream: u32,
        /// Its number in the stream.
        topic: u32,
    },
    /// A partition.
    Partition {
        /// The stream of its topic.
        stream: u32,
        /// Its topic.
        topic: u32,
        /// Its number in the topic.
        partition: u32,
    },
}

/// The bytes of a key.
#[derive(Clone, Copy, Debug)]
pub struct KeyBytes {
    bytes: [u8; KEY_BYTES_MAX],
    length: u8,
}

impl RowKey {
    /// Reads the bytes of a key.
    pub fn decode(bytes: &[u8]) -> Result<Self, RowRefusal> {
        let mut reader = Reader::new(bytes);
        let key = Self::read(&mut reader).ok().filter(|_| reader.remaining() == 0);
        key.ok_or(RowRefusal::Key)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match reader.u8()? {
            COUNTERS => return Ok(Self::Counters),
            STREAM => {}
            other => return Err(Malformed::Value(other.into())),
        }
        let stream = reader.u32()?.swap_bytes();
        let Some(topic) = child(reader)? else {
            return Ok(Self::Stream(stream));
        };
        Ok(match child(reader)? {
            None => Self::Topic { stream, topic },
            Some(partition) => Self::Partition { stream, topic, partition },
        })
    }

    /// The bytes of the key. They order as the keys do.
    #[must_use]
    pub fn bytes(self) -> KeyBytes {
        let mut key = KeyBytes { bytes: [0; KEY_BYTES_MAX], length: 0 };
        match self {
            Self::Counters => key.push(&[COUNTERS]),
            Self::Stream(stream) => key.number(STREAM, stream),
            Self::Topic { stream, topic } => {
                key.number(STREAM, stream);
                key.number(CHILD, topic);
            }
            Self::Partition { stream, topic, partition } => {
                key.number(STREAM, stream);
                key.number(CHILD, topic);
                key.number(CHILD, partition);
            }
        }
        key
    }

    /// The row this one belongs to and cannot be without.
    #[must_use]
    pub const fn parent(self) -> Option<Self> {
        match self {
            Self::Counters | Self::Stream(_) => None,
            Self::Topic { stream, .. } => Some(Self::Stream(stream)),
            Self::Partition { stream, topic, .. } => Some(Self::Topic { stream, topic }),
        }
    }

    /// The numbers in the key. What a key does not have comes before every number.
    const fn place(self) -> (Option<u32>, Option<u32>, Option<u32>) {
        match self {
            Self::Counters => (None, None, None),
            Self::Stream(stream) => (Some(stream), None, None),
            Self::Topic { stream, topic } => (Some(stream), Some(topic), None),
            Self::Partition { stream, topic, partition } => (Some(stream), Some(topic), Some(partition)),
        }
    }
}

fn child(reader: &mut Reader<'_>) -> Result<Option<u32>, Malformed> {
    if reader.remaining() == 0 {
        return Ok(None);
    }
    match reader.u8()? {
        CHILD => Ok(Some(reader.u32()?.swap_bytes())),
        other => Err(Malformed::Value(other.into())),
    }
}

impl PartialOrd for RowKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RowKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl KeyBytes {
    fn number(&mut self, tag: u8, number: u32) {
        self.push(&[tag]);
        self.push(&number.to_be_bytes());
    }

    fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.bytes[usize::from(self.length)] = *byte;
            self.length += 1;
        }
    }

    /// The length, as a delta has it.
    #[must_use]
    pub const fn length(&self) -> u16 {
        self.length as u16
    }
}

impl Deref for KeyBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}
