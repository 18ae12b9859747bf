//! A journal when a shard starts: made, or opened and read as a whole, or completed where an operator accepted that a file is
//! lost.

use std::collections::{BTreeMap, BTreeSet};

use ng_io::{Buffer, Driver, Environment, Handle, Instant, IoError, Operation, Outcome, Wait};
use thiserror::Error;

use super::growth::Growth;
use super::measured::Measured;
use super::reads::{Reads, ScannedFile};
use super::{JournalHome, JournalShell, READ};
use crate::PAGE;
use crate::held_file::open_when_free;
use crate::journal::recovery::{FileFault, LostFile, Recovered, recover};
use crate::journal::scan::Remains;
use crate::journal::strays::{StrayFile, earlier_files, stray_front};
use crate::journal::{JournalFault, Limits};
use crate::superblock::Ring;

/// Why the files of a journal are not read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StartFault {
    /// The disk failed.
    #[error("{0}")]
    Io(#[from] JournalFault),
    /// Files are not those that this life of the journal left.
    #[error("{}", list(.0))]
    Strays(Vec<StrayFile>),
    /// A file has blocks that the superblock cannot know of.
    #[error("the superblock is older than the blocks of journal-{0:08}")]
    OlderSuperblock(u32),
}

fn list(strays: &[StrayFile]) -> String {
    let all: Vec<String> = strays.iter().map(ToString::to_string).collect();
    all.join(", ")
}

impl<E: Environment> JournalShell<E> {
    /// Makes the first file of a new journal and waits until it is synced; the second is made while the shard works. For a
    /// start, not for a shard's turn.
    pub fn create(
        environment: E,
        driver: &mut E::Driver,
        home: JournalHome,
        limits: Limits,
    ) -> Result<(Self, Recovered), JournalFault> {
        let mut this = Self::closed(environment, home, limits);
        this.files.push(None);
        this.fill_file(driver, 0, 0)?;
        this.sync_names()?;
        Ok((this, Recovered::empty(1)))
    }

    /// Opens the files that the superblock counts, reads all of them, and judges what they hold. `incarnation` is the highest
    /// that can have written a block. Changes nothing; for a start, not for a shard's turn.
    pub fn recover(
        environment: E,
        driver: &mut E::Driver,
        home: JournalHome,
        limits: Limits,
        (ring, incarnation): (Ring, u64),
        floors: &BTreeMap<u64, u64>,
    ) -> Result<(Self, Recovered), StartFault> {
        let mut this = Self::closed(environment, home, limits);
        this.open_all(driver, ring.files)?;
        let mut scanned = this.scan_all(driver)?;
        let mut strays: Vec<StrayFile> = scanned.iter().filter_map(|file| this.stray(file)).collect();
        strays.extend(this.uncounted(driver, ring.files)?);
        let blocks: Vec<_> = scanned.iter_mut().flat_map(|file| std::mem::take(&mut file.blocks)).collect();
        if strays.is_empty() {
            strays = earlier_files(&blocks);
        }
        if !strays.is_empty() {
            return Err(StartFault::Strays(strays));
        }
        if let Some(block) = blocks.iter().find(|block| block.header.incarnation > incarnation) {
            return Err(StartFault::OlderSuperblock(block.header.file));
        }
        let lost: Vec<LostFile> = scanned.iter().filter_map(|file| file.lost(limits.file_bytes)).collect();
        let mut remains = Remains::default();
        scanned.into_iter().for_each(|file| remains.add(file.remains));
        let recovered = recover(blocks, &remains, &ring, &lost, floors);
        Ok((this, recovered))
    }

    /// Makes what is lost of the journal's files again, all zero, once a node goes on over it, and clears what remains of lost
    /// blocks. To be called before the journal resumes.
    pub fn complete(&mut self, driver: &mut E::Driver, recovered: &Recovered) -> Result<(), JournalFault> {
        for lost in &recovered.lost_files {
            let from = match lost.fault {
                FileFault::Missing => 0,
                FileFault::Short { bytes } => self.pad_last_page(driver, lost.number, bytes)?,
            };
            self.fill_file(driver, lost.number, from)?;
        }
        self.clear_remains(driver, &recovered.remains)?;
        if recovered.lost_files.is_empty() { Ok(()) } else { self.sync_names() }
    }

