//! The disk: files as sectors, each with what readers see, what a power cut leaves, and what lies between.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::SECTOR;
use super::random::Random;
use crate::error::IoError;
use crate::file::FileOptions;

/// Files by path. Their names survive everything: directories are simulated where they are used.
#[derive(Debug)]
pub(super) struct Disk {
    pub(super) files: BTreeMap<PathBuf, SimulatedInode>,
    pub(super) capacity: u64,
}

/// One file.
#[derive(Debug, Default)]
pub(super) struct SimulatedInode {
    /// What readers see.
    pub(super) seen: Vec<u8>,
    /// What is on the disk for good.
    stable: Vec<u8>,
    /// Completed writes that no sync has covered, oldest first, each with its number.
    unsynced: Vec<(u64, u64, Vec<u8>)>,
    /// Writes that were submitted and have not completed, by number.
    under_way: BTreeMap<u64, (u64, Vec<u8>)>,
    /// Sectors that cannot be read.
    pub(super) spoiled: BTreeSet<usize>,
}

impl Default for Disk {
    fn default() -> Self {
        Self { files: BTreeMap::new(), capacity: u64::MAX }
    }
}

impl Disk {
    pub(super) fn open(&mut self, path: &Path, options: FileOptions) -> Result<(), IoError> {
        match self.files.contains_key(path) {
            true if options.create && options.exclusive => Err(IoError::new("open", libc::EEXIST)),
            true => Ok(()),
            false if options.create => {
                self.files.insert(path.to_owned(), SimulatedInode::default());
                Ok(())
            }
            false => Err(IoError::new("open", libc::ENOENT)),
        }
    }

    /// Whether a file may reach to `end`.
    pub(super) fn has_room(&self, path: &Path, end: u64) -> bool {
        let length = |file: &SimulatedInode| file.seen.len() as u64;
        let others: u64 =
            self.files.iter().filter(|(name, _)| *name != path).map(|(_, file)| length(file)).sum();
        let own = self.files.get(path).map_or(0, length);
        others + own.max(end) <= self.capacity.max(others + own)
    }

    /// The process is gone: each sector of each write under way has been written or not.
    pub(super) fn land_writes_under_way(&mut self, random: &mut Random) {
        for file in self.files.values_mut() {
            for (number, (offset, bytes)) in std::mem::take(&mut file.under_way) {
                let whole = random.flip();
                for (start, sector) in sectors(offset, &bytes) {
                    if whole || random.flip() {
                        put(&mut file.seen, start, sector);
                        file.unsynced.push((number, start, sector.to_vec()));
                    }
                }
            }
        }
    }

    /// The power is gone: each sector of each unsynced write is on the disk or not.
    pub(super) fn cut(&mut self, random: &mut Random) {
        // Some cuts keep nearly everything and some nearly nothing, so that both ends are met often.
        let kept = random.below(5);
        for file in self.files.values_mut() {
            for (_, offset, bytes) in std::mem::take(&mut file.unsynced) {
                for (start, sector) in sectors(offset, &bytes) {
                    if random.below(4) < kept {
                        put(&mut file.stable, start, sector);
                    }
                }
            }
            file.seen.clone_from(&file.stable);
        }
    }
}

impl SimulatedInode {
    pub(super) fn submit_write(&mut self, number: u64, offset: u64, bytes: &[u8]) {
        self.under_way.insert(number, (offset, bytes.to_vec()));
    }

    /// A write completed; `moved` says where it went if not where it was sent.
    pub(super) fn complete_write(&mut self, number: u64, moved: Option<u64>) {
        let Some((offset, bytes)) = self.under_way.remove(&number) else { return };
        let offset = moved.unwrap_or(offset);
        put(&mut self.seen, offset, &bytes);
        let first = usize::try_from(offset).expect("files fit memory") / SECTOR;
        for sector in first..first + bytes.len().div_ceil(SECTOR) {
            self.spoiled.remove(&sector);
        }
        self.unsynced.push((number, offset, bytes));
    }

    /// A write failed: some of it was done.
    pub(super) fn fail_write(&mut self, number: u64, random: &mut Random) {
        let Some((offset, bytes)) = self.under_way.remove(&number) else { return };
        for (start, sector) in sectors(offset, &bytes).filter(|_| random.flip()) {
            put(&mut self.seen, start, sector);
            self.unsynced.push((number, start, sector.to_vec()));
        }
    }

    /// The numbers of the writes that a sync submitted now covers.
    pub(super) fn completed(&self) -> BTreeSet<u64> {
        self.unsynced.iter().map(|(number, ..)| *number).collect()
    }

    pub(super) fn complete_sync(&mut self, covered: &BTreeSet<u64>) {
        for (number, offset, bytes) in std::mem::take(&mut self.unsynced) {
            if covered.contains(&number) {
                put(&mut self.stable, offset, &bytes);
            } else {
                self.unsynced.push((number, offset, bytes));
            }
        }
    }

    /// The bytes from `offset`, at most `count`; an error if a sector of them is spoiled.
    pub(super) fn read(&self, offset: u64, count: usize) -> Result<&[u8], IoError> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.seen.len());
        let end = start.saturating_add(count).min(self.seen.len());
        let first = start / SECTOR;
        if end > start && self.spoiled.range(first..=(end - 1) / SECTOR).next().is_some() {
            return Err(IoError::new("read", libc::EIO));
        }
        Ok(&self.seen[start..end])
    }

    pub(super) fn rot(&mut self, position: usize, mask: u8) -> bool {
        for bytes in [&mut self.seen, &mut self.stable] {
            if let Some(byte) = bytes.get_mut(position) {
                *byte ^= mask;
            }
        }
        position < self.seen.len()
    }
}

fn sectors(offset: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    (0_u64..).zip(bytes.chunks(SECTOR)).map(move |(number, sector)| (offset + number * SECTOR as u64, sector))
}

fn put(file: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let start = usize::try_from(offset).expect("files fit memory");
    if file.len() < start + bytes.len() {
        file.resize(start + bytes.len(), 0);
    }
    file[start..start + bytes.len()].copy_from_slice(bytes);
}
