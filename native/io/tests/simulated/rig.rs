//! A process on a simulated machine: a driver and one open file.

use std::path::{Path, PathBuf};

use ng_io::simulated::SimulatedDriver;
use ng_io::{
    Buffer, Driver, DriverLimits, Environment, FileOptions, Handle, Instant, Operation, Outcome,
    SimulatedEnvironment, Token, Wait,
};

pub(crate) const LIMITS: DriverLimits = DriverLimits { operations_max: 64, handles_max: 8 };

pub(crate) struct Disk {
    pub(crate) environment: SimulatedEnvironment,
    pub(crate) driver: SimulatedDriver,
    pub(crate) file: Handle,
    path: PathBuf,
}

pub(crate) fn disk(seed: u64) -> Disk {
    attach(SimulatedEnvironment::new(seed))
}

/// The next process on a machine.
pub(crate) fn attach(environment: SimulatedEnvironment) -> Disk {
    attach_to(environment, Path::new("file"), FileOptions::WRITE)
}

pub(crate) fn attach_to(environment: SimulatedEnvironment, path: &Path, options: FileOptions) -> Disk {
    let mut driver = environment.driver(LIMITS).expect("a driver");
    let file = environment.open_file(path, options).expect("a file");
    let file = driver.adopt_file(file).expect("room");
    Disk { environment, driver, file, path: path.to_owned() }
}

impl Disk {
    pub(crate) fn run(&mut self, operation: Operation) -> Outcome {
        self.driver.submit(Token(1), operation);
        let mut done = Vec::new();
        while done.is_empty() {
            self.driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut done).expect("alive");
        }
        done.remove(0).outcome
    }

    pub(crate) fn write_operation(&self, offset: u64, bytes: &[u8], sync: bool) -> Operation {
        Operation::WriteAt { file: self.file, buffer: Buffer::from(bytes.to_vec()).into(), offset, sync }
    }

    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), i32> {
        match self.run(self.write_operation(offset, bytes, false)) {
            Outcome::Written { result, .. } => result.map_err(|error| error.errno()),
            other => panic!("not of a write: {other:?}"),
        }
    }

    pub(crate) fn read(&mut self, offset: u64, count: usize) -> Result<Vec<u8>, i32> {
        let buffer = Buffer::with_capacity(count);
        match self.run(Operation::ReadAt { file: self.file, buffer, offset }) {
            Outcome::Read { result, buffer } => {
                result.map(|_| buffer.to_vec()).map_err(|error| error.errno())
            }
            other => panic!("not of a read: {other:?}"),
        }
    }

    pub(crate) fn sync(&mut self) -> Result<(), i32> {
        match self.run(Operation::Sync { file: self.file }) {
            Outcome::Synced(result) => result.map_err(|error| error.errno()),
            other => panic!("not of a sync: {other:?}"),
        }
    }

    pub(crate) fn content(&self) -> Vec<u8> {
        self.environment.file_bytes(&self.path).expect("the file")
    }
}
