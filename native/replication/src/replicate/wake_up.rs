//! The timers of one group.

use ng_vsr::Ticks;

/// The timers of one group.
#[derive(Debug, Default)]
pub(crate) struct WakeUp {
    /// Time of the valid entry in the timer wheel. Other entries are obsolete.
    armed: Option<Ticks>,
    /// Time of the next check whether the primary is silent.
    watch: Option<Ticks>,
}

impl WakeUp {
    pub(crate) const fn set_watch(&mut self, at: Option<Ticks>) {
        self.watch = at;
    }

    /// Handles an entry of the wheel for `at`. Returns `None` if the entry is obsolete; otherwise, whether to
    /// check the primary.
    pub(crate) fn wake(&mut self, at: Ticks, now: Ticks) -> Option<bool> {
        if self.armed != Some(at) {
            return None;
        }
        self.armed = None;
        let looks = self.watch.is_some_and(|watch| watch <= now);
        if looks {
            self.watch = None;
        }
        Some(looks)
    }

    /// Returns the time of a new entry in the wheel, if the existing one would be too late. `replica` is the
    /// deadline of the replica.
    pub(crate) fn arm(&mut self, replica: Option<Ticks>, now: Ticks) -> Option<Ticks> {
        let deadline = replica.into_iter().chain(self.watch).min()?;
        if self.armed.is_some_and(|armed| armed <= deadline) {
            return None;
        }
        self.armed = Some(deadline.max(now));
        self.armed
    }
}
