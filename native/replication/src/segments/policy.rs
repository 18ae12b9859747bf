//! How long the messages of a partition stay, as a decision about its segments: no clock, no disk.

use ng_storage::store::Span;

/// Segments that one look lets go: what follows from it is one plan of the store.
pub(crate) const DROPPED_PER_LOOK: usize = 64;

/// What a topic says about the messages of each of its partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// Bytes after which a segment is sealed.
    pub segment_bytes: u64,
    /// Microseconds that a message is kept; `u64::MAX` for ever.
    pub expiry: u64,
    /// Bytes that a partition may hold before its oldest segments go; `u64::MAX` is no limit.
    pub bytes_max: u64,
}

impl Keeping {
    /// What a topic with so many partitions says: a part of what it may hold for each, and one segment at
    /// least.
    #[must_use]
    pub fn of_topic(segment_bytes: u64, expiry: u64, topic_bytes_max: u64, partitions: u32) -> Self {
        let unlimited = |value: u64| if value == 0 { u64::MAX } else { value };
        let part = match unlimited(topic_bytes_max) {
            u64::MAX => u64::MAX,
            bytes => (bytes / u64::from(partitions.max(1))).max(segment_bytes),
        };
        Self { segment_bytes, expiry: unlimited(expiry), bytes_max: part }
    }

    /// Whether any message ever goes.
    pub(crate) const fn is_limited(&self) -> bool {
        self.expiry < u64::MAX || self.bytes_max < u64::MAX
    }

    /// Whether what was stamped then has been kept for long enough.
    const fn is_over(&self, stamped: u64, now: u64) -> bool {
        self.expiry < u64::MAX && stamped.saturating_add(self.expiry) <= now
    }

    /// The first offset to keep, if segments may go: sealed ones, from the oldest on, that are over or too
    /// many, and of which nobody needs a message behind `needed_behind`. `bytes` is what the partition holds.
    pub(crate) fn first_to_keep(
        &self,
        segments: impl Iterator<Item = Span>,
        mut bytes: u64,
        needed_behind: Option<u64>,
        now: u64,
    ) -> Option<u64> {
        let mut first = None;
        for segment in segments.take_while(|segment| segment.sealed).take(DROPPED_PER_LOOK) {
            let goes = self.is_over(segment.newest, now) || bytes > self.bytes_max;
            if !goes || is_needed(&segment, needed_behind) {
                break;
            }
            bytes = bytes.saturating_sub(segment.bytes);
            first = Some(segment.last_offset + 1);
        }
        first
    }

    /// Whether the last segment is to be sealed, so that it goes when its newest message is over.
    pub(crate) fn rolls(&self, last: Option<Span>, now: u64) -> bool {
        last.is_some_and(|segment| !segment.sealed && self.is_over(segment.oldest, now))
    }

    /// In how many microseconds the first segment will be over, or will be sealed for it.
    pub(crate) fn due_in(&self, first: Option<Span>, now: u64) -> Option<u64> {
        let first = first.filter(|_| self.expiry < u64::MAX)?;
        let stamped = if first.sealed { first.newest } else { first.oldest };
        Some(stamped.saturating_add(self.expiry).saturating_sub(now))
    }
}

/// The first offset to keep when so many of the oldest sealed segments are to go, if any may.
pub(crate) fn first_behind(
    segments: impl Iterator<Item = Span>,
    count: u32,
    needed_behind: Option<u64>,
) -> Option<u64> {
    let sealed = segments.take_while(|segment| segment.sealed && !is_needed(segment, needed_behind));
    sealed.take(count as usize).last().map(|segment| segment.last_offset + 1)
}

fn is_needed(segment: &Span, needed_behind: Option<u64>) -> bool {
    needed_behind.is_some_and(|offset| segment.last_offset > offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four segments of ten messages and 100 bytes, stamped at 0 .. 9, 10 .. 19 and so on; the last is
    /// appended to.
    fn segments() -> impl Iterator<Item = Span> {
        (0..4).map(|number| Span {
            last_offset: number * 10 + 9,
            oldest: number * 10,
            newest: number * 10 + 9,
            bytes: 100,
            sealed: number < 3,
        })
    }

    fn keeping(expiry: u64, bytes_max: u64) -> Keeping {
        Keeping { segment_bytes: 100, expiry, bytes_max }
    }

    #[test]
    fn a_segment_goes_when_its_newest_message_is_over() {
        let keeping = keeping(100, u64::MAX);
        let first = |now| keeping.first_to_keep(segments(), 400, None, now);
        assert_eq!((first(108), first(109), first(118), first(119)), (None, Some(10), Some(10), Some(20)));
        assert_eq!(first(1_000), Some(30), "what is appended to stays");
        assert_eq!(keeping.first_to_keep(segments(), 400, None, u64::MAX), Some(30));
    }

    #[test]
    fn what_is_too_much_goes_from_the_front() {
        let first = |bytes_max| keeping(u64::MAX, bytes_max).first_to_keep(segments(), 400, None, 1_000);
        assert_eq!((first(400), first(399), first(300), first(299)), (None, Some(10), Some(10), Some(20)));
        assert_eq!(first(0), Some(30));
    }

    #[test]
    fn what_somebody_needs_stays() {
        let first = |needed| keeping(1, 0).first_to_keep(segments(), 400, Some(needed), 1_000);
        assert_eq!(
            (first(8), first(9), first(18), first(19), first(99)),
            (None, Some(10), Some(10), Some(20), Some(30))
        );
        let behind = |count, needed| first_behind(segments(), count, needed);
        assert_eq!((behind(0, None), behind(1, None), behind(2, None)), (None, Some(10), Some(20)));
        assert_eq!(
            (behind(u32::MAX, None), behind(9, Some(20)), behind(9, Some(0))),
            (Some(30), Some(20), None)
        );
    }

    #[test]
    fn the_last_segment_is_sealed_when_its_oldest_message_is_over() {
        let keeping = keeping(100, u64::MAX);
        let last = || segments().last();
        assert!(!keeping.rolls(last(), 129) && keeping.rolls(last(), 130));
        assert!(
            !keeping.rolls(segments().next(), u64::MAX) && !keeping.rolls(None, u64::MAX),
            "it is sealed"
        );
        assert!(!self::keeping(u64::MAX, 0).rolls(last(), u64::MAX));
        assert_eq!(keeping.due_in(segments().next(), 50), Some(59));
        assert_eq!(keeping.due_in(last(), 50), Some(80));
        assert_eq!(keeping.due_in(None, 50), None);
    }

    #[test]
    fn one_look_lets_a_bounded_number_go() {
        let many = (0..1_000).map(|number| Span {
            last_offset: number,
            oldest: 0,
            newest: 0,
            bytes: 1,
            sealed: true,
        });
        let first = keeping(1, u64::MAX).first_to_keep(many, 1_000, None, 1_000);
        assert_eq!(first, Some(DROPPED_PER_LOOK as u64));
    }

    #[test]
    fn a_topic_gives_each_partition_its_part() {
        let of = |max, partitions| Keeping::of_topic(100, 0, max, partitions);
        assert_eq!(of(u64::MAX, 3), keeping(u64::MAX, u64::MAX));
        assert_eq!(of(0, 3), keeping(u64::MAX, u64::MAX));
        assert!(!of(0, 3).is_limited() && of(900, 3).is_limited());
        assert_eq!((of(900, 3).bytes_max, of(900, 90).bytes_max, of(900, 0).bytes_max), (300, 100, 900));
        assert_eq!(Keeping::of_topic(100, 7, 0, 1).expiry, 7);
    }
}
