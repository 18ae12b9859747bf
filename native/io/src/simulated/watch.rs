//! Changes of a disk, as an onlooker sees them, and failures that strike at one of them.

use std::path::Path;
use std::sync::Arc;

use crate::driver::Operation;

/// A change of the disk that an operation completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskChange {
    /// The file or directory, by the name under which it was opened. Of a rename and of a link: the new name.
    pub path: Arc<Path>,
    /// What was done with it.
    pub kind: ChangeKind,
}

/// What an operation does to a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Bytes were written, into the page cache.
    Write,
    /// Bytes were written and synced by the same operation.
    SyncedWrite,
    /// The writes to a file, or the names in a directory, were synced.
    Sync,
    /// Names were added, replaced or removed.
    Names,
}

/// What fails, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fuse {
    /// After so many further changes the process ends: nothing that it asks for afterwards is done, until
    /// [`super::SimulatedEnvironment::kill`] or its kin makes way for the next one.
    Process(u64),
    /// The first write or sync after so many further changes fails with EIO.
    Operation(u64),
}

/// An onlooker of one machine.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Completed changes that nobody has taken yet; none are kept if nobody looks.
    changes: Option<Vec<DiskChange>>,
    fuse: Option<Fuse>,
    /// The fuse ended the process.
    pub(super) ended: bool,
}

impl Watch {
    /// Begins to keep changes.
    pub(super) fn begin(&mut self) {
        self.changes.get_or_insert_default();
    }

    /// The changes since the last call.
    pub(super) fn take(&mut self) -> Vec<DiskChange> {
        self.changes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Sets what is to fail, in place of what was to fail before.
    pub(super) const fn set_fuse(&mut self, fuse: Option<Fuse>) {
        self.fuse = fuse;
    }

    /// The process is gone, and with it what it did and what was to fail for it.
    pub(super) fn process_is_gone(&mut self) {
        self.ended = false;
        self.fuse = None;
        self.changes.iter_mut().for_each(Vec::clear);
    }

    /// Whether the write or sync that is being done now is the one to fail.
    pub(super) fn fails(&mut self) -> bool {
        self.fuse.take_if(|fuse| *fuse == Fuse::Operation(0)).is_some()
    }

    /// A change was made.
    pub(super) fn changed(&mut self, kind: ChangeKind, path: impl FnOnce() -> Arc<Path>) {
        if let Some(changes) = &mut self.changes {
            changes.push(DiskChange { path: path(), kind });
        }
        match &mut self.fuse {
            Some(Fuse::Process(left) | Fuse::Operation(left)) if *left > 1 => *left -= 1,
            Some(Fuse::Process(_)) => {
                self.fuse = None;
                self.ended = true;
            }
            Some(Fuse::Operation(left)) => *left = 0,
            None => {}
        }
    }
}

/// What an operation will have done to an open file, if it changes one.
pub(super) const fn change_of(operation: &Operation) -> Option<ChangeKind> {
    match operation {
        Operation::WriteAt { sync: false, .. } => Some(ChangeKind::Write),
        Operation::WriteAt { sync: true, .. } => Some(ChangeKind::SyncedWrite),
        Operation::Sync { .. } => Some(ChangeKind::Sync),
        _ => None,
    }
}

/// The name that an operation adds, replaces or removes, if it does.
pub(super) fn name_of(operation: &Operation) -> Option<Arc<Path>> {
    match operation {
        Operation::MakeDirectory { path } | Operation::Remove { path } => Some(Arc::from(&**path)),
        Operation::Rename { to, .. } | Operation::Link { to, .. } => Some(Arc::from(&**to)),
        _ => None,
    }
}
