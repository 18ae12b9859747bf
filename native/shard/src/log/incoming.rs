//! The messages of a state that comes from another replica: segment by segment, each piece verified as it comes.

use std::collections::VecDeque;

use ng_storage::PAGE;
use ng_storage::segments_file::SegmentEntry;
use ng_storage::store::ReceivedSegment;

/// The segments that are still to come.
#[derive(Debug)]
pub(super) struct IncomingMessages {
    pub(super) generation: u64,
    /// The last offset that must be in them; `u64::MAX` for none.
    last_offset: u64,
    /// Where there is no segment: offsets below it were given out.
    pub(super) next_offset: u64,
    /// Each with all its bytes and those of its batches.
    segments: VecDeque<(SegmentEntry, u64, u64)>,
    /// The first of them, as far as it has come.
    begun: Option<(ReceivedSegment, u64)>,
    reaches: Option<u64>,
    /// A piece is being written: no other is asked for.
    pub(super) writing: bool,
}

/// A piece of a segment, to be written.
pub(super) struct Piece {
    pub(super) entry: SegmentEntry,
    pub(super) offset: u64,
}

impl IncomingMessages {
    pub(super) const fn new(
        generation: u64,
        last_offset: u64,
        next_offset: u64,
        segments: VecDeque<(SegmentEntry, u64, u64)>,
    ) -> Self {
        let reaches = next_offset.checked_sub(1);
        Self { generation, last_offset, next_offset, segments, begun: None, reaches, writing: false }
    }

    /// Whether no further segment comes.
    pub(super) fn is_whole(&self) -> bool {
        self.segments.is_empty()
    }

    /// Takes a piece, which lies in one segment; `None` if it is not what it should be.
    pub(super) fn take(&mut self, group: u64, bytes: &[u8], batch_bytes_max: u64) -> Option<Piece> {
        let (entry, length, batches) = *self.segments.front()?;
        let fresh = || (ReceivedSegment::new(group, entry, batches, batch_bytes_max), 0);
        let (mut segment, offset) = self.begun.take().unwrap_or_else(fresh);
        segment.feed(bytes).ok()?;
        let end = offset + bytes.len() as u64;
        if end > length || (end < length && !end.is_multiple_of(PAGE as u64)) {
            return None;
        }
        if end == length {
            self.reaches = Some(segment.finish().ok()?);
            self.segments.pop_front();
        } else {
            self.begun = Some((segment, end));
        }
        self.writing = true;
        Some(Piece { entry, offset })
    }

    /// Whether the segments hold what the state says.
    pub(super) fn suffice(&self) -> bool {
        self.last_offset == u64::MAX || self.reaches >= Some(self.last_offset)
    }
}
