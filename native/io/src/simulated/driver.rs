//! The scheduler of one simulated thread: every operation takes as long as the seed says.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;

use super::{SimulatedEnvironment, SimulatedFile};
use crate::buffer::{Buffer, PAGE};
use crate::clock::{Instant, WallMicros};
use crate::driver::{
    Completion, Driver, DriverCounters, DriverLimits, Handle, Operation, Outcome, Token, Wait,
    offset_is_valid,
};
use crate::environment::Environment;
use crate::error::IoError;
use crate::socket::{Listener, Socket};
use crate::table::Table;
use crate::waker::Waker;

/// The longest that an operation takes, in nanoseconds.
const LATENCY_MAX: u64 = 400_000;

/// Operations under way, by the time at which each ends.
pub struct SimulatedDriver {
    environment: SimulatedEnvironment,
    process: u64,
    waker: Waker,
    files: Table<SimulatedFile>,
    /// By end and number, so that two that end together come in the order of their submission.
    under_way: BTreeMap<(u64, u64), Flight>,
    operations_max: usize,
    counters: DriverCounters,
}

struct Flight {
    token: Token,
    operation: Operation,
    path: PathBuf,
    /// Of a sync: the writes that had completed when it was submitted.
    covered: BTreeSet<u64>,
    /// Refused at the door: the outcome is this error.
    refused: Option<IoError>,
}

impl SimulatedDriver {
    pub(super) fn new(environment: SimulatedEnvironment, limits: DriverLimits) -> Result<Self, IoError> {
        let process = environment.lock().process;
        Ok(Self {
            environment,
            process,
            waker: Waker::new()?,
            files: Table::new(limits.handles_max),
            under_way: BTreeMap::new(),
            operations_max: limits.operations_max,
            counters: DriverCounters::default(),
        })
    }

    fn is_alive(&self) -> bool {
        self.environment.lock().process == self.process
    }

    /// Why the operation cannot even begin.
    fn refuse(&self, operation: &Operation) -> Option<IoError> {
        let Some(file) = self.files.get(operation.handle()) else {
            return Some(IoError::stale("disk operation"));
        };
        if !offset_is_valid(operation) {
            return Some(IoError::invalid("position"));
        }
        let misaligned = |offset: u64, count: usize| {
            file.options.direct && !(offset.is_multiple_of(PAGE as u64) && count.is_multiple_of(PAGE))
        };
        match operation {
            Operation::WriteAt { .. } if !file.options.write => Some(IoError::stale("write")),
            Operation::WriteAt { offset, buffer, .. } if misaligned(*offset, buffer.len()) => {
                Some(IoError::invalid("write"))
            }
            Operation::ReadAt { offset, buffer, .. } if misaligned(*offset, buffer.spare()) => {
                Some(IoError::invalid("read"))
            }
            _ => None,
        }
    }

    fn finish(&mut self, at: u64, number: u64, flight: Flight) -> Completion {
        let Flight { token, operation, path, covered, refused } = flight;
        let closed = self.files.get(operation.handle()).is_none() && refused.is_none();
        let outcome = match refused {
            Some(error) => Outcome::failed(operation, error),
            None => self.perform(number, operation, &path, &covered),
        };
        let outcome = if closed { outcome.cancelled() } else { outcome };
        self.counters.completions += 1;
        self.environment.lock().note(&[at, token.0, fingerprint(&outcome)]);
        Completion { token, outcome }
    }

    fn perform(&self, number: u64, operation: Operation, path: &PathBuf, covered: &BTreeSet<u64>) -> Outcome {
        match operation {
            Operation::ReadAt { mut buffer, offset, .. } => {
                let result = self.read(path, &mut buffer, offset);
                Outcome::Read { buffer, result }
            }
            Operation::WriteAt { buffer, offset, sync, .. } => {
                let mut result = self.write(path, number, offset, buffer.len());
                if sync && result.is_ok() {
                    let mut covered = covered.clone();
                    covered.insert(number);
                    result = self.sync(path, &covered);
                }
                Outcome::Written { buffer, result }
            }
            Operation::Sync { .. } => Outcome::Synced(self.sync(path, covered)),
            other => Outcome::failed(other, IoError::new("network operation", libc::ENOSYS)),
        }
    }

