//! A reply on its way to a peer, and how long the peer may take for it.

use std::time::Duration;

use ng_io::Instant;

/// A peer that takes nothing is looked at this often before its time is up. So it is closed after its
/// patience, and a quarter of it later at the latest.
const LOOKS: u32 = 4;

/// One send operation in flight. A look costs a system call, so there is none before a reply has waited for a
/// while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sending {
    /// How long the reply is.
    pub(crate) bytes: usize,
    /// The peer must have all of it by then, however steadily it reads.
    overdue_at: Instant,
    /// How long the peer may take nothing.
    patience: Duration,
    /// When the peer was last known to take something.
    moved_at: Instant,
    /// What the peer had acknowledged at the last look.
    acknowledged: Option<u64>,
    look_at: Instant,
}

/// What a look at a reply found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// It may go on.
    Moving,
    /// The peer takes nothing, or too little.
    Stalled,
}

impl Sending {
    /// A reply of so many bytes that is submitted at `now` and may take `allowance` in all.
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

    /// When it is looked at next.
    pub(crate) fn deadline(&self) -> Instant {
        self.look_at.min(self.overdue_at)
    }

    /// Compares what the peer has acknowledged with what it had before. The first look of a reply has nothing
    /// to compare with, and counts as progress.
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

    /// Gives the peer less patience from now on, because the server stops or others need the memory. To be
    /// asked for the same again changes nothing, so that a peer cannot gain time by it.
    pub(crate) fn hurry(&mut self, now: Instant, acknowledged: Option<u64>, patience: Duration) {
        if self.patience <= patience {
            return;
        }
        self.patience = patience;
        self.acknowledged = acknowledged;
        self.moved_at = now;
        self.look_at = self.look_at.min(now + self.patience / LOOKS);
    }

    /// Ends it at `at` whatever the peer does.
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

    /// Looks whenever it is due; returns when it stalled.
    fn stalls_at(mut sending: Sending, acknowledged: impl Fn(Instant) -> Option<u64>) -> Instant {
        loop {
            let now = sending.deadline();
            if sending.look(now, acknowledged(now)) == Look::Stalled {
                return now;
            }
        }
    }

    #[test]
    fn who_takes_nothing_has_the_patience_and_a_quarter_more() {
        let stalled = stalls_at(Sending::new(at(0), 1, HOUR, PATIENCE), |_| Some(7));
        assert!((at(30)..=at(38)).contains(&stalled), "{stalled:?}");
        assert_eq!(
            stalls_at(Sending::new(at(0), 1, HOUR, PATIENCE), |_| None),
            at(30),
            "nobody counts for it"
        );
    }

    #[test]
    fn who_takes_something_has_until_it_is_overdue() {
        let steady = |now: Instant| Some(now.as_nanos());
        assert_eq!(stalls_at(Sending::new(at(0), 1, HOUR, PATIENCE), steady), at(3_600));
        let until_a_minute = |now: Instant| Some(now.min(at(60)).as_nanos());
        let stalled = stalls_at(Sending::new(at(0), 1, HOUR, PATIENCE), until_a_minute);
        assert!((at(90)..=at(105)).contains(&stalled), "{stalled:?}");
    }

    #[test]
    fn a_stop_has_less_patience_with_what_is_on_its_way() {
        let mut sending = Sending::new(at(0), 1, HOUR, PATIENCE);
        sending.hurry(at(5), Some(7), Duration::from_secs(1));
        assert_eq!(stalls_at(sending, |_| Some(7)), at(6));
        sending.hurry(at(6), Some(7), Duration::from_secs(1));
        assert_eq!(stalls_at(sending, |_| Some(7)), at(6), "it is not given more time");
        sending.end_by(at(5));
        assert_eq!(sending.deadline(), at(5));
        assert_eq!(sending.look(at(5), Some(8)), Look::Stalled);
    }
}
