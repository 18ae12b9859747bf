//! The permission block: the flags that a user holds everywhere, in streams, and in topics.
//!
//! Ten bytes of global flags come first, then a list of streams, and in each stream a list of topics. A byte
//! before each element says that it follows, and one at the end that the list is over. Each of these bytes, and
//! each flag, is 0 or 1, so that a block has one meaning and permissions have one block.

use std::collections::HashSet;

use crate::primitive::{Malformed, Reader, put_u8, put_u32};
use crate::table::permission::{GlobalFlag, StreamFlag, TopicFlag};

/// The most bytes of a block.
pub const PERMISSIONS_BYTES_MAX: usize = 64 * 1024;

/// What a user may do. In each mask the bit of a flag is the one that its code numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Flags that hold everywhere.
    pub global: u16,
    /// Streams with flags, each once, in the order of the block.
    pub streams: Vec<StreamPermissions>,
}

/// What a user may do in a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamPermissions {
    /// The number of the stream.
    pub stream: u32,
    /// Flags that hold in the stream.
    pub flags: u16,
    /// Topics with flags, each once, in the order of the block.
    pub topics: Vec<TopicPermissions>,
}

/// What a user may do in a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopicPermissions {
    /// The number of the topic.
    pub topic: u32,
    /// Flags that hold in the topic.
    pub flags: u16,
}

impl Permissions {
    /// Every global flag: what the root user holds.
    #[must_use]
    pub const fn all() -> Self {
        Self { global: (1 << GlobalFlag::ALL.len()) - 1, streams: Vec::new() }
    }

    /// Reads a block, every byte of it.
    pub fn decode(block: &[u8]) -> Result<Self, Malformed> {
        if block.len() > PERMISSIONS_BYTES_MAX {
            return Err(Malformed::Long { most: PERMISSIONS_BYTES_MAX });
        }
        let mut reader = Reader::new(block);
        let permissions = Self {
            global: read_flags(&mut reader, GlobalFlag::ALL.len())?,
            streams: read_list(&mut reader, StreamPermissions::read, |stream| stream.stream)?,
        };
        reader.finish()?;
        Ok(permissions)
    }

    /// Appends the block.
    pub fn put(&self, into: &mut Vec<u8>) {
        put_flags(into, self.global, GlobalFlag::ALL.len());
        for stream in &self.streams {
            put_u8(into, 1);
            put_u32(into, stream.stream);
            put_flags(into, stream.flags, StreamFlag::ALL.len());
            for topic in &stream.topics {
                put_u8(into, 1);
                put_u32(into, topic.topic);
                put_flags(into, topic.flags, TopicFlag::ALL.len());
            }
            put_u8(into, 0);
        }
        put_u8(into, 0);
    }
}

impl StreamPermissions {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            stream: reader.u32()?,
            flags: read_flags(reader, StreamFlag::ALL.len())?,
            topics: read_list(reader, TopicPermissions::read, |topic| topic.topic)?,
        })
    }
}

impl TopicPermissions {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { topic: reader.u32()?, flags: read_flags(reader, TopicFlag::ALL.len())? })
    }
}

/// Reads elements until a byte says that none follows. No two have the same number.
fn read_list<'a, T>(
    reader: &mut Reader<'a>,
    read: impl Fn(&mut Reader<'a>) -> Result<T, Malformed>,
    number: impl Fn(&T) -> u32,
) -> Result<Vec<T>, Malformed> {
    let mut list = Vec::new();
    let mut numbers = HashSet::new();
    while read_bool(reader)? {
        let element = read(reader)?;
        let number = number(&element);
        if !numbers.insert(number) {
            return Err(Malformed::Repeated(number));
        }
        list.push(element);
    }
    Ok(list)
}

fn read_flags(reader: &mut Reader<'_>, count: usize) -> Result<u16, Malformed> {
    (0..count).try_fold(0, |mask, code| Ok(mask | u16::from(read_bool(reader)?) << code))
}

fn put_flags(into: &mut Vec<u8>, mask: u16, count: usize) {
    for code in 0..count {
        put_u8(into, u8::from(mask >> code & 1 == 1));
    }
}

fn read_bool(reader: &mut Reader<'_>) -> Result<bool, Malformed> {
    match reader.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(Malformed::Value(other.into())),
    }
}
