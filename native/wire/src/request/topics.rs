//! The bodies of commands that name a topic, and of those that make and change one.

use super::identifier::Identifier;
use super::option_block::OptionBlock;
use super::topic_options;
use crate::primitive::{Malformed, Reader};
use crate::table::error::ErrorCode;

/// How many partitions one request may make or take away.
pub const PARTITIONS_PER_REQUEST_MAX: u32 = 1000;

/// The body of get, delete and purge topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicTarget<'a> {
    /// The stream of the topic.
    pub stream: Identifier<'a>,
    /// The topic.
    pub topic: Identifier<'a>,
}

/// The body of create topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreateTopic<'a> {
    /// The stream it is made in.
    pub stream: Identifier<'a>,
    /// How many partitions it begins with.
    pub partitions: u32,
    /// The name, of 1 to 255 bytes.
    pub name: &'a str,
    /// The options.
    pub options: OptionBlock<'a>,
}

/// The body of update topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateTopic<'a> {
    /// The topic.
    pub target: TopicTarget<'a>,
    /// Its name from now on, of 1 to 255 bytes.
    pub name: &'a str,
    /// The options that change.
    pub options: OptionBlock<'a>,
}

impl<'a> TopicTarget<'a> {
    /// Reads a body.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let target = Self::read(&mut reader)?;
        reader.finish()?;
        Ok(target)
    }

    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(Self { stream: Identifier::read(reader)?, topic: Identifier::read(reader)? })
    }
}

impl<'a> CreateTopic<'a> {
    /// Reads a body; of the options only the extent.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let (stream, partitions, name) = (Identifier::read(&mut reader)?, reader.u32()?, reader.name8()?);
        Ok(Self { stream, partitions, name, options: OptionBlock::rest(reader) })
    }

    /// What can be judged without knowing the streams.
    pub fn check(&self) -> Result<(), ErrorCode> {
        if self.partitions > PARTITIONS_PER_REQUEST_MAX {
            return Err(ErrorCode::TooManyPartitions);
        }
        topic_options::check_created(self.options, self.partitions)
    }
}

impl<'a> UpdateTopic<'a> {
    /// Reads a body; of the options only the extent.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let (target, name) = (TopicTarget::read(&mut reader)?, reader.name8()?);
        Ok(Self { target, name, options: OptionBlock::rest(reader) })
    }

    /// What can be judged without knowing the streams.
    pub fn check(&self) -> Result<(), ErrorCode> {
        topic_options::check_updated(self.options)
    }
}
