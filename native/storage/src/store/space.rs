//! Which groups of a store wait for space, or for a removal that failed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// After so many failures in a row a removal is tried again at the same interval: 64 times the first one.
const DOUBLINGS_MAX: u32 = 6;

/// Groups whose plans could not be carried out, and are tried again.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Until their batches are on the disk, so that an attempt in between does not count as success.
    space: BTreeSet<u64>,
    /// With the number of failures in a row.
    removals: BTreeMap<u64, u32>,
}

impl Waits {
    /// Groups whose segments wait for space.
    pub(super) fn for_space(&self) -> usize {
        self.space.len()
    }

    /// Groups of which files cannot be removed.
    pub(super) fn for_removals(&self) -> usize {
        self.removals.len()
    }

    /// A plan of the group found no space.
    pub(super) fn lacks_space(&mut self, group: u64) {
        self.space.insert(group);
    }

    /// A removal of the group failed: how many times the retry delay passes before the next attempt.
    pub(super) fn removal_failed(&mut self, group: u64, delay: Duration) -> Duration {
        let failures = self.removals.entry(group).or_default();
        let doublings = (*failures).min(DOUBLINGS_MAX);
        *failures = failures.saturating_add(1);
        delay * 2_u32.pow(doublings)
    }

    /// What the group waited for has been done, or the group is gone.
    pub(super) fn forget(&mut self, group: u64) {
        self.space.remove(&group);
        self.removals.remove(&group);
    }

    /// A removal of the group succeeded.
    pub(super) fn removed(&mut self, group: u64) {
        self.removals.remove(&group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removal_that_fails_is_tried_less_and_less_often() {
        let mut waits = Waits::default();
        let second = Duration::from_secs(1);
        let delays: Vec<u64> = (0..9).map(|_| waits.removal_failed(7, second).as_secs()).collect();
        assert_eq!(delays, [1, 2, 4, 8, 16, 32, 64, 64, 64]);
        assert_eq!(waits.for_removals(), 1);
        waits.removed(7);
        assert_eq!((waits.for_removals(), waits.removal_failed(7, second)), (0, second));
    }
}
