//! The deterministic twin: a disk in memory and a clock that moves only when somebody waits, both driven by one seed.
//!
//! The same calls with the same seed give the same outcomes in the same order, which [`SimulatedEnvironment::trace`]
//! proves. It has no sockets and starts no threads: what a shard does with those is simulated above the drivers.

mod disk;
mod driver;
mod random;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

pub use driver::SimulatedDriver;
pub use random::Random;

use crate::clock::{Instant, WallMicros};
use crate::driver::DriverLimits;
use crate::environment::Environment;
use crate::error::IoError;
use crate::file::FileOptions;
use crate::socket::Listener;
use crate::thread::{JoinHandle, ThreadSpec};

use disk::Disk;

/// What a power cut tears apart: the unit that a disk writes as a whole.
pub const SECTOR: usize = 512;

/// How often things go wrong, in thousandths of the operations of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Writes that fail with EIO after any part of them was done.
    pub write_error: u32,
    /// Syncs that fail with EIO; what was to be synced is lost or not at the next cut, as it falls.
    pub sync_error: u32,
    /// Reads that fail with EIO once.
    pub read_error: u32,
    /// Writes that go to another page of the same file and say nothing.
    pub misdirected_write: u32,
}

/// One machine of a simulation. A clone is the same machine; [`SimulatedEnvironment::kill`] and
/// [`SimulatedEnvironment::cut_power`] end the process that runs on it, and the next drivers belong to the next one.
#[derive(Clone, Debug)]
pub struct SimulatedEnvironment {
    machine: Arc<Mutex<Machine>>,
}

/// An open file of the simulated disk.
#[derive(Debug)]
pub struct SimulatedFile {
    path: PathBuf,
    options: FileOptions,
    process: u64,
}

#[derive(Debug)]
struct Machine {
    now: u64,
    random: Random,
    disk: Disk,
    faults: Faults,
    /// Counts the processes that have run here.
    process: u64,
    /// Counts the operations of all drivers.
    submitted: u64,
    trace: u64,
}

/// Where wall time begins: late in 2023, so that stamps look like stamps.
const EPOCH_MICROS: u64 = 1_700_000_000_000_000;

impl SimulatedEnvironment {
    /// A machine with an empty disk whose fate is `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let machine = Machine {
            now: 0,
            random: Random::new(seed),
            disk: Disk::default(),
            faults: Faults::default(),
            process: 1,
            submitted: 0,
            trace: 0,
        };
        Self { machine: Arc::new(Mutex::new(machine)) }
    }

    /// Sets how often things go wrong from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.lock().faults = faults;
    }

    /// Sets how many bytes all files together may have.
    pub fn set_capacity(&self, bytes: u64) {
        self.lock().disk.capacity = bytes;
    }

    /// Ends the process: its drivers do nothing any more. A write under way is done, wholly, partly, or not; everything
    /// completed stays in the page cache. Nothing of it lands later, for the kernel holds the process's locks until then.
    pub fn kill(&self) {
        let machine = &mut *self.lock();
        machine.process += 1;
        machine.disk.land_writes_under_way(&mut machine.random);
    }

    /// Ends the process and cuts the power: of everything not synced, each sector is on the disk or not, as it falls.
    pub fn cut_power(&self) {
        self.kill();
        let machine = &mut *self.lock();
        machine.disk.cut(&mut machine.random);
    }

    /// The bytes of a file as a reader sees them now, if it exists.
    #[must_use]
    pub fn file_bytes(&self, path: &Path) -> Option<Vec<u8>> {
        self.lock().disk.files.get(path).map(|file| file.seen.clone())
    }

    /// Flips the bits of `mask` in one byte, in the cache and on the disk. False if the file has no such byte.
    pub fn rot(&self, path: &Path, position: usize, mask: u8) -> bool {
        self.lock().disk.files.get_mut(path).is_some_and(|file| file.rot(position, mask))
    }

    /// Makes every read of the sector that holds `position` fail until it is written again.
    pub fn spoil(&self, path: &Path, position: usize) -> bool {
        self.lock().disk.files.get_mut(path).is_some_and(|file| file.spoiled.insert(position / SECTOR))
    }

    /// A hash of everything that every driver has handed out so far.
    #[must_use]
    pub fn trace(&self) -> u64 {
        self.lock().trace
    }

    fn lock(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().expect("nothing panics while it holds this lock")
    }
}

impl Machine {
    /// Draws whether a fault happens that happens this often.
    fn strikes(&mut self, thousandths: u32) -> bool {
        // Drawn only where faults are on, so that a run without faults is the same whatever kinds there are.
        thousandths > 0 && self.random.below(1000) < u64::from(thousandths)
    }

    fn note(&mut self, values: &[u64]) {
        for value in values {
            self.trace = random::mix(self.trace ^ value);
        }
    }
}

impl Environment for SimulatedEnvironment {
    type Driver = SimulatedDriver;

    fn name(&self) -> &'static str {
        "simulated"
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(self.lock().now)
    }

    fn wall(&self) -> WallMicros {
        WallMicros(EPOCH_MICROS + self.lock().now / 1_000)
    }

    fn driver(&self, limits: DriverLimits) -> Result<SimulatedDriver, IoError> {
        SimulatedDriver::new(self.clone(), limits)
    }

    fn spawn(&self, _thread: ThreadSpec, _body: Box<dyn FnOnce() + Send>) -> Result<JoinHandle, IoError> {
        Err(IoError::new("start a thread", libc::ENOSYS))
    }

    fn bind_stream(&self, _address: SocketAddr, _backlog: u32) -> Result<Listener, IoError> {
        Err(IoError::new("bind", libc::ENOSYS))
    }

    fn open_file(&self, path: &Path, options: FileOptions) -> Result<SimulatedFile, IoError> {
        let machine = &mut *self.lock();
        machine.disk.open(path, options)?;
        Ok(SimulatedFile { path: path.to_owned(), options, process: machine.process })
    }
}
