//! How far the wall clock of the node was from the clock of the world.

use std::collections::BTreeMap;

/// Microseconds, by the nanosecond from which they counted.
#[derive(Clone, Debug, Default)]
pub(super) struct WallClock(BTreeMap<u64, i64>);

impl WallClock {
    /// The clock jumps.
    pub(super) fn jumps(&mut self, now: u64, micros: i64) {
        self.0.insert(now, micros);
    }

    /// Whether something that was asked for at `asked`, and stamped later, may have been stamped at least `age` microseconds
    /// ago on this clock at any moment until `now`.
    pub(super) fn may_be_as_old(&self, asked: u64, now: u64, age: u64) -> bool {
        let before = self.0.range(..=asked).next_back().map_or(0, |(_, micros)| *micros);
        let offsets = self.0.range(asked..=now.max(asked)).map(|(_, micros)| *micros);
        let (least, most) =
            offsets.fold((before, before), |(least, most), offset| (least.min(offset), most.max(offset)));
        now.saturating_sub(asked) / 1_000 + 1 + most.abs_diff(least) >= age
    }

    /// Microseconds that the clock was ahead of now at most.
    pub(super) fn was_ahead(&self) -> u64 {
        let present = self.0.last_key_value().map_or(0, |(_, micros)| *micros);
        let most = self.0.values().copied().max().unwrap_or(0).max(0);
        u64::try_from(most - present).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_makes_what_is_stamped_before_it_older() {
        let mut clock = WallClock::default();
        let old = |clock: &WallClock, asked, now| clock.may_be_as_old(asked, now, 1_000);
        assert!(!old(&clock, 0, 900_000) && old(&clock, 0, 1_000_000));
        clock.jumps(500_000, 700);
        assert!(old(&clock, 0, 500_000) && !old(&clock, 500_001, 900_000));
        clock.jumps(600_000, -300);
        assert!(
            old(&clock, 500_001, 600_000),
            "it may be stamped after the jump back, and dropped before it"
        );
        assert_eq!(clock.was_ahead(), 1_000);
    }
}
