//! Why bytes were not taken for rows, and rows not into a catalog.

use ng_wire::primitive::Malformed;
use thiserror::Error;

use crate::key::RowKey;

/// Why bytes are not the deltas of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RowRefusal {
    /// A delta, or the value of a row, does not have its layout.
    #[error("malformed: {0}")]
    Malformed(#[from] Malformed),
    /// No row has such a key.
    #[error("no row has such a key")]
    Key,
}

/// Why a catalog did not take deltas. It is as it was before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FoldRefusal {
    /// They are no deltas of rows.
    #[error(transparent)]
    Row(#[from] RowRefusal),
    /// A row would be without the row it belongs to.
    #[error("{0:?} belongs to a row that is not there")]
    Orphan(RowKey),
    /// Two streams, two topics of a stream, or two users would have one name.
    #[error("{0:?} would have the name of another")]
    NameTaken(RowKey),
}

/// Why bytes are not the snapshot of a catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SnapshotRefusal {
    /// Its rows are not those of a catalog.
    #[error(transparent)]
    Fold(#[from] FoldRefusal),
    /// Its rows do not ascend by their keys, or it is more than rows.
    #[error("the rows do not ascend")]
    Order,
    /// Its rows are not those it was made of.
    #[error("the digest of its rows is {found:016x}, not {stated:016x}")]
    Digest {
        /// What it says.
        stated: u64,
        /// What its rows make.
        found: u64,
    },
}

impl From<Malformed> for FoldRefusal {
    fn from(malformed: Malformed) -> Self {
        Self::Row(malformed.into())
    }
}

impl From<Malformed> for SnapshotRefusal {
    fn from(malformed: Malformed) -> Self {
        Self::Fold(malformed.into())
    }
}
