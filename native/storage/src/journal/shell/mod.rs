//! The hands of the journal: its effects as operations of a driver, their completions as events.

mod bodies;
mod growth;
mod measured;
mod reads;
mod start;
mod uncounted;

use std::path::PathBuf;

use ng_io::{Buffer, Completion, Driver, Environment, FileOptions, Handle, Operation, Outcome, Token};

pub use bodies::body_in;
use growth::Growth;
pub use measured::Measured;
pub use start::StartFault;

use super::{Effect, Event, Limits};

/// What a completion is of; added to the first token that the journal may use.
const WRITE: u64 = 0;
const SYNC: u64 = 1;
const READ: u64 = 2;
const GROW: u64 = 3;
const START: u64 = 4;

/// Reads that a start has under way at a time.
const START_READS: u64 = 4;

/// Tokens that a journal uses, from the first that it was given.
pub const TOKENS: u64 = START + START_READS;

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
    /// By number; none for one that is missing, until [`JournalShell::complete`] has made it again.
    files: Vec<Option<Handle>>,
    growth: Growth,
    measured: Measured,
}

/// Name of a file of the ring.
#[must_use]
pub fn file_name(number: u32) -> String {
    format!("journal-{number:08}")
}

impl<E: Environment> JournalShell<E> {
    /// Starts whatever is to be done on the disk; leaves the rest of the effects to the caller.
    pub fn perform(&mut self, driver: &mut E::Driver, effects: &mut Vec<Effect>) {
        for effect in effects.extract_if(.., |effect| effect.is_of_the_disk()) {
            self.start(driver, effect);
        }
    }

    fn start(&mut self, driver: &mut E::Driver, effect: Effect) {
        match effect {
            Effect::Write { file, offset, buffer, sync } => {
                self.measured.write_begins(driver.now(), buffer.len(), sync);
                let write = Operation::WriteAt { file: self.handle(file), buffer, offset, sync };
                self.submit(driver, WRITE, write);
            }
            Effect::Sync { file } => {
                self.measured.sync_begins(driver.now());
                self.submit(driver, SYNC, Operation::Sync { file: self.handle(file) });
            }
            Effect::Read { file, offset, length } => {
                let buffer = Buffer::aligned(length);
                self.submit(driver, READ, Operation::ReadAt { file: self.handle(file), buffer, offset });
            }
            Effect::Grow { file } => self.grow(driver, file),
            Effect::Enlist { .. } | Effect::Durable { .. } | Effect::Damaged { .. } | Effect::Fatal(_) => {}
        }
    }

    /// Whether a completion is of this journal, and so for [`JournalShell::event`].
    #[must_use]
    pub fn owns(&self, completion: &Completion) -> bool {
        (self.home.first_token..self.home.first_token + TOKENS).contains(&completion.token.0)
    }

    /// The event that a completion is, if it is one of this journal's.
    pub fn event(&mut self, driver: &mut E::Driver, completion: Completion) -> Option<Event> {
        let kind = completion.token.0.checked_sub(self.home.first_token)?;
        match (kind, completion.outcome) {
            (WRITE, Outcome::Written { buffer, result }) => {
                self.measured.written(driver.now());
                Some(Event::Written { buffer, result })
            }
            (SYNC, Outcome::Synced(result)) => {
                self.measured.synced(driver.now());
                Some(Event::Synced(result))
            }
            (READ, Outcome::Read { buffer, result }) => Some(Event::Read(result.map(|_| buffer))),
            (GROW, outcome) => self.grow_on(driver, outcome),
            _ => None,
        }
    }

    /// How large the blocks were, and how long their syncs took.
    #[must_use]
    pub const fn measured(&self) -> &Measured {
        &self.measured
    }

    fn handle(&self, file: u32) -> Handle {
        self.files[file as usize].expect("a journal resumes on files that are all there")
    }

    fn submit(&self, driver: &mut E::Driver, kind: u64, operation: Operation) {
        driver.submit(Token(self.home.first_token + kind), operation);
    }

    fn path(&self, number: u32) -> PathBuf {
        self.home.directory.join(file_name(number))
    }

    fn options(&self, create: bool) -> FileOptions {
        FileOptions { create, direct: self.home.direct, lock: true, ..FileOptions::WRITE }
    }
}
