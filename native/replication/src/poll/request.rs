//! Polls and their answers.

use std::ops::Range;
use std::sync::Arc;

use ng_io::Buffer;
use ng_partition::fetch::SliceHeader;
use ng_storage::store::StoreFault;
use ng_wire::batch::BatchRefusal;
use ng_wire::replica::ConsumerKind;
use ng_wire::table::error::ErrorCode;

use crate::group::Body;

/// Kind and id of a consumer, the owner of a stored offset.
pub type Consumer = (ConsumerKind, u32);

/// A poll of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poll {
    /// Group of the partition.
    pub group: u64,
    /// Consumer that polls.
    pub consumer: Consumer,
    /// Position of the first message.
    pub strategy: PollStrategy,
    /// Maximum messages.
    pub count: u32,
    /// Maximum bytes of batches. The first message is returned even if it is larger.
    pub reply_bytes_max: usize,
    /// The last returned offset counts as stored.
    pub auto_commit: bool,
}

/// Position of the first message of a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollStrategy {
    /// From this offset, or from the first retained one if that is higher.
    Offset(u64),
    /// From the first batch appended at or after this time, in microseconds.
    Timestamp(u64),
    /// From the first retained message.
    First,
    /// The last `count` messages.
    Last,
    /// After the stored offset; without one, from the first retained message.
    Next,
}

/// The answer to a poll.
#[derive(Clone, Debug)]
pub struct Polled {
    /// Offset of the last committed message; 0 if there is none.
    pub current_offset: u64,
    /// Messages in the parts.
    pub messages: u32,
    /// The batches, in sequence.
    pub parts: Vec<PollPart>,
}

/// A piece of the batches in an answer.
#[derive(Clone, Debug)]
pub enum PollPart {
    /// Header of a batch that is sent in part.
    Header(Box<SliceHeader>),
    /// Range of a batch in memory.
    Kept(Body, Range<usize>),
    /// Range of a buffer read from a disk.
    Read(Arc<Buffer>, Range<usize>),
}

impl PollPart {
    /// The bytes of the piece.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Header(header) => header.as_slice(),
            Self::Kept(body, range) => body.get(range.clone()).unwrap_or_default(),
            Self::Read(buffer, range) => buffer.get(range.clone()).unwrap_or_default(),
        }
    }
}

/// Reason why a poll gets no messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollRefusal {
    /// This shard has no such partition.
    NoGroup,
    /// Too many reads are in progress; the client may try again.
    Busy,
    /// A batch has a wrong checksum or a wrong position.
    BatchChecksum,
    /// A message has a wrong checksum.
    MessageChecksum,
    /// The segment with the messages is missing or unreadable.
    Unreadable,
}

impl PollRefusal {
    /// The cause is damage on the disk, so that a retry would fail again.
    #[must_use]
    pub const fn is_damage(self) -> bool {
        matches!(self, Self::BatchChecksum | Self::MessageChecksum | Self::Unreadable)
    }

    /// Status code for the client.
    #[must_use]
    pub const fn status(self) -> ErrorCode {
        match self {
            Self::NoGroup => ErrorCode::PartitionNotFound,
            Self::Busy => ErrorCode::TransientNotAccepted,
            Self::BatchChecksum => ErrorCode::InvalidBatchChecksum,
            Self::MessageChecksum => ErrorCode::InvalidMessageChecksum,
            Self::Unreadable => ErrorCode::CannotReadMessage,
        }
    }
}

impl From<BatchRefusal> for PollRefusal {
    fn from(refusal: BatchRefusal) -> Self {
        match refusal {
            BatchRefusal::MessageChecksum => Self::MessageChecksum,
            _ => Self::BatchChecksum,
        }
    }
}

impl From<&StoreFault> for PollRefusal {
    fn from(fault: &StoreFault) -> Self {
        match fault {
            StoreFault::Refused(_) => Self::BatchChecksum,
            _ => Self::Unreadable,
        }
    }
}
