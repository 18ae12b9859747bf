//! The keys of rows: paths of tags and numbers. A key begins with the key of the row it belongs to, so that what is
//! deleted by its key takes along what it holds.
//!
//! ```text
//! 00                              counters
//! 01 stream                       stream
//! 01 stream 01 topic              topic
//! 01 stream 01 topic 01 partition partition
//! 02                              next user id
//! 02 user                         user
//! ```
//!
//! Numbers have 32 bits and are big-endian, so that keys order as their bytes.

use std::cmp::Ordering;
use std::ops::Deref;

use ng_wire::primitive::{Malformed, Reader};

use crate::refusal::RowRefusal;

/// Tags of the rows that belong to no other.
const COUNTERS: u8 = 0;
const STREAM: u8 = 1;
const USER: u8 = 2;
/// Tag of the topics of a stream.
const TOPIC: u8 = 1;
/// Tag of the partitions of a topic.
const PARTITION: u8 = 1;

/// The tags on the paths to the rows of each table.
pub(crate) const STREAM_TAGS: [u8; 1] = [STREAM];
pub(crate) const TOPIC_TAGS: [u8; 2] = [STREAM, TOPIC];
pub(crate) const PARTITION_TAGS: [u8; 3] = [STREAM, TOPIC, PARTITION];
pub(crate) const USER_TAGS: [u8; 1] = [USER];

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
    /// The number of the next user, of which there is one row.
    NextUser,
    /// A user.
    User(u32),
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
            COUNTERS => Ok(Self::Counters),
            STREAM => Self::read_stream(reader),
            USER if reader.remaining() == 0 => Ok(Self::NextUser),
            USER => Ok(Self::User(number(reader)?)),
            other => Err(Malformed::Value(other.into())),
        }
    }

    fn read_stream(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let stream = number(reader)?;
        match tag(reader)? {
            None => Ok(Self::Stream(stream)),
            Some(TOPIC) => Self::read_topic(stream, reader),
            Some(other) => Err(Malformed::Value(other.into())),
        }
    }

    fn read_topic(stream: u32, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let topic = number(reader)?;
        match tag(reader)? {
            None => Ok(Self::Topic { stream, topic }),
            Some(PARTITION) => Ok(Self::Partition { stream, topic, partition: number(reader)? }),
            Some(other) => Err(Malformed::Value(other.into())),
        }
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
                key.number(TOPIC, topic);
            }
            Self::Partition { stream, topic, partition } => {
                key.number(STREAM, stream);
                key.number(TOPIC, topic);
                key.number(PARTITION, partition);
            }
            Self::NextUser => key.push(&[USER]),
            Self::User(user) => key.number(USER, user),
        }
        key
    }

    /// The row this one belongs to and cannot be without.
    #[must_use]
    pub const fn parent(self) -> Option<Self> {
        match self {
            Self::Counters | Self::Stream(_) | Self::NextUser | Self::User(_) => None,
            Self::Topic { stream, .. } => Some(Self::Stream(stream)),
            Self::Partition { stream, topic, .. } => Some(Self::Topic { stream, topic }),
        }
    }
}

fn number(reader: &mut Reader<'_>) -> Result<u32, Malformed> {
    reader.u32().map(u32::swap_bytes)
}

/// The tag of the next step, unless the path ends here.
fn tag(reader: &mut Reader<'_>) -> Result<Option<u8>, Malformed> {
    if reader.remaining() == 0 { Ok(None) } else { reader.u8().map(Some) }
}

impl PartialOrd for RowKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RowKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bytes().cmp(&other.bytes())
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
