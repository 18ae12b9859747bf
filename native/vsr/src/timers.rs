//! What a replica waits for, and what it does when it waited for nothing.

use crate::effect::Effects;
use crate::replica::{Replica, Status};
use crate::setup::Ticks;

/// What a replica waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// The view it voted for, or rejoins, was not heard of for too long.
    Suspicion,
    /// Something was said and not answered.
    Resend,
}

impl Timer {
    const ALL: [Self; 2] = [Self::Suspicion, Self::Resend];
}

/// The deadline of each timer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timers {
    deadlines: [Option<Ticks>; 2],
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

impl Replica {
    pub(crate) fn on_timer(&mut self, timer: Timer, now: Ticks, effects: &mut Effects) {
        match timer {
            Timer::Suspicion => self.suspect(self.view.next(), effects),
            Timer::Resend => self.say_again(now, effects),
        }
    }

    fn say_again(&mut self, now: Ticks, effects: &mut Effects) {
        if let Some(wish) = self.suspicion.wish() {
            self.wish_for(wish, effects);
        }
        match self.status {
            Status::Normal if self.is_primary() => self.resend_prepares(self.commit_max, now, effects),
            Status::Normal | Status::Diverged => {}
            Status::ViewChange => self.cast_vote(effects),
            Status::Rejoining => self.ask_for_view(self.setup.primary(self.view), effects),
            Status::Blank => self.ask_around(effects),
        }
        self.repair(effects);
    }

    /// Arms what is waited for, and only that: an idle group in a view that has begun waits for nothing.
    pub(crate) fn arm(&mut self, now: Ticks) {
        let timing = self.setup.timing;
        // What a replica of its own says to itself waits for its disk and is never lost: said again, and in ever later views,
        // it would only make that disk busier, and a start of 100,000 groups would never end.
        let others = self.setup.replicas > 1;
        let waits = others && matches!(self.status, Status::ViewChange | Status::Rejoining);
        self.keep(Timer::Suspicion, waits, now + timing.suspicion);
        let unanswered = self.status != Status::Normal
            || self.suspicion.wish().is_some()
            || (self.is_primary() && self.window.head() > self.commit_max);
        self.keep(Timer::Resend, (others && unanswered) || self.lacks_something(), now + timing.resend);
    }

    const fn keep(&mut self, timer: Timer, wanted: bool, deadline: Ticks) {
        if !wanted {
            self.timers.clear(timer);
        } else if !self.timers.armed(timer) {
            self.timers.set(timer, deadline);
        }
    }
}
