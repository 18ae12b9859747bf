//! What a start does with the files of a journal, and waits for.

use std::collections::BTreeMap;

use ng_io::{Driver, Environment, Handle, Instant, IoError, Operation, Outcome, Wait};

use super::growth::Growth;
use super::measured::Measured;
use super::reads::Reads;
use super::{JournalHome, JournalShell, READ};
use crate::PAGE;
use crate::held_file::open_when_free;
use crate::journal::recovery::{Recovered, recover};
use crate::journal::scan::Remains;
use crate::journal::{JournalFault, Limits};

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
        this.create_first(driver).map_err(|error| JournalFault { file: 0, error })?;
        Ok((this, Recovered::empty(1)))
    }

    fn create_first(&mut self, driver: &mut E::Driver) -> Result<(), IoError> {
        let handle = self.open_when_free(driver, 0, true)?;
        self.files.push(handle);
        self.fill_now(driver, handle, 0)?;
        self.environment.sync_directory(&self.home.directory)
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
        let mut this = Self::closed(environment, home, limits);
        this.open_all(driver)?;
        let mut reads = Reads::new(&this);
        let mut found = Vec::new();
        let mut remains = Remains::default();
        for number in 0..this.count() {
            let scanned = reads.scan(driver, number).map_err(|error| JournalFault { file: number, error })?;
            found.push((scanned.length, scanned.blocks));
            remains.add(scanned.remains);
        }
        for (number, (length, blocks)) in (0_u32..).zip(&found) {
            let fault = |error| JournalFault { file: number, error };
            this.complete(driver, number, *length, blocks.is_empty()).map_err(fault)?;
        }
        // A file that was made by a process that died just then: blocks must not rely on a name that may go.
        let directory = this.environment.sync_directory(&this.home.directory);
        directory.map_err(|error| JournalFault { file: 0, error })?;
        let blocks = found.into_iter().flat_map(|(_, blocks)| blocks).collect();
        let recovered = recover(blocks, &remains, this.count(), floors);
        Ok((this, recovered))
    }

    fn closed(environment: E, home: JournalHome, limits: Limits) -> Self {
        let (growth, measured) = (Growth::default(), Measured::default());
        Self { environment, home, limits, files: Vec::new(), growth, measured }
    }

    fn count(&self) -> u32 {
        u32::try_from(self.files.len()).unwrap_or(self.limits.files_max)
    }

    fn open_all(&mut self, driver: &mut E::Driver) -> Result<(), JournalFault> {
        for number in 0..self.limits.files_max {
            match self.open_when_free(driver, number, false) {
                Err(error) if error.is_absent() => break,
                opened => self.files.push(opened.map_err(|error| JournalFault { file: number, error })?),
            }
        }
        Ok(())
    }

    /// A file must have all its bytes before a block may rely on them. The last one may have been in the making: if nothing
    /// is in it, that goes on while the shard works.
    fn complete(
        &mut self,
        driver: &mut E::Driver,
        number: u32,
        length: u64,
        is_empty: bool,
    ) -> Result<(), IoError> {
        let file = self.files[number as usize];
        let whole_pages = length / PAGE as u64 * PAGE as u64;
        if length < self.limits.file_bytes && is_empty && number > 0 && number + 1 == self.count() {
            self.files.pop();
            self.growth.half = Some((file, whole_pages));
            return Ok(());
        }
        if length < self.limits.file_bytes {
            return self.fill_now(driver, file, whole_pages);
        }
        if is_empty { self.sync_now(driver, file) } else { Ok(()) }
    }

    fn open_when_free(&self, driver: &mut E::Driver, number: u32, create: bool) -> Result<Handle, IoError> {
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
