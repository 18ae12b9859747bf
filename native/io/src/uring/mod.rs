//! The production backend: io_uring, single-shot operations, one system call per turn.

mod driver;
mod flight;
mod flights;
mod name;
mod peer;
mod resource;
pub(crate) mod ring;

use std::net::SocketAddr;
use std::path::Path;

pub use driver::UringDriver;

use crate::clock::{self, Instant, WallMicros};
use crate::driver::DriverLimits;
use crate::environment::Environment;
use crate::error::IoError;
use crate::file::{File, FileOptions};
use crate::names;
use crate::random;
use crate::socket::Listener;
use crate::thread::{self, JoinHandle, ThreadSpec};

/// The machine itself, through io_uring. [`crate::probe::probe_ring`] says whether it will work.
#[derive(Clone, Copy, Debug, Default)]
pub struct UringEnvironment;

impl Environment for UringEnvironment {
    type Driver = UringDriver;

    fn name(&self) -> &'static str {
        "uring"
    }

    fn now(&self) -> Instant {
        clock::monotonic_now()
    }

    fn wall(&self) -> WallMicros {
        clock::wall_now()
    }

    fn random(&self, into: &mut [u8]) -> Result<(), IoError> {
        random::fill(into)
    }

    fn driver(&self, limits: DriverLimits) -> Result<UringDriver, IoError> {
        UringDriver::new(limits)
    }

    fn spawn(&self, thread: ThreadSpec, body: Box<dyn FnOnce() + Send>) -> Result<JoinHandle, IoError> {
        thread::spawn(thread, body)
    }

    fn bind_stream(&self, address: SocketAddr, backlog: u32) -> Result<Listener, IoError> {
        Listener::bind(address, backlog)
    }

    fn open_file(&self, path: &Path, options: FileOptions) -> Result<File, IoError> {
        File::open(path, options)
    }

    fn make_directories(&self, path: &Path) -> Result<(), IoError> {
        names::make_directories(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), IoError> {
        names::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> Result<(), IoError> {
        names::remove_file(path)
    }

    fn sync_directory(&self, path: &Path) -> Result<(), IoError> {
        names::sync_directory(path)
    }

    fn list_directory(&self, path: &Path) -> Result<Vec<String>, IoError> {
        names::list_directory(path)
    }

    fn file_length(&self, path: &Path) -> Result<u64, IoError> {
        names::file_length(path)
    }
}
