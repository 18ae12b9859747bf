//! The values of rows, and rows with their keys.

use ng_wire::primitive::{Malformed, Reader, put_bytes32, put_name8, put_u8, put_u32, put_u64};
use ng_wire::replica::Level;

use crate::key::RowKey;
use crate::name::RowName;
use crate::refusal::RowRefusal;
use crate::user_row::UserRow;

/// What is counted for the whole catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Which rules the rows were made by.
    pub feature_level: u32,
    /// The next block of group numbers that a topic gets; zero stands for one.
    pub next_block: u64,
    /// How often partitions came, went or were purged.
    pub revision: u64,
}

impl Default for Counters {
    /// What holds while no operation has counted anything.
    fn default() -> Self {
        Self { feature_level: 1, next_block: 0, revision: 0 }
    }
}

/// A stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamRow {
    /// When it was made, in microseconds since the epoch.
    pub created_at: u64,
    /// The revision that it was made at.
    pub created_revision: u64,
    /// Its name.
    pub name: RowName,
    /// The options it was given, as a block.
    pub options: Box<[u8]>,
}

/// The algorithm that the clients of a topic compress payloads with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Compression {
    /// None.
    None = 1,
    /// Gzip.
    Gzip = 2,
}

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicRow {
    /// When it was made, in microseconds since the epoch.
    pub created_at: u64,
    /// The revision that made it.
    pub created_revision: u64,
    /// Microseconds a message is kept.
    pub message_expiry: u64,
    /// What clients compress with.
    pub compression: Compression,
    /// Bytes it may hold.
    pub max_topic_size: u64,
    /// Bytes after which a segment is sealed.
    pub segment_size: u64,
    /// What producers were promised.
    pub durability: Level,
    /// What consumers that store offsets were promised.
    pub consumer_offset_durability: Level,
    /// The number that its next partition's group gets; zero before the first.
    pub next_group: u64,
    /// Its name.
    pub name: RowName,
    /// The options it was given, as a block.
    pub explicit_options: Box<[u8]>,
    /// The options the server chose for it, as a block.
    pub derived_options: Box<[u8]>,
}

/// A partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionRow {
    /// When it was made, in microseconds since the epoch.
    pub created_at: u64,
    /// The revision that made it.
    pub created_revision: u64,
    /// The group whose log it is; no other partition ever has it.
    pub group: u64,
    /// How often it was purged.
    pub purge_generation: u64,
}

/// A row with its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// The counters.
    Counters(Counters),
    /// A stream and its number.
    Stream(u32, StreamRow),
    /// A topic, its stream and its number.
    Topic(u32, u32, Box<TopicRow>),
    /// A partition, its stream, its topic and its number.
    Partition(u32, u32, u32, PartitionRow),
    /// The number of the next user.
    NextUser(u32),
    /// A user and its number.
    User(u32, Box<UserRow>),
}

