use crate::setup::Ticks;

/// What a replica waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// A primary shows that it lives.
    Heartbeat,
    /// The primary, or the new view, was not heard of for too long.
    Suspicion,
    /// Something was said and not answered.
    Resend,
}

impl Timer {
    const ALL: [Self; 3] = [Self::Heartbeat, Self::Suspicion, Self::Resend];
}

/// The deadline of each timer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timers {
    deadlines: [Option<Ticks>; 3],
}

impl Timers {
    pub(crate) const fn set(&mut self, timer: Timer, deadline: Ticks) {
        self.deadlines[timer as usize] = Some(deadline);
    }

    pub(crate) const fn clear(&mut self, timer: Timer) {
        self.deadlines[timer as usize] = None;
    }

    pub(crate) const fn armed(&self, timer: Timer) -> bool {
        self.deadlines[timer as usize].is_some()
    }

    /// Disarms and names a timer whose deadline has come.
    pub(crate) fn due(&mut self, now: Ticks) -> Option<Timer> {
        let timer = Timer::ALL
            .into_iter()
            .find(|timer| self.deadlines[*timer as usize].is_some_and(|deadline| deadline <= now))?;
        self.clear(timer);
        Some(timer)
    }

    /// The next deadline.
    pub(crate) fn next(&self) -> Option<Ticks> {
        self.deadlines.iter().flatten().min().copied()
    }
}
