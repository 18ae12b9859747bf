//! Timers by connection slot.
//!
//! A deadline that moves later is not moved in the heap: its entry fires early, the connection is asked for
//! the current deadline, and the entry is inserted again. A deadline that moves earlier leaves an obsolete
//! entry, which is dropped when it fires. Entries are at most one frame time ahead, so the heap stays within
//! a small multiple of the slots.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ng_io::Instant;

/// Pending timers of one table, by slot.
#[derive(Debug, Default)]
pub struct Deadlines {
    heap: BinaryHeap<Reverse<(Instant, u32)>>,
    /// Time of the slot's newest entry; older entries of the slot are obsolete.
    armed: Vec<Option<Instant>>,
}

impl Deadlines {
    /// Ensures that `slot` is due no later than `at`.
    pub fn arm(&mut self, slot: u32, at: Instant) {
        let index = slot as usize;
        if self.armed.len() <= index {
            self.armed.resize(index + 1, None);
        }
        // An entry that fires earlier is sufficient. A later one is replaced only if the new deadline is
        // earlier, which happens at most twice per frame (header seen, reply sent), so the heap stays within
        // a small multiple.
        if self.armed[index].is_none_or(|pending| pending > at) {
            self.armed[index] = Some(at);
            self.heap.push(Reverse((at, slot)));
        }
    }

    /// The earliest time at which a slot is due.
    pub fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes a slot that is due. The caller arms it again if its connection still has a deadline.
    pub fn due(&mut self, now: Instant) -> Option<u32> {
        while let Some(Reverse((at, slot))) = self.heap.peek().copied() {
            if at > now {
                return None;
            }
            self.heap.pop();
            let armed = &mut self.armed[slot as usize];
            if *armed == Some(at) {
                *armed = None;
                return Some(slot);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(0) + Duration::from_secs(seconds)
    }

    #[test]
    fn a_slot_is_due_once_at_its_earliest_deadline() {
        let mut deadlines = Deadlines::default();
        deadlines.arm(3, at(20));
        deadlines.arm(3, at(10));
        deadlines.arm(3, at(15));
        assert_eq!(deadlines.next(), Some(at(10)));
        assert_eq!(deadlines.due(at(9)), None);
        assert_eq!(deadlines.due(at(10)), Some(3));
        assert_eq!(deadlines.due(at(30)), None);
    }

    #[test]
    fn rearming_for_every_frame_of_a_busy_connection_keeps_one_entry() {
        let mut deadlines = Deadlines::default();
        for second in 0..10_000 {
            deadlines.arm(0, at(second + 10));
        }
        assert_eq!(deadlines.heap.len(), 1);
    }

    #[test]
    fn slots_are_due_in_order_of_time() {
        let mut deadlines = Deadlines::default();
        for (slot, second) in [(0, 5), (1, 2), (2, 9)] {
            deadlines.arm(slot, at(second));
        }
        let order: Vec<u32> = std::iter::from_fn(|| deadlines.due(at(100))).collect();
        assert_eq!(order, [1, 0, 2]);
    }
}
