//! The bodies of get, store and delete consumer offset.

use super::consumer::Consumer;
use super::poll::chosen_partition;
use super::topics::TopicTarget;
use crate::primitive::{Malformed, Reader};

/// Whose offset in which partition: the body of get consumer offset, and how the others begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetTarget<'a> {
    /// The consumer.
    pub consumer: Consumer<'a>,
    /// The topic.
    pub target: TopicTarget<'a>,
    /// The partition, if the consumer names one.
    pub partition: Option<u32>,
}

/// The body of store consumer offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreOffset<'a> {
    /// Whose, and where.
    pub place: OffsetTarget<'a>,
    /// The offset.
    pub offset: u64,
    /// What the answer waits for.
    pub ack: Ack,
}

/// The body of delete consumer offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeleteOffset<'a> {
    /// Whose, and where.
    pub place: OffsetTarget<'a>,
    /// What the answer waits for.
    pub ack: Ack,
}

/// What the answer to a write waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    /// Nothing but the node that has the partition.
    None,
    /// A quorum.
    Quorum,
}

impl<'a> OffsetTarget<'a> {
    /// Reads a body.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let place = Self::read(&mut reader)?;
        reader.finish()?;
        Ok(place)
    }

    fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(Self {
            consumer: Consumer::read(reader)?,
            target: TopicTarget::read(reader)?,
            partition: chosen_partition(reader)?,
        })
    }
}

impl<'a> StoreOffset<'a> {
    /// Reads a body.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let place = OffsetTarget::read(&mut reader)?;
        let store = Self { place, offset: reader.u64()?, ack: Ack::read(&mut reader)? };
        reader.finish()?;
        Ok(store)
    }
}

impl<'a> DeleteOffset<'a> {
    /// Reads a body.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let deletion = Self { place: OffsetTarget::read(&mut reader)?, ack: Ack::read(&mut reader)? };
        reader.finish()?;
        Ok(deletion)
    }
}

impl Ack {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match reader.u8()? {
            0 => Ok(Self::None),
            1 => Ok(Self::Quorum),
            other => Err(Malformed::Value(other.into())),
        }
    }
}
