//! How histograms measure: in whole small units, between fixed bounds.

/// Where the buckets of a histogram end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// How many of the small units that are counted make one that is shown.
    pub per_unit: u64,
    /// The largest value of each bucket; one more bucket is for what is larger than all.
    pub bounds: &'static [u64],
}

impl Scale {
    /// How many cells a histogram has: one per bucket, and the sum.
    #[must_use]
    pub const fn cells(&self) -> usize {
        self.bounds.len() + 2
    }

    /// In which bucket a value is counted.
    #[must_use]
    pub fn bucket(&self, value: u64) -> usize {
        self.bounds.partition_point(|bound| *bound < value)
    }
}

/// A histogram that whoever measures keeps for itself, until it is copied to the cells of a metric.
#[derive(Clone, Debug)]
pub struct Tally {
    scale: &'static Scale,
    cells: Vec<u64>,
}

impl Tally {
    /// Nothing measured yet.
    #[must_use]
    pub fn new(scale: &'static Scale) -> Self {
        Self { scale, cells: vec![0; scale.cells()] }
    }

    /// Counts a value.
    pub fn count(&mut self, value: u64) {
        self.cells[self.scale.bucket(value)] += 1;
        let sum = self.scale.bounds.len() + 1;
        self.cells[sum] = self.cells[sum].wrapping_add(value);
    }

    /// How often each bucket was hit, and the sum.
    #[must_use]
    pub fn cells(&self) -> &[u64] {
        &self.cells
    }
}

const MILLI: u64 = 1_000;
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Microseconds, shown as seconds. Closest where a request with its sync is at home.
pub const SECONDS: Scale = Scale {
    per_unit: 1_000_000,
    bounds: &[
        50,
        100,
        200,
        300,
        500,
        MILLI,
        2 * MILLI,
        3 * MILLI,
        5 * MILLI,
        10 * MILLI,
        20 * MILLI,
        50 * MILLI,
        100 * MILLI,
        200 * MILLI,
        500 * MILLI,
        1_000 * MILLI,
        5_000 * MILLI,
    ],
};

/// Bytes, from the smallest block to the largest frame.
pub const BYTES: Scale = Scale {
    per_unit: 1,
    bounds: &[4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB],
};
