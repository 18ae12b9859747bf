//! Reading one file of the ring: which blocks are in it, and what of each is whole.

use std::collections::VecDeque;

use crate::PAGE;
use crate::block::{BlockHeader, BlockRecord};
use crate::record::RecordKind;

/// Bytes asked for at a time, where no block is larger.
const PIECE: usize = 1 << 20;

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
}

/// Reads one file, piece by piece. Ask [`FileScan::wants`], bring the bytes to [`FileScan::feed`], until nothing is wanted.
#[derive(Debug)]
pub struct FileScan {
    journal: u128,
    file: u32,
    file_bytes: u64,
    offset: u64,
    wanted: usize,
    /// After an unreadable piece: its pages one by one, so that the readable ones count.
    pages: Option<Pages>,
    found: Vec<FoundBlock>,
}

#[derive(Debug, Default)]
struct Pages {
    bytes: Vec<u8>,
    left: VecDeque<usize>,
}

impl FoundBlock {
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
        let wanted = piece(file_bytes, 0, PIECE);
        Self { journal, file, file_bytes, offset: 0, wanted, pages: None, found: Vec::new() }
    }

    /// What to read next: a position in the file and how many bytes.
    #[must_use]
    pub fn wants(&self) -> Option<(u64, usize)> {
        if let Some(pages) = &self.pages {
            return pages.left.front().map(|page| (self.offset + *page as u64, PAGE));
        }
        (self.wanted > 0).then_some((self.offset, self.wanted))
    }

    /// Takes what was read, `None` for a piece that cannot be. A short piece counts as zero bytes to its end.
    pub fn feed(&mut self, bytes: Option<&[u8]>) {
        if let Some(pages) = &mut self.pages {
            let Some(page) = pages.left.pop_front() else { return };
            if let Some(bytes) = bytes {
                let end = page + bytes.len().min(PAGE);
                pages.bytes[page..end].copy_from_slice(&bytes[..end - page]);
            }
            if pages.left.is_empty() {
                let bytes = self.pages.take().unwrap_or_default().bytes;
                self.take(&bytes);
            }
            return;
        }
        match bytes {
            Some(bytes) if bytes.len() == self.wanted => self.take(bytes),
            Some(bytes) => {
                let mut padded = bytes.to_vec();
                padded.resize(self.wanted, 0);
                self.take(&padded);
            }
            None => {
                let left = (0..self.wanted).step_by(PAGE).collect();
                self.pages = Some(Pages { bytes: vec![0; self.wanted], left });
            }
        }
    }

    /// The blocks of the file.
    #[must_use]
    pub fn finish(self) -> Vec<FoundBlock> {
        self.found
    }

    fn take(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            let offset = self.offset + at as u64;
            let Some((header, checksum)) = self.block_at(&bytes[at..], offset) else {
                at += PAGE;
                continue;
            };
            let size = header.bytes as usize;
            if at + size > bytes.len() {
                self.offset = offset;
                self.wanted = piece(self.file_bytes, offset, size.max(PIECE));
                return;
            }
            let records = header.records(&bytes[at..at + size]).ok();
            let records = records.map(|records| keep_bodies(records, &bytes[at..at + size]));
            self.found.push(FoundBlock { header, checksum, records });
            at += size;
        }
        self.offset += bytes.len() as u64;
        self.wanted = piece(self.file_bytes, self.offset, PIECE);
    }

    /// A header of this journal that is where it says it is, of a block that fits its file.
    fn block_at(&self, bytes: &[u8], offset: u64) -> Option<(BlockHeader, u128)> {
        let (header, checksum) = BlockHeader::decode(bytes).ok()?;
        let here = header.journal == self.journal && header.file == self.file && header.offset == offset;
        let fits = offset + u64::from(header.bytes) <= self.file_bytes;
        (here && fits).then_some((header, checksum))
    }
}

fn piece(file_bytes: u64, offset: u64, size: usize) -> usize {
    usize::try_from(file_bytes.saturating_sub(offset)).unwrap_or(usize::MAX).min(size)
}

fn keep_bodies(records: Vec<BlockRecord>, block: &[u8]) -> Vec<FoundRecord> {
    let kept = |record: &BlockRecord| {
        let end = record.body_start + record.header.body_length as usize;
        if record.header.kind == RecordKind::Prepare {
            Vec::new()
        } else {
            block[record.body_start..end].to_vec()
        }
    };
    records.into_iter().map(|record| FoundRecord { body: kept(&record), record }).collect()
}
