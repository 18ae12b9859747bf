//! What there is to drop of a group: its segments, as whoever decides how long messages stay looks at them.

use super::SegmentStore;
use super::group::{Group, Phase};

/// One segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its last offset.
    pub last_offset: u64,
    /// When its oldest batch was stamped.
    pub oldest: u64,
    /// When its newest batch was stamped.
    pub newest: u64,
    /// Bytes of its batches.
    pub bytes: u64,
    /// Whether nothing is appended to it any more.
    pub sealed: bool,
}

impl Group {
    fn spans(&self) -> impl DoubleEndedIterator<Item = Span> + '_ {
        let sealed = self.staying().iter().filter(|entry| entry.is_sealed()).map(|entry| Span {
            last_offset: entry.last_offset,
            oldest: entry.min_timestamp,
            newest: self.planted.newest(entry),
            bytes: entry.bytes,
            sealed: true,
        });
        let tail = self.tail.iter().map(|tail| Span {
            last_offset: tail.last_offset,
            oldest: tail.min_timestamp(),
            newest: tail.max_timestamp(),
            bytes: tail.bytes,
            sealed: false,
        });
        sealed.chain(tail)
    }
}

impl SegmentStore {
    /// The segments of a group that is open, oldest first, but for those that are about to go. `None` also while a purge is
    /// under way.
    pub fn spans(&self, group: u64) -> Option<impl DoubleEndedIterator<Item = Span> + '_> {
        let found = self.groups.get(&group).filter(|found| found.phase == Phase::Open && !found.is_purging());
        found.map(Group::spans)
    }

    /// How many bytes a segment of a group takes at most, unless one batch alone has more.
    #[must_use]
    pub fn segment_bytes(&self, group: u64) -> u64 {
        self.segment_bytes.get(&group).copied().unwrap_or(self.limits.segment_bytes)
    }
}
