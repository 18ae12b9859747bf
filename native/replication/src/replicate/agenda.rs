//! Pending work of a shard's groups in this turn, and their timers.

use std::collections::{BTreeSet, VecDeque};

use ng_vsr::{Effects, Event, Ticks};

use crate::group::{Body, Ticket};
use crate::replicate::timer_wheel::TimerWheel;

/// An event for the replica of a group.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) group: u64,
    pub(crate) event: Event,
    /// Body of the operation in the event.
    pub(crate) body: Option<Body>,
    /// Ticket of the request.
    pub(crate) ticket: Option<Ticket>,
}

impl Work {
    pub(crate) const fn new(group: u64, event: Event) -> Self {
        Self { group, event, body: None, ticket: None }
    }
}

/// Queued events, groups that may continue to execute, and timers.
#[derive(Debug)]
pub(crate) struct Agenda {
    work: VecDeque<Work>,
    executable: BTreeSet<u64>,
    wheel: TimerWheel,
    due: VecDeque<(Ticks, u64)>,
    /// Empty between steps; kept to reuse its memory.
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

    /// Lends the buffer for the effects of a step.
    pub(crate) fn take_effects(&mut self) -> Effects {
        std::mem::take(&mut self.effects)
    }

    /// Takes the buffer back.
    pub(crate) fn keep_effects(&mut self, effects: Effects) {
        self.effects = effects;
    }

    /// The group may continue to execute.
    pub(crate) fn execute(&mut self, group: u64) {
        self.executable.insert(group);
    }

    pub(crate) fn next_executable(&mut self) -> Option<u64> {
        self.executable.pop_first()
    }

    /// Wakes a group at a time.
    pub(crate) fn wake(&mut self, group: u64, at: Ticks) {
        self.wheel.wake(group, at);
    }

    /// Next group due at or before `now`, with its due time.
    pub(crate) fn next_due(&mut self, now: Ticks) -> Option<(Ticks, u64)> {
        if self.due.is_empty() {
            self.wheel.due(now, &mut self.due);
        }
        self.due.pop_front()
    }

    /// Next time at which a group may be due.
    pub(crate) fn deadline(&self) -> Option<Ticks> {
        self.wheel.next()
    }
}
