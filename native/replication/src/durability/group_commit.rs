//! When a block of the journal waits for company before it is written.
//!
//! Clients that were answered together ask again together, one after the other. If the first of them took the
//! journal at once, the others would wait for its sync and then need one of their own: with a few clients
//! every second sync would be for one record. So an idle journal expects as many records as were under way
//! when its last sync ended, and gives them as long as a sync takes: nobody waits longer than behind a sync
//! that began a moment before, and whoever stays away is expected once.

use std::time::Duration;

use ng_io::Instant;

/// Among so many records the cost of a sync is small: no more are waited for.
const COMPANY_MAX: usize = 8;

/// A sync that takes less is cheaper than a timer.
const PATIENCE_MIN: Duration = Duration::from_micros(40);

/// A disk this slow has other troubles than the number of its syncs.
const PATIENCE_MAX: Duration = Duration::from_millis(1);

/// How many records are expected, and how long they are waited for.
#[derive(Debug, Default)]
pub(crate) struct GroupCommit {
    expected: usize,
    until: Option<Instant>,
}

impl GroupCommit {
    /// A sync has ended while so many records were under way, those included that it made durable.
    pub(crate) fn durable(&mut self, under_way: usize) {
        self.expected = under_way.min(COMPANY_MAX);
    }

    /// Whether an idle journal with so many `waiting` records goes on waiting at `now`; its syncs take as
    /// long as `patience`.
    pub(crate) fn holds(&mut self, waiting: usize, patience: Duration, now: Instant) -> bool {
        if !(1..self.expected).contains(&waiting) || patience < PATIENCE_MIN {
            self.until = None;
            return false;
        }
        let until = *self.until.get_or_insert(now + patience.min(PATIENCE_MAX));
        if now < until {
            return true;
        }
        *self = Self::default();
        false
    }

    /// When what waits stops waiting.
    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYNC: Duration = Duration::from_micros(100);
    const NOW: Instant = Instant::from_nanos(1_000_000);

    #[test]
    fn a_block_waits_for_as_many_as_were_under_way() {
        let mut group_commit = GroupCommit::default();
        assert!(!group_commit.holds(1, SYNC, NOW), "nobody is expected yet");
        group_commit.durable(3);
        assert!(!group_commit.holds(0, SYNC, NOW), "there is no block");
        assert!(group_commit.holds(1, SYNC, NOW));
        assert_eq!(group_commit.deadline(), Some(NOW + SYNC));
        assert!(group_commit.holds(2, SYNC, NOW + SYNC / 2));
        assert_eq!(group_commit.deadline(), Some(NOW + SYNC), "from the first on");
        assert!(!group_commit.holds(3, SYNC, NOW + SYNC / 2));
        assert_eq!(group_commit.deadline(), None);
    }

    #[test]
    fn who_stays_away_is_waited_for_once() {
        let mut group_commit = GroupCommit::default();
        group_commit.durable(4);
        assert!(group_commit.holds(1, SYNC, NOW));
        assert!(!group_commit.holds(1, SYNC, NOW + SYNC));
        assert!(!group_commit.holds(1, SYNC, NOW + 2 * SYNC));
        group_commit.durable(1);
        assert!(!group_commit.holds(1, SYNC, NOW + 3 * SYNC));
    }

    #[test]
    fn neither_a_quick_disk_nor_a_crowd_is_waited_for_long() {
        let mut group_commit = GroupCommit::default();
        group_commit.durable(1_000);
        assert!(!group_commit.holds(1, PATIENCE_MIN / 2, NOW));
        assert!(!group_commit.holds(COMPANY_MAX, SYNC, NOW));
        assert!(group_commit.holds(1, Duration::from_secs(3), NOW));
        assert_eq!(group_commit.deadline(), Some(NOW + PATIENCE_MAX));
    }
}
