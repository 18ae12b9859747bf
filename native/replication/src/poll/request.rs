//! What a poll asks for, and what it is answered with.

use std::ops::Range;
use std::sync::Arc;

use ng_io::Buffer;
use ng_partition::fetch::SliceHeader;
use ng_storage::store::StoreFault;
use ng_wire::batch::BatchRefusal;
use ng_wire::replica::ConsumerKind;
use ng_wire::table::error::ErrorCode;

use crate::group::Body;

/// Whose offset it is.
pub type Consumer = (ConsumerKind, u32);

/// A poll of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poll {
    /// The group of the partition.
    pub group: u64,
    /// Who polls.
    pub consumer: Consumer,
    /// From where on.
    pub strategy: PollStrategy,
    /// How many messages at most.
    pub count: u32,
    /// How many bytes of batches at most; one message is answered whatever its size.
    pub reply_bytes_max: usize,
    /// Whether the last offset that is answered counts as stored.
    pub auto_commit: bool,
}

/// From where on messages are polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollStrategy {
    /// From this offset, or from the first that is kept if that is above it.
    Offset(u64),
    /// From the first batch that was appended at this time, in microseconds, or later.
    Timestamp(u64),
    /// From the first that is kept.
    First,
    /// The last ones.
    Last,
    /// Behind the stored offset, or from the first that is kept.
    Next,
}

/// The answer to a poll.
#[derive(Clone, Debug)]
pub struct Polled {
    /// The offset of the last committed message, 0 if there is none.
    pub current_offset: u64,
    /// How many messages there are in the parts.
    pub messages: u32,
    /// The batches, one behind the other.
    pub parts: Vec<PollPart>,
}

/// A piece of the batches of an answer.
#[derive(Clone, Debug)]
pub enum PollPart {
    /// The header of a slice.
    Header(Box<SliceHeader>),
    /// Out of a batch that never left the memory.
    Kept(Body, Range<usize>),
    /// Out of what was read from a disk.
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

/// Why a poll is not answered with messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollRefusal {
    /// This shard has no such partition.
    NoGroup,
    /// Too much is being read; it may be asked again.
    Busy,
    /// A batch does not fit its checksum, or stands where none can.
    BatchChecksum,
    /// A message does not fit its checksum.
    MessageChecksum,
    /// What the messages were in is missing or cannot be read.
    Unreadable,
}

impl PollRefusal {
    /// Whether it is for what the disk holds, and will be so again.
    #[must_use]
    pub const fn is_damage(self) -> bool {
        matches!(self, Self::BatchChecksum | Self::MessageChecksum | Self::Unreadable)
    }

    /// The status that a client is told.
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
