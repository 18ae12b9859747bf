//! The bodies of commands about the partitions of a topic and their segments.

use super::topics::{PARTITIONS_PER_REQUEST_MAX, TopicTarget};
use crate::primitive::{Malformed, Reader};
use crate::table::error::ErrorCode;

/// The body of create and delete partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionsChange<'a> {
    /// The topic.
    pub target: TopicTarget<'a>,
    /// How many partitions more, or fewer.
    pub count: u32,
}

/// The body of delete segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeleteSegments<'a> {
    /// The topic.
    pub target: TopicTarget<'a>,
    /// The partition.
    pub partition: u32,
    /// How many of its oldest segments.
    pub count: u32,
}

/// The body of flush unsaved buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushUnsaved<'a> {
    /// The topic.
    pub target: TopicTarget<'a>,
    /// The partition.
    pub partition: u32,
    /// Whether to sync too.
    pub sync: bool,
}

impl<'a> PartitionsChange<'a> {
    /// Reads a body.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let change = Self { target: TopicTarget::read(&mut reader)?, count: reader.u32()? };
        reader.finish()?;
        Ok(change)
    }

    /// What can be judged without knowing the topic.
    pub const fn check(&self) -> Result<(), ErrorCode> {
        match self.count {
            1..=PARTITIONS_PER_REQUEST_MAX => Ok(()),
            _ => Err(ErrorCode::TooManyPartitions),
        }
    }
}

impl<'a> DeleteSegments<'a> {
    /// Reads a body.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let target = TopicTarget::read(&mut reader)?;
        let deletion = Self { target, partition: reader.u32()?, count: reader.u32()? };
        reader.finish()?;
        Ok(deletion)
    }
}

impl<'a> FlushUnsaved<'a> {
    /// Reads a body.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let target = TopicTarget::read(&mut reader)?;
        let flush = Self { target, partition: reader.u32()?, sync: reader.u8()? != 0 };
        reader.finish()?;
        Ok(flush)
    }
}
