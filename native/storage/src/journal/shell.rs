//! The hands of the journal: its effects as operations of a driver, their completions as events.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ng_io::{
    Buffer, Completion, Driver, Environment, FileOptions, Handle, Instant, IoError, Operation, Outcome,
    Token, Wait,
};

use super::recovery::{Recovered, recover};
use super::scan::{FileScan, FoundBlock};
use super::{Effect, Event, JournalFault, Limits};
use crate::PAGE;

/// Bytes of zero written at a time into a new file.
const FILL: u64 = 1 << 20;

/// How long a start waits for the last writes of the process before it, and how often it looks.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);
const LOCK_RETRY: Duration = Duration::from_millis(2);

/// Files that a new journal begins with.
const FILES_MIN: u32 = 2;

/// What a completion is of; added to the first token that the journal may use.
const WRITE: u64 = 0;
const SYNC: u64 = 1;
const READ: u64 = 2;
const FILL_WRITE: u64 = 3;
const FILL_SYNC: u64 = 4;

/// Tokens that a journal uses, from the first that it was given.
pub const TOKENS: u64 = 5;

/// Where a journal is, and how its files are opened.
#[derive(Clone, Debug)]
pub struct JournalHome {
    /// The directory of the files.
    pub directory: PathBuf,
    /// Whether the file system lets files bypass the page cache.
    pub direct: bool,
    /// The superblock's mark of this journal.
    pub journal: u128,
    /// The first of [`TOKENS`] tokens that nobody else uses with the driver.
    pub first_token: u64,
}

/// The open files of a journal.
#[derive(Debug)]
pub struct JournalShell<E: Environment> {
    environment: E,
    home: JournalHome,
    limits: Limits,
    files: Vec<Handle>,
    /// A file being made: its handle, and how much of it is written.
    filling: Option<(Handle, u64)>,
}

/// Name of a file of the ring.
#[must_use]
pub fn file_name(number: u32) -> String {
    format!("journal-{number:08}")
}

impl<E: Environment> JournalShell<E> {
    /// Makes the files of a new journal and waits until they are synced. For a start, not for a shard's turn.
    pub fn create(
        environment: E,
        driver: &mut E::Driver,
        home: JournalHome,
        limits: Limits,
    ) -> Result<(Self, Recovered), JournalFault> {
        let mut this = Self { environment, home, limits, files: Vec::new(), filling: None };
        for number in 0..FILES_MIN {
            let fault = |error| JournalFault { file: number, error };
            let handle = this.open(driver, number, true).map_err(fault)?;
            this.files.push(handle);
            this.fill_now(driver, handle, 0).map_err(fault)?;
        }
        Ok((this, Recovered::empty(FILES_MIN)))
    }

    /// Opens the files of a journal that was written before, reads all of them, and judges what they hold. For a start, not
    /// for a shard's turn.
    pub fn recover(
        environment: E,
        driver: &mut E::Driver,
        home: JournalHome,
        limits: Limits,
        floors: &BTreeMap<u64, u64>,
    ) -> Result<(Self, Recovered), JournalFault> {
        let mut this = Self { environment, home, limits, files: Vec::new(), filling: None };
        let mut blocks = Vec::new();
        for number in 0..limits.files_max {
            let fault = |error| JournalFault { file: number, error };
            let handle = match this.open_patiently(driver, number) {
                Err(error) if error.is_absent() => break,
                opened => opened.map_err(fault)?,
            };
            this.files.push(handle);
            let (found, length) = this.scan(driver, number, handle).map_err(fault)?;
            blocks.extend(found);
            if length < limits.file_bytes {
                // Growing was cut short; the file must have all its bytes before a block may rely on them.
                this.fill_now(driver, handle, length / PAGE as u64 * PAGE as u64).map_err(fault)?;
            }
        }
        let files = u32::try_from(this.files.len()).unwrap_or(limits.files_max);
        Ok((this, recover(blocks, files, floors)))
    }

    /// Starts whatever is to be done on the disk; leaves the rest of the effects to the caller.
    pub fn perform(&mut self, driver: &mut E::Driver, effects: &mut Vec<Effect>, events: &mut Vec<Event>) {
        let mut rest = Vec::new();
        for effect in effects.drain(..) {
            match effect {
                Effect::Write { file, offset, buffer } => {
                    let write = Operation::WriteAt { file: self.handle(file), buffer, offset, sync: false };
                    self.submit(driver, WRITE, write);
                }
                Effect::Sync { file } => {
                    self.submit(driver, SYNC, Operation::Sync { file: self.handle(file) })
                }
                Effect::Read { file, offset, length } => {
                    let buffer = Buffer::aligned(length);
                    self.submit(driver, READ, Operation::ReadAt { file: self.handle(file), buffer, offset });
                }
                Effect::Grow { file } => match self.open(driver, file, true) {
                    Ok(handle) => {
                        self.filling = Some((handle, 0));
                        self.fill(driver);
                    }
                    Err(error) => events.push(Event::Grown(Err(error))),
                },
                other => rest.push(other),
            }
        }
        *effects = rest;
    }

