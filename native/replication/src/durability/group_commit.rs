//! Group commit: decides when an idle journal delays its next block to gather more records.
//!
//! Clients that were answered together send their next requests together, one after another. If the first of
//! them took the journal at once, the others would wait for its sync and then need another one: with a few
//! clients every second sync would be for one record. So an idle journal expects as many records as were in
//! progress when its last sync ended, and waits for them for at most the duration of a sync. No record waits
//! longer than after a sync that began a moment earlier, and a client that stays away is expected only once.

use std::time::Duration;

use ng_io::Instant;

/// Maximum records to wait for, because with more of them the share of each in a sync is small.
const COMPANY_MAX: usize = 8;

/// Shorter syncs are cheaper than a timer.
const PATIENCE_MIN: Duration = Duration::from_micros(40);

/// Maximum wait, because a disk this slow has other problems than the number of its syncs.
const PATIENCE_MAX: Duration = Duration::from_millis(1);

/// Number of expected records, and the end of the wait.
#[derive(Debug, Default)]
pub(crate) struct GroupCommit {
    expected: usize,
    until: Option<Instant>,
}

impl GroupCommit {
    /// A sync has ended. `under_way` counts the records in progress, including those that it made durable.
    pub(crate) fn durable(&mut self, under_way: usize) {
        self.expected = under_way.min(COMPANY_MAX);
    }

    /// Returns true if an idle journal with `waiting` records waits longer at `now`. `patience` is the
    /// duration of its syncs.
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

    /// End of the wait.
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
    fn a_block_waits_for_as_many_records_as_were_in_progress() {
        let mut group_commit = GroupCommit::default();
        assert!(!group_commit.holds(1, SYNC, NOW), "no record is expected yet");
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
    fn a_client_that_stays_away_is_waited_for_once() {
        let mut group_commit = GroupCommit::default();
        group_commit.durable(4);
        assert!(group_commit.holds(1, SYNC, NOW));
        assert!(!group_commit.holds(1, SYNC, NOW + SYNC));
        assert!(!group_commit.holds(1, SYNC, NOW + 2 * SYNC));
        group_commit.durable(1);
        assert!(!group_commit.holds(1, SYNC, NOW + 3 * SYNC));
    }

    #[test]
    fn neither_a_quick_disk_nor_many_records_cause_a_long_wait() {
        let mut group_commit = GroupCommit::default();
        group_commit.durable(1_000);
        assert!(!group_commit.holds(1, PATIENCE_MIN / 2, NOW));
        assert!(!group_commit.holds(COMPANY_MAX, SYNC, NOW));
        assert!(group_commit.holds(1, Duration::from_secs(3), NOW));
        assert_eq!(group_commit.deadline(), Some(NOW + PATIENCE_MAX));
    }
}
