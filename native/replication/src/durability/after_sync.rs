//! Messages held back until a journal block is synced.

use std::collections::VecDeque;

/// Empty queues kept for reuse: as many as there are blocks in progress, with the capacity that they usually
/// need. A start makes longer ones, which are freed.
const SPARE_MAX: usize = 4;
const SPARE_THINGS_MAX: usize = 4096;

/// Items by the block they wait for; those of one block in the order of arrival.
#[derive(Debug)]
pub(crate) struct AfterSync<T> {
    /// One queue per awaited block, ascending. There are few blocks. At a start there is an item for each
    /// group, and half of them wait for an older block than the other half, which arrived earlier.
    waiting: VecDeque<(u64, VecDeque<T>)>,
    spare: Vec<VecDeque<T>>,
    through: u64,
}

impl<T> AfterSync<T> {
    pub(crate) const fn new() -> Self {
        Self { waiting: VecDeque::new(), spare: Vec::new(), through: 0 }
    }

    /// Holds an item until `block` is synced; returns it at once if it already is.
    pub(crate) fn until(&mut self, block: u64, thing: T) -> Option<T> {
        if block <= self.through {
            return Some(thing);
        }
        let place = self.waiting.partition_point(|(other, _)| *other < block);
        if self.waiting.get(place).is_none_or(|(other, _)| *other != block) {
            self.waiting.insert(place, (block, self.spare.pop().unwrap_or_default()));
        }
        if let Some((_, things)) = self.waiting.get_mut(place) {
            things.push_back(thing);
        }
        None
    }

    /// All blocks up to `through` are synced.
    pub(crate) fn synced(&mut self, through: u64) {
        self.through = self.through.max(through);
    }

    /// Returns the next item that may leave.
    pub(crate) fn next(&mut self) -> Option<T> {
        loop {
            let (_, things) = self.waiting.front_mut().filter(|(block, _)| *block <= self.through)?;
            if let Some(thing) = things.pop_front() {
                return Some(thing);
            }
            if let Some((_, empty)) = self.waiting.pop_front()
                && self.spare.len() < SPARE_MAX
                && empty.capacity() <= SPARE_THINGS_MAX
            {
                self.spare.push(empty);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_leave_in_the_order_of_their_blocks() {
        let mut held = AfterSync::new();
        assert_eq!(held.until(2, 'b'), None);
        assert_eq!(held.until(1, 'a'), None);
        assert_eq!(held.until(2, 'c'), None);
        assert_eq!(held.until(9, 'z'), None);
        held.synced(2);
        assert_eq!(std::iter::from_fn(|| held.next()).collect::<String>(), "abc");
        assert_eq!(held.until(2, 'd'), Some('d'));
        held.synced(9);
        assert_eq!((held.next(), held.next()), (Some('z'), None));
    }

    /// An implementation that moves each item for every earlier one would take quadratic time, so this test
    /// would not end.
    #[test]
    fn a_million_items_for_older_blocks_are_held_in_linear_time() {
        const THINGS: u64 = 1 << 20;
        let mut held = AfterSync::new();
        for thing in 0..THINGS {
            assert_eq!(held.until(2 - thing % 2, thing), None);
        }
        held.synced(2);
        let left = std::iter::from_fn(|| held.next());
        assert!(left.eq((1..THINGS).step_by(2).chain((0..THINGS).step_by(2))));
    }
}