    /// The event that a completion is, if it is one of this journal's.
    pub fn event(&mut self, driver: &mut E::Driver, completion: Completion) -> Option<Event> {
        let kind = completion.token.0.checked_sub(self.home.first_token)?;
        match (kind, completion.outcome) {
            (WRITE, Outcome::Written { result, .. }) => Some(Event::Written(result)),
            (SYNC, Outcome::Synced(result)) => Some(Event::Synced(result)),
            (READ, Outcome::Read { buffer, result }) => Some(Event::Read(result.map(|_| buffer))),
            (FILL_WRITE, Outcome::Written { result: Ok(()), .. }) => {
                if let Some((_, written)) = &mut self.filling {
                    *written += FILL.min(self.limits.file_bytes - *written);
                }
                self.fill(driver);
                None
            }
            (FILL_WRITE, Outcome::Written { result: Err(error), .. }) => self.give_up_filling(driver, error),
            (FILL_SYNC, Outcome::Synced(Err(error))) => self.give_up_filling(driver, error),
            (FILL_SYNC, Outcome::Synced(Ok(()))) => {
                self.files.extend(self.filling.take().map(|(handle, _)| handle));
                Some(Event::Grown(Ok(())))
            }
            _ => None,
        }
    }

    fn give_up_filling(&mut self, driver: &mut E::Driver, error: IoError) -> Option<Event> {
        if let Some((handle, _)) = self.filling.take() {
            driver.close(handle);
        }
        Some(Event::Grown(Err(error)))
    }

    fn handle(&self, file: u32) -> Handle {
        self.files[file as usize]
    }

    fn submit(&self, driver: &mut E::Driver, kind: u64, operation: Operation) {
        driver.submit(Token(self.home.first_token + kind), operation);
    }

    fn open(&self, driver: &mut E::Driver, number: u32, create: bool) -> Result<Handle, IoError> {
        let path: &Path = &self.home.directory;
        let options = FileOptions { create, direct: self.home.direct, lock: true, ..FileOptions::WRITE };
        driver.adopt_file(self.environment.open_file(&path.join(file_name(number)), options)?)
    }

    /// Opens a file that a process which has just been killed may still hold: its last writes must land before it is read.
    fn open_patiently(&self, driver: &mut E::Driver, number: u32) -> Result<Handle, IoError> {
        let deadline = driver.now() + LOCK_PATIENCE;
        loop {
            match self.open(driver, number, false) {
                Err(error) if error.is_held() && driver.now() < deadline => {
                    let soon = driver.now() + LOCK_RETRY;
                    driver.complete(Wait::Until(soon), &mut Vec::new())?;
                }
                opened => return opened,
            }
        }
    }

    /// Writes the next piece of a file being made, or syncs it when it is whole.
    fn fill(&self, driver: &mut E::Driver) {
        let Some((file, written)) = self.filling else { return };
        match self.zeroes(written) {
            Some(buffer) => {
                let write = Operation::WriteAt { file, buffer, offset: written, sync: false };
                self.submit(driver, FILL_WRITE, write);
            }
            None => self.submit(driver, FILL_SYNC, Operation::Sync { file }),
        }
    }

    fn zeroes(&self, from: u64) -> Option<Buffer> {
        const ZERO: [u8; PAGE] = [0; PAGE];
        let count = usize::try_from(FILL.min(self.limits.file_bytes - from)).ok()?;
        let mut buffer = Buffer::aligned(count);
        while buffer.len() < count {
            buffer.extend_from_slice(&ZERO);
        }
        (count > 0).then_some(buffer)
    }

    fn fill_now(&self, driver: &mut E::Driver, file: Handle, from: u64) -> Result<(), IoError> {
        let mut written = from;
        while let Some(buffer) = self.zeroes(written) {
            let count = buffer.len() as u64;
            let write = Operation::WriteAt { file, buffer, offset: written, sync: false };
            if let Outcome::Written { result, .. } = self.run(driver, write)? {
                result?;
            }
            written += count;
        }
        if let Outcome::Synced(result) = self.run(driver, Operation::Sync { file })? {
            result?;
        }
        Ok(())
    }

    /// Reads a whole file; returns its blocks and its length.
    fn scan(
        &self,
        driver: &mut E::Driver,
        number: u32,
        file: Handle,
    ) -> Result<(Vec<FoundBlock>, u64), IoError> {
        let mut scan = FileScan::new(self.home.journal, number, self.limits.file_bytes);
        let mut length = self.limits.file_bytes;
        while let Some((offset, count)) = scan.wants() {
            let read = Operation::ReadAt { file, buffer: Buffer::aligned(count), offset };
            match self.run(driver, read)? {
                Outcome::Read { buffer, result: Ok(_) } => {
                    if buffer.len() < count {
                        length = length.min(offset + buffer.len() as u64);
                    }
                    scan.feed(Some(&buffer));
                }
                // A piece that cannot be read is damage, or nothing: the judgement over all files says which.
                _ => scan.feed(None),
            }
        }
        Ok((scan.finish(), length))
    }

    /// Does one operation and waits for it, which only a start may.
    fn run(&self, driver: &mut E::Driver, operation: Operation) -> Result<Outcome, IoError> {
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
