//! The fetches of one group: those that wait, and how many read its files now.

use std::collections::VecDeque;

use super::fetch::Fetch;

/// Fetches of one group.
#[derive(Debug, Default)]
pub(super) struct GroupReads {
    /// Fetches that have not begun.
    waiting: VecDeque<Fetch>,
    /// Fetches that wait for the index of the unsealed segment.
    unindexed: VecDeque<Fetch>,
    under_way: u32,
    /// Whether the group waits for a lane of the readers.
    is_queued: bool,
}

impl GroupReads {
    pub(super) fn push(&mut self, fetch: Fetch) {
        self.waiting.push_back(fetch);
    }

    /// Adds a fetch that needs the index of the unsealed segment, which is made first.
    pub(super) fn push_unindexed(&mut self, fetch: Fetch) {
        self.unindexed.push_back(fetch);
    }

    pub(super) fn waits_for_index(&self) -> bool {
        !self.unindexed.is_empty()
    }

    /// The index is there, or the unsealed segment is not.
    pub(super) fn wake_unindexed(&mut self) {
        self.waiting.append(&mut self.unindexed);
    }

    /// Whether the group is to be queued for a lane: it has a fetch, and is not queued yet. It counts as queued then.
    pub(super) fn queue(&mut self) -> bool {
        let queues = !self.waiting.is_empty() && !self.is_queued;
        self.is_queued |= queues;
        queues
    }

    /// The group left the queue.
    pub(super) const fn unqueue(&mut self) {
        self.is_queued = false;
    }

    pub(super) fn pop(&mut self) -> Option<Fetch> {
        self.waiting.pop_front()
    }

    /// Takes the fetches that have not begun, but for those that wait for an index.
    pub(super) fn take_waiting(&mut self) -> VecDeque<Fetch> {
        std::mem::take(&mut self.waiting)
    }

    /// Takes every fetch that has not begun.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Fetch> + use<> {
        self.wake_unindexed();
        self.take_waiting().into_iter()
    }

    pub(super) const fn begin(&mut self) {
        self.under_way += 1;
    }

    pub(super) fn end(&mut self) {
        debug_assert!(self.under_way > 0, "a fetch ends once");
        self.under_way -= 1;
    }

    /// Whether a file may be open: it must not be removed yet.
    pub(super) const fn are_under_way(&self) -> bool {
        self.under_way > 0
    }

    pub(super) fn are_idle(&self) -> bool {
        self.under_way == 0 && self.waiting.is_empty() && self.unindexed.is_empty()
    }
}
