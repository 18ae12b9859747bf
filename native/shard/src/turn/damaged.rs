//! Damaged and lost messages, as far as this run knows them.

use std::collections::{BTreeMap, BTreeSet};

use ng_storage::segments_file::Fence;

/// Maximum distinct places of damage, because more of one partition add no information and the total needs a
/// bound.
const PLACES_PER_PARTITION: usize = 64;
const PLACES_MAX: usize = 4096;

/// Damage, by group.
#[derive(Debug, Default)]
pub(super) struct Damaged {
    /// Offsets at which polls found damage that no fence covers.
    places: BTreeMap<u64, BTreeSet<u64>>,
    count: usize,
    /// Ranges of lost messages, for groups with any.
    fences: BTreeMap<u64, Vec<Fence>>,
}

impl Damaged {
    /// Number of partitions with damage.
    pub(super) fn partitions(&self) -> usize {
        let unfenced = self.places.keys().filter(|group| !self.fences.contains_key(group)).count();
        self.fences.len() + unfenced
    }

    /// Number of ranges of lost messages, plus places of damage outside of them.
    pub(super) fn ranges(&self) -> usize {
        self.fences.values().map(Vec::len).sum::<usize>() + self.count
    }

    /// A poll found damage at `offset`. Returns true if it is new and must be reported.
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

    /// Replaces the lost ranges of a group. Returns true if one is new and must be reported.
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

    /// All messages of a group were deleted, and its damage with them.
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
    fn a_place_is_new_once_until_it_is_forgotten() {
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
        assert!(!damaged.fence(1, &[]), "a truncation deleted them");
        assert_eq!((damaged.partitions(), damaged.ranges()), (0, 0));
    }

    #[test]
    fn places_have_a_bound() {
        let mut damaged = Damaged::default();
        let new = (0..200).filter(|offset| damaged.met(1, *offset)).count();
        assert_eq!(new, PLACES_PER_PARTITION);
        let reported: usize =
            (2..200).map(|group| (0..64).filter(|at| damaged.met(group, *at)).count()).sum();
        // At least one place of each partition is reported, even when the others use up the limit.
        assert!(reported < PLACES_MAX + 200, "{reported}");
        assert_eq!(damaged.partitions(), 199);
        (1..200).for_each(|group| damaged.forget(group));
        assert_eq!(damaged.count, 0);
    }
}
