use super::checksum::xxh3_128;
use super::operation::LogOperation;
use crate::batch::{BATCH_HEADER_BYTES, verify};

/// How the body of an operation is held against its header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BodyCheck {
    /// The body checksum covers the whole body.
    #[default]
    Whole = 0,
    /// The body is a batch. The body checksum covers its header alone, which holds a checksum over those of
    /// the messages: a payload that was hashed once is not hashed again for its header.
    Batch = 1,
}

impl BodyCheck {
    /// The number in headers.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The check of a number, if this release knows it.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Whole),
            1 => Some(Self::Batch),
            _ => None,
        }
    }

    /// The body checksum that stands in the header of `body`.
    #[must_use]
    pub fn checksum(self, body: &[u8]) -> u128 {
        let covered = match self {
            Self::Whole => body,
            Self::Batch => body.get(..BATCH_HEADER_BYTES).unwrap_or(body),
        };
        xxh3_128(covered)
    }

    /// Whether each byte of `body` is the one that this body checksum stands for. It hashes all of them,
    /// once.
    #[must_use]
    pub fn proves(self, body: &[u8], checksum: u128) -> bool {
        let whole = match self {
            Self::Whole => true,
            Self::Batch => verify(body).is_ok(),
        };
        whole && self.checksum(body) == checksum
    }
}

/// How the body of an operation is held against its header, and the body checksum that follows.
#[must_use]
pub fn body_checksum(operation: LogOperation, body: &[u8]) -> (BodyCheck, u128) {
    let check = if operation == LogOperation::Batch { BodyCheck::Batch } else { BodyCheck::Whole };
    (check, check.checksum(body))
}
