//! Whether a file is the one that the list of segments names. Batches do not name their group, so that a whole file of another
//! group could be served in its place. The footer tells; where that is damaged, or the segment was closed without one, the
//! first batch does, whose checksum the index keeps.

use std::path::PathBuf;
use std::sync::Arc;

use ng_wire::batch::{BatchHeader, verify_front};

use super::plan::Step;
use crate::PAGE;
use crate::footer::{DIGEST_SPAN, Footer};
use crate::index::Index;
use crate::segments_file::SegmentEntry;

/// What the bytes at the place of the footer say of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ownership {
    Own,
    Foreign,
    /// The segment has no footer, or a damaged one.
    Unknown,
}

impl Ownership {
    pub(super) fn by_footer(entry: &SegmentEntry, footer: &[u8]) -> Self {
        if entry.is_closed() {
            return Self::Unknown;
        }
        match Footer::decode(footer) {
            Ok((_, checksum)) if checksum == entry.footer => Self::Own,
            Ok(_) => Self::Foreign,
            Err(_) => Self::Unknown,
        }
    }
}

/// The step that reads the footer of a sealed segment.
pub(super) fn footer_of(entry: &SegmentEntry, path: PathBuf) -> Step {
    let digests = entry.bytes.div_ceil(DIGEST_SPAN as u64);
    let length = (128 + 16 * digests).next_multiple_of(PAGE as u64);
    let length = usize::try_from(length).unwrap_or(PAGE);
    Step::Read { path, offset: entry.bytes.next_multiple_of(PAGE as u64), length }
}

/// The first batch of a file, held against the index of the segment.
#[derive(Debug)]
pub(super) struct Front {
    index: Arc<Index>,
    batch_bytes_max: u64,
    length: usize,
}

/// What the first batch of a file says.
#[derive(Debug)]
pub(super) enum FrontVerdict {
    /// It is the segment's, or damaged: what else the file holds is served.
    Own(Arc<Index>),
    /// It is whole, and of another segment.
    Foreign,
    /// More of it has to be read.
    ReadOn,
}

impl Front {
    pub(super) const fn new(index: Arc<Index>, batch_bytes_max: u64) -> Self {
        Self { index, batch_bytes_max, length: PAGE }
    }

    /// The step that reads it: its header, and the whole batch if that is another one.
    pub(super) const fn step(&self, path: PathBuf) -> Step {
        Step::Read { path, offset: 0, length: self.length }
    }

    pub(super) fn judge(&mut self, front: &[u8]) -> FrontVerdict {
        let own = || FrontVerdict::Own(Arc::clone(&self.index));
        let header = match BatchHeader::decode(front) {
            Ok(header) if header.length <= self.batch_bytes_max => header,
            Ok(_) | Err(_) => return own(),
        };
        if header.checksum == self.index.first_checksum {
            return own();
        }
        let whole =
            usize::try_from(header.length).map_or(self.length, |length| length.next_multiple_of(PAGE));
        if front.len() == self.length && whole > self.length {
            self.length = whole;
            return FrontVerdict::ReadOn;
        }
        if verify_front(front).is_ok() { FrontVerdict::Foreign } else { own() }
    }
}
