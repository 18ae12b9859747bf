//! The scheduler of one simulated thread: every operation takes as long as the seed says.

use std::net::SocketAddr;

use super::SimulatedEnvironment;
use super::flight::Product;
use crate::clock::{Instant, WallMicros};
use crate::driver::{
    Completion, Driver, DriverCounters, DriverLimits, Handle, Operation, Outcome, Token, Wait,
};
use crate::environment::Environment;
use crate::error::IoError;
use crate::socket::{Listener, Socket};
use crate::table::Table;
use crate::waker::Waker;

/// A driver of the process that runs when it is made. What it was asked for is the machine's, which outlives it.
pub struct SimulatedDriver {
    environment: SimulatedEnvironment,
    process: u64,
    queue: usize,
    waker: Waker,
    files: Table<SimulatedFile>,
    outstanding: usize,
    operations_max: usize,
    counters: DriverCounters,
}

/// An open file of the simulated disk.
#[derive(Debug)]
pub struct SimulatedFile {
    environment: SimulatedEnvironment,
    open: Handle,
    process: u64,
}

impl SimulatedFile {
    pub(super) fn new(environment: &SimulatedEnvironment, open: Handle) -> Self {
        let process = environment.lock().process;
        Self { environment: environment.clone(), open, process }
    }
}

impl Drop for SimulatedFile {
    /// To be dropped while nobody has the machine locked. What a dead process had open is closed already.
    fn drop(&mut self) {
        if let Ok(mut machine) = self.environment.machine.lock() {
            machine.release(self.open);
        }
    }
}

impl SimulatedDriver {
    pub(super) fn new(environment: SimulatedEnvironment, limits: DriverLimits) -> Result<Self, IoError> {
        let waker = Waker::new()?;
        let (process, queue) = {
            let machine = &mut *environment.lock();
            (machine.process, machine.add_queue())
        };
        Ok(Self {
            environment,
            process,
            queue,
            waker,
            files: Table::new(limits.handles_max),
            outstanding: 0,
            operations_max: limits.operations_max,
            counters: DriverCounters::default(),
        })
    }

    /// When the next operation ends, in nanoseconds on the machine's clock. None under way: `None`.
    #[must_use]
    pub fn next_completion(&self) -> Option<u64> {
        let machine = self.environment.lock();
        if machine.process == self.process { machine.next_end(self.queue) } else { None }
    }

    fn outcome_of(&mut self, file: Option<Handle>, product: Product) -> Outcome {
        match product {
            Product::Opened(result) => {
                let opened = result.map(|open| SimulatedFile::new(&self.environment, open));
                Outcome::Opened(opened.and_then(|file| self.files.insert(file)))
            }
            Product::Done(outcome) if file.is_some_and(|file| self.files.get(file).is_none()) => {
                outcome.cancelled()
            }
            Product::Done(outcome) => outcome,
        }
    }
}

impl Drop for SimulatedDriver {
    fn drop(&mut self) {
        if let Ok(mut machine) = self.environment.machine.lock()
            && machine.process == self.process
        {
            machine.drop_queue(self.queue);
        }
    }
}

impl Driver for SimulatedDriver {
    type File = SimulatedFile;

    fn now(&self) -> Instant {
        self.environment.now()
    }

    fn wall(&self) -> WallMicros {
        self.environment.wall()
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }

    fn adopt_socket(&mut self, _socket: Socket) -> Result<Handle, IoError> {
        Err(IoError::new("adopt a socket", libc::ENOSYS))
    }

    fn adopt_listener(&mut self, _listener: Listener) -> Result<Handle, IoError> {
        Err(IoError::new("adopt a listener", libc::ENOSYS))
    }

    fn adopt_file(&mut self, file: SimulatedFile) -> Result<Handle, IoError> {
        if file.process != self.process {
            return Err(IoError::stale("adopt a file"));
        }
        self.files.insert(file)
    }

    fn local_address(&self, _handle: Handle) -> Result<SocketAddr, IoError> {
        Err(IoError::stale("get the local address"))
    }

    fn acknowledged(&self, _socket: Handle) -> Option<u64> {
        None
    }

    fn submit(&mut self, token: Token, operation: Operation) {
        assert!(self.outstanding < self.operations_max, "the caller bounds its operations");
        self.counters.operations += 1;
        let file = operation.handle().and_then(|handle| self.files.get(handle));
        let open = file.map(|file| file.open);
        let machine = &mut *self.environment.lock();
        if machine.process == self.process {
            self.outstanding += 1;
            machine.submit(self.queue, token, operation, open);
        }
    }

    fn finish_sending(&mut self, _socket: Handle) {}

    fn acknowledge_now(&mut self, _socket: Handle) {}

    fn close(&mut self, handle: Handle) {
        self.files.remove(handle);
    }

    fn complete(&mut self, wait: Wait, into: &mut Vec<Completion>) -> Result<(), IoError> {
        let mut machine = self.environment.lock();
        if machine.process != self.process {
            return Err(IoError::new("wait for events", libc::ESRCH));
        }
        machine.check_process("wait for events")?;
        if self.waker.take() {
            self.counters.wakes += 1;
            return Ok(());
        }
        self.counters.sleeps += u64::from(wait != Wait::Now);
        let now = machine.pass_time(self.queue, wait)?;
        while let Some((token, file, product)) = machine.finish_next(self.queue, now) {
            // An opened file that finds no place is dropped.
            drop(machine);
            let outcome = self.outcome_of(file, product);
            self.outstanding -= 1;
            self.counters.completions += 1;
            into.push(Completion { token, outcome });
            machine = self.environment.lock();
        }
        Ok(())
    }

    fn counters(&self) -> DriverCounters {
        self.counters
    }
}
