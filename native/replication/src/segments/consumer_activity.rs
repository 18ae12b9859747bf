//! Activity of consumers with stored offsets. Retention must keep unread messages of active consumers.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use ng_vsr::Ticks;
use ng_wire::replica::ConsumerKind;

/// How long a stored offset protects messages that its consumer has not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetHold {
    /// It protects none.
    Never,
    /// It protects them as long as it is stored.
    Always,
    /// It protects them if the consumer was active within this many milliseconds.
    Seen(Ticks),
}

type Reader = (u64, ConsumerKind, u64);

/// Last activity of consumers with a stored offset. Each entry belongs to one offset, so the offsets bound
/// their number.
#[derive(Debug)]
pub(crate) struct Readers {
    /// Start of this run. Activity of earlier runs is unknown, so a consumer counts as active at the start.
    since: Ticks,
    seen: BTreeMap<Reader, Ticks>,
}

impl Readers {
    pub(crate) const fn new(now: Ticks) -> Self {
        Self { since: now, seen: BTreeMap::new() }
    }

    /// Records activity of a consumer with a stored offset.
    pub(crate) fn saw(&mut self, group: u64, (kind, id): (ConsumerKind, u64), now: Ticks) {
        self.seen.insert((group, kind, id), now);
    }

    /// Its offset was deleted.
    pub(crate) fn forget(&mut self, group: u64, (kind, id): (ConsumerKind, u64)) {
        self.seen.remove(&(group, kind, id));
    }

    /// All offsets of a group were deleted.
    pub(crate) fn forget_all(&mut self, group: u64) {
        let forgotten: Vec<Reader> = self.seen.range(all_of(group)).map(|(reader, _)| *reader).collect();
        for reader in forgotten {
            self.seen.remove(&reader);
        }
    }

    /// The stored offset of a consumer protects messages.
    pub(crate) fn holds(
        &self,
        hold: OffsetHold,
        group: u64,
        (kind, id): (ConsumerKind, u64),
        now: Ticks,
    ) -> bool {
        match hold {
            OffsetHold::Never => false,
            OffsetHold::Always => true,
            OffsetHold::Seen(within) => {
                let seen = self.seen.get(&(group, kind, id)).copied().unwrap_or(self.since);
                now.saturating_sub(seen) < within
            }
        }
    }
}

const fn all_of(group: u64) -> RangeInclusive<Reader> {
    (group, ConsumerKind::Consumer, 0)..=(group, ConsumerKind::Group, u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: (ConsumerKind, u64) = (ConsumerKind::Consumer, 1);
    const TWO: (ConsumerKind, u64) = (ConsumerKind::Group, 1);

    #[test]
    fn an_active_consumer_protects_messages() {
        let mut readers = Readers::new(100);
        let within = OffsetHold::Seen(50);
        assert!(readers.holds(within, 7, ONE, 149), "it may have been active before the start");
        assert!(!readers.holds(within, 7, ONE, 150));
        readers.saw(7, ONE, 140);
        assert!(readers.holds(within, 7, ONE, 189) && !readers.holds(within, 7, ONE, 190));
        assert!(!readers.holds(within, 7, TWO, 160) && !readers.holds(within, 8, ONE, 160));
        assert!(readers.holds(OffsetHold::Always, 7, TWO, u64::MAX));
        assert!(!readers.holds(OffsetHold::Never, 7, ONE, 140));
    }

    #[test]
    fn a_consumer_without_an_offset_is_forgotten() {
        let mut readers = Readers::new(0);
        for (group, reader) in [(7, ONE), (7, TWO), (8, ONE), (6, TWO)] {
            readers.saw(group, reader, 10);
        }
        readers.forget(7, ONE);
        assert_eq!(readers.seen.len(), 3);
        readers.forget_all(7);
        assert_eq!(readers.seen.keys().map(|(group, ..)| *group).collect::<Vec<_>>(), [6, 8]);
    }
}
