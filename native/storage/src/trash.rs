//! The trash: directories of groups and shards that were removed, deleted one file at a time.
//!
//! Everything here waits for the disk, so it has a thread and a driver of its own. An entry that cannot be deleted is tried
//! again, less and less often, and does not keep the others from being deleted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ng_io::{DriverLimits, Environment, Instant, IoError};

use crate::boot::{BootError, Hands};
use crate::home::Home;
use crate::store::plan::Step;

/// One step at a time, of which some open a directory.
const DRIVER: DriverLimits = DriverLimits { operations_max: 4, handles_max: 4 };

/// The only token of that driver.
const TOKEN: u64 = 0;

/// Entries that are known at a time. Those beyond are found when these are gone.
const ENTRIES_MAX: usize = 1 << 16;

/// New entries that one look measures, so that the thread can be told to end between two looks.
const MEASURED_PER_LOOK: usize = 1 << 10;

/// How long an entry that could not be deleted is left alone at first, and how often that doubles.
const RETRY: Duration = Duration::from_secs(1);
const DOUBLINGS_MAX: u32 = 6;

/// The trash of a data directory.
pub struct Trash<E: Environment> {
    environment: E,
    driver: E::Driver,
    path: PathBuf,
    entries: BTreeMap<String, Entry>,
}

/// A directory in the trash.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Bytes of its files.
    bytes: u64,
    /// Failures in a row, and when the next attempt is due.
    failures: u32,
    due: Instant,
}

/// What came of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Emptied {
    /// A file or a directory is gone.
    One,
    /// One could not be deleted.
    Failed(IoError),
    /// There is nothing to delete before this moment, or at all.
    Nothing(Option<Instant>),
}

impl<E: Environment> std::fmt::Debug for Trash<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trash")
            .field("path", &self.path)
            .field("entries", &self.entries)
            .finish_non_exhaustive()
    }
}

impl<E: Environment> Trash<E> {
    /// The trash of a data directory, of which nothing is known yet. For the thread that empties it.
    pub fn new(environment: &E, home: &Home) -> Result<Self, IoError> {
        let driver = environment.driver(DRIVER)?;
        Ok(Self { environment: environment.clone(), driver, path: home.trash(), entries: BTreeMap::new() })
    }

    /// Bytes of all files in the entries that are known.
    pub fn bytes(&self) -> u64 {
        self.entries.values().map(|entry| entry.bytes).sum()
    }

    /// Entries that could not be deleted when that was last tried.
    pub fn failing(&self) -> usize {
        self.entries.values().filter(|entry| entry.failures > 0).count()
    }

    /// Looks which entries there are, and measures those that are new. True if some of them are left for the next look.
    pub fn survey(&mut self) -> Result<bool, IoError> {
        let names = match self.environment.list_directory(&self.path) {
            Err(error) if error.is_absent() => Vec::new(),
            names => names?,
        };
        let mut before = std::mem::take(&mut self.entries);
        let mut measured = 0;
        for name in names {
            if let Some(entry) = before.remove(&name) {
                self.entries.insert(name, entry);
                continue;
            }
            if measured == MEASURED_PER_LOOK || self.entries.len() + before.len() >= ENTRIES_MAX {
                self.entries.append(&mut before);
                return Ok(true);
            }
            measured += 1;
            let bytes = self.measure(&self.path.join(&name));
            self.entries.insert(name, Entry { bytes, failures: 0, due: Instant::from_nanos(0) });
        }
        Ok(false)
    }

    /// Deletes one file, or one directory that is empty.
    pub fn empty_some(&mut self, now: Instant) -> Emptied {
        let due = self.entries.iter().find(|(_, entry)| entry.due <= now);
        let Some(name) = due.map(|(name, _)| name.clone()) else {
            return Emptied::Nothing(self.entries.values().map(|entry| entry.due).min());
        };
        let top = self.path.join(&name);
        let (path, bytes) = self.first_below(&top);
        let removed = self.remove(&path);
        let Some(entry) = self.entries.get_mut(&name) else { return Emptied::One };
        match removed {
            Ok(()) if path == top => drop(self.entries.remove(&name)),
            Ok(()) => *entry = Entry { bytes: entry.bytes.saturating_sub(bytes), failures: 0, due: now },
            Err(error) => {
                entry.due = now + RETRY * 2_u32.pow(entry.failures.min(DOUBLINGS_MAX));
                entry.failures = entry.failures.saturating_add(1);
                return Emptied::Failed(error);
            }
        }
        Emptied::One
    }

    /// The first file below a directory, or the first directory that has nothing in it; and how many bytes that frees.
    fn first_below(&self, top: &Path) -> (PathBuf, u64) {
        let mut path = top.to_owned();
        while let Ok(names) = self.environment.list_directory(&path) {
            let Some(first) = names.first() else { return (path, 0) };
            path.push(first);
        }
        let bytes = self.environment.file_length(&path).unwrap_or_default();
        (path, bytes)
    }

    fn measure(&self, path: &Path) -> u64 {
        match self.environment.list_directory(path) {
            Ok(names) => names.iter().map(|name| self.measure(&path.join(name))).sum(),
            Err(_) => self.environment.file_length(path).unwrap_or_default(),
        }
    }

    fn remove(&mut self, path: &Path) -> Result<(), IoError> {
        let mut hands = Hands::new(&self.environment, &mut self.driver, TOKEN);
        match hands.run(vec![Step::Remove(path.to_owned())]) {
            Err(BootError::Io(fault)) => Err(fault.error),
            Err(_) | Ok(_) => Ok(()),
        }
    }
}
