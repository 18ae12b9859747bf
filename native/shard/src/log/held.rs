//! What may leave only once the journal is synced up to a block.

use std::collections::VecDeque;

/// Things in the order of the blocks they wait for.
#[derive(Debug)]
pub(super) struct Held<T> {
    waiting: VecDeque<(u64, T)>,
    through: u64,
}

impl<T> Held<T> {
    pub(super) const fn new() -> Self {
        Self { waiting: VecDeque::new(), through: 0 }
    }

    /// Holds something until `block` is synced; gives it back at once if it is.
    pub(super) fn until(&mut self, block: u64, thing: T) -> Option<T> {
        if block <= self.through {
            return Some(thing);
        }
        // Nearly always the newest block: positions grow as records are appended.
        let place = self.waiting.partition_point(|(other, _)| *other <= block);
        self.waiting.insert(place, (block, thing));
        None
    }

    /// Every block up to this one is synced.
    pub(super) fn synced(&mut self, through: u64) {
        self.through = self.through.max(through);
    }

    /// The next thing that may leave.
    pub(super) fn next(&mut self) -> Option<T> {
        let ready = self.waiting.front().is_some_and(|(block, _)| *block <= self.through);
        ready.then(|| self.waiting.pop_front()).flatten().map(|(_, thing)| thing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_leave_in_the_order_of_their_blocks() {
        let mut held = Held::new();
        assert_eq!(held.until(2, 'b'), None);
        assert_eq!(held.until(1, 'a'), None);
        assert_eq!(held.until(2, 'c'), None);
        assert_eq!(held.until(9, 'z'), None);
        held.synced(2);
        assert_eq!(std::iter::from_fn(|| held.next()).collect::<String>(), "abc");
        assert_eq!(held.until(2, 'd'), Some('d'));
    }
}
