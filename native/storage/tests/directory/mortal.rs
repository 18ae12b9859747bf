//! A simulated machine whose power goes at a chosen operation, whichever code is running then.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ng_io::simulated::{SimulatedDriver, SimulatedFile};
use ng_io::{
    Completion, Driver, DriverCounters, DriverLimits, Environment, FileOptions, Handle, Instant, IoError,
    JoinHandle, Listener, Operation, SimulatedEnvironment, Socket, ThreadSpec, Token, Wait, Waker,
    WallMicros,
};

/// A machine with a given number of operations left to live.
#[derive(Clone, Debug)]
pub(crate) struct Mortal {
    pub(crate) machine: SimulatedEnvironment,
    left: Arc<AtomicU64>,
}

pub(crate) struct MortalDriver {
    inner: SimulatedDriver,
    environment: Mortal,
}

impl Mortal {
    pub(crate) fn new(seed: u64) -> Self {
        Self { machine: SimulatedEnvironment::new(seed), left: Arc::new(AtomicU64::new(u64::MAX)) }
    }

    /// Lets the power go while operation number `count` from now is under way.
    pub(crate) fn cut_after(&self, count: u64) {
        self.left.store(count, Ordering::Relaxed);
    }

    /// Ends the process now, if it lives, and lets the next one live for ever. True if it had died before.
    pub(crate) fn restart(&self) -> bool {
        let died = self.left.swap(u64::MAX, Ordering::Relaxed) == 0;
        if !died {
            self.machine.cut_power();
        }
        died
    }

    /// Counts an operation; true if it is the last.
    fn count(&self) -> bool {
        let left = self.left.load(Ordering::Relaxed);
        if left == u64::MAX || left == 0 {
            return false;
        }
        self.left.store(left - 1, Ordering::Relaxed);
        left == 1
    }
}

impl Environment for Mortal {
    type Driver = MortalDriver;

    fn name(&self) -> &'static str {
        self.machine.name()
    }

    fn now(&self) -> Instant {
        self.machine.now()
    }

    fn wall(&self) -> WallMicros {
        self.machine.wall()
    }

    fn random(&self, into: &mut [u8]) -> Result<(), IoError> {
        self.machine.random(into)
    }

    fn driver(&self, limits: DriverLimits) -> Result<MortalDriver, IoError> {
        Ok(MortalDriver { inner: self.machine.driver(limits)?, environment: self.clone() })
    }

    fn spawn(&self, thread: ThreadSpec, body: Box<dyn FnOnce() + Send>) -> Result<JoinHandle, IoError> {
        self.machine.spawn(thread, body)
    }

    fn bind_stream(&self, address: SocketAddr, backlog: u32) -> Result<Listener, IoError> {
        self.machine.bind_stream(address, backlog)
    }

    fn open_file(&self, path: &Path, options: FileOptions) -> Result<SimulatedFile, IoError> {
        self.machine.open_file(path, options)
    }

    fn make_directories(&self, path: &Path) -> Result<(), IoError> {
        self.machine.make_directories(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), IoError> {
        self.machine.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> Result<(), IoError> {
        self.machine.remove_file(path)
    }

    fn sync_directory(&self, path: &Path) -> Result<(), IoError> {
        self.machine.sync_directory(path)
    }

    fn list_directory(&self, path: &Path) -> Result<Vec<String>, IoError> {
        self.machine.list_directory(path)
    }

    fn file_length(&self, path: &Path) -> Result<u64, IoError> {
        self.machine.file_length(path)
    }
}

impl Driver for MortalDriver {
    type File = SimulatedFile;

    fn now(&self) -> Instant {
        self.inner.now()
    }

    fn wall(&self) -> WallMicros {
        self.inner.wall()
    }

    fn waker(&self) -> Waker {
        self.inner.waker()
    }

    fn adopt_socket(&mut self, socket: Socket) -> Result<Handle, IoError> {
        self.inner.adopt_socket(socket)
    }

    fn adopt_listener(&mut self, listener: Listener) -> Result<Handle, IoError> {
        self.inner.adopt_listener(listener)
    }

    fn adopt_file(&mut self, file: SimulatedFile) -> Result<Handle, IoError> {
        self.inner.adopt_file(file)
    }

    fn local_address(&self, handle: Handle) -> Result<SocketAddr, IoError> {
        self.inner.local_address(handle)
    }

    fn acknowledged(&self, socket: Handle) -> Option<u64> {
        self.inner.acknowledged(socket)
    }

    fn submit(&mut self, token: Token, operation: Operation) {
        self.inner.submit(token, operation);
        if self.environment.count() {
            self.environment.machine.cut_power();
        }
    }

    fn finish_sending(&mut self, socket: Handle) {
        self.inner.finish_sending(socket);
    }

    fn acknowledge_now(&mut self, socket: Handle) {
        self.inner.acknowledge_now(socket);
    }

    fn close(&mut self, handle: Handle) {
        self.inner.close(handle);
    }

    fn complete(&mut self, wait: Wait, into: &mut Vec<Completion>) -> Result<(), IoError> {
        self.inner.complete(wait, into)
    }

    fn counters(&self) -> DriverCounters {
        self.inner.counters()
    }
}
