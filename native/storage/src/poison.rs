//! The state after a failed write or sync.

/// Set once and never cleared. After a failed sync the kernel may have dropped the pages, so only a new start can find out
/// what the disk holds: until then nothing more is written, and nothing more is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poison(bool);

impl Poison {
    /// Nothing has failed.
    #[must_use]
    pub const fn none() -> Self {
        Self(false)
    }

    /// Sets it. Returns whether it was not set before, because only the first fault is reported: others follow from it.
    pub const fn set(&mut self) -> bool {
        let is_first = !self.0;
        self.0 = true;
        is_first
    }

    /// Whether a write or a sync has failed.
    #[must_use]
    pub const fn is_set(self) -> bool {
        self.0
    }
}
