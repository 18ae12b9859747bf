//! Files as a driver takes them.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, FlockOperation, FsWord, Mode, OFlags, flock, fstat, fstatfs, open};
use rustix::io::retry_on_intr;

use crate::error::IoError;

/// An open file; dropping it closes the descriptor.
#[derive(Debug)]
pub struct File {
    descriptor: OwnedFd,
    direct: bool,
    directory: bool,
    in_memory: bool,
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

/// The types of file systems that are memory (`statfs(2)`): tmpfs and ramfs.
const IN_MEMORY: [FsWord; 2] = [0x0102_1994, 0x8584_58f6];

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
        let in_memory = !options.directory && is_in_memory(&descriptor);
        Ok(Self { descriptor, direct: options.direct, directory: options.directory, in_memory })
    }

    /// Whether the file bypasses the page cache.
    pub(crate) fn is_direct(&self) -> bool {
        self.direct
    }

    /// Whether it is a file without a disk below it.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.in_memory
    }

    /// Whether it is a directory. Its names are metadata, which a sync of data alone may leave behind (ext4 does).
    pub(crate) fn is_directory(&self) -> bool {
        self.directory
    }
}

/// Whether a descriptor is of a file that is memory. Devices are not, although their names may lie there.
fn is_in_memory(descriptor: &OwnedFd) -> bool {
    let is_file = || fstat(descriptor).is_ok_and(|found| FileType::from_raw_mode(found.st_mode).is_file());
    fstatfs(descriptor).is_ok_and(|system| IN_MEMORY.contains(&system.f_type)) && is_file()
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
