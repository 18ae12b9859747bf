//! Timer wheel: finds the groups that are due, without a look at any other group.

use ng_vsr::Ticks;

/// Slots of the wheel, one per millisecond of a rotation.
const SLOTS: usize = 512;
const WORDS: usize = SLOTS / 64;

/// A wheel of deadlines. A group may have several entries; the caller knows which is valid.
#[derive(Debug)]
pub(crate) struct TimerWheel {
    slots: Vec<Vec<(Ticks, u64)>>,
    /// One bit per slot with entries.
    filled: [u64; WORDS],
    /// All entries before this time were removed.
    now: Ticks,
}

impl TimerWheel {
    pub(crate) fn new(now: Ticks) -> Self {
        Self { slots: vec![Vec::new(); SLOTS], filled: [0; WORDS], now }
    }

    /// Adds an entry; if `at` has passed, it is due at once.
    pub(crate) fn wake(&mut self, group: u64, at: Ticks) {
        let at = at.max(self.now);
        // Entries beyond one rotation wait in its last slot and are inserted again from there.
        let slot = slot_of(at.min(self.now + SLOTS as Ticks - 1));
        self.slots[slot].push((at, group));
        self.filled[slot / 64] |= 1 << (slot % 64);
    }

    /// Removes all entries due at or before `now`, oldest first.
    pub(crate) fn due(&mut self, now: Ticks, into: &mut impl Extend<(Ticks, u64)>) {
        while let Some(at) = self.first_filled().filter(|at| *at <= now) {
            self.now = at;
            let slot = slot_of(at);
            self.filled[slot / 64] &= !(1 << (slot % 64));
            let mut waiting = std::mem::take(&mut self.slots[slot]);
            for (due, group) in waiting.drain(..) {
                if due <= now { into.extend([(due, group)]) } else { self.wake_later(group, due) }
            }
            if self.slots[slot].is_empty() {
                self.slots[slot] = waiting;
            }
            // Not beyond `now`, because an entry added for `now` must use this slot again.
            self.now = (at + 1).min(now);
        }
        self.now = self.now.max(now);
    }

    /// Next time at which an entry may be due.
    pub(crate) fn next(&self) -> Option<Ticks> {
        self.first_filled()
    }

    fn wake_later(&mut self, group: u64, at: Ticks) {
        let slot = slot_of(at.min(self.now + SLOTS as Ticks - 1));
        self.slots[slot].push((at, group));
        self.filled[slot / 64] |= 1 << (slot % 64);
    }

    fn first_filled(&self) -> Option<Ticks> {
        let start = slot_of(self.now);
        let mut word = start / 64;
        let mut bits = self.filled[word] & (u64::MAX << (start % 64));
        for _ in 0..=WORDS {
            if bits != 0 {
                let slot = word * 64 + bits.trailing_zeros() as usize;
                let ahead = (slot + SLOTS - start) % SLOTS;
                return Some(self.now + ahead as Ticks);
            }
            word = (word + 1) % WORDS;
            bits = self.filled[word];
        }
        None
    }
}

fn slot_of(at: Ticks) -> usize {
    usize::try_from(at % SLOTS as Ticks).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_entry_added_for_the_current_time_is_due_at_once() {
        let mut wheel = TimerWheel::new(0);
        let mut woken = Vec::new();
        wheel.wake(1, 5);
        wheel.due(5, &mut woken);
        wheel.wake(2, 5);
        wheel.due(5, &mut woken);
        assert_eq!(woken, [(5, 1), (5, 2)]);
    }

    proptest! {
        #[test]
        fn it_behaves_like_a_sorted_set(steps in proptest::collection::vec((0_u64..2_000, 0_u64..700), 1..200)) {
            let mut wheel = TimerWheel::new(0);
            let mut model = BTreeSet::new();
            let mut now = 0;
            for (number, (ahead, pause)) in (0_u64..).zip(steps) {
                wheel.wake(number, now + ahead);
                model.insert((now + ahead, number));
                now += pause;
                let mut woken = Vec::new();
                wheel.due(now, &mut woken);
                let due: BTreeSet<_> = model.iter().copied().filter(|(at, _)| *at <= now).collect();
                model.retain(|(at, _)| *at > now);
                prop_assert_eq!(woken.iter().copied().collect::<BTreeSet<_>>(), due);
                if let Some((at, _)) = model.first() {
                    let next = wheel.next();
                    prop_assert!(next.is_some_and(|next| next > now && next <= *at), "{:?} for {}", next, at);
                }
            }
        }
    }
}
