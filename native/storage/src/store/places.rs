//! Where readers that go through a group one poll after the other will go on.

use std::collections::{BTreeMap, VecDeque};

use super::index_cache::IndexKey;

/// Places that are kept.
const PLACES_MAX: usize = 1024;

/// The place of the batch that has a message, or of the first one behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) segment: IndexKey,
    pub(super) position: u64,
}

/// Places by group, purge generation and offset.
#[derive(Debug, Default)]
pub(super) struct Places {
    kept: BTreeMap<(u64, u64, u64), Place>,
    order: VecDeque<(u64, u64, u64)>,
}

impl Places {
    pub(super) fn keep(&mut self, group: u64, generation: u64, offset: u64, place: Place) {
        let key = (group, generation, offset);
        if self.kept.insert(key, place).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > PLACES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.kept.remove(&oldest);
        }
    }

    pub(super) fn get(&self, group: u64, generation: u64, offset: u64) -> Option<Place> {
        self.kept.get(&(group, generation, offset)).copied()
    }
}
