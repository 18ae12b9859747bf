//! Where polls of this run met stored messages that are damaged or missing.

use std::collections::{BTreeMap, BTreeSet};

/// Places that are told apart. Of one partition more would say nothing new, and all together have a bound.
const PLACES_PER_PARTITION: usize = 64;
const PLACES_MAX: usize = 4096;

/// Offsets at which damage begins, by group.
#[derive(Debug, Default)]
pub(super) struct Damaged {
    places: BTreeMap<u64, BTreeSet<u64>>,
    count: usize,
}

impl Damaged {
    /// How many partitions have any.
    pub(super) fn partitions(&self) -> usize {
        self.places.len()
    }

    /// A poll met damage there. Whether that is new, and is to be told.
    pub(super) fn met(&mut self, group: u64, offset: u64) -> bool {
        let known = self.places.contains_key(&group);
        if known && self.count >= PLACES_MAX {
            return false;
        }
        let places = self.places.entry(group).or_default();
        let is_new = places.len() < PLACES_PER_PARTITION && places.insert(offset);
        self.count += usize::from(is_new);
        is_new
    }

    /// What was in a group is gone, and its damage with it.
    pub(super) fn forget(&mut self, group: u64) {
        self.count -= self.places.remove(&group).map_or(0, |places| places.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_new_once_until_it_is_gone() {
        let mut damaged = Damaged::default();
        assert!(damaged.met(1, 5) && damaged.met(1, 9) && damaged.met(2, 5));
        assert!(!damaged.met(1, 5) && damaged.partitions() == 2);
        damaged.forget(1);
        assert!(damaged.partitions() == 1 && damaged.met(1, 5));
    }

    #[test]
    fn there_are_only_so_many() {
        let mut damaged = Damaged::default();
        let new = (0..200).filter(|offset| damaged.met(1, *offset)).count();
        assert_eq!(new, PLACES_PER_PARTITION);
        let told: usize = (2..200).map(|group| (0..64).filter(|at| damaged.met(group, *at)).count()).sum();
        // Each partition is told of once, whatever the others have.
        assert!(told < PLACES_MAX + 200, "{told}");
        assert_eq!(damaged.partitions(), 199);
        (1..200).for_each(|group| damaged.forget(group));
        assert_eq!(damaged.count, 0);
    }
}
