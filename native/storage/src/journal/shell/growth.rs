//! A further file of the ring, made while the shard works: written with zeroes and synced, then its name. The superblock
//! counts it after that, and only then it takes blocks.
//!
//! What fails leaves the file as far as it is. The next attempt goes on from there.

use ng_io::{Buffer, Driver, Environment, FileOptions, Handle, IoError, Operation, Outcome};

use super::{Event, GROW, JournalShell};
use crate::PAGE;

/// Bytes of zero written at a time.
const FILL: u64 = 1 << 20;

/// The file that is being made.
#[derive(Debug, Default)]
pub(super) struct Growth {
    /// Once it is open: its handle, and how much of it is written.
    half: Option<(Handle, u64)>,
    /// While its name is synced.
    directory: Option<Handle>,
}

impl<E: Environment> JournalShell<E> {
    pub(super) fn grow(&mut self, driver: &mut E::Driver, number: u32) {
        if self.growth.half.is_some() {
            self.fill(driver, Buffer::default());
            return;
        }
        let open = Operation::Open { path: self.path(number), options: self.options(true) };
        self.submit(driver, GROW, open);
    }

    /// The next step, after the one before has ended.
    pub(super) fn grow_on(&mut self, driver: &mut E::Driver, outcome: Outcome) -> Option<Event> {
        match (outcome, self.growth.half) {
            (Outcome::Opened(Ok(handle)), None) => {
                self.growth.half = Some((handle, 0));
                self.fill(driver, Buffer::default());
            }
            (Outcome::Opened(Ok(directory)), Some(_)) => {
                self.growth.directory = Some(directory);
                self.submit(driver, GROW, Operation::Sync { file: directory });
            }
            (Outcome::Written { result: Ok(()), buffer }, Some((handle, written))) => {
                self.growth.half = Some((handle, written + buffer.len() as u64));
                self.fill(driver, buffer.into_buffer().unwrap_or_default());
            }
            (Outcome::Synced(Ok(())), Some((handle, _))) => {
                if let Some(directory) = self.growth.directory.take() {
                    driver.close(directory);
                    self.growth.half = None;
                    self.files.push(Some(handle));
                    return Some(Event::Grown(Ok(())));
                }
                let options = FileOptions::DIRECTORY;
                self.submit(driver, GROW, Operation::Open { path: self.home.directory.clone(), options });
            }
            (outcome, _) => return self.give_up(driver, &outcome),
        }
        None
    }

    fn give_up(&mut self, driver: &mut E::Driver, outcome: &Outcome) -> Option<Event> {
        let error = match outcome {
            Outcome::Opened(Err(error)) | Outcome::Written { result: Err(error), .. } => *error,
            Outcome::Synced(Err(error)) => {
                // A sync is never tried again on what it failed for: that is written anew.
                if let (None, Some((_, written))) = (self.growth.directory, &mut self.growth.half) {
                    *written = 0;
                }
                *error
            }
            _ => return None,
        };
        if let Some(directory) = self.growth.directory.take() {
            driver.close(directory);
        }
        Some(Event::Grown(Err(error)))
    }

    /// Writes the next piece, or syncs the file when it is whole. `before` is the piece before, if there was one.
    fn fill(&self, driver: &mut E::Driver, before: Buffer) {
        let Some((file, offset)) = self.growth.half else { return };
        let next = match self.zeroes(offset, before) {
            Some(buffer) => Operation::WriteAt { file, buffer: buffer.into(), offset, sync: false },
            None => Operation::Sync { file },
        };
        self.submit(driver, GROW, next);
    }

    /// The piece of a new file that begins at `from`, in the memory of the one before.
    fn zeroes(&self, from: u64, before: Buffer) -> Option<Buffer> {
        const ZERO: [u8; PAGE] = [0; PAGE];
        let count = usize::try_from(FILL.min(self.limits.file_bytes - from)).ok()?;
        let mut buffer = if before.is_empty() { Buffer::aligned(count) } else { before };
        buffer.truncate(count);
        while buffer.len() < count {
            buffer.extend_from_slice(&ZERO);
        }
        (count > 0).then_some(buffer)
    }

    /// The same in one go, for a start.
    pub(super) fn fill_now(&self, driver: &mut E::Driver, file: Handle, from: u64) -> Result<(), IoError> {
        let (mut offset, mut before) = (from, Buffer::default());
        while let Some(buffer) = self.zeroes(offset, before) {
            let write = Operation::WriteAt { file, buffer: buffer.into(), offset, sync: false };
            let Outcome::Written { buffer, result } = self.run(driver, write)? else { break };
            result?;
            offset += buffer.len() as u64;
            before = buffer.into_buffer().unwrap_or_default();
        }
        self.sync_now(driver, file)
    }
}
