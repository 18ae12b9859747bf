use super::prepare::PrepareHeader;
use crate::primitive::Malformed;

/// The most entries a suffix may have.
pub const SUFFIX_MAX: usize = 4096;

/// What a replica knows of one place in its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Provably never written here: a "no".
    Absent,
    /// The header came with a view, the body never did, and nothing was lost: a "no" to acknowledgement.
    HeaderOnly,
    /// It was here and cannot be read, or may have been here: never a "no".
    Damaged,
    /// Torn above what was proven synced: a "no" only once every replica has reported.
    Unproven,
    /// Header and body are here.
    Present,
}

impl Standing {
    /// The number on the wire.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Absent => 0,
            Self::HeaderOnly => 1,
            Self::Damaged => 2,
            Self::Unproven => 3,
            Self::Present => 4,
        }
    }

    /// The standing of a number.
    pub const fn from_code(code: u8) -> Result<Self, Malformed> {
        match code {
            0 => Ok(Self::Absent),
            1 => Ok(Self::HeaderOnly),
            2 => Ok(Self::Damaged),
            3 => Ok(Self::Unproven),
            4 => Ok(Self::Present),
            other => Err(Malformed::Value(other as u32)),
        }
    }
}

/// What a replica knows of the places behind the last one it lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Nothing was ever written there.
    Certain,
    /// Something torn may have been there; see [`Standing::Unproven`].
    Unproven,
    /// Something may have been there and be lost; see [`Standing::Damaged`].
    Damaged,
}

impl Tail {
    /// The number on the wire.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Certain => 0,
            Self::Unproven => 1,
            Self::Damaged => 2,
        }
    }

    /// The tail of a number.
    pub const fn from_code(code: u8) -> Result<Self, Malformed> {
        match code {
            0 => Ok(Self::Certain),
            1 => Ok(Self::Unproven),
            2 => Ok(Self::Damaged),
            other => Err(Malformed::Value(other as u32)),
        }
    }

    /// What it says about one place behind the end.
    #[must_use]
    pub const fn standing(self) -> Standing {
        match self {
            Self::Certain => Standing::Absent,
            Self::Unproven => Standing::Unproven,
            Self::Damaged => Standing::Damaged,
        }
    }
}

/// One place of a log's suffix as a vote reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuffixEntry {
    /// The header, where it is known.
    pub header: Option<PrepareHeader>,
    /// What is known of the place.
    pub standing: Standing,
}
