//! What may leave only once the journal is synced up to a block.

use std::collections::VecDeque;

/// Queues kept for their memory when nothing waits in them: as many as blocks are under way at a time, and as
/// long as they get then. A start makes longer ones.
const SPARE_MAX: usize = 4;
const SPARE_THINGS_MAX: usize = 4096;

/// Things in the order of the blocks they wait for; those of one block in the order they came.
#[derive(Debug)]
pub(crate) struct AfterSync<T> {
    /// A queue for each block that anything waits for, ascending. There are few blocks, and at a start as
    /// many things as the shard has groups, of which half wait for an older block than the other half that
    /// came before.
    waiting: VecDeque<(u64, VecDeque<T>)>,
    spare: Vec<VecDeque<T>>,
    through: u64,
}

impl<T> AfterSync<T> {
    pub(crate) const fn new() -> Self {
        Self { waiting: VecDeque::new(), spare: Vec::new(), through: 0 }
    }

    /// Holds something until `block` is synced; gives it back at once if it is.
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

    /// Every block up to this one is synced.
    pub(crate) fn synced(&mut self, through: u64) {
        self.through = self.through.max(through);
    }

    /// The next thing that may leave.
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
    fn things_leave_in_the_order_of_their_blocks() {
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

    /// Where each thing is moved for each that comes before it, this does not end.
    #[test]
    fn a_million_things_that_come_before_others_are_held_at_once() {
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