    /// Writes zeroes over what remains of blocks: once the ring has gone round, a later start would take it for the newest block.
    /// The losses stay known without it, by the numbers that are missing. Remains right behind the head stay: they alone tell
    /// that a block was there, until the first block of this life replaces them and lists it.
    fn clear_remains(&self, driver: &mut E::Driver, remains: &[(u32, u64)]) -> Result<(), JournalFault> {
        let mut cleared = BTreeSet::new();
        for (number, offset) in remains {
            let Some(file) = self.files[*number as usize] else { continue };
            let mut page = Buffer::aligned(PAGE);
            page.extend_from_slice(&[0; PAGE]);
            let write = Operation::WriteAt { file, buffer: page.into(), offset: *offset, sync: false };
            let fault = |error| JournalFault { file: *number, error };
            let outcome = self.run(driver, write).map_err(fault)?;
            // A sector that fails for good stays: it counts as nothing, except behind the head.
            if !matches!(outcome, Outcome::Written { result: Err(_), .. }) {
                cleared.insert((*number, file));
            }
        }
        for (number, file) in cleared {
            self.sync_now(driver, file).map_err(|error| JournalFault { file: number, error })?;
        }
        Ok(())
    }

    fn closed(environment: E, home: JournalHome, limits: Limits) -> Self {
        let (growth, measured) = (Growth::default(), Measured::default());
        Self { environment, home, limits, files: Vec::new(), growth, measured }
    }

    /// Opens every file that counts, whatever the settings say of their number; one may be missing.
    fn open_all(&mut self, driver: &mut E::Driver, files: u32) -> Result<(), JournalFault> {
        for number in 0..files {
            let opened = match self.open_when_free(driver, number, false) {
                Err(error) if error.is_absent() => None,
                opened => Some(opened.map_err(|error| JournalFault { file: number, error })?),
            };
            self.files.push(opened);
        }
        Ok(())
    }

    fn scan_all(&self, driver: &mut E::Driver) -> Result<Vec<ScannedFile>, JournalFault> {
        let mut reads = Reads::new(self);
        let scan =
            |number: u32| reads.scan(driver, number).map_err(|error| JournalFault { file: number, error });
        (0_u32..).take(self.files.len()).map(scan).collect()
    }

    fn stray(&self, file: &ScannedFile) -> Option<StrayFile> {
        let number = file.number;
        let standing = stray_front(self.home.journal, number, file.front.as_ref()?)?;
        Some(StrayFile { number, standing })
    }

    /// Fills the page in which a file was cut: a block whose end was zero anyway may be whole, and counts. Returns where the
    /// pages begin that are gone.
    fn pad_last_page(&self, driver: &mut E::Driver, number: u32, bytes: u64) -> Result<u64, JournalFault> {
        let fault = |error| JournalFault { file: number, error };
        let offset = bytes / PAGE as u64 * PAGE as u64;
        let Some(file) = self.files[number as usize].filter(|_| offset < bytes) else { return Ok(offset) };
        let read = self.run(driver, Operation::ReadAt { file, buffer: Buffer::aligned(PAGE), offset });
        // What cannot be read now was not read before.
        let Outcome::Read { buffer: cut, result: Ok(_) } = read.map_err(fault)? else { return Ok(offset) };
        let mut page = Buffer::aligned(PAGE);
        page.extend_from_slice(&cut);
        page.extend_from_slice(&[0; PAGE][cut.len()..]);
        let write = Operation::WriteAt { file, buffer: page.into(), offset, sync: false };
        if let Outcome::Written { result, .. } = self.run(driver, write).map_err(fault)? {
            result.map_err(fault)?;
        }
        Ok(offset + PAGE as u64)
    }

    /// Writes a file with zeroes from a position on, and syncs it. It is made if it is not there.
    fn fill_file(&mut self, driver: &mut E::Driver, number: u32, from: u64) -> Result<(), JournalFault> {
        let fault = |error| JournalFault { file: number, error };
        let handle = match self.files[number as usize] {
            Some(handle) => handle,
            None => self.open_when_free(driver, number, true).map_err(fault)?,
        };
        self.files[number as usize] = Some(handle);
        self.fill_now(driver, handle, from).map_err(fault)
    }

    fn sync_names(&self) -> Result<(), JournalFault> {
        let synced = self.environment.sync_directory(&self.home.directory);
        synced.map_err(|error| JournalFault { file: 0, error })
    }

    pub(super) fn open_when_free(
        &self,
        driver: &mut E::Driver,
        number: u32,
        create: bool,
    ) -> Result<Handle, IoError> {
        open_when_free(&self.environment, driver, &self.path(number), self.options(create))
    }

    pub(super) fn sync_now(&self, driver: &mut E::Driver, file: Handle) -> Result<(), IoError> {
        match self.run(driver, Operation::Sync { file })? {
            Outcome::Synced(result) => result,
            _ => Ok(()),
        }
    }

    /// Does one operation and waits for it.
    pub(super) fn run(&self, driver: &mut E::Driver, operation: Operation) -> Result<Outcome, IoError> {
        self.submit(driver, READ, operation);
        let mut completions = Vec::with_capacity(1);
        loop {
            driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut completions)?;
            if let Some(completion) = completions.pop() {
                return Ok(completion.outcome);
            }
        }
    }
}
