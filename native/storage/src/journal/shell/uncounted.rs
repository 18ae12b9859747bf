//! Files beside those that the superblock counts.
//!
//! A crash may have cut the growth of the ring: then the next number holds nothing but zeroes, and the next growth writes it
//! anew. Whatever else there is was put there.

use ng_io::{Buffer, Driver, Environment, IoError, Operation, Outcome};

use super::start::StartFault;
use super::{JournalShell, file_name};
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
        let (front, is_blank) =
            self.look_at(driver, number).map_err(|error| JournalFault { file: number, error })?;
        match front {
            Some(front) => match stray_front(self.home.journal, number, &front) {
                // The file takes blocks only after a superblock counts it.
                None => Err(StartFault::OlderSuperblock(number)),
                stray => Ok(stray),
            },
            None if is_blank && number == files => Ok(None),
            None => Ok(Some(Stray::Surplus)),
        }
    }

    /// The block at the front of a file, and whether the file has nothing but zeroes and no more of them than a file has.
    fn look_at(&self, driver: &mut E::Driver, number: u32) -> Result<(Option<BlockHeader>, bool), IoError> {
        let file = self.open_when_free(driver, number, false)?;
        let (mut offset, mut front, mut is_blank) = (0, None, true);
        let wanted = piece_bytes(u64::MAX, 0);
        while is_blank && offset <= self.limits.file_bytes {
            let buffer = Buffer::aligned(wanted);
            let read = Operation::ReadAt { file, buffer, offset };
            let Outcome::Read { buffer, result: Ok(_) } = self.run(driver, read)? else {
                is_blank = false;
                break;
            };
            if offset == 0 {
                front = BlockHeader::decode(&buffer).ok().map(|(header, _)| header);
            }
            is_blank = buffer.iter().all(|byte| *byte == 0);
            offset += buffer.len() as u64;
            if buffer.len() < wanted {
                break;
            }
        }
        driver.close(file);
        Ok((front, is_blank && offset <= self.limits.file_bytes))
    }
}

/// The number in the name of a file of a ring.
fn number_of(name: &str) -> Option<u32> {
    let number = name.strip_prefix("journal-")?.parse().ok()?;
    (file_name(number) == name).then_some(number)
}
