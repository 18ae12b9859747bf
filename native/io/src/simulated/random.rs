//! Chance from a seed.

/// A small generator of numbers that are random enough to break things with.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The sequence of `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub const fn next(&mut self) -> u64 {
        // A Weyl sequence through a finaliser: every state is used once before any comes again.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// A number below `bound`, or 0 when that is 0.
    pub const fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.next() % bound }
    }

    /// Draws whether something happens that happens this often. Draws only where that is possible, so that a run without
    /// faults is the same whatever kinds there are.
    pub const fn strikes(&mut self, thousandths: u32) -> bool {
        thousandths > 0 && self.below(1000) < thousandths as u64
    }

    /// True as often as not.
    pub const fn flip(&mut self) -> bool {
        self.next() & 1 == 1
    }
}

/// Spreads every bit of `value` over all bits.
pub(super) const fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
