//! Operations on names as the ring does them: relative to the working directory, with paths that the kernel reads
//! from memory of ours.

use std::ffi::CString;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use io_uring::squeue::Entry;
use io_uring::{opcode, types};

use super::flight::Settled;
use crate::driver::{Operation, Outcome};
use crate::error::IoError;
use crate::file::{FILE_MODE, File, FileOptions};
use crate::names::DIRECTORY_MODE;

const HERE: types::Fd = types::Fd(libc::AT_FDCWD);

/// What is done to names. Moving it does not move its paths.
#[derive(Debug)]
pub(super) enum NameWork {
    Open { path: CString, options: FileOptions },
    MakeDirectory { path: CString },
    Rename { from: CString, to: CString },
    Link { from: CString, to: CString },
    Remove { path: CString, directory: bool },
}

impl NameWork {
    /// The work of an operation on names; every other kind has a handle.
    pub(super) fn of(operation: Operation) -> Result<Self, Outcome> {
        match operation {
            Operation::Open { path, options } => terminated("open", path)
                .map(|path| Self::Open { path, options })
                .map_err(|error| Outcome::Opened(Err(error))),
            Operation::MakeDirectory { path } => terminated("make a directory", path)
                .map(|path| Self::MakeDirectory { path })
                .map_err(|error| Outcome::Named(Err(error))),
            Operation::Rename { from, to } => terminated("rename", from)
                .and_then(|from| Ok(Self::Rename { from, to: terminated("rename", to)? }))
                .map_err(|error| Outcome::Named(Err(error))),
            Operation::Link { from, to } => terminated("link", from)
                .and_then(|from| Ok(Self::Link { from, to: terminated("link", to)? }))
                .map_err(|error| Outcome::Named(Err(error))),
            Operation::Remove { path } => terminated("remove", path)
                .map(|path| Self::Remove { path, directory: false })
                .map_err(|error| Outcome::Named(Err(error))),
            other => Err(Outcome::failed(other, IoError::invalid("operation without a handle"))),
        }
    }

    pub(super) fn entry(&self) -> Entry {
        match self {
            Self::Open { path, options } => opcode::OpenAt::new(HERE, path.as_ptr())
                .flags(options.flags().bits().cast_signed())
                .mode(FILE_MODE.bits())
                .build(),
            Self::MakeDirectory { path } => {
                opcode::MkDirAt::new(HERE, path.as_ptr()).mode(DIRECTORY_MODE).build()
            }
            Self::Rename { from, to } => {
                opcode::RenameAt::new(HERE, from.as_ptr(), HERE, to.as_ptr()).build()
            }
            Self::Link { from, to } => opcode::LinkAt::new(HERE, from.as_ptr(), HERE, to.as_ptr()).build(),
            Self::Remove { path, directory } => {
                let flags = if *directory { libc::AT_REMOVEDIR } else { 0 };
                opcode::UnlinkAt::new(HERE, path.as_ptr()).flags(flags).build()
            }
        }
    }

    /// Whether the kernel wants to be asked again, in another way: a directory is removed by its own flag.
    pub(super) fn turns_out_otherwise(&mut self, result: i32) -> bool {
        match self {
            Self::Remove { directory, .. } if result == -libc::EISDIR && !*directory => {
                *directory = true;
                true
            }
            _ => false,
        }
    }

    pub(super) fn finish(self, result: i32) -> Settled {
        let named = |operation: &'static str, as_good: i32| {
            let result =
                if result < 0 && result != -as_good { Err(IoError::new(operation, -result)) } else { Ok(()) };
            Settled::Finished(Outcome::Named(result))
        };
        match self {
            Self::Open { options, .. } => Settled::Opened(opened(result, options)),
            Self::MakeDirectory { .. } => named("make a directory", libc::EEXIST),
            Self::Rename { .. } => named("rename", 0),
            Self::Link { .. } => named("link", 0),
            Self::Remove { .. } => named("remove", libc::ENOENT),
        }
    }

    pub(super) fn abandon(&self, error: fn(&'static str) -> IoError) -> Outcome {
        match self {
            Self::Open { .. } => Outcome::Opened(Err(error("open"))),
            Self::MakeDirectory { .. } => Outcome::Named(Err(error("make a directory"))),
            Self::Rename { .. } => Outcome::Named(Err(error("rename"))),
            Self::Link { .. } => Outcome::Named(Err(error("link"))),
            Self::Remove { .. } => Outcome::Named(Err(error("remove"))),
        }
    }
}

fn terminated(operation: &'static str, path: PathBuf) -> Result<CString, IoError> {
    CString::new(path.into_os_string().into_vec()).map_err(|_| IoError::invalid(operation))
}

fn opened(result: i32, options: FileOptions) -> Result<File, IoError> {
    if result < 0 {
        return Err(IoError::new("open", -result));
    }
    // SAFETY: the kernel has just made this descriptor for this open, and nothing else knows it.
    File::new(unsafe { OwnedFd::from_raw_fd(result) }, options)
}
