use thiserror::Error;

use crate::table::error::ErrorCode;

/// Of what a refusal speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchPart {
    /// The header of the batch.
    Header,
    /// A message of it.
    Message,
}

/// Why bytes are not a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BatchRefusal {
    /// The bytes end before the batch does.
    #[error("{found} bytes are there, {needed} are needed")]
    Short {
        /// What was cut.
        part: BatchPart,
        /// Bytes from the beginning of that part on.
        needed: u64,
        /// Bytes that are there.
        found: u64,
    },
    /// More bytes are there than the header speaks of, or than its messages fill.
    #[error("{0} bytes follow the last message")]
    Trailing(u64),
    /// Bytes that must be zero are not.
    #[error("a reserved byte is set")]
    Reserved(BatchPart),
    /// It holds no message.
    #[error("a batch without messages")]
    Empty,
    /// A length that no batch has.
    #[error("{0} bytes are not the length of a batch")]
    Length(u64),
    /// The offsets of its messages do not ascend.
    #[error("a message has offset delta {0}, which is not beyond the one before")]
    Order(u32),
    /// Its last message would have an offset beyond the last that there is.
    #[error("no room for the messages from offset {0} on")]
    Offsets(u64),
    /// A message does not fit its checksum.
    #[error("a message does not fit its checksum")]
    MessageChecksum,
    /// The batch does not fit its checksum.
    #[error("the batch does not fit its checksum")]
    Checksum,
}

impl BatchRefusal {
    /// The status a producer's request is answered with.
    #[must_use]
    pub const fn status(self) -> ErrorCode {
        match self {
            Self::MessageChecksum => ErrorCode::InvalidMessageChecksum,
            Self::Checksum => ErrorCode::InvalidBatchChecksum,
            _ => ErrorCode::InvalidCommand,
        }
    }
}