    fn read(&self, path: &PathBuf, buffer: &mut Buffer, offset: u64) -> Result<usize, IoError> {
        let machine = &mut *self.environment.lock();
        let rate = machine.faults.read_error;
        if machine.strikes(rate) {
            return Err(IoError::new("read", libc::EIO));
        }
        let file = machine.disk.files.get(path).ok_or(IoError::stale("read"))?;
        let bytes = file.read(offset, buffer.spare())?;
        buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn write(&self, path: &PathBuf, number: u64, offset: u64, length: usize) -> Result<(), IoError> {
        let machine = &mut *self.environment.lock();
        let (failing, moving) = (machine.faults.write_error, machine.faults.misdirected_write);
        let room = machine.disk.has_room(path, offset + length as u64);
        let fails = machine.strikes(failing);
        let moves = machine.strikes(moving);
        let file = machine.disk.files.get_mut(path).ok_or(IoError::stale("write"))?;
        if !room || fails {
            file.fail_write(number, &mut machine.random);
            return Err(IoError::new("write", if room { libc::EIO } else { libc::ENOSPC }));
        }
        let pages = (file.seen.len() / PAGE) as u64;
        let moved = moves.then(|| machine.random.below(pages) * PAGE as u64);
        file.complete_write(number, moved);
        Ok(())
    }

    fn sync(&self, path: &PathBuf, covered: &BTreeSet<u64>) -> Result<(), IoError> {
        let machine = &mut *self.environment.lock();
        let rate = machine.faults.sync_error;
        if machine.strikes(rate) {
            return Err(IoError::new("sync", libc::EIO));
        }
        let file = machine.disk.files.get_mut(path).ok_or(IoError::stale("sync"))?;
        file.complete_sync(covered);
        Ok(())
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

    fn submit(&mut self, token: Token, operation: Operation) {
        assert!(self.under_way.len() < self.operations_max, "the caller bounds its operations");
        self.counters.operations += 1;
        if !self.is_alive() {
            return;
        }
        let refused = self.refuse(&operation);
        let file = self.files.get(operation.handle());
        let path = file.map(|file| file.path.clone()).unwrap_or_default();
        let machine = &mut *self.environment.lock();
        let ends = machine.now + 1 + machine.random.below(LATENCY_MAX);
        machine.submitted += 1;
        let number = machine.submitted;
        let mut covered = BTreeSet::new();
        if let (None, Some(file)) = (refused, machine.disk.files.get_mut(&path)) {
            if let Operation::WriteAt { buffer, offset, .. } = &operation {
                file.submit_write(number, *offset, buffer);
            }
            covered = file.completed();
        }
        let flight = Flight { token, operation, path, covered, refused };
        self.under_way.insert((ends, number), flight);
    }

    fn finish_sending(&mut self, _socket: Handle) {}

    fn close(&mut self, handle: Handle) {
        self.files.remove(handle);
    }

    fn complete(&mut self, wait: Wait, into: &mut Vec<Completion>) -> Result<(), IoError> {
        if !self.is_alive() {
            return Err(IoError::new("wait for events", libc::ESRCH));
        }
        if self.waker.take() {
            self.counters.wakes += 1;
            return Ok(());
        }
        let next = self.under_way.keys().next().map(|(ends, _)| *ends);
        let now = {
            let machine = &mut *self.environment.lock();
            if let Wait::Until(deadline) = wait {
                self.counters.sleeps += 1;
                let until = next.map_or(deadline.as_nanos(), |ends| ends.min(deadline.as_nanos()));
                machine.now = machine.now.max(until);
            }
            machine.now
        };
        while let Some(entry) = self.under_way.first_entry() {
            let (ends, number) = *entry.key();
            if ends > now {
                break;
            }
            let flight = entry.remove();
            into.push(self.finish(ends, number, flight));
        }
        Ok(())
    }

    fn counters(&self) -> DriverCounters {
        self.counters
    }
}

/// What of an outcome goes into the trace.
fn fingerprint(outcome: &Outcome) -> u64 {
    let code = |result: Result<u64, IoError>| match result {
        Ok(count) => count << 8,
        Err(error) => u64::from(error.errno().unsigned_abs()) << 8 | 1,
    };
    match outcome {
        Outcome::Accepted(_) => 1,
        Outcome::Received { .. } => 2,
        Outcome::Sent { .. } => 3,
        Outcome::Read { result, buffer } => {
            let content = buffer.iter().fold(7_u64, |sum, byte| sum.rotate_left(5) ^ u64::from(*byte));
            code(result.map(|count| count as u64)) ^ content << 20 | 4
        }
        Outcome::Written { result, .. } => code(result.map(|()| 0)) | 5,
        Outcome::Synced(result) => code(result.map(|()| 0)) | 6,
    }
}
