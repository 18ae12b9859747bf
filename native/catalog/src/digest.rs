//! One number for all rows. Each row is hashed with its key and the hashes are added up, so that a change costs
//! what it changes and the order of changes leaves no trace.

use ng_wire::checksum::xxh3_64;

use crate::deltas::put_row;
use crate::rows::RowRef;

/// The sum of the hashes of rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Digest {
    sum: u64,
    /// Where a row is written to be hashed, kept to be used again.
    row: Vec<u8>,
}

impl Digest {
    pub(crate) const fn sum(&self) -> u64 {
        self.sum
    }

    pub(crate) fn add(&mut self, row: RowRef<'_>) {
        self.sum = self.sum.wrapping_add(self.hash(row));
    }

    pub(crate) fn subtract(&mut self, row: RowRef<'_>) {
        self.sum = self.sum.wrapping_sub(self.hash(row));
    }

    fn hash(&mut self, row: RowRef<'_>) -> u64 {
        self.row.clear();
        put_row(&mut self.row, row);
        xxh3_64(&self.row)
    }
}
