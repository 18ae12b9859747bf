//! Making the index of a sealed segment anew: from header to header, and past damage where the index that was there knows
//! how it goes on.

use ng_io::Buffer;
use ng_wire::batch::{BATCH_HEADER_BYTES, BatchHeader};

use super::locate::SegmentView;
use super::plan::Step;
use super::tail::INDEX_SPAN;
use super::walk::{PIECE, plausible};
use crate::PAGE;
use crate::index::{Index, IndexEntry};

/// A segment whose headers are read.
#[derive(Debug)]
pub(super) struct Reindex {
    pub(super) view: SegmentView,
    group: u64,
    batch_bytes_max: u64,
    /// What was there. Only its positions are heeded, and only behind damage.
    old: Option<Index>,
    position: u64,
    last_base: Option<u64>,
    entries: Vec<IndexEntry>,
    whole: bool,
}

impl Reindex {
    pub(super) const fn new(group: u64, view: SegmentView, batch_bytes_max: u64, old: Option<Index>) -> Self {
        let entries = Vec::new();
        Self { view, group, batch_bytes_max, old, position: 0, last_base: None, entries, whole: true }
    }

    /// The step that reads the next piece.
    pub(super) fn step(&self, path: std::path::PathBuf) -> Step {
        let (offset, end) = self.pages();
        Step::Read { path, offset, length: usize::try_from(end - offset).unwrap_or(PAGE) }
    }

    fn pages(&self) -> (u64, u64) {
        let page = PAGE as u64;
        let end = (self.position + PIECE as u64).min(self.view.bytes).max(self.position + 1);
        (self.position / page * page, end.next_multiple_of(page))
    }

    /// Looks at the piece that was read, or hears that it cannot be. True when the segment has been read to its end.
    pub(super) fn feed(&mut self, buffer: Option<&Buffer>) -> bool {
        let (offset, wanted) = self.pages();
        let buffer: &[u8] = buffer.map_or(&[], |buffer| buffer);
        let cut = offset + (buffer.len() as u64) < wanted.min(self.view.bytes);
        while self.position < self.view.bytes {
            let at = usize::try_from(self.position - offset).unwrap_or(usize::MAX);
            let rest = buffer.get(at..).unwrap_or_default();
            if rest.len() < BATCH_HEADER_BYTES && !cut {
                return false;
            }
            match self.header(rest) {
                Some((header, length)) => self.pass(&header, length),
                None => return !self.resume(),
            }
        }
        true
    }

    /// The header at the front of `rest`, if one is there that can be.
    fn header(&self, rest: &[u8]) -> Option<(BatchHeader, u64)> {
        let header = BatchHeader::decode(rest).ok()?;
        let length =
            plausible(&self.view, &header, self.position, self.last_base, self.batch_bytes_max).ok()?;
        Some((header, length as u64))
    }

    fn pass(&mut self, header: &BatchHeader, length: u64) {
        let last = self.entries.last();
        if last.is_none_or(|last| self.position >= last.position + INDEX_SPAN) {
            let timestamp = last.map_or(0, |last| last.timestamp).max(header.base_timestamp);
            let (offset, position) = (header.base_offset, self.position);
            self.entries.push(IndexEntry { offset, timestamp, position });
        }
        self.last_base = Some(header.base_offset);
        self.position += length;
    }

    /// Goes on at the next place that the old index names. False if it names none.
    fn resume(&mut self) -> bool {
        self.whole = false;
        let known = self.old.as_ref().map_or(&[] as &[_], |old| &old.entries);
        let place = known.iter().find(|entry| entry.position > self.position);
        let Some(place) = place.filter(|place| place.position < self.view.bytes) else { return false };
        self.position = place.position;
        true
    }

    /// The index, and whether all of the segment is behind it.
    pub(super) fn finish(self) -> (Index, bool) {
        let index = Index {
            group: self.group,
            base_offset: self.view.entry.base_offset,
            segment_bytes: self.view.bytes,
            generation: self.view.entry.generation,
            entries: self.entries,
        };
        (index, self.whole)
    }
}
