//! The body of send messages: where to, how many, and one batch to the end.

use super::partitioning::Partitioning;
use super::topics::TopicTarget;
use crate::batch::{BatchHeader, BatchRefusal};
use crate::primitive::{Malformed, Reader};
use crate::table::error::ErrorCode;

/// The body of send messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendMessages<'a> {
    /// The topic.
    pub target: TopicTarget<'a>,
    /// How its partition is chosen.
    pub partitioning: Partitioning<'a>,
    /// How many messages the producer speaks of.
    pub messages: u32,
    /// Where in the body the batch begins; it goes on to the end.
    pub batch_start: usize,
    /// The batch, not looked at yet.
    pub batch: &'a [u8],
}

impl<'a> SendMessages<'a> {
    /// Reads a body up to its batch.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let length = reader.u32()?;
        let mut metadata = Reader::new(reader.bytes(length as usize)?);
        let target = TopicTarget::read(&mut metadata)?;
        let partitioning = Partitioning::read(&mut metadata)?;
        let messages = metadata.u32()?;
        metadata.finish()?;
        let batch_start = body.len() - reader.remaining();
        Ok(Self { target, partitioning, messages, batch_start, batch: &body[batch_start..] })
    }

    /// Where in a body the batch begins, told by its first bytes if they are enough.
    #[must_use]
    pub fn batch_start(received: &[u8]) -> Option<usize> {
        let metadata = Reader::new(received).u32().ok()? as usize;
        metadata.checked_add(size_of::<u32>())
    }

    /// Whether the header of the batch says what the body says of it. Messages and checksums are left to
    /// [`verify`](crate::batch::verify), which reads the payload.
    pub fn check(&self) -> Result<(), ErrorCode> {
        let header = BatchHeader::decode(self.batch).map_err(BatchRefusal::status)?;
        if header.count == self.messages && header.length == self.batch.len() as u64 {
            Ok(())
        } else {
            Err(ErrorCode::InvalidCommand)
        }
    }
}
