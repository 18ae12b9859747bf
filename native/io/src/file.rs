//! Files as a driver takes them.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::retry_on_intr;

use crate::error::IoError;

/// An open file; dropping it closes the descriptor.
#[derive(Debug)]
pub struct File {
    descriptor: OwnedFd,
    direct: bool,
}

/// How to open a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOptions {
    /// Whether `WriteAt` and `Sync` are possible; reading always is.
    pub write: bool,
    /// Make the file if it is missing.
    pub create: bool,
    /// With `create`: fail if it exists.
    pub exclusive: bool,
    /// Bypass the page cache: buffers, lengths and offsets must be multiples of [`crate::buffer::PAGE`].
    pub direct: bool,
    /// Hold the file against other processes until the descriptor is closed and nothing of it is under way any more;
    /// a file that is held already fails with EWOULDBLOCK.
    pub lock: bool,
}

impl FileOptions {
    /// An existing file, for reading.
    pub const READ: Self = Self { write: false, create: false, exclusive: false, direct: false, lock: false };

    /// A file for reading and writing, made if missing.
    pub const WRITE: Self = Self { write: true, create: true, exclusive: false, direct: false, lock: false };
}

impl File {
    pub(crate) fn open(path: &Path, options: FileOptions) -> Result<Self, IoError> {
        let access = if options.write { OFlags::RDWR } else { OFlags::RDONLY };
        let mut flags = access | OFlags::CLOEXEC;
        flags.set(OFlags::CREATE, options.create);
        flags.set(OFlags::EXCL, options.create && options.exclusive);
        flags.set(OFlags::DIRECT, options.direct);
        // Owner writes, group reads: offline readers run under another user of the same group.
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP;
        let descriptor =
            retry_on_intr(|| open(path, flags, mode)).map_err(|errno| IoError::from_errno("open", errno))?;
        if options.lock {
            retry_on_intr(|| flock(&descriptor, FlockOperation::NonBlockingLockExclusive))
                .map_err(|errno| IoError::from_errno("lock", errno))?;
        }
        Ok(Self { descriptor, direct: options.direct })
    }

    /// Whether the file bypasses the page cache.
    pub(crate) fn is_direct(&self) -> bool {
        self.direct
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
