//! Reading one file of the ring: which blocks are in it, and what of each is whole.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use ng_wire::batch::BatchHeader;
use ng_wire::replica::BodyCheck;

use crate::PAGE;
use crate::block::{BlockHeader, BlockRecord, KIND};
use crate::record::{RecordHeader, RecordKind};
use crate::superblock::SyncedBlock;

/// Bytes asked for at a time.
pub(super) const PIECE: u64 = 1 << 20;

/// A block found in a file.
#[derive(Clone, Debug)]
pub struct FoundBlock {
    /// Its header.
    pub header: BlockHeader,
    /// The checksum of its header.
    pub checksum: u128,
    /// Its records, unless the directory fails its checksum.
    pub records: Option<Vec<FoundRecord>>,
}

/// A record found in a block.
#[derive(Clone, Debug)]
pub struct FoundRecord {
    /// Header, identity, and whether the body is whole.
    pub record: BlockRecord,
    /// The body, but for prepares, whose bodies stay where they are.
    pub body: Vec<u8>,
    /// The offset behind a batch of messages without gaps, if that is what the body is.
    pub next_offset: Option<u64>,
}

/// Where the two marks stand in the front of a block by which it is known.
const MAGIC: Range<usize> = 16..24;
const JOURNAL: Range<usize> = 32..48;

/// What is left of blocks that cannot be read. A write that was cut short leaves none of it: a header lies in one sector.
#[derive(Clone, Debug, Default)]
pub struct Remains {
    /// File and offset of pages that cannot be read, or begin like a block of this journal and are none.
    pub(super) places: BTreeSet<(u32, u64)>,
    /// The highest number of a block that lies where it does not belong.
    pub(super) strayed: u64,
}

/// What takes the blocks of a file as they are found: header, its checksum, and all bytes of the block.
pub type BlockSink<'a> = &'a mut dyn FnMut(&BlockHeader, u128, &[u8]);

/// How often a page is read before it counts as unreadable: some disks fail a read once.
const ATTEMPTS: u8 = 3;

/// Reads one file, piece by piece. Ask [`FileScan::wants`], bring the bytes to [`FileScan::feed`], until nothing is wanted.
#[derive(Debug)]
pub struct FileScan {
    journal: u128,
    file: u32,
    file_bytes: u64,
    /// The piece that is wanted, or that is read page by page.
    piece: u64,
    /// The block that began in an earlier piece, as far as it was read.
    begun: Vec<u8>,
    /// After an unreadable piece: its pages one by one, so that the readable ones count.
    pages: Option<Pages>,
    remains: Remains,
}

#[derive(Debug, Default)]
struct Pages {
    /// How often the first page of those left was read in vain.
    attempts: u8,
    bytes: Vec<u8>,
    left: VecDeque<usize>,
}

impl Remains {
    /// Of a file of which nothing was read.
    pub(super) const NOTHING: Self = Self { places: BTreeSet::new(), strayed: 0 };

    /// Of two files together.
    pub fn add(&mut self, other: Self) {
        self.places.extend(other.places);
        self.strayed = self.strayed.max(other.strayed);
    }
}

impl FoundBlock {
    /// The block as a recovery judges it.
    #[must_use]
    pub fn new(header: &BlockHeader, checksum: u128, block: &[u8]) -> Self {
        let records = header.records(block).ok().map(|records| keep_bodies(records, block));
        Self { header: *header, checksum, records }
    }

    /// The block as a superblock names it.
    #[must_use]
    pub const fn synced(&self) -> SyncedBlock {
        let BlockHeader { sequence, file, .. } = self.header;
        SyncedBlock { sequence, checksum: self.checksum, file }
    }

    /// Whether every record of it is whole.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.records.as_ref().is_some_and(|records| records.iter().all(|found| found.record.whole))
    }
}

impl FileScan {
    /// A scan of file number `file` of the journal with this mark.
    #[must_use]
    pub fn new(journal: u128, file: u32, file_bytes: u64) -> Self {
        Self {
            journal,
            file,
            file_bytes,
            piece: 0,
            begun: Vec::new(),
            pages: None,
            remains: Remains::default(),
        }
    }

    /// What to read next: a position in the file and how many bytes. Pieces follow each other; only behind one that
    /// cannot be read its pages are wanted.
    #[must_use]
    pub fn wants(&self) -> Option<(u64, usize)> {
        if let Some(pages) = &self.pages {
            return pages.left.front().map(|page| (self.piece + *page as u64, PAGE));
        }
        let length = piece_bytes(self.file_bytes, self.piece);
        (length > 0).then_some((self.piece, length))
    }

