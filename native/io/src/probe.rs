//! What this machine can do, found out by trying: a boot logs it, chooses a backend by it, and refuses early
//! because of it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use io_uring::opcode;
use io_uring::types::{SubmitArgs, Timespec};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::system::uname;

use crate::buffer::{Buffer, PAGE};
use crate::clock::Instant;
use crate::driver::{Driver, DriverLimits, Handle, Operation, Outcome, Token, Wait};
use crate::environment::Environment;
use crate::error::IoError;
use crate::file::FileOptions;
use crate::names;
use crate::uring::ring;

/// Whether the `uring` backend will work here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RingSupport {
    /// A ring was made and has done an operation.
    Available {
        /// The modes it ran in, by the names of the kernel's set-up flags.
        features: &'static [&'static str],
    },
    /// It was refused, or does not work.
    Unavailable {
        /// Why, for an operator.
        reason: String,
    },
}

/// A resource limit; `None` is unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What the kernel enforces.
    pub soft: Option<u64>,
    /// What the process may raise it to.
    pub hard: Option<u64>,
}

/// Whether a directory's file system lets files bypass the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectIo {
    /// A block went through direct I/O.
    Possible,
    /// Direct I/O was refused; the block went through the page cache.
    Refused,
}

/// Makes a ring and lets it do nothing once. A filter or a kernel without rings makes it unavailable, never
/// more than that.
#[must_use]
pub fn probe_ring() -> RingSupport {
    match try_ring() {
        Ok(features) => RingSupport::Available { features },
        Err(error) => RingSupport::Unavailable { reason: with_setting(&error) },
    }
}

/// The kernel's release, such as "6.12.9".
#[must_use]
pub fn kernel_release() -> String {
    uname().release().to_string_lossy().into_owned()
}

/// How many descriptors the process may have open.
#[must_use]
pub fn descriptor_limit() -> Limit {
    getrlimit(Resource::Nofile).into()
}

/// Raises the soft limit on descriptors to the hard one and returns what is in force then.
pub fn raise_descriptor_limit() -> Result<Limit, IoError> {
    let hard = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: hard, maximum: hard })
        .map_err(|errno| IoError::from_errno("raise the descriptor limit", errno))?;
    Ok(descriptor_limit())
}

/// How many bytes the process may lock in memory.
#[must_use]
pub fn locked_memory_limit() -> Limit {
    getrlimit(Resource::Memlock).into()
}

/// What the kernel keeps time by ("tsc", "kvm-clock", ...); anything slow shows in every reading of the
/// clock.
#[must_use]
pub fn clock_source() -> Option<String> {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    fs::read_to_string(path).ok().map(|name| name.trim().to_owned())
}

/// Writes, syncs and reads back one block in `directory` through a driver of `environment`, and removes the
/// file again. Where the disk is full, a file that is there already says whether direct I/O is possible.
pub fn check_directory<E: Environment>(environment: &E, directory: &Path) -> Result<DirectIo, IoError> {
    let path = directory.join(format!(".block-check-{}", std::process::id()));
    let direct = check_block(environment, &path, true);
    let checked = match direct {
        Ok(()) => Ok(DirectIo::Possible),
        Err(refused) if refused.errno() == libc::EINVAL => {
            check_block(environment, &path, false).map(|()| DirectIo::Refused)
        }
        Err(error) if error.is_full() => check_file(environment, directory).ok_or(error),
        Err(error) => Err(error),
    };
    let removed = names::remove_file(&path);
    // A file that could not be made cannot be removed either: the first error is the one that matters.
    checked.and_then(|direct_io| removed.map(|()| direct_io))
}

/// Whether some file of a directory can be opened for direct I/O; `None` if there is none that can be opened at all.
fn check_file<E: Environment>(environment: &E, directory: &Path) -> Option<DirectIo> {
    let mut entries = fs::read_dir(directory).ok()?.flatten();
    let file = entries.find(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))?;
    let options = FileOptions { direct: true, ..FileOptions::READ };
    match environment.open_file(&file.path(), options) {
        Ok(_) => Some(DirectIo::Possible),
        Err(refused) if refused.errno() == libc::EINVAL => Some(DirectIo::Refused),
        Err(_) => None,
    }
}

