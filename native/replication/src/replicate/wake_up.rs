//! When a group is to be looked at again.

use ng_vsr::Ticks;

/// The timers of one group.
#[derive(Debug, Default)]
pub(crate) struct WakeUp {
    /// When the timer wheel wakes it. An entry of the wheel for another moment is out of date.
    armed: Option<Ticks>,
    /// When to look whether the primary that it follows is silent.
    watch: Option<Ticks>,
}

impl WakeUp {
    pub(crate) const fn set_watch(&mut self, at: Option<Ticks>) {
        self.watch = at;
    }

    /// The wheel has woken it for the moment `at`. Returns nothing if that is out of date, else whether to
    /// look after its primary.
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

    /// The moment for which the wheel is to wake it, if it would come too late: its replica is due at
    /// `replica`.
    pub(crate) fn arm(&mut self, replica: Option<Ticks>, now: Ticks) -> Option<Ticks> {
        let deadline = replica.into_iter().chain(self.watch).min()?;
        if self.armed.is_some_and(|armed| armed <= deadline) {
            return None;
        }
        self.armed = Some(deadline.max(now));
        self.armed
    }
}
