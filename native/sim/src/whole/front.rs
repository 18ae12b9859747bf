//! Where a partition begins, as far as polls have shown it, and how much of its front may have gone.

use super::topic_limits::TopicLimits;

/// The front of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Front {
    /// The first offset that a poll found at the front.
    pub(super) first: u64,
    /// Segments that clients asked to delete.
    deleted: u64,
    /// Bytes that are gone, as far as they are known.
    gone: u64,
    /// The life of the process in which the partition was made.
    life: u64,
}

impl Front {
    /// The front of a partition that is made in this life of the process.
    pub(super) fn of_life(life: u64) -> Self {
        Self { life, ..Self::default() }
    }

    /// A job offers one segment in the place of several: how many bytes one has is not known any more.
    pub(super) const fn merges(&mut self) {
        self.life = 0;
    }

    /// A client asks to delete so many segments.
    pub(super) fn delete(&mut self, count: u32) {
        self.deleted += u64::from(count);
    }

    /// A poll found that the partition begins at an offset. Of the messages that are known to have been before it those
    /// that are neither over nor too much have `gone` bytes of payload; a segment has `segment_bytes` at most. In a later
    /// life of the process one may have more: until the rows of the topic are there a shard does not know that limit.
    pub(super) fn moves_to(
        &mut self,
        first: u64,
        gone: u64,
        segment_bytes: u64,
        (limits, life): (TopicLimits, u64),
    ) -> Result<(), String> {
        if first <= self.first {
            return Ok(());
        }
        let Self { first: before, deleted, .. } = *self;
        let gone = self.gone + gone;
        let nothing_may_go = deleted == 0 && limits == TopicLimits::NONE;
        let only_by_age = deleted == 0 && limits.bytes_max == u64::MAX;
        let is_too_much = gone > deleted * segment_bytes && (life == self.life || only_by_age);
        if nothing_may_go || is_too_much {
            return Err(format!(
                "offsets from {before} to {first} are gone, {gone} bytes by now, and {deleted} segments were deleted, of \
                 {segment_bytes} bytes each"
            ));
        }
        (self.first, self.gone) = (first, gone);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: TopicLimits = TopicLimits::NONE;
    const BY_AGE: TopicLimits = TopicLimits { expiry: 7, ..TopicLimits::NONE };
    const BY_SIZE: TopicLimits = TopicLimits { bytes_max: 7, ..TopicLimits::NONE };

    #[test]
    fn no_more_goes_than_was_asked_for() {
        let mut front = Front::of_life(1);
        let keeps = (EVERYTHING, 1);
        assert_eq!(front.moves_to(0, 0, 100, keeps), Ok(()));
        assert!(front.moves_to(1, 0, 100, keeps).is_err(), "nobody asked");
        front.delete(2);
        assert_eq!((front.moves_to(5, 150, 100, keeps), front.first), (Ok(()), 5));
        assert_eq!(front.moves_to(5, 0, 100, keeps), Ok(()));
        assert!(front.moves_to(6, 51, 100, keeps).is_err(), "more than two segments");
        assert_eq!((front.moves_to(6, 51, 100, (EVERYTHING, 2)), front.first), (Ok(()), 6));
    }

    #[test]
    fn what_is_over_or_too_much_goes_without_a_request() {
        let mut front = Front::of_life(1);
        assert!(front.moves_to(5, 1, 100, (BY_SIZE, 1)).is_err(), "it is not too much");
        assert_eq!(front.moves_to(4, 0, 100, (BY_SIZE, 1)), Ok(()));
        assert_eq!(front.moves_to(5, 1, 100, (BY_SIZE, 2)), Ok(()));
        let mut front = Front::of_life(1);
        assert!(front.moves_to(5, 1, 100, (BY_AGE, 2)).is_err(), "it is not over, whatever the life");
        assert_eq!(front.moves_to(5, 0, 100, (BY_AGE, 2)), Ok(()));
    }
}
