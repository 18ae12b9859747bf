//! Retention policy: decides which segments of a partition to delete. It uses neither clock nor disk.

use ng_storage::store::Span;

/// Maximum segments deleted per check, because their deletion is one plan of the store.
pub(crate) const DROPPED_PER_LOOK: usize = 64;

/// Retention options of a topic, applied to each partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// Size in bytes at which a segment is sealed.
    pub segment_bytes: u64,
    /// Microseconds until a message expires; `u64::MAX` for never.
    pub expiry: u64,
    /// Maximum bytes of a partition before its oldest segments are deleted; `u64::MAX` for no limit.
    pub bytes_max: u64,
}

impl Keeping {
    /// Options of a topic with `partitions` partitions. Each gets an equal share of the topic's size limit,
    /// but at least one segment.
    #[must_use]
    pub fn of_topic(segment_bytes: u64, expiry: u64, topic_bytes_max: u64, partitions: u32) -> Self {
        let unlimited = |value: u64| if value == 0 { u64::MAX } else { value };
        let part = match unlimited(topic_bytes_max) {
            u64::MAX => u64::MAX,
            bytes => (bytes / u64::from(partitions.max(1))).max(segment_bytes),
        };
        Self { segment_bytes, expiry: unlimited(expiry), bytes_max: part }
    }

    /// Messages may be deleted at all.
    pub(crate) const fn is_limited(&self) -> bool {
        self.expiry < u64::MAX || self.bytes_max < u64::MAX
    }

    /// Messages with this timestamp have expired.
    const fn is_over(&self, stamped: u64, now: u64) -> bool {
        self.expiry < u64::MAX && stamped.saturating_add(self.expiry) <= now
    }

    /// The first offset to keep, if segments must be deleted: sealed ones from the oldest on that have
    /// expired or exceed the size limit, until one has messages after `needed_behind`. `bytes` is the
    /// partition's current size.
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

    /// The last segment must be sealed now, so that it can be deleted when its newest message expires.
    pub(crate) fn rolls(&self, last: Option<Span>, now: u64) -> bool {
        last.is_some_and(|segment| !segment.sealed && self.is_over(segment.oldest, now))
    }

    /// Microseconds until the first segment expires, or must be sealed to expire later.
    pub(crate) fn due_in(&self, first: Option<Span>, now: u64) -> Option<u64> {
        let first = first.filter(|_| self.expiry < u64::MAX)?;
        let stamped = if first.sealed { first.newest } else { first.oldest };
        Some(stamped.saturating_add(self.expiry).saturating_sub(now))
    }
}

/// The first offset to keep if the `count` oldest sealed segments are to be deleted; `None` if none may be.
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

    /// Four segments of ten messages and 100 bytes, with timestamps 0 to 9, 10 to 19 and so on. The last is
    /// not sealed.
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
    fn a_segment_is_deleted_when_its_newest_message_expires() {
        let keeping = keeping(100, u64::MAX);
        let first = |now| keeping.first_to_keep(segments(), 400, None, now);
        assert_eq!((first(108), first(109), first(118), first(119)), (None, Some(10), Some(10), Some(20)));
        assert_eq!(first(1_000), Some(30), "the unsealed segment is kept");
        assert_eq!(keeping.first_to_keep(segments(), 400, None, u64::MAX), Some(30));
    }

    #[test]
    fn the_oldest_segments_above_the_size_limit_are_deleted() {
        let first = |bytes_max| keeping(u64::MAX, bytes_max).first_to_keep(segments(), 400, None, 1_000);
        assert_eq!((first(400), first(399), first(300), first(299)), (None, Some(10), Some(10), Some(20)));
        assert_eq!(first(0), Some(30));
    }

    #[test]
    fn segments_that_a_consumer_needs_are_kept() {
        let first = |needed| keeping(1, 0).first_to_keep(segments(), 400, Some(needed), 1_000);
        assert_eq!(
            (first(8), first(9), first(18), first(19), first(99)),
            (None, Some(10), Some(10), Some(20), Some(30))
        );
        let first = |count, needed| first_behind(segments(), count, needed);
        assert_eq!((first(0, None), first(1, None), first(2, None)), (None, Some(10), Some(20)));
        assert_eq!(
            (first(u32::MAX, None), first(9, Some(20)), first(9, Some(0))),
            (Some(30), Some(20), None)
        );
    }

    #[test]
    fn the_last_segment_is_sealed_when_its_oldest_message_expires() {
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
    fn one_check_deletes_a_bounded_number() {
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
