//! Reading all files of a ring at a start, a few pieces ahead of whoever looks at them.

use std::collections::VecDeque;

use ng_io::{Buffer, Driver, Environment, Handle, Instant, IoError, Operation, Outcome, Wait};

use super::{JournalShell, READ, START, START_READS};
use crate::block::BlockHeader;
use crate::journal::recovery::{FileFault, LostFile};
use crate::journal::scan::{FileScan, FoundBlock, PIECE, Remains, piece_bytes};

/// A piece that was asked for.
struct Piece {
    file: usize,
    offset: u64,
    kind: u64,
    /// What came of it: `None` inside for one that cannot be read.
    read: Option<Option<Buffer>>,
}

/// Pieces of all files in the order in which they will be looked at.
pub(super) struct Reads<'a, E: Environment> {
    shell: &'a JournalShell<E>,
    ahead: VecDeque<Piece>,
    /// The next piece to ask for, and how many were asked for.
    next: (usize, u64),
    asked: u64,
    /// Memory of pieces that were looked at.
    spare: Vec<Buffer>,
}

/// What a file holds.
pub(super) struct ScannedFile {
    pub(super) number: u32,
    pub(super) blocks: Vec<FoundBlock>,
    pub(super) remains: Remains,
    /// The header in its first page, of whatever journal and file.
    pub(super) front: Option<BlockHeader>,
    /// Bytes of it, as far as they are wanted; none if it is missing.
    length: Option<u64>,
}

impl ScannedFile {
    const fn new(number: u32, length: Option<u64>) -> Self {
        let remains = Remains::NOTHING;
        Self { number, blocks: Vec::new(), remains, front: None, length }
    }

    /// Whether something of the file itself is gone: it was whole before the superblock counted it.
    pub(super) fn lost(&self, file_bytes: u64) -> Option<LostFile> {
        let fault = match self.length {
            None => FileFault::Missing,
            Some(bytes) if bytes < file_bytes => FileFault::Short { bytes },
            Some(_) => return None,
        };
        Some(LostFile { number: self.number, fault })
    }
}

impl<'a, E: Environment> Reads<'a, E> {
    pub(super) fn new(shell: &'a JournalShell<E>) -> Self {
        Self { shell, ahead: VecDeque::new(), next: (0, 0), asked: 0, spare: Vec::new() }
    }

    /// Reads the next file; they come in the order of their numbers.
    pub(super) fn scan(&mut self, driver: &mut E::Driver, number: u32) -> Result<ScannedFile, IoError> {
        let JournalShell { home, limits, files, .. } = self.shell;
        let Some(file) = files[number as usize] else { return Ok(ScannedFile::new(number, None)) };
        let mut scan = FileScan::new(home.journal, number, limits.file_bytes);
        let mut scanned = ScannedFile::new(number, Some(limits.file_bytes));
        while let Some((offset, count)) = scan.wants() {
            let planned = self.ahead.front().is_some_and(|piece| {
                piece.file == number as usize && piece.offset == offset && count == self.piece_bytes(offset)
            });
            let is_behind = self.ahead.is_empty() && self.next_piece() == Some((number as usize, offset));
            let read = if planned || is_behind {
                self.ask_ahead(driver);
                self.await_front(driver)?
            } else {
                self.read_page(driver, file, offset, count)?
            };
            if let Some(buffer) = &read
                && buffer.len() < count
            {
                let length = offset + buffer.len() as u64;
                scanned.length = scanned.length.map(|before| before.min(length));
            }
            if offset == 0 {
                let front = read.as_deref().and_then(|page| BlockHeader::decode(page).ok());
                scanned.front = front.map(|(header, _)| header);
            }
            // A piece that cannot be read is damage, or nothing: the judgement over all files says which.
            scan.feed(read.as_deref(), &mut |header, checksum, block| {
                scanned.blocks.push(FoundBlock::new(header, checksum, block));
            });
            self.spare.extend(read);
        }
        scanned.remains = scan.into_remains();
        Ok(scanned)
    }

    fn piece_bytes(&self, offset: u64) -> usize {
        piece_bytes(self.shell.limits.file_bytes, offset)
    }

    /// The next piece to ask for; missing files have none.
    fn next_piece(&self) -> Option<(usize, u64)> {
        let (file, offset) = self.next;
        if self.shell.files.get(file)?.is_some() {
            return Some(self.next);
        }
        debug_assert_eq!(offset, 0, "a file does not go while it is read");
        let next = (file..self.shell.files.len()).find(|next| self.shell.files[*next].is_some())?;
        Some((next, 0))
    }

    fn ask_ahead(&mut self, driver: &mut E::Driver) {
        while (self.ahead.len() as u64) < START_READS
            && let Some((file, offset)) = self.next_piece()
            && let Some(handle) = self.shell.files[file]
        {
            let count = self.piece_bytes(offset);
            let mut buffer = self.spare.pop().filter(|buffer| buffer.capacity() >= count);
            let mut buffer = buffer.take().unwrap_or_else(|| Buffer::aligned(count));
            buffer.clear();
            buffer.shrink_to(count);
            let kind = START + self.asked % START_READS;
            let read = Operation::ReadAt { file: handle, buffer, offset };
            self.shell.submit(driver, kind, read);
            self.ahead.push_back(Piece { file, offset, kind, read: None });
            self.asked += 1;
            let after = offset + PIECE;
            self.next = if after < self.shell.limits.file_bytes { (file, after) } else { (file + 1, 0) };
        }
    }

    fn await_front(&mut self, driver: &mut E::Driver) -> Result<Option<Buffer>, IoError> {
        while self.ahead.front().is_some_and(|piece| piece.read.is_none()) {
            self.wait(driver, &mut None)?;
        }
        Ok(self.ahead.pop_front().and_then(|piece| piece.read).flatten())
    }

    /// Reads a page of a piece that cannot be read as a whole.
    fn read_page(
        &mut self,
        driver: &mut E::Driver,
        file: Handle,
        offset: u64,
        count: usize,
    ) -> Result<Option<Buffer>, IoError> {
        self.shell.submit(driver, READ, Operation::ReadAt { file, buffer: Buffer::aligned(count), offset });
        let mut page = None;
        while page.is_none() {
            self.wait(driver, &mut page)?;
        }
        Ok(page.flatten())
    }

    fn wait(&mut self, driver: &mut E::Driver, page: &mut Option<Option<Buffer>>) -> Result<(), IoError> {
        let mut completions = Vec::new();
        driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut completions)?;
        for completion in completions {
            let kind = completion.token.0.wrapping_sub(self.shell.home.first_token);
            let read = match completion.outcome {
                Outcome::Read { buffer, result: Ok(_) } => Some(buffer),
                _ => None,
            };
            if kind == READ {
                *page = Some(read);
            } else if let Some(piece) =
                self.ahead.iter_mut().find(|piece| piece.kind == kind && piece.read.is_none())
            {
                piece.read = Some(read);
            }
        }
        Ok(())
    }
}
