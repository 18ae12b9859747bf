//! Making the index of a sealed segment anew: from header to header, and where one is damaged by a survey, which finds the
//! batches after the damage.

use ng_io::Buffer;
use ng_wire::batch::{BATCH_HEADER_BYTES, BatchHeader};

use super::StoreFault;
use super::locate::SegmentView;
use super::plan::Step;
use super::survey::{Expected, Survey};
use super::tail::{INDEX_SPAN, Tail};
use super::walk::{PIECE, plausible};
use crate::PAGE;
use crate::index::{Index, IndexEntry};

/// A segment whose headers are read.
#[derive(Debug)]
pub(super) struct Reindex {
    pub(super) view: SegmentView,
    group: u64,
    batch_bytes_max: u64,
    position: u64,
    last_base: Option<u64>,
    first_checksum: u64,
    entries: Vec<IndexEntry>,
    /// Reads the segment again from its beginning, past damage.
    survey: Option<Box<Survey>>,
    is_missing: bool,
}

impl Reindex {
    pub(super) fn new(group: u64, view: SegmentView, batch_bytes_max: u64) -> Self {
        Self {
            view,
            group,
            batch_bytes_max,
            position: 0,
            last_base: None,
            first_checksum: 0,
            entries: Vec::new(),
            survey: None,
            is_missing: false,
        }
    }

    /// The step that reads the next piece.
    pub(super) fn step(&self, path: std::path::PathBuf) -> Step {
        if let Some(survey) = &self.survey {
            return Step::Read { path, offset: survey.offset(), length: survey.length() };
        }
        let (offset, end) = self.pages();
        Step::Read { path, offset, length: usize::try_from(end - offset).unwrap_or(PAGE) }
    }

    fn pages(&self) -> (u64, u64) {
        let page = PAGE as u64;
        let end = (self.position + PIECE as u64).min(self.view.bytes).max(self.position + 1);
        (self.position / page * page, end.next_multiple_of(page))
    }

    /// Looks at the piece that was read, or hears why there is none. True when the segment has been read to its end.
    pub(super) fn feed(&mut self, read: Result<Option<Buffer>, StoreFault>) -> bool {
        match (&mut self.survey, read) {
            (_, Ok(None)) => {
                self.is_missing = true;
                true
            }
            (Some(survey), Ok(Some(piece))) => survey.feed(Some(&piece), self.view.bytes),
            (Some(survey), Err(_)) => survey.fail(self.view.bytes),
            (None, Ok(Some(piece))) => self.pass_headers(&piece),
            (None, Err(_)) => {
                self.begin_survey();
                false
            }
        }
    }

    fn begin_survey(&mut self) {
        let entry = &self.view.entry;
        let tail = Tail::new(entry.base_offset, 0);
        let survey = Survey::new(tail, Expected::of(entry), entry.generation, self.batch_bytes_max);
        self.survey = Some(Box::new(survey));
    }

    fn pass_headers(&mut self, piece: &[u8]) -> bool {
        let (offset, wanted) = self.pages();
        let cut = offset + (piece.len() as u64) < wanted.min(self.view.bytes);
        while self.position < self.view.bytes {
            let at = usize::try_from(self.position - offset).unwrap_or(usize::MAX);
            let rest = piece.get(at..).unwrap_or_default();
            if rest.len() < BATCH_HEADER_BYTES && !cut {
                return false;
            }
            match self.header(rest) {
                Some((header, length)) => self.pass(&header, length),
                None => {
                    self.begin_survey();
                    return false;
                }
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
        if self.position == 0 {
            self.first_checksum = header.checksum;
        }
        self.last_base = Some(header.base_offset);
        self.position += length;
    }

    /// The index, and whether it is worth writing down.
    pub(super) fn finish(self) -> (Index, bool) {
        let (first_checksum, entries) = match self.survey {
            Some(survey) => {
                let tail = survey.finish().tail;
                (tail.first_checksum(), tail.places().to_vec())
            }
            None => (self.first_checksum, self.entries),
        };
        let index = Index {
            group: self.group,
            base_offset: self.view.entry.base_offset,
            segment_bytes: self.view.bytes,
            generation: self.view.entry.generation,
            first_checksum,
            entries,
        };
        (index, !self.is_missing)
    }
}
