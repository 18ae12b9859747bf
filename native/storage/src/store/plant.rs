//! Known bugs that the simulator can plant, to see that its judges find them. Without the feature `plants` a build has
//! none.

use super::survey::Surveyed;
use crate::segments_file::SegmentEntry;

/// A bug that can be planted.
#[cfg(feature = "plants")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// A survey of a segment passes over damage, and no fence says what is lost there.
    UnfencedSurvey,
    /// A truncation takes the segment along that it ends before.
    GreedyTruncation,
    /// The age of a segment is that of its oldest message.
    EagerExpiry,
    /// A cut does not wait for what is committed and not written.
    EarlyCut,
}

/// Which bug is planted in a store.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Planted {
    #[cfg(feature = "plants")]
    pub(super) bug: Option<Plant>,
}

#[cfg(feature = "plants")]
impl Planted {
    pub(super) fn in_survey(self, surveyed: Surveyed) -> Surveyed {
        match self.bug {
            Some(Plant::UnfencedSurvey) => Surveyed { lost: Vec::new(), ..surveyed },
            _ => surveyed,
        }
    }

    /// Whether a cut waits until what it shall contain is written.
    pub(super) fn cut_waits(self) -> bool {
        self.bug != Some(Plant::EarlyCut)
    }

    /// When the newest batch of a segment was stamped.
    pub(super) fn newest(self, entry: &SegmentEntry) -> u64 {
        if self.bug == Some(Plant::EagerExpiry) { entry.min_timestamp } else { entry.max_timestamp }
    }

    /// Whether a sealed segment goes with those before an offset.
    pub(super) fn goes_before(self, entry: &SegmentEntry, offset: u64) -> bool {
        let reaches =
            if self.bug == Some(Plant::GreedyTruncation) { entry.base_offset } else { entry.last_offset + 1 };
        reaches <= offset
    }
}

#[cfg(not(feature = "plants"))]
#[allow(clippy::unused_self, reason = "the shape of the build that can plant bugs")]
impl Planted {
    pub(super) const fn in_survey(self, surveyed: Surveyed) -> Surveyed {
        surveyed
    }

    pub(super) const fn cut_waits(self) -> bool {
        true
    }

    pub(super) const fn newest(self, entry: &SegmentEntry) -> u64 {
        entry.max_timestamp
    }

    pub(super) const fn goes_before(self, entry: &SegmentEntry, offset: u64) -> bool {
        entry.last_offset < offset
    }
}
