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
    directory: bool,
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
    /// A directory, so that [`crate::Operation::Sync`] brings its names to stable storage.
    pub directory: bool,
}

impl FileOptions {
    /// An existing file, for reading.
    pub const READ: Self =
        Self { write: false, create: false, exclusive: false, direct: false, lock: false, directory: false };

    /// A file for reading and writing, made if missing.
    pub const WRITE: Self = Self { write: true, create: true, ..Self::READ };

    /// An existing directory.
    pub const DIRECTORY: Self = Self { directory: true, ..Self::READ };

    /// What the kernel is told.
    pub(crate) fn flags(self) -> OFlags {
        let access = if self.write { OFlags::RDWR } else { OFlags::RDONLY };
        let mut flags = access | OFlags::CLOEXEC;
        flags.set(OFlags::CREATE, self.create);
        flags.set(OFlags::EXCL, self.create && self.exclusive);
        flags.set(OFlags::DIRECT, self.direct);
        flags.set(OFlags::DIRECTORY, self.directory);
        flags
    }
}

/// Owner writes, group reads: offline readers run under another user of the same group.
pub(crate) const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR).union(Mode::RGRP);

impl File {
    pub(crate) fn open(path: &Path, options: FileOptions) -> Result<Self, IoError> {
        let descriptor = retry_on_intr(|| open(path, options.flags(), FILE_MODE))
            .map_err(|errno| IoError::from_errno("open", errno))?;
        Self::new(descriptor, options)
    }

    /// A descriptor that was opened with these options, locked if they say so. Does not block.
    pub(crate) fn new(descriptor: OwnedFd, options: FileOptions) -> Result<Self, IoError> {
        if options.lock {
            retry_on_intr(|| flock(&descriptor, FlockOperation::NonBlockingLockExclusive))
                .map_err(|errno| IoError::from_errno("lock", errno))?;
        }
        Ok(Self { descriptor, direct: options.direct, directory: options.directory })
    }

    /// Whether the file bypasses the page cache.
    pub(crate) fn is_direct(&self) -> bool {
        self.direct
    }

    /// Whether it is a directory. Its names are metadata, which a sync of data alone may leave behind (ext4 does).
    pub(crate) fn is_directory(&self) -> bool {
        self.directory
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
