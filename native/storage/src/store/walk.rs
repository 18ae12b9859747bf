//! Finding batches in a segment that is read piece by piece: from header to header, each held against what must be true of
//! the next one. Nobody has verified their payloads; whoever takes one does.

use std::ops::Range;

use ng_io::Buffer;
use ng_wire::batch::{BATCH_HEADER_BYTES, BatchHeader, survey};

use super::fetch::Fetch;
use super::index_cache::IndexKey;
use super::locate::{SegmentView, Sought};
use super::plan::Step;
use crate::PAGE;
use crate::refusal::{Reason, Refusal};

/// Bytes read at a time, where no single batch has more.
pub(super) const PIECE: usize = 1 << 20;

/// Whole batches of a segment, as they were read.
#[derive(Debug)]
pub struct FoundBatches {
    /// What was read.
    pub buffer: Buffer,
    /// Where in it each batch is; of one segment, in order, and not verified.
    pub batches: Vec<Range<usize>>,
    /// Where `buffer` begins in the segment.
    pub position: u64,
    /// Of which segment.
    pub(super) segment: IndexKey,
    /// How many messages of the segment come before the first of these batches, where that was counted.
    pub passed: u64,
}

impl FoundBatches {
    /// Copies the batches into a buffer of their size if that halves their memory at least, and returns the buffer that
    /// they were read into. Otherwise batches of 600 kB would each keep a large page of 2 MiB, because a read that ends
    /// in the next batch fetches most of it in vain.
    pub fn compact(&mut self) -> Option<Buffer> {
        let within = self.batches.first()?.start..self.batches.last()?.end;
        let memory = self.buffer.footprint();
        if within.len() * 2 > memory {
            return None;
        }
        let mut compact = Buffer::aligned(within.len());
        if compact.footprint() * 2 > memory {
            return None;
        }
        compact.extend_from_slice(&self.buffer[within.clone()]);
        for batch in &mut self.batches {
            *batch = batch.start - within.start..batch.end - within.start;
        }
        self.position += within.start as u64;
        Some(std::mem::replace(&mut self.buffer, compact))
    }
}

/// What came of a piece.
#[derive(Debug)]
pub(super) enum Walked {
    /// The next piece is to be read.
    On,
    Found(FoundBatches),
    /// A batch has to be read that alone has so many bytes: more than were to be read.
    Larger {
        bytes: usize,
    },
    /// No message from the offset that was sought up to this one.
    Passed {
        last_offset: u64,
    },
    /// Nothing of what was sought.
    Nothing,
    /// There is no batch where one must begin.
    Damaged(Refusal),
    /// The batch at which it was to begin is another.
    Disagrees(Refusal),
}

/// One segment being searched.
#[derive(Debug)]
pub(super) struct Walk {
    view: SegmentView,
    group: u64,
    fetch: Fetch,
    batch_bytes_max: u64,
    /// Of the next header to look at.
    position: u64,
    /// What must begin there.
    begins: Option<u64>,
    /// How many bytes are read from there.
    length: usize,
    passed: u64,
    last_base: Option<u64>,
}

/// Header and bytes of a batch; the bytes may be cut.
struct Looked {
    header: BatchHeader,
    length: usize,
}

/// Why there is no header to look at.
#[derive(Clone, Copy)]
enum Missed {
    /// So many bytes from the batch's position on are needed.
    More(usize),
    Refused(Refusal),
}

impl Walk {
    pub(super) fn new(group: u64, view: SegmentView, fetch: Fetch, batch_bytes_max: u64) -> Self {
        let begins = view.begins();
        let (position, length, passed, last_base) = (0, PIECE, 0, None);
        Self { view, group, fetch, batch_bytes_max, position, begins, length, passed, last_base }
    }

    /// Begins at a place of which it is said that a batch is there, and reads so far.
    pub(super) fn begin(&mut self, position: u64, begins: Option<u64>, length: usize) {
        (self.position, self.begins) = (position, begins);
        self.length = length;
    }

    /// The step that reads the next piece.
    pub(super) fn step(&self, path: std::path::PathBuf) -> Step {
        let (offset, end) = self.pages();
        Step::Read { path, offset, length: usize::try_from(end - offset).unwrap_or(PAGE) }
    }

    fn pages(&self) -> (u64, u64) {
        let page = PAGE as u64;
        let end = (self.position + self.length as u64).min(self.view.bytes).max(self.position + 1);
        (self.position / page * page, end.next_multiple_of(page))
    }

    /// Looks at the piece that was read.
    pub(super) fn feed(&mut self, buffer: Buffer) -> Walked {
        let (offset, _) = self.pages();
        let from = usize::try_from(self.position - offset).unwrap_or(0);
        let end = usize::try_from(self.view.bytes - offset).unwrap_or(usize::MAX).min(buffer.len());
        // Where the file ends before its batches do, no further piece has the rest.
        let (_, wanted) = self.pages();
        let cut = offset + (buffer.len() as u64) < wanted.min(self.view.bytes);
        let mut at = from;
        loop {
            let position = offset + at as u64;
            if position >= self.view.bytes {
                return self.passed_to(self.view.last_offset);
            }
            let looked = match self.look(buffer.get(at..end).unwrap_or_default(), position) {
                Ok(looked) => looked,
                Err(missed) => return self.missed(missed, position, at == from, cut),
            };
            if at == from && self.begins.is_some_and(|begins| begins != looked.header.base_offset) {
                let found = Reason::Order(looked.header.base_offset);
                return Walked::Disagrees(Refusal::new("batch", "base offset", found));
            }
            let next = at + looked.length;
            match self.is_hit(&looked, &buffer[at..end], position) {
                Ok(true) => return self.collect(buffer, at..end, offset, cut),
                Ok(false) => {}
                Err(missed) => return self.missed(missed, position, at == from, cut),
            }
            self.passed += u64::from(looked.header.count);
            self.last_base = Some(looked.header.base_offset);
            self.begins = None;
            at = next;
        }
    }

