//! The scheduler of one simulated thread: every operation takes as long as the seed says.

use std::collections::VecDeque;
use std::net::SocketAddr;

use super::SimulatedEnvironment;
use super::adopted::{Adopted, ListenerState, SocketState};
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
    adopted: Table<Adopted>,
    /// Finished, but not yet handed out.
    ready: VecDeque<Completion>,
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
        let (process, queue) = {
            let machine = &mut *environment.lock();
            (machine.process, machine.add_queue())
        };
        Ok(Self {
            environment,
            process,
            queue,
            waker: Waker::without_descriptor(),
            adopted: Table::new(limits.handles_max),
            ready: VecDeque::new(),
            outstanding: 0,
            operations_max: limits.operations_max,
            counters: DriverCounters::default(),
        })
    }

    /// When the next operation goes on or ends, in nanoseconds on the machine's clock; a moment that has passed if one has
    /// ended. None under way: `None`.
    #[must_use]
    pub fn next_completion(&self) -> Option<u64> {
        if !self.ready.is_empty() {
            return Some(0);
        }
        let streams = self.adopted.values().filter_map(Adopted::next).min();
        let machine = self.environment.lock();
        if machine.process != self.process {
            return None;
        }
        [machine.next_end(self.queue), streams].into_iter().flatten().min()
    }

    /// Whether somebody has rung since the last [`Driver::complete`].
    #[must_use]
    pub fn is_woken(&self) -> bool {
        self.waker.is_ringing()
    }

    /// Starts an operation on a socket or a listener: its outcome if it cannot begin.
    fn start_on_stream(&mut self, token: Token, operation: Operation) -> Option<Outcome> {
        match operation.handle().and_then(|handle| self.adopted.get_mut(handle)) {
            Some(Adopted::Socket(state)) => state.start(token, operation),
            Some(Adopted::Listener(state)) => state.start(token, operation),
            Some(Adopted::File(_)) | None => {
                Some(Outcome::failed(operation, IoError::stale("network operation")))
            }
        }
    }

    fn advance_streams(&mut self) {
        for adopted in self.adopted.values_mut() {
            adopted.advance(&mut self.ready);
        }
    }

    fn outcome_of(&mut self, file: Option<Handle>, product: Product) -> Outcome {
        match product {
            Product::Opened(result) => {
                let opened = result.map(|open| SimulatedFile::new(&self.environment, open));
                Outcome::Opened(opened.and_then(|file| self.adopted.insert(Adopted::File(file))))
            }
            Product::Done(outcome) if file.is_some_and(|file| self.adopted.get(file).is_none()) => {
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

    fn adopt_socket(&mut self, socket: Socket) -> Result<Handle, IoError> {
        self.adopted.insert(Adopted::Socket(SocketState::new(socket.into_simulated()?)))
    }

    fn adopt_listener(&mut self, listener: Listener) -> Result<Handle, IoError> {
        self.adopted.insert(Adopted::Listener(ListenerState::new(listener.into_simulated()?)))
    }

    fn adopt_file(&mut self, file: SimulatedFile) -> Result<Handle, IoError> {
        if file.process != self.process {
            return Err(IoError::stale("adopt a file"));
        }
        self.adopted.insert(Adopted::File(file))
    }

    fn local_address(&self, handle: Handle) -> Result<SocketAddr, IoError> {
        match self.adopted.get(handle) {
            Some(Adopted::Socket(state)) => Ok(state.socket.local_address()),
            Some(Adopted::Listener(state)) => Ok(state.listener.local_address()),
            Some(Adopted::File(_)) | None => Err(IoError::stale("get the local address")),
        }
    }

    fn acknowledged(&self, socket: Handle) -> Option<u64> {
        match self.adopted.get(socket) {
            Some(Adopted::Socket(state)) => state.socket.acknowledged(),
            Some(Adopted::Listener(_) | Adopted::File(_)) | None => None,
        }
    }

    fn submit(&mut self, token: Token, operation: Operation) {
        assert!(self.outstanding < self.operations_max, "the caller bounds its operations");
        self.counters.operations += 1;
        if self.environment.lock().process != self.process {
            return;
        }
        self.outstanding += 1;
        if matches!(operation, Operation::Accept { .. } | Operation::Receive { .. } | Operation::Send { .. })
        {
            if let Some(outcome) = self.start_on_stream(token, operation) {
                self.ready.push_back(Completion { token, outcome });
            }
            return;
        }
        let file = operation.handle().and_then(|handle| self.adopted.get(handle)).and_then(Adopted::file);
        let open = file.map(|file| file.open);
        self.environment.lock().submit(self.queue, token, operation, open);
    }

    fn finish_sending(&mut self, socket: Handle) {
        if let Some(Adopted::Socket(state)) = self.adopted.get(socket) {
            state.socket.finish_sending();
        }
    }

    /// Nothing is delayed here.
    fn acknowledge_now(&mut self, _socket: Handle) {}

    fn close(&mut self, handle: Handle) {
        match self.adopted.remove(handle) {
            Some(Adopted::Socket(state)) => state.close(&mut self.ready),
            Some(Adopted::Listener(state)) => state.close(&mut self.ready),
            Some(Adopted::File(_)) | None => {}
        }
    }

    fn complete(&mut self, wait: Wait, into: &mut Vec<Completion>) -> Result<(), IoError> {
        let woken = self.waker.take();
        self.counters.wakes += u64::from(woken);
        let wait = if woken || !self.ready.is_empty() { Wait::Now } else { wait };
        self.counters.sleeps += u64::from(wait != Wait::Now);
        let next = self.next_completion();
        let mut machine = self.environment.lock();
        if machine.process != self.process {
            return Err(IoError::new("wait for events", libc::ESRCH));
        }
        machine.check_process("wait for events")?;
        let now = machine.pass_time(next, wait)?;
        while let Some((token, file, product)) = machine.finish_next(self.queue, now) {
            // An opened file that finds no place is dropped.
            drop(machine);
            let outcome = self.outcome_of(file, product);
            self.ready.push_back(Completion { token, outcome });
            machine = self.environment.lock();
        }
        drop(machine);
        self.advance_streams();
        self.outstanding -= self.ready.len();
        self.counters.completions += self.ready.len() as u64;
        into.extend(self.ready.drain(..));
        Ok(())
    }

    fn counters(&self) -> DriverCounters {
        self.counters
    }
}
