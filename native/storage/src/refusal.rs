//! Why bytes of a disk were not taken.

use thiserror::Error;

/// Bytes that are not what their place calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{structure}: {field}: {reason}")]
pub struct Refusal {
    /// Which structure, as FORMAT.md calls it.
    pub structure: &'static str,
    /// Which field of it.
    pub field: &'static str,
    /// What is wrong with the field.
    pub reason: Reason,
}

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Reason {
    /// The bytes end before the field does.
    #[error("{found} bytes are there, {needed} are needed")]
    Short {
        /// Bytes the field ends after.
        needed: u64,
        /// Bytes that are there.
        found: u64,
    },
    /// More bytes are there than the structure has.
    #[error("{0} bytes follow the end")]
    Trailing(u64),
    /// The structure is another one, or none.
    #[error("it is not what stands here")]
    Magic,
    /// A newer server wrote it: not damage, but not for this one.
    #[error("{0}, which a newer server wrote")]
    Newer(u64),
    /// An earlier build wrote it: not damage, but not for this one.
    #[error("{found}, which an earlier build wrote, and this build reads version {known}")]
    Older {
        /// The version that is there.
        found: u16,
        /// The one that this build reads.
        known: u16,
    },
    /// The checksum does not fit the bytes.
    #[error("it does not fit the bytes it covers")]
    Checksum,
    /// A value that the field cannot have.
    #[error("{0} is not a value of this field")]
    Value(u64),
    /// Bytes that must be zero are not.
    #[error("it is not zero")]
    NotZero,
    /// Entries that must ascend do not.
    #[error("entry {0} is out of order")]
    Order(u64),
    /// Something that must be there, by its number, is not.
    #[error("{0} is missing")]
    Missing(u64),
    /// Two copies of one sequence say different things.
    #[error("copies of one sequence differ")]
    Fork,
    /// Fewer copies agree than a reader needs.
    #[error("no two copies agree")]
    NoQuorum,
}

impl Refusal {
    pub(crate) const fn new(structure: &'static str, field: &'static str, reason: Reason) -> Self {
        Self { structure, field, reason }
    }

    /// Whether a newer server wrote the bytes, which is no damage.
    #[must_use]
    pub const fn is_newer(&self) -> bool {
        matches!(self.reason, Reason::Newer(_))
    }

    /// Whether an earlier build wrote the bytes, which is no damage.
    #[must_use]
    pub const fn is_older(&self) -> bool {
        matches!(self.reason, Reason::Older { .. })
    }
}
