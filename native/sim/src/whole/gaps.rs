//! Offsets without a message: those that rewritten segments left out.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The gaps of a partition.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaps {
    /// What a segment leaves out that was offered, by the token of the order, and may have been adopted.
    offered: BTreeMap<u64, BTreeSet<u64>>,
    /// Offsets that certainly have no message any more, and since when.
    gone: BTreeMap<u64, u64>,
}

impl Gaps {
    /// A segment without these offsets is offered.
    pub(super) fn offer(&mut self, token: u64, offsets: BTreeSet<u64>) {
        self.offered.insert(token, offsets);
    }

    /// It was adopted.
    pub(super) fn adopted(&mut self, token: u64, now: u64) {
        for offset in self.offered.get(&token).into_iter().flatten() {
            self.gone.entry(*offset).or_insert(now);
        }
    }

    /// It was not adopted.
    pub(super) fn refused(&mut self, token: u64) {
        self.offered.remove(&token);
    }

    /// Whether each of these offsets may have no message.
    pub(super) fn may_cover(&self, mut offsets: Range<u64>) -> bool {
        offsets.all(|offset| self.offered.values().any(|offered| offered.contains(&offset)))
    }

    /// How many of these offsets may have no message.
    pub(super) fn count(&self, offsets: Range<u64>) -> u64 {
        offsets.filter(|offset| self.may_cover(*offset..*offset + 1)).count() as u64
    }

    /// Whether an offset had no message any more at a moment.
    pub(super) fn had(&self, offset: u64, then: u64) -> bool {
        self.gone.get(&offset).is_some_and(|since| *since < then)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_offered_may_be_gone_and_what_is_adopted_is() {
        let mut gaps = Gaps::default();
        gaps.offer(1, BTreeSet::from([4, 5]));
        gaps.offer(2, BTreeSet::from([6]));
        assert_eq!(gaps.count(3..9), 3);
        assert!(gaps.may_cover(4..7) && !gaps.may_cover(3..5) && gaps.may_cover(9..9));
        assert!(!gaps.had(4, 10));
        gaps.refused(2);
        assert!(!gaps.may_cover(4..7));
        gaps.adopted(1, 10);
        assert!(gaps.had(4, 11) && !gaps.had(4, 10) && !gaps.had(6, 11));
    }
}
