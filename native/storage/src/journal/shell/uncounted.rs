//! Files beside those that the superblock counts.
//!
//! A crash may have cut the growth of the ring: then the file of the next number holds no block, and the next growth fills it
//! with zeroes again. Whatever else there is was put there.

use ng_io::{Buffer, Driver, Environment, IoError, Operation, Outcome};

use super::start::StartFault;
use super::{JournalShell, file_name};
use crate::PAGE;
use crate::block::BlockHeader;
use crate::journal::JournalFault;
use crate::journal::scan::piece_bytes;
use crate::journal::strays::{Stray, StrayFile, stray_front};

impl<E: Environment> JournalShell<E> {
    /// The files that nothing of the journal can be in, but for a growth that was cut short.
    pub(super) fn uncounted(&self, driver: &mut E::Driver, files: u32) -> Result<Vec<StrayFile>, StartFault> {
        let listed = self.environment.list_directory(&self.home.directory);
        let names = listed.map_err(|error| JournalFault { file: files, error })?;
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| number_of(name)).collect();
        numbers.retain(|number| *number >= files);
        numbers.sort_unstable();
        let mut strays = Vec::new();
        for number in numbers {
            if let Some(standing) = self.judge(driver, number, files)? {
                strays.push(StrayFile { number, standing });
            }
        }
        Ok(strays)
    }

    fn judge(&self, driver: &mut E::Driver, number: u32, files: u32) -> Result<Option<Stray>, StartFault> {
        let fault = |error| JournalFault { file: number, error };
        let length = self.environment.file_length(&self.path(number)).map_err(fault)?;
        match self.find_block(driver, number).map_err(fault)? {
            Some(block) => match stray_front(self.home.journal, number, &block) {
                // The file takes blocks only after a superblock counts it.
                None => Err(StartFault::OlderSuperblock(number)),
                stray => Ok(stray),
            },
            None if number == files && length <= self.limits.file_bytes => Ok(None),
            None => Ok(Some(Stray::Surplus)),
        }
    }

    /// The header of the first block in a file, whoever wrote it. Pages that cannot be read hold none: a growth that was cut has
    /// only zeroes to lose, and the next one writes them again.
    fn find_block(&self, driver: &mut E::Driver, number: u32) -> Result<Option<BlockHeader>, IoError> {
        let file = self.open_when_free(driver, number, false)?;
        let mut found = None;
        let mut offset = 0;
        while found.is_none() && offset < self.limits.file_bytes {
            let length = piece_bytes(self.limits.file_bytes, offset);
            let read = Operation::ReadAt { file, buffer: Buffer::aligned(length), offset };
            if let Outcome::Read { buffer, result: Ok(_) } = self.run(driver, read)? {
                found = buffer.chunks(PAGE).find_map(|page| Some(BlockHeader::decode(page).ok()?.0));
            }
            offset += length as u64;
        }
        driver.close(file);
        Ok(found)
    }
}

/// The number in the name of a file of a ring.
fn number_of(name: &str) -> Option<u32> {
    let number = name.strip_prefix("journal-")?.parse().ok()?;
    (file_name(number) == name).then_some(number)
}
