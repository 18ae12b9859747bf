//! A reply on its way to a peer, and the time that the peer may take for it.

use std::time::Duration;

use ng_io::Instant;

/// Number of checks within the patience. A peer that takes nothing is closed after its patience, and at most
/// a quarter of it later.
const LOOKS: u32 = 4;

/// One send operation in progress. A check costs a system call, so the first one follows only after the reply
/// has waited for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sending {
    /// Length of the reply.
    pub(crate) bytes: usize,
    /// Time at which the peer must have all of it, even if it reads steadily.
    overdue_at: Instant,
    /// Time in which the peer may take nothing.
    patience: Duration,
    /// Time of the last known progress.
    moved_at: Instant,
    /// Bytes that the peer had acknowledged at the last check.
    acknowledged: Option<u64>,
    look_at: Instant,
}

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// The peer makes progress.
    Moving,
    /// The peer takes nothing, or too little.
    Stalled,
}

impl Sending {
    /// A reply of `bytes` bytes, submitted at `now`, that may take `allowance` in total.
    pub(crate) fn new(now: Instant, bytes: usize, allowance: Duration, patience: Duration) -> Self {
        Self {
            bytes,
            overdue_at: now + allowance,
            patience,
            moved_at: now,
            acknowledged: None,
            look_at: now + patience / LOOKS,
        }
    }

    /// Time of the next check.
    pub(crate) fn deadline(&self) -> Instant {
        self.look_at.min(self.overdue_at)
    }

    /// Compares the acknowledged bytes with those of the last check. The first check has nothing to compare
    /// with and counts as progress.
    pub(crate) fn look(&mut self, now: Instant, acknowledged: Option<u64>) -> Look {
        if acknowledged.is_some() && acknowledged != self.acknowledged {
            self.acknowledged = acknowledged;
            self.moved_at = now;
        }
        let stalled_at = self.moved_at + self.patience;
        if now >= stalled_at || now >= self.overdue_at {
            return Look::Stalled;
        }
        self.look_at = stalled_at.min(now + self.patience / LOOKS);
        Look::Moving
    }

    /// Reduces the patience, because the server stops or others need the memory. A repeated call changes
    /// nothing, so that a peer cannot gain time by it.
    pub(crate) fn hurry(&mut self, now: Instant, acknowledged: Option<u64>, patience: Duration) {
        if self.patience <= patience {
            return;
        }
        self.patience = patience;
        self.acknowledged = acknowledged;
        self.moved_at = now;
        self.look_at = self.look_at.min(now + self.patience / LOOKS);
    }

    /// Ends the reply at `at`, even if the peer makes progress.
    pub(crate) fn end_by(&mut self, at: Instant) {
        self.overdue_at = self.overdue_at.min(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);
    const PATIENCE: Duration = Duration::from_secs(30);

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(0) + Duration::from_secs(seconds)
    }

    /// Checks the reply whenever it is due; returns the time at which it stalled.
    fn stalls_at(mut sending: Sending, acknowledged: impl Fn(Instant) -> Option<u64>) -> Instant {
        loop {
            let now = sending.deadline();
            if sending.look(now, acknowledged(now)) == Look::Stalled {
                return now;
            }
        }
    }

    #[test]
    fn a_peer_that_takes_nothing_has_the_patience_and_a_quarter_more() {
        let stalled = stalls_at(Sending::new(at(0), 1, HOUR, PATIENCE), |_| Some(7));
        assert!((at(30)..=at(38)).contains(&stalled), "{stalled:?}");
        assert_eq!(
            stalls_at(Sending::new(at(0), 1, HOUR, PATIENCE), |_| None),
            at(30),
            "the driver does not count acknowledged bytes"
        );
    }

    #[test]
    fn a_peer_that_takes_something_has_until_it_is_overdue() {
        let steady = |now: Instant| Some(now.as_nanos());
        assert_eq!(stalls_at(Sending::new(at(0), 1, HOUR, PATIENCE), steady), at(3_600));
        let until_a_minute = |now: Instant| Some(now.min(at(60)).as_nanos());
        let stalled = stalls_at(Sending::new(at(0), 1, HOUR, PATIENCE), until_a_minute);
        assert!((at(90)..=at(105)).contains(&stalled), "{stalled:?}");
    }

    #[test]
    fn a_stop_reduces_the_patience_with_replies_in_progress() {
        let mut sending = Sending::new(at(0), 1, HOUR, PATIENCE);
        sending.hurry(at(5), Some(7), Duration::from_secs(1));
        assert_eq!(stalls_at(sending, |_| Some(7)), at(6));
        sending.hurry(at(6), Some(7), Duration::from_secs(1));
        assert_eq!(stalls_at(sending, |_| Some(7)), at(6), "it gets no more time");
        sending.end_by(at(5));
        assert_eq!(sending.deadline(), at(5));
        assert_eq!(sending.look(at(5), Some(8)), Look::Stalled);
    }
}