impl From<Rlimit> for Limit {
    fn from(limit: Rlimit) -> Self {
        Self { soft: limit.current, hard: limit.maximum }
    }
}

fn try_ring() -> Result<&'static [&'static str], IoError> {
    const MARK: u64 = 0x6e67;
    let mut ring = ring::make(2, 4)?;
    let entry = opcode::Nop::new().build().user_data(MARK);
    // SAFETY: the entry points at no memory and no descriptor.
    let queued = unsafe { ring.inner.submission().push(&entry) };
    queued.map_err(|_| IoError::new("use a ring", libc::EBUSY))?;
    let patience = Timespec::from(Duration::from_secs(1));
    let arguments = SubmitArgs::new().timespec(&patience);
    let entered = ring.inner.submitter().submit_with_args(1, &arguments);
    entered.map_err(|error| IoError::from_io("enter a ring", &error))?;
    match ring.inner.completion().next() {
        Some(done) if done.user_data() == MARK && done.result() == 0 => Ok(ring.modes),
        Some(_) | None => Err(IoError::new("use a ring", libc::EIO)),
    }
}

/// Names the sysctl that forbids rings, if it does, since the error alone cannot be told from a filter's.
fn with_setting(error: &IoError) -> String {
    match fs::read_to_string("/proc/sys/kernel/io_uring_disabled") {
        Ok(value) if value.trim() != "0" => format!("{error}; kernel.io_uring_disabled is {}", value.trim()),
        Ok(_) | Err(_) => error.to_string(),
    }
}

fn check_block<E: Environment>(environment: &E, path: &Path, direct: bool) -> Result<(), IoError> {
    let file = environment.open_file(path, FileOptions { direct, ..FileOptions::WRITE })?;
    let mut driver = environment.driver(DriverLimits { operations_max: 1, handles_max: 1 })?;
    let handle = driver.adopt_file(file)?;
    let pattern: [u8; PAGE] = std::array::from_fn(|index| (index % 251).to_le_bytes()[0]);
    let mut block = Buffer::aligned(PAGE);
    block.extend_from_slice(&pattern);
    let mut block = write_block(&mut driver, handle, block)?;
    block.clear();
    let block = read_block(&mut driver, handle, block)?;
    if block[..] == pattern { Ok(()) } else { Err(IoError::new("read back what was written", libc::EIO)) }
}

fn write_block(driver: &mut impl Driver, file: Handle, buffer: Buffer) -> Result<Buffer, IoError> {
    match run(driver, Operation::WriteAt { file, buffer: buffer.into(), offset: 0, sync: true })? {
        Outcome::Written { buffer, result } => result.map(|()| buffer.into_buffer().unwrap_or_default()),
        _ => Err(IoError::new("write", libc::EIO)),
    }
}

fn read_block(driver: &mut impl Driver, file: Handle, buffer: Buffer) -> Result<Buffer, IoError> {
    match run(driver, Operation::ReadAt { file, buffer, offset: 0 })? {
        Outcome::Read { buffer, result } => result.map(|_| buffer),
        _ => Err(IoError::new("read", libc::EIO)),
    }
}

/// Does one operation and waits for it, which only a probe may.
fn run(driver: &mut impl Driver, operation: Operation) -> Result<Outcome, IoError> {
    driver.submit(Token(0), operation);
    let mut completions = Vec::with_capacity(1);
    loop {
        driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut completions)?;
        if let Some(completion) = completions.pop() {
            return Ok(completion.outcome);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_describes_itself() {
        assert!(kernel_release().contains('.'));
        assert_ne!(clock_source(), Some(String::new()));
        let before = descriptor_limit();
        let raised = raise_descriptor_limit().expect("the soft limit may always be raised to the hard one");
        assert_eq!((raised.soft, raised.hard), (before.hard, before.hard));
    }

    #[test]
    fn a_missing_ring_is_explained_with_the_operation_that_failed() {
        let reason = with_setting(&IoError::new("make a ring", libc::ENOSYS));
        assert!(reason.starts_with("make a ring: Function not implemented (ENOSYS)"), "{reason}");
    }
}