    /// Goes on at a position with enough bytes, unless that leads nowhere.
    fn missed(&mut self, missed: Missed, position: u64, first: bool, cut: bool) -> Walked {
        match missed {
            Missed::Refused(refusal) if first && self.begins.is_some() => Walked::Disagrees(refusal),
            Missed::Refused(refusal) => Walked::Damaged(refusal),
            Missed::More(needed) if cut || position + needed as u64 > self.view.bytes => {
                let (needed, found) = (needed as u64, self.view.bytes - position);
                Walked::Damaged(Refusal::new("segment", "batches", Reason::Short { needed, found }))
            }
            Missed::More(bytes) if bytes > self.fetch.bytes.max(self.fetch.batch_bytes) => {
                Walked::Larger { bytes }
            }
            Missed::More(needed) => {
                self.position = position;
                self.length = needed.max(self.fetch.bytes.clamp(PAGE, PIECE));
                Walked::On
            }
        }
    }

    /// The header at the front of `rest`.
    fn look(&self, rest: &[u8], position: u64) -> Result<Looked, Missed> {
        if rest.len() < BATCH_HEADER_BYTES {
            return Err(Missed::More(BATCH_HEADER_BYTES));
        }
        let header = BatchHeader::decode(rest).map_err(|refusal| Missed::Refused(refusal.into()))?;
        plausible(&self.view, &header, position, self.last_base, self.batch_bytes_max)
            .map(|length| Looked { header, length })
            .map_err(Missed::Refused)
    }

    /// Whether a batch is the one that is sought. What is passed over is looked at as closely as the question needs.
    fn is_hit(&self, looked: &Looked, rest: &[u8], position: u64) -> Result<bool, Missed> {
        let Looked { header, length } = looked;
        match self.fetch.sought {
            Sought::Opened => Ok(true),
            Sought::Offset(offset) => self.reaches(looked, rest, position, offset),
            Sought::Time(time) if header.base_timestamp >= time => Ok(true),
            Sought::Behind { messages, .. } if self.passed + u64::from(header.count) > messages => Ok(true),
            Sought::Time(_) | Sought::Behind { .. } => {
                let batch = rest.get(..*length).ok_or(Missed::More(*length))?;
                survey(batch).map(|_| false).map_err(|refusal| Missed::Refused(refusal.into()))
            }
        }
    }

    /// Whether a batch has a message of this offset or a later one. There may be gaps, also in it.
    fn reaches(&self, looked: &Looked, rest: &[u8], position: u64, offset: u64) -> Result<bool, Missed> {
        let Looked { header, length } = looked;
        if header.base_offset.saturating_add(header.count.into()) > offset {
            return Ok(true);
        }
        let with_next = length + BATCH_HEADER_BYTES;
        if position + with_next as u64 <= self.view.bytes {
            let next = rest.get(*length..with_next).ok_or(Missed::More(with_next))?;
            // Where the next one does not begin behind the offset, this one ends before it.
            if BatchHeader::decode(next).is_ok_and(|next| next.base_offset <= offset) {
                return Ok(false);
            }
        }
        let batch = rest.get(..*length).ok_or(Missed::More(*length))?;
        let found = survey(batch).map_err(|refusal| Missed::Refused(refusal.into()))?;
        Ok(found.last_offset >= offset)
    }

    /// What is said where nothing up to an offset is what was sought.
    const fn passed_to(&self, last_offset: u64) -> Walked {
        match self.fetch.sought {
            Sought::Offset(_) => Walked::Passed { last_offset },
            _ => Walked::Nothing,
        }
    }

    /// Gathers the whole batches from the one that was sought on.
    fn collect(&mut self, buffer: Buffer, within: Range<usize>, offset: u64, cut: bool) -> Walked {
        let mut batches: Vec<Range<usize>> = Vec::new();
        let mut at = within.start;
        let mut missing = None;
        let passed = self.passed;
        while offset + (at as u64) < self.view.bytes {
            let Ok(Looked { header, length }) = self.look(&buffer[at..within.end], offset + at as u64) else {
                break;
            };
            if header.base_offset > self.fetch.until {
                break;
            }
            if at + length > within.end {
                missing = Some(length);
                break;
            }
            batches.push(at..at + length);
            self.last_base = Some(header.base_offset);
            at += length;
        }
        let segment = self.view.key(self.group);
        match missing.filter(|_| batches.is_empty()) {
            None if batches.is_empty() => self.passed_to(self.fetch.until),
            None => Walked::Found(FoundBatches { buffer, batches, position: offset, segment, passed }),
            Some(bytes) => self.missed(Missed::More(bytes), offset + at as u64, false, cut),
        }
    }
}

/// Holds a header against where it stands; the length of its batch.
pub(super) fn plausible(
    view: &SegmentView,
    header: &BatchHeader,
    position: u64,
    last_base: Option<u64>,
    batch_bytes_max: u64,
) -> Result<usize, Refusal> {
    let length = header.length;
    if length > batch_bytes_max || length > view.bytes - position {
        return Err(Refusal::new("batch", "length", Reason::Value(length)));
    }
    let base_offset = header.base_offset;
    let first = position == 0 && view.begins().is_some_and(|begins| base_offset != begins);
    let within = base_offset >= view.entry.base_offset && base_offset <= view.last_offset;
    if first || !within || last_base.is_some_and(|last| base_offset <= last) {
        return Err(Refusal::new("batch", "base offset", Reason::Order(base_offset)));
    }
    Ok(usize::try_from(length).unwrap_or(usize::MAX))
}
