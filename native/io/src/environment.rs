//! Where a process gets its drivers, threads, listeners and files from.

use std::net::SocketAddr;
use std::path::Path;

use crate::clock::{Instant, WallMicros};
use crate::driver::{Driver, DriverLimits};
use crate::error::IoError;
use crate::file::FileOptions;
use crate::socket::Listener;
use crate::thread::{JoinHandle, ThreadSpec};

/// Everything outside the process that a shard depends on, behind one value that a simulation can replace.
pub trait Environment: Clone + Send + Sync + 'static {
    /// The driver this environment makes.
    type Driver: Driver;

    /// The backend's name as operators read it: "posix" or "uring"; "simulated" in a simulation.
    fn name(&self) -> &'static str;

    /// Monotonic time.
    fn now(&self) -> Instant;

    /// Wall time.
    fn wall(&self) -> WallMicros;

    /// Fills `into` with bytes that nobody can foretell, and that no other process has.
    fn random(&self, into: &mut [u8]) -> Result<(), IoError>;

    /// Makes a driver for the calling thread.
    fn driver(&self, limits: DriverLimits) -> Result<Self::Driver, IoError>;

    /// Starts a named thread with all signals blocked, pinned if `thread.cpu` says so. If the thread cannot
    /// be started or pinned, that is the error here and `body` never runs.
    fn spawn(&self, thread: ThreadSpec, body: Box<dyn FnOnce() + Send>) -> Result<JoinHandle, IoError>;

    /// Opens a listening stream socket; port 0 takes a free one.
    fn bind_stream(&self, address: SocketAddr, backlog: u32) -> Result<Listener, IoError>;

    /// Opens a file. May block, so it is not for a shard's turn.
    fn open_file(&self, path: &Path, options: FileOptions)
    -> Result<<Self::Driver as Driver>::File, IoError>;

    /// Makes a directory and those above it that are missing. May block, as all that follow: a start has the time.
    fn make_directories(&self, path: &Path) -> Result<(), IoError>;

    /// What [`crate::Operation::Rename`] does.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), IoError>;

    /// Removes a file; one that is absent already is as good.
    fn remove_file(&self, path: &Path) -> Result<(), IoError>;

    /// Brings the names in a directory to stable storage.
    fn sync_directory(&self, path: &Path) -> Result<(), IoError>;

    /// The names in a directory, sorted.
    fn list_directory(&self, path: &Path) -> Result<Vec<String>, IoError>;

    /// How many bytes a file has.
    fn file_length(&self, path: &Path) -> Result<u64, IoError>;
}
