//! Reading, writing and syncing an open file, by the thread that calls.

use rustix::fs::{fdatasync, fsync};
use rustix::io::{Errno, pread, pwrite};

use crate::buffer::{Buffer, PAGE};
use crate::driver::{Operation, Outcome};
use crate::error::IoError;
use crate::file::File;
use crate::output::Output;

/// A file in memory takes and gives so many bytes at once; more would keep the shard from its sockets.
const AT_ONCE_BYTES_MAX: usize = 1 << 20;

/// What is to be done on a file that is open.
#[derive(Debug)]
pub(crate) enum FileWork {
    Read { buffer: Buffer, offset: u64 },
    Write { buffer: Output, offset: u64, sync: bool },
    Sync,
}

impl FileWork {
    /// The work of an operation, or the operation if it is none on a file.
    pub(crate) fn of(operation: Operation) -> Result<Self, Operation> {
        match operation {
            Operation::ReadAt { buffer, offset, .. } => Ok(Self::Read { buffer, offset }),
            Operation::WriteAt { buffer, offset, sync, .. } => Ok(Self::Write { buffer, offset, sync }),
            Operation::Sync { .. } => Ok(Self::Sync),
            other => Err(other),
        }
    }

    /// Whether it is done sooner than another thread could be asked to: where the file is memory, it is a copy.
    pub(crate) fn is_only_a_copy(&self, file: &File) -> bool {
        let bytes = match self {
            Self::Read { buffer, .. } => buffer.spare(),
            Self::Write { buffer, .. } => buffer.len(),
            Self::Sync => 0,
        };
        file.is_in_memory() && bytes <= AT_ONCE_BYTES_MAX
    }

    pub(crate) fn run(self, file: &File, syscalls: &mut u64) -> Outcome {
        match self {
            Self::Read { mut buffer, offset } => {
                let result = read(file, &mut buffer, offset, syscalls);
                Outcome::Read { buffer, result }
            }
            Self::Write { buffer, offset, sync: synced } => {
                let mut result = write(file, &buffer, offset, syscalls);
                if synced && result.is_ok() {
                    result = sync(file, syscalls);
                }
                Outcome::Written { buffer, result }
            }
            Self::Sync => Outcome::Synced(sync(file, syscalls)),
        }
    }
}

fn read(file: &File, buffer: &mut Buffer, offset: u64, syscalls: &mut u64) -> Result<usize, IoError> {
    let mut total = 0;
    while buffer.spare() > 0 {
        *syscalls += 1;
        match pread(file, buffer.spare_mut(), offset + total as u64) {
            Ok((filled, _)) => {
                let count = filled.len();
                // SAFETY: the kernel wrote `count` bytes at the start of the spare capacity.
                unsafe { buffer.advance(count) };
                total += count;
                // Only the end of a file leaves a direct read at a position from which none can go on.
                if count == 0 || (file.is_direct() && !total.is_multiple_of(PAGE)) {
                    break;
                }
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(IoError::from_errno("read", errno)),
        }
    }
    Ok(total)
}

fn write(file: &File, bytes: &[u8], offset: u64, syscalls: &mut u64) -> Result<(), IoError> {
    let mut written = 0;
    while written < bytes.len() {
        *syscalls += 1;
        match pwrite(file, &bytes[written..], offset + written as u64) {
            // POSIX does not define this answer for a file; going on could last for ever.
            Ok(0) => return Err(IoError::new("write", libc::EIO)),
            Ok(count) => written += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(IoError::from_errno("write", errno)),
        }
    }
    Ok(())
}

fn sync(file: &File, syscalls: &mut u64) -> Result<(), IoError> {
    *syscalls += 1;
    // Not retried after EINTR or anything else: the kernel may have dropped the pages it failed to write.
    let synced = if file.is_directory() { fsync(file) } else { fdatasync(file) };
    synced.map_err(|errno| IoError::from_errno("sync", errno))
}
