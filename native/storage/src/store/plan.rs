//! Work on files, as a list of steps done one after the other.

use std::path::PathBuf;
use std::sync::Arc;

use ng_io::{Buffer, Chunk, IoError};
use thiserror::Error;

use crate::PAGE;
use crate::home::{is_replacement, replacement};

/// One thing to do with the file system. None does harm when it is done again.
#[derive(Debug)]
pub enum Step {
    /// Makes a directory; one that exists is fine.
    MakeDirectory(PathBuf),
    /// Brings the names in a directory to stable storage.
    SyncDirectory(PathBuf),
    /// Writes bytes into a file; one that is no file of batches is made if missing.
    Write {
        /// Which file.
        path: PathBuf,
        /// Position in it.
        offset: u64,
        /// What; whole pages in a file of batches.
        buffer: Buffer,
        /// Whether the file is one of batches, which bypasses the page cache where the others of the node do.
        batches: bool,
    },
    /// Writes batches into a file of batches: whole pages, laid out in memory that was used before.
    Append {
        /// Which file.
        path: PathBuf,
        /// Position in it, at a page.
        offset: u64,
        /// What stands there already of the page.
        partial: Vec<u8>,
        /// What comes behind that.
        batches: Vec<Arc<Chunk>>,
        /// Whether the file is new. One that has batches already must be there: a sparse file in its place would pass for it.
        create: bool,
    },
    /// Brings what was written into a file to stable storage.
    Sync {
        /// Which file.
        path: PathBuf,
        /// As in [`Step::Write`].
        batches: bool,
    },
    /// Reads a whole file; one that is missing gives nothing.
    ReadAll(PathBuf),
    /// Reads a piece of a file of batches: shorter at its end, nothing if the file is missing.
    Read {
        /// Which file.
        path: PathBuf,
        /// Position in it, at a page.
        offset: u64,
        /// Whole pages.
        length: usize,
    },
    /// Gives a file or a directory another name, in place of a file of that name.
    Rename {
        /// Its name.
        from: PathBuf,
        /// Its name to be.
        to: PathBuf,
    },
    /// The same for a directory that must be out of the way; one that is missing is fine.
    Retire {
        /// Its name.
        from: PathBuf,
        /// Its name to be, below the trash.
        to: PathBuf,
    },
    /// Gives a file a second name, which is free.
    Link {
        /// Its name.
        from: PathBuf,
        /// The name it gets besides.
        to: PathBuf,
    },
    /// Removes a file or an empty directory; one that is missing is fine.
    Remove(PathBuf),
}

/// Steps, first to last.
pub type Plan = Vec<Step>;

/// What a plan has read, in the order of its reading steps; `None` for a file that is missing.
pub type PlanResult = Result<Vec<Option<Buffer>>, PlanFault>;

/// A step that failed; those before it are done, those behind it are not.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}: {error}", path.display())]
pub struct PlanFault {
    /// The file or directory of the step.
    pub path: PathBuf,
    /// Why.
    pub error: IoError,
    /// Whether the step was to read.
    pub reading: bool,
    /// Whether the step was to remove a file, or to move it into the trash.
    pub removing: bool,
}

impl PlanFault {
    /// Whether something ran out that may be there again later: space, or descriptors. Nothing was harmed.
    #[must_use]
    pub const fn heals(&self) -> bool {
        !self.reading && (self.error.is_full() || self.error.is_out_of_descriptors())
    }

    /// Whether the step ran out of space.
    #[must_use]
    pub const fn lacks_space(&self) -> bool {
        !self.reading && self.error.is_full()
    }
}

impl Step {
    /// The file or directory that a fault of this step is about.
    #[must_use]
    pub fn path(&self) -> &PathBuf {
        match self {
            Self::MakeDirectory(path) | Self::SyncDirectory(path) | Self::ReadAll(path) => path,
            Self::Remove(path) | Self::Rename { to: path, .. } | Self::Link { to: path, .. } => path,
            Self::Retire { from: path, .. }
            | Self::Write { path, .. }
            | Self::Append { path, .. }
            | Self::Sync { path, .. }
            | Self::Read { path, .. } => path,
        }
    }

    /// The file that the step writes, syncs or renames, if it is one that is to take the place of another.
    #[must_use]
    pub fn draft(&self) -> Option<&PathBuf> {
        let path = match self {
            Self::Write { path, .. } | Self::Sync { path, .. } | Self::Rename { from: path, .. } => path,
            Self::MakeDirectory(_)
            | Self::SyncDirectory(_)
            | Self::Append { .. }
            | Self::ReadAll(_)
            | Self::Read { .. }
            | Self::Retire { .. }
            | Self::Link { .. }
            | Self::Remove(_) => return None,
        };
        is_replacement(path).then_some(path)
    }

    /// What becomes of the step if it fails.
    #[must_use]
    pub fn fault(&self, error: IoError) -> PlanFault {
        PlanFault { path: self.path().clone(), error, reading: self.reads(), removing: self.removes() }
    }

    /// Whether the step removes something, or moves it into the trash.
    #[must_use]
    pub const fn removes(&self) -> bool {
        matches!(self, Self::Remove(_) | Self::Retire { .. })
    }

    /// Whether the step reads.
    #[must_use]
    pub const fn reads(&self) -> bool {
        matches!(self, Self::ReadAll(_) | Self::Read { .. })
    }
}

/// The steps that put `bytes` in place of a whole file, but for the sync of its directory.
pub fn replace(plan: &mut Plan, path: PathBuf, bytes: Vec<u8>) {
    let fresh = replacement(&path);
    // What an attempt before this one left may be longer.
    plan.push(Step::Remove(fresh.clone()));
    plan.push(Step::Write { path: fresh.clone(), offset: 0, buffer: Buffer::from(bytes), batches: false });
    plan.push(Step::Sync { path: fresh.clone(), batches: false });
    plan.push(Step::Rename { from: fresh, to: path });
}

/// Bytes in memory for direct I/O, zero to the end of the last page.
#[must_use]
pub(super) fn paged(pieces: &[&[u8]]) -> Buffer {
    let bytes = pieces.iter().map(|piece| piece.len()).sum();
    lay_out(pieces.iter().copied(), Buffer::aligned(bytes))
}

/// The same in an empty buffer for direct I/O.
#[must_use]
pub(super) fn lay_out<'a>(pieces: impl Iterator<Item = &'a [u8]>, mut buffer: Buffer) -> Buffer {
    const ZERO: [u8; PAGE] = [0; PAGE];
    pieces.for_each(|piece| buffer.extend_from_slice(piece));
    let missing = buffer.len().next_multiple_of(PAGE) - buffer.len();
    buffer.extend_from_slice(&ZERO[..missing]);
    buffer
}
