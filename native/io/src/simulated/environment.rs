//! One machine of a simulation, as a process on it sees it and as its judge does.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use super::Faults;
use super::clock::{MachineClock, SimulatedClock};
use super::content::Content;
use super::driver::{SimulatedDriver, SimulatedFile};
use super::machine::Machine;
use super::pipe::StreamWeather;
use super::socket::SimulatedListener;
use super::watch::{DiskChange, Fuse};
use crate::clock::{Instant, WallMicros};
use crate::driver::DriverLimits;
use crate::environment::Environment;
use crate::error::IoError;
use crate::file::FileOptions;
use crate::socket::Listener;
use crate::thread::{JoinHandle, ThreadSpec};

/// Where wall time begins: late in 2023, so that stamps look like stamps.
const EPOCH_MICROS: u64 = 1_700_000_000_000_000;

/// One machine of a simulation. A clone is the same machine; [`SimulatedEnvironment::kill`] and
/// [`SimulatedEnvironment::cut_power`] end the process that runs on it, and the next drivers belong to the next one.
#[derive(Clone, Debug)]
pub struct SimulatedEnvironment {
    pub(super) machine: Arc<Mutex<Machine>>,
}

impl SimulatedEnvironment {
    /// A machine with an empty disk and a clock of its own, whose fate is `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::with(MachineClock::own(), seed)
    }

    /// A machine with an empty disk in the world of this clock, whose fate is `seed`.
    #[must_use]
    pub fn on(clock: &SimulatedClock, seed: u64) -> Self {
        Self::with(MachineClock::of_world(clock), seed)
    }

    fn with(clock: MachineClock, seed: u64) -> Self {
        Self { machine: Arc::new(Mutex::new(Machine::new(clock, seed))) }
    }

    /// Runs a start, which may wait. Waiting moves this machine's own time ahead of the shared clock, and there it
    /// stays until the world has caught up: to the machine its time never steps back, to the world the start took none.
    /// A scheduler that wants it to take time leaves the machine alone until the world's clock is at
    /// [`Environment::now`].
    pub fn boot<T>(&self, start: impl FnOnce() -> T) -> T {
        let before = std::mem::replace(&mut self.lock().clock.booting, true);
        let started = start();
        self.lock().clock.booting = before;
        started
    }

    /// Sets how often things go wrong from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.lock().faults = faults;
    }

    /// How often things go wrong now.
    #[must_use]
    pub fn faults(&self) -> Faults {
        self.lock().faults
    }

    /// Sets how streams behave from now on.
    pub fn set_stream_weather(&self, weather: StreamWeather) {
        self.lock().streams.weather = weather;
    }

    /// Sets how many bytes all files together may have.
    pub fn set_capacity(&self, bytes: u64) {
        self.lock().disk.capacity = bytes;
    }

    /// Sets how many nanoseconds an operation takes at most, from now on. A quick disk takes 400 us.
    pub fn set_latency_max(&self, nanos: u64) {
        self.lock().latency_max = nanos.max(1);
    }

    /// Lets the disk stand still until a moment, in nanoseconds on the machine's clock: what is asked of it from now on ends
    /// later.
    pub fn stall_disk(&self, until: u64) {
        let machine = &mut *self.lock();
        machine.stalled_until = machine.stalled_until.max(until);
    }

    /// Begins to keep the changes of the disk for [`SimulatedEnvironment::take_changes`].
    pub fn watch(&self) {
        self.lock().watch.begin();
    }

    /// The changes of the disk since the last call, in order.
    #[must_use]
    pub fn take_changes(&self) -> Vec<DiskChange> {
        self.lock().watch.take()
    }

    /// Sets what is to fail next, in place of what was to fail before. The end of the process clears it.
    pub fn set_fuse(&self, fuse: Option<Fuse>) {
        self.lock().watch.set_fuse(fuse);
    }

    /// Whether [`Fuse::Process`] ended the process, and nobody has cleared away what is left of it.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.lock().watch.ended
    }

    /// Sets how far the wall clock of this machine is from the world's, in microseconds.
    pub fn set_wall_offset(&self, micros: i64) {
        self.lock().wall_offset = micros;
    }

    /// Ends the process: its drivers do nothing any more. A write under way is done, wholly, partly, or not, now or, where
    /// [`Faults::late_writes`] says so, later; everything completed stays in the page cache.
    pub fn kill(&self) {
        self.lock().kill();
    }

    /// Ends the process and cuts the power: of everything not synced, each sector is on the disk or not, as it falls, and
    /// of the names that no sync of their directory covered as many as [`Faults::lost_names`] leaves.
    pub fn cut_power(&self) {
        self.lock().cut_power();
    }

    /// Ends the process and puts an empty disk in the place of the one that was there.
    pub fn wipe(&self) {
        self.lock().wipe();
    }

    /// The paths of all files, sorted, from the root on and without a leading slash.
    #[must_use]
    pub fn file_names(&self) -> Vec<PathBuf> {
        self.lock().disk.file_names()
    }

    /// The bytes of a file as a reader sees them now, if it exists.
    #[must_use]
    pub fn file_bytes(&self, path: &Path) -> Option<Vec<u8>> {
        self.on_file(path, |content| content.bytes())
    }

    /// Flips the bits of `mask` in one byte, in the cache and on the disk. False if the file has no such byte.
    pub fn rot(&self, path: &Path, position: usize, mask: u8) -> bool {
        self.on_file(path, |content| content.rot(position, mask)).unwrap_or(false)
    }

    /// Makes every read of the sector that holds `position` fail until it is written again.
    pub fn spoil(&self, path: &Path, position: usize) -> bool {
        self.on_file(path, |content| content.spoil(position)).unwrap_or(false)
    }

    /// A hash of everything that every driver has handed out so far.
    #[must_use]
    pub fn trace(&self) -> u64 {
        self.lock().trace
    }

    fn on_file<T>(&self, path: &Path, look: impl FnOnce(&mut Content) -> T) -> Option<T> {
        let machine = &mut *self.lock();
        machine.land_late_writes();
        let node = machine.disk.find("look at a file", path).ok()?;
        machine.disk.content_mut(node).map(look)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().expect("nothing panics while it holds this lock")
    }
}

