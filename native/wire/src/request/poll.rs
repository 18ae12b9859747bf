//! The body of poll messages.

use super::consumer::Consumer;
use super::topics::TopicTarget;
use crate::primitive::{Malformed, Reader};

/// Where a poll begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollingStrategy {
    /// At this offset, or at the first behind it.
    Offset(u64),
    /// At the first batch that was appended at this time or later, in microseconds since the epoch.
    Timestamp(u64),
    /// At the oldest message.
    First,
    /// So far before the end that as many messages follow as were asked for.
    Last,
    /// Behind the offset the consumer has stored.
    Next,
}

/// The body of poll messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollMessages<'a> {
    /// Who polls.
    pub consumer: Consumer<'a>,
    /// The topic.
    pub target: TopicTarget<'a>,
    /// The partition, if the consumer names one.
    pub partition: Option<u32>,
    /// Where to begin.
    pub strategy: PollingStrategy,
    /// How many messages at most.
    pub count: u32,
    /// Whether the offset of the last message is stored for the consumer.
    pub auto_commit: bool,
}

impl<'a> PollMessages<'a> {
    /// Reads a body.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let poll = Self {
            consumer: Consumer::read(&mut reader)?,
            target: TopicTarget::read(&mut reader)?,
            partition: chosen_partition(&mut reader)?,
            strategy: PollingStrategy::read(&mut reader)?,
            count: reader.u32()?,
            auto_commit: reader.u8()? != 0,
        };
        reader.finish()?;
        Ok(poll)
    }
}

/// The number is there whether or not it counts; only a one in front of it makes it count.
pub(super) fn chosen_partition(reader: &mut Reader<'_>) -> Result<Option<u32>, Malformed> {
    let (present, partition) = (reader.u8()?, reader.u32()?);
    Ok((present == 1).then_some(partition))
}

impl PollingStrategy {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (kind, value) = (reader.u8()?, reader.u64()?);
        match kind {
            1 => Ok(Self::Offset(value)),
            2 => Ok(Self::Timestamp(value)),
            3 => Ok(Self::First),
            4 => Ok(Self::Last),
            5 => Ok(Self::Next),
            other => Err(Malformed::Value(other.into())),
        }
    }
}
