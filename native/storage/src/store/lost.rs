//! Offsets that no file has any more, and the segments that stand for them.

use super::tail::Tail;
use crate::index::Index;
use crate::manifest::UnsealedSegment;
use crate::segments_file::SegmentEntry;
use ng_wire::batch::BATCH_HEADER_BYTES;

/// Which of the offsets without a message are lost: those that were given to one, and that the journal does not hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost<'a> {
    gaps: &'a [(u64, u64)],
    last_vouched: Option<u64>,
}

impl<'a> Lost<'a> {
    pub(super) const fn new(gaps: &'a [(u64, u64)], last_vouched: Option<u64>) -> Self {
        Self { gaps, last_vouched }
    }

    /// The lost ranges within a range without messages.
    pub(super) fn of(&self, (first, last): (u64, u64)) -> Vec<(u64, u64)> {
        let Some(last_vouched) = self.last_vouched else { return Vec::new() };
        let end = last.min(last_vouched);
        let mut ranges = Vec::new();
        let mut next = first;
        for (gap_first, gap_last) in self.gaps {
            if *gap_last < next || *gap_first > end {
                continue;
            }
            if next < *gap_first {
                ranges.push((next, gap_first - 1));
            }
            next = gap_last.saturating_add(1);
        }
        if next <= end {
            ranges.push((next, end));
        }
        ranges
    }

    /// Whether a range without messages ends after everything that is vouched for.
    pub(super) fn goes_beyond(&self, (_, last): (u64, u64)) -> bool {
        self.last_vouched.is_none_or(|vouched| last > vouched)
    }
}

/// A segment that was read past damage, as the list names it from now on, and its index.
pub(super) fn closed(
    group: u64,
    tail: &Tail,
    generation: u32,
    lost: &[(u64, u64)],
    described: Option<&UnsealedSegment>,
) -> (SegmentEntry, Index) {
    let whole = tail.contents();
    let last_lost = lost.last().map_or(whole.base_offset, |(_, last)| *last);
    let missing: u64 = lost.iter().map(|(first, last)| last - first + 1).sum();
    let described = described.filter(|described| described.base_offset == whole.base_offset);
    // Who looks for a message that was lost at the end must not find that the segment has ended.
    let cut = if last_lost > whole.last_offset { BATCH_HEADER_BYTES as u64 } else { 0 };
    let entry = SegmentEntry {
        last_offset: whole.last_offset.max(last_lost),
        bytes: (whole.bytes + cut).max(described.map_or(0, |described| described.bytes)),
        messages: u32::try_from(tail.messages + missing).unwrap_or(u32::MAX),
        generation,
        footer: 0,
        ..whole
    };
    let index = Index {
        group,
        base_offset: entry.base_offset,
        segment_bytes: entry.bytes,
        generation,
        first_checksum: tail.first_checksum(),
        entries: tail.places().to_vec(),
    };
    (entry, index)
}

/// A segment of which nothing is left.
pub(super) fn placeholder(
    (first, last): (u64, u64),
    timestamp: u64,
    described: Option<&UnsealedSegment>,
) -> SegmentEntry {
    let described = described.filter(|described| described.base_offset == first);
    SegmentEntry {
        base_offset: first,
        last_offset: last,
        min_timestamp: described.map_or(timestamp, |described| described.min_timestamp),
        max_timestamp: described.map_or(timestamp, |described| described.max_timestamp),
        bytes: described.map_or(BATCH_HEADER_BYTES as u64, |described| described.bytes),
        messages: u32::try_from(last - first + 1).unwrap_or(u32::MAX),
        generation: 0,
        footer: 0,
    }
}