    /// Takes what was read, `None` for what cannot be; hands on the blocks that are complete. Missing bytes count as zero.
    pub fn feed(&mut self, bytes: Option<&[u8]>, found: BlockSink<'_>) {
        let length = piece_bytes(self.file_bytes, self.piece);
        if let Some(pages) = &mut self.pages {
            let Some(page) = pages.left.pop_front() else { return };
            pages.attempts += 1;
            if bytes.is_none() && pages.attempts < ATTEMPTS {
                pages.left.push_front(page);
                return;
            }
            pages.attempts = 0;
            if let Some(bytes) = bytes {
                let count = bytes.len().min(PAGE);
                pages.bytes[page..page + count].copy_from_slice(&bytes[..count]);
            } else {
                self.remains.places.insert((self.file, self.piece + page as u64));
            }
            if pages.left.is_empty() {
                let bytes = self.pages.take().unwrap_or_default().bytes;
                self.take(&bytes, found);
            }
            return;
        }
        match bytes {
            Some(bytes) if bytes.len() == length => self.take(bytes, found),
            Some(bytes) => {
                let mut padded = bytes.to_vec();
                padded.resize(length, 0);
                self.take(&padded, found);
            }
            None => {
                let left = (0..length).step_by(PAGE).collect();
                self.pages = Some(Pages { bytes: vec![0; length], left, attempts: 0 });
            }
        }
    }

    fn take(&mut self, piece: &[u8], found: BlockSink<'_>) {
        self.note_strays(piece);
        let mut at = self.finish_begun(piece, found);
        while at < piece.len() {
            let rest = &piece[at..];
            let Some((header, checksum)) = self.block_at(rest, self.piece + at as u64) else {
                self.note_remains(rest, self.piece + at as u64);
                at += PAGE;
                continue;
            };
            let Some(block) = rest.get(..header.bytes as usize) else {
                self.begun.extend_from_slice(rest);
                break;
            };
            found(&header, checksum, block);
            at += block.len();
        }
        self.piece += piece.len() as u64;
    }

    /// Completes the block that began in an earlier piece; returns how many bytes of this one belong to it.
    fn finish_begun(&mut self, piece: &[u8], found: BlockSink<'_>) -> usize {
        let offset = self.piece - self.begun.len() as u64;
        let Some((header, checksum)) = self.block_at(&self.begun, offset) else { return 0 };
        let missing = (header.bytes as usize - self.begun.len()).min(piece.len());
        self.begun.extend_from_slice(&piece[..missing]);
        if self.begun.len() == header.bytes as usize {
            found(&header, checksum, &self.begun);
            self.begun.clear();
        }
        missing
    }

    /// What the pages say that begin no block, once nothing is wanted any more.
    #[must_use]
    pub fn into_remains(self) -> Remains {
        self.remains
    }

    /// Looks at a page that begins no block.
    fn note_remains(&mut self, page: &[u8], offset: u64) {
        let marked =
            page.get(MAGIC) == Some(&KIND.magic) || page.get(JOURNAL) == Some(&self.journal.to_le_bytes());
        if marked && BlockHeader::decode(page).is_err() {
            self.remains.places.insert((self.file, offset));
        }
    }

    /// A block that strayed may lie on any page of another one.
    fn note_strays(&mut self, piece: &[u8]) {
        for (page, offset) in piece.chunks(PAGE).zip((self.piece..).step_by(PAGE)) {
            if let Ok((header, _)) = BlockHeader::decode(page)
                && header.journal == self.journal
                && (header.file, header.offset) != (self.file, offset)
            {
                self.remains.strayed = self.remains.strayed.max(header.sequence);
            }
        }
    }

    /// A header of this journal that is where it says it is, of a block that fits its file.
    fn block_at(&self, bytes: &[u8], offset: u64) -> Option<(BlockHeader, u128)> {
        let (header, checksum) = BlockHeader::decode(bytes).ok()?;
        let here = header.journal == self.journal && header.file == self.file && header.offset == offset;
        let fits = offset + u64::from(header.bytes) <= self.file_bytes;
        (here && fits).then_some((header, checksum))
    }
}

/// Bytes of the piece of a file that begins at `offset`.
pub(super) fn piece_bytes(file_bytes: u64, offset: u64) -> usize {
    usize::try_from(file_bytes.saturating_sub(offset).min(PIECE)).unwrap_or(0)
}

fn keep_bodies(records: Vec<BlockRecord>, block: &[u8]) -> Vec<FoundRecord> {
    let found = |record: BlockRecord| {
        let end = record.body_start + record.header.body_length as usize;
        let body = &block[record.body_start..end];
        let next_offset = if record.whole { next_offset(&record.header, body) } else { None };
        let kept = if record.header.kind == RecordKind::Prepare { Vec::new() } else { body.to_vec() };
        FoundRecord { record, body: kept, next_offset }
    };
    records.into_iter().map(found).collect()
}

/// The offset behind the messages of a batch, or a lower one if some of its offsets are given to no message.
fn next_offset(header: &RecordHeader, body: &[u8]) -> Option<u64> {
    let batch = match header.body_check {
        BodyCheck::Batch => BatchHeader::decode(body).ok()?,
        BodyCheck::Whole => return None,
    };
    batch.base_offset.checked_add(batch.count.into())
}