/// A row of a catalog with its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowRef<'a> {
    /// The counters.
    Counters(Counters),
    /// A stream and its number.
    Stream(u32, &'a StreamRow),
    /// A topic, its stream and its number.
    Topic(u32, u32, &'a TopicRow),
    /// A partition, its stream, its topic and its number.
    Partition(u32, u32, u32, &'a PartitionRow),
    /// The number of the next user.
    NextUser(u32),
    /// A user and its number.
    User(u32, &'a UserRow),
}

impl Row {
    /// Reads a row, every byte of it.
    pub fn decode(key: &[u8], value: &[u8]) -> Result<Self, RowRefusal> {
        let key = RowKey::decode(key)?;
        let mut reader = Reader::new(value);
        let row = Self::read(key, &mut reader)?;
        reader.finish()?;
        Ok(row)
    }

    fn read(key: RowKey, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(match key {
            RowKey::Counters => Self::Counters(Counters::read(reader)?),
            RowKey::Stream(stream) => Self::Stream(stream, StreamRow::read(reader)?),
            RowKey::Topic { stream, topic } => Self::Topic(stream, topic, Box::new(TopicRow::read(reader)?)),
            RowKey::Partition { stream, topic, partition } => {
                Self::Partition(stream, topic, partition, PartitionRow::read(reader)?)
            }
            RowKey::NextUser => Self::NextUser(reader.u32()?),
            RowKey::User(user) => Self::User(user, Box::new(UserRow::read(reader)?)),
        })
    }

    /// The row by reference.
    #[must_use]
    pub fn by_ref(&self) -> RowRef<'_> {
        match self {
            Self::Counters(row) => RowRef::Counters(*row),
            Self::Stream(stream, row) => RowRef::Stream(*stream, row),
            Self::Topic(stream, topic, row) => RowRef::Topic(*stream, *topic, row),
            Self::Partition(stream, topic, partition, row) => {
                RowRef::Partition(*stream, *topic, *partition, row)
            }
            Self::NextUser(user) => RowRef::NextUser(*user),
            Self::User(user, row) => RowRef::User(*user, row),
        }
    }
}

impl RowRef<'_> {
    /// The key of the row.
    #[must_use]
    pub const fn key(self) -> RowKey {
        match self {
            Self::Counters(_) => RowKey::Counters,
            Self::Stream(stream, _) => RowKey::Stream(stream),
            Self::Topic(stream, topic, _) => RowKey::Topic { stream, topic },
            Self::Partition(stream, topic, partition, _) => RowKey::Partition { stream, topic, partition },
            Self::NextUser(_) => RowKey::NextUser,
            Self::User(user, _) => RowKey::User(user),
        }
    }

    /// Appends the value of the row.
    pub fn put_value(self, into: &mut Vec<u8>) {
        match self {
            Self::Counters(row) => row.put(into),
            Self::Stream(_, row) => row.put(into),
            Self::Topic(_, _, row) => row.put(into),
            Self::Partition(_, _, _, row) => row.put(into),
            Self::NextUser(user) => put_u32(into, user),
            Self::User(_, row) => row.put(into),
        }
    }
}

impl Counters {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { feature_level: reader.u32()?, next_block: reader.u64()?, revision: reader.u64()? })
    }

    fn put(&self, into: &mut Vec<u8>) {
        put_u32(into, self.feature_level);
        put_u64(into, self.next_block);
        put_u64(into, self.revision);
    }
}

impl StreamRow {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            created_at: reader.u64()?,
            created_revision: reader.u64()?,
            name: name(reader)?,
            options: options(reader)?,
        })
    }

    fn put(&self, into: &mut Vec<u8>) {
        put_u64(into, self.created_at);
        put_u64(into, self.created_revision);
        put_name8(into, self.name.as_name());
        put_bytes32(into, &self.options);
    }
}

impl TopicRow {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            created_at: reader.u64()?,
            created_revision: reader.u64()?,
            message_expiry: reader.u64()?,
            compression: compression(reader)?,
            max_topic_size: reader.u64()?,
            segment_size: reader.u64()?,
            durability: level(reader)?,
            consumer_offset_durability: level(reader)?,
            next_group: reader.u64()?,
            name: name(reader)?,
            explicit_options: options(reader)?,
            derived_options: options(reader)?,
        })
    }

    fn put(&self, into: &mut Vec<u8>) {
        put_u64(into, self.created_at);
        put_u64(into, self.created_revision);
        put_u64(into, self.message_expiry);
        put_u8(into, self.compression as u8);
        put_u64(into, self.max_topic_size);
        put_u64(into, self.segment_size);
        put_u8(into, self.durability as u8);
        put_u8(into, self.consumer_offset_durability as u8);
        put_u64(into, self.next_group);
        put_name8(into, self.name.as_name());
        put_bytes32(into, &self.explicit_options);
        put_bytes32(into, &self.derived_options);
    }
}

impl PartitionRow {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            created_at: reader.u64()?,
            created_revision: reader.u64()?,
            group: reader.u64()?,
            purge_generation: reader.u64()?,
        })
    }

    fn put(&self, into: &mut Vec<u8>) {
        put_u64(into, self.created_at);
        put_u64(into, self.created_revision);
        put_u64(into, self.group);
        put_u64(into, self.purge_generation);
    }
}

fn name(reader: &mut Reader<'_>) -> Result<RowName, Malformed> {
    RowName::new(reader.name8()?).ok_or(Malformed::EmptyName)
}

fn options(reader: &mut Reader<'_>) -> Result<Box<[u8]>, Malformed> {
    let length = reader.u32()?;
    reader.bytes(length as usize).map(Into::into)
}

fn compression(reader: &mut Reader<'_>) -> Result<Compression, Malformed> {
    match reader.u8()? {
        1 => Ok(Compression::None),
        2 => Ok(Compression::Gzip),
        other => Err(Malformed::Value(other.into())),
    }
}

fn level(reader: &mut Reader<'_>) -> Result<Level, Malformed> {
    match reader.u8()? {
        0 => Ok(Level::Replicated),
        1 => Ok(Level::Persisted),
        other => Err(Malformed::Value(other.into())),
    }
}
