//! What is to be done with the groups of a shard in this turn, and when to look at which of them again.

use std::collections::{BTreeSet, VecDeque};

use ng_vsr::{Effects, Event, Ticks};

use crate::group::{Body, Ticket};
use crate::replicate::timer_wheel::TimerWheel;

/// An event for the replica of a group.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) group: u64,
    pub(crate) event: Event,
    /// The body of the operation that it brings.
    pub(crate) body: Option<Body>,
    /// Who asked for it.
    pub(crate) ticket: Option<Ticket>,
}

impl Work {
    pub(crate) const fn new(group: u64, event: Event) -> Self {
        Self { group, event, body: None, ticket: None }
    }
}

/// Events that wait, groups whose execution may go on, and timers.
#[derive(Debug)]
pub(crate) struct Agenda {
    work: VecDeque<Work>,
    executable: BTreeSet<u64>,
    wheel: TimerWheel,
    due: VecDeque<(Ticks, u64)>,
    /// Empty between steps, kept for its memory.
    effects: Effects,
}

impl Agenda {
    pub(crate) fn new(now: Ticks) -> Self {
        let wheel = TimerWheel::new(now);
        Self {
            work: VecDeque::new(),
            executable: BTreeSet::new(),
            wheel,
            due: VecDeque::new(),
            effects: Effects::default(),
        }
    }

    /// Adds an event without a body.
    pub(crate) fn event(&mut self, group: u64, event: Event) {
        self.add(Work::new(group, event));
    }

    pub(crate) fn add(&mut self, work: Work) {
        self.work.push_back(work);
    }

    pub(crate) fn next_work(&mut self) -> Option<Work> {
        self.work.pop_front()
    }

    pub(crate) fn has_work(&self) -> bool {
        !self.work.is_empty()
    }

    /// Room for the effects of a step.
    pub(crate) fn take_effects(&mut self) -> Effects {
        std::mem::take(&mut self.effects)
    }

    /// Takes it back once they are performed.
    pub(crate) fn keep_effects(&mut self, effects: Effects) {
        self.effects = effects;
    }

    /// The execution of a group may go on.
    pub(crate) fn execute(&mut self, group: u64) {
        self.executable.insert(group);
    }

    pub(crate) fn next_executable(&mut self) -> Option<u64> {
        self.executable.pop_first()
    }

    /// Wakes a group at a moment.
    pub(crate) fn wake(&mut self, group: u64, at: Ticks) {
        self.wheel.wake(group, at);
    }

    /// The next group that is to be woken up to and with `now`, and when that was.
    pub(crate) fn next_due(&mut self, now: Ticks) -> Option<(Ticks, u64)> {
        if self.due.is_empty() {
            self.wheel.due(now, &mut self.due);
        }
        self.due.pop_front()
    }

    /// The next moment at which a group may be due.
    pub(crate) fn deadline(&self) -> Option<Ticks> {
        self.wheel.next()
    }
}