impl Environment for SimulatedEnvironment {
    type Driver = SimulatedDriver;

    fn name(&self) -> &'static str {
        "simulated"
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(self.lock().clock.now())
    }

    fn wall(&self) -> WallMicros {
        let machine = self.lock();
        let micros = EPOCH_MICROS + machine.clock.now() / 1_000;
        WallMicros(micros.saturating_add_signed(machine.wall_offset))
    }

    fn random(&self, into: &mut [u8]) -> Result<(), IoError> {
        let machine = &mut *self.lock();
        into.fill_with(|| machine.identities.next().to_le_bytes()[0]);
        Ok(())
    }

    fn driver(&self, limits: DriverLimits) -> Result<SimulatedDriver, IoError> {
        SimulatedDriver::new(self.clone(), limits)
    }

    fn spawn(&self, _thread: ThreadSpec, _body: Box<dyn FnOnce() + Send>) -> Result<JoinHandle, IoError> {
        Err(IoError::new("start a thread", libc::ENOSYS))
    }

    fn bind_stream(&self, address: SocketAddr, backlog: u32) -> Result<Listener, IoError> {
        let machine = &mut *self.lock();
        let address = machine.streams.bind(address, backlog)?;
        let listener = SimulatedListener::new(self.clone(), machine.process, address);
        Ok(Listener::of_simulation(listener))
    }

    fn open_file(&self, path: &Path, options: FileOptions) -> Result<SimulatedFile, IoError> {
        let open = self.lock().open(path, options)?;
        Ok(SimulatedFile::new(self, open))
    }

    fn make_directories(&self, path: &Path) -> Result<(), IoError> {
        self.lock().change_names(path, |disk| disk.make_directories(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), IoError> {
        self.lock().change_names(to, |disk| disk.rename(from, to))
    }

    fn remove_file(&self, path: &Path) -> Result<(), IoError> {
        self.lock().change_names(path, |disk| disk.remove_file(path))
    }

    fn sync_directory(&self, path: &Path) -> Result<(), IoError> {
        self.lock().sync_directory(path)
    }

    fn list_directory(&self, path: &Path) -> Result<Vec<String>, IoError> {
        self.lock().disk.list(path)
    }

    fn file_length(&self, path: &Path) -> Result<u64, IoError> {
        let machine = &mut *self.lock();
        machine.land_late_writes();
        let node = machine.disk.find("look at a file", path)?;
        Ok(machine.disk.content(node).map_or(0, Content::length))
    }
}
