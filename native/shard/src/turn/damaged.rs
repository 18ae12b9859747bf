//! Which stored messages are damaged or lost, as far as this run knows.

use std::collections::{BTreeMap, BTreeSet};

use ng_storage::segments_file::Fence;

/// Places that are told apart. Of one partition more would say nothing new, and all together have a bound.
const PLACES_PER_PARTITION: usize = 64;
const PLACES_MAX: usize = 4096;

/// Damage, by group.
#[derive(Debug, Default)]
pub(super) struct Damaged {
    /// Offsets at which polls met damage that no fence covers.
    places: BTreeMap<u64, BTreeSet<u64>>,
    count: usize,
    /// Ranges of lost messages, of groups that have any.
    fences: BTreeMap<u64, Vec<Fence>>,
}

impl Damaged {
    /// Partitions with damage.
    pub(super) fn partitions(&self) -> usize {
        let unfenced = self.places.keys().filter(|group| !self.fences.contains_key(group)).count();
        self.fences.len() + unfenced
    }

    /// Ranges of lost messages, and places where polls met damage outside of them.
    pub(super) fn ranges(&self) -> usize {
        self.fences.values().map(Vec::len).sum::<usize>() + self.count
    }

    /// A poll met damage there. Whether that is new, and is to be told.
    pub(super) fn met(&mut self, group: u64, offset: u64) -> bool {
        let fenced = self.fences.get(&group).is_some_and(|fences| covers(fences, offset));
        let known = self.places.contains_key(&group);
        if fenced || (known && self.count >= PLACES_MAX) {
            return false;
        }
        let places = self.places.entry(group).or_default();
        let is_new = places.len() < PLACES_PER_PARTITION && places.insert(offset);
        self.count += usize::from(is_new);
        is_new
    }

    /// These are the lost messages of a group. Whether there are any that were not known, and are to be told.
    pub(super) fn fence(&mut self, group: u64, fences: &[Fence]) -> bool {
        if let Some(places) = self.places.get_mut(&group) {
            let before = places.len();
            places.retain(|offset| !covers(fences, *offset));
            self.count -= before - places.len();
            if places.is_empty() {
                self.places.remove(&group);
            }
        }
        let before = match fences.is_empty() {
            true => self.fences.remove(&group),
            false => self.fences.insert(group, fences.to_vec()),
        };
        fences.iter().any(|fence| !before.as_ref().is_some_and(|before| before.contains(fence)))
    }

    /// What was in a group is gone, and its damage with it.
    pub(super) fn forget(&mut self, group: u64) {
        self.count -= self.places.remove(&group).map_or(0, |places| places.len());
        self.fences.remove(&group);
    }
}

fn covers(fences: &[Fence], offset: u64) -> bool {
    fences.iter().any(|fence| (fence.first_offset..=fence.last_offset).contains(&offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn fence(first_offset: u64, last_offset: u64) -> Fence {
        Fence { first_offset, last_offset, base_offset: 0, generation: 0 }
    }

    #[test]
    fn a_place_is_new_once_until_it_is_gone() {
        let mut damaged = Damaged::default();
        assert!(damaged.met(1, 5) && damaged.met(1, 9) && damaged.met(2, 5));
        assert!(!damaged.met(1, 5) && damaged.partitions() == 2);
        damaged.forget(1);
        assert!(damaged.partitions() == 1 && damaged.met(1, 5));
    }

    #[test]
    fn a_fence_is_new_once_and_takes_over_the_places_it_covers() {
        let mut damaged = Damaged::default();
        assert!(damaged.met(1, 5) && damaged.met(1, 20));
        assert!(damaged.fence(1, &[fence(4, 8)]));
        assert_eq!(
            (damaged.partitions(), damaged.ranges()),
            (1, 2),
            "one fence, and one place outside of it"
        );
        assert!(!damaged.fence(1, &[fence(4, 8)]) && !damaged.met(1, 6));
        assert!(damaged.fence(1, &[fence(4, 8), fence(20, 21)]));
        assert_eq!((damaged.partitions(), damaged.ranges()), (1, 2));
        assert!(!damaged.fence(1, &[]), "a truncation took them");
        assert_eq!((damaged.partitions(), damaged.ranges()), (0, 0));
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
