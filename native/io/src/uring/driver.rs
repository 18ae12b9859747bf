//! The io_uring loop of one thread.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::mem;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use io_uring::squeue::Entry;
use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{IoUring, opcode};

use super::flight::{Entries, Flight, Role, Settled, Work, tag, untag};
use super::flights::Flights;
use super::name::NameWork;
use super::resource::{Descriptor, Resource};
use super::ring;
use crate::buffer::Buffer;
use crate::clock::{self, Instant, WallMicros};
use crate::driver::{
    Completion, Driver, DriverCounters, DriverLimits, Handle, Operation, Outcome, Token, Wait,
    offset_is_valid,
};
use crate::error::IoError;
use crate::file::File;
use crate::socket::{Listener, Socket};
use crate::table::Table;
use crate::waker::Waker;

/// Submissions between two system calls; more only cost a call in between.
const SUBMISSIONS_MAX: u32 = 256;

/// The completion queue is sized by the operations it may have to hold, up to 64 KiB; beyond that the kernel
/// keeps a list.
const COMPLETIONS_MAX: u32 = 4096;

/// The user data of cancellations, whose own completions say nothing; far above any flight's.
const CANCELLATION: u64 = u64::MAX;

/// The handle of flights that use no descriptor of the table: the wake-up's, and work on names.
const NO_HANDLE: Handle = Handle(u64::MAX);

/// A ring, a table of descriptors, and the flights.
pub struct UringDriver {
    ring: IoUring,
    waker: Waker,
    resources: Table<Resource>,
    flights: Flights,
    /// Flights that found the submission queue full.
    backlog: VecDeque<u32>,
    /// Finished, but not yet handed out.
    ready: VecDeque<Completion>,
    outstanding: usize,
    operations_max: usize,
    reaped: Vec<(u64, i32)>,
    /// Why no wake will be heard any more; the next `complete` says so.
    fault: Option<IoError>,
    /// The driver is being dropped: nothing is launched any more.
    draining: bool,
    counters: DriverCounters,
    /// The kernel serves only the thread that made the ring, so the driver must not move to another.
    not_send: PhantomData<*const ()>,
}

impl UringDriver {
    pub(super) fn new(limits: DriverLimits) -> Result<Self, IoError> {
        let completions = u32::try_from(limits.operations_max).unwrap_or(u32::MAX);
        // The kernel wants more completions than submissions, and rounds up to a power of two itself.
        let completions = completions.clamp(2 * SUBMISSIONS_MAX, COMPLETIONS_MAX);
        let ring = ring::make(SUBMISSIONS_MAX, completions)?;
        let mut driver = Self {
            ring: ring.inner,
            waker: Waker::new()?,
            resources: Table::new(limits.handles_max),
            flights: Flights::default(),
            backlog: VecDeque::new(),
            ready: VecDeque::new(),
            outstanding: 0,
            operations_max: limits.operations_max,
            reaped: Vec::new(),
            fault: None,
            draining: false,
            counters: DriverCounters::default(),
            not_send: PhantomData,
        };
        let buffer = Buffer::with_capacity(size_of::<u64>());
        driver.take_off(Flight::new(Token(0), NO_HANDLE, Work::Wake { buffer }));
        Ok(driver)
    }

    fn adopt(&mut self, descriptor: Descriptor) -> Result<Handle, IoError> {
        self.resources.insert(Resource::new(descriptor))
    }

    /// A resource its owner has not closed.
    fn open(&self, handle: Handle) -> Option<&Resource> {
        self.resources.get(handle).filter(|resource| !resource.closing)
    }

    /// Checks an operation and marks its resource as used, or says what became of it.
    fn board(&mut self, operation: Operation) -> Result<(Handle, Work), Outcome> {
        if !offset_is_valid(&operation) {
            return Err(Outcome::failed(operation, IoError::invalid("position")));
        }
        let Some(handle) = operation.handle() else {
            return NameWork::of(operation).map(|names| (NO_HANDLE, Work::Names(names)));
        };
        let Some(resource) = self.resources.get_mut(handle).filter(|resource| !resource.closing) else {
            return Err(Outcome::failed(operation, IoError::stale("operation on a closed handle")));
        };
        let work = resource.work_of(operation, &mut self.counters.syscalls)?;
        resource.flights += 1;
        Ok((handle, work))
    }

    /// Gives a flight its place and submits it.
    fn take_off(&mut self, flight: Flight) {
        let index = self.flights.insert(flight);
        self.launch(index);
    }

    /// Submits what is left of a flight now, or once there is room.
    fn launch(&mut self, index: u32) {
        if !self.backlog.is_empty() || !self.push(index) {
            self.backlog.push_back(index);
        }
    }

    fn launch_backlog(&mut self) {
        while let Some(index) = self.backlog.front().copied() {
            if !self.push(index) {
                return;
            }
            self.backlog.pop_front();
        }
    }

    /// Puts a flight's entries into the submission queue; false if there is no room even after a submission.
    fn push(&mut self, index: u32) -> bool {
        let flight = self.flights.get_mut(index);
        let descriptor = match self.resources.get(flight.handle) {
            Some(resource) => resource.descriptor.raw(),
            None => self.waker.as_fd().as_raw_fd(),
        };
        let Entries { main, sync } = flight.entries(descriptor, index);
        match sync {
            // Both at once: a link does not reach over two system calls.
            Some(sync) => self.enqueue(&[main, sync]),
            None => self.enqueue(&[main]),
        }
    }

    fn enqueue(&mut self, entries: &[Entry]) -> bool {
        // SAFETY: the entries point into a flight, which stays until their completions came, and at a
        // descriptor that is closed only after that; cancellations point nowhere.
        let pushed = unsafe { self.ring.submission().push_multiple(entries) };
        if pushed.is_ok() {
            return true;
        }
        self.counters.syscalls += 1;
        // What the kernel does not take now stays in the queue and is offered again by the next `complete`.
        let _ = self.ring.submit();
        // SAFETY: as above.
        unsafe { self.ring.submission().push_multiple(entries) }.is_ok()
    }

    /// Submits what is queued and, if allowed, sleeps until there is a completion.
    fn enter(&mut self, sleep: Option<Duration>) -> Result<(), IoError> {
        let queue = self.ring.submission();
        let overflown = queue.cq_overflow();
        let idle = sleep.is_none() && queue.is_empty() && !queue.taskrun() && !overflown;
        drop(queue);
        if idle {
            return Ok(());
        }
        self.counters.syscalls += 1;
        self.counters.overflows += u64::from(overflown);
        let entered = match sleep {
            Some(sleep) => {
                self.counters.sleeps += 1;
                let timeout = Timespec::from(sleep);
                let arguments = SubmitArgs::new().timespec(&timeout);
                self.ring.submitter().submit_with_args(1, &arguments)
            }
            None => self.ring.submit(),
        };
        match entered.as_ref().map_err(std::io::Error::raw_os_error) {
            Ok(_) => Ok(()),
            // The deadline, a signal, no memory for requests, completions to be collected first: all seen to
            // by the next call.
            Err(Some(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY)) => Ok(()),
            Err(number) => Err(IoError::new("enter the ring", number.unwrap_or(libc::EIO))),
        }
    }

    /// Takes every completion out of the ring.
    fn reap(&mut self) {
        let mut reaped = mem::take(&mut self.reaped);
        reaped.extend(self.ring.completion().map(|entry| (entry.user_data(), entry.result())));
        for (user_data, result) in reaped.drain(..) {
            if user_data != CANCELLATION {
                self.on_completion(user_data, result);
            }
        }
        self.reaped = reaped;
    }

    fn on_completion(&mut self, user_data: u64, result: i32) {
        let (index, role) = untag(user_data);
        let flight = self.flights.take(index);
        let (token, handle) = (flight.token, flight.handle);
        match flight.settle(role, result) {
            Settled::Finished(outcome) => {
                self.flights.release(index);
                self.land(token, handle, outcome);
            }
            Settled::Opened(opened) => {
                self.flights.release(index);
                let opened = opened.and_then(|file| self.adopt(Descriptor::File(file)));
                self.ready.push_back(Completion { token, outcome: Outcome::Opened(opened) });
            }
            Settled::Again(flight) if self.resources.get(handle).is_some_and(|resource| resource.closing) => {
                self.flights.release(index);
                self.land(token, handle, flight.abandon(IoError::cancelled));
            }
            Settled::Again(flight) => self.relaunch(index, flight),
            Settled::Woken(flight) => {
                self.waker.take();
                self.counters.wakes += 1;
                self.relaunch(index, flight);
            }
            Settled::Deaf(error) => {
                self.flights.release(index);
                self.fault = Some(error);
            }
        }
    }

    fn relaunch(&mut self, index: u32, flight: Flight) {
        if self.draining {
            return;
        }
        self.flights.put(index, flight);
        self.launch(index);
    }

    /// Hands an outcome over and closes the descriptor if it was the last one of a closed handle.
    fn land(&mut self, token: Token, handle: Handle, mut outcome: Outcome) {
        if let Some(resource) = self.resources.get_mut(handle) {
            resource.flights -= 1;
            resource.release(&outcome);
            if resource.closing {
                outcome = outcome.cancelled();
                if resource.flights == 0 {
                    self.counters.syscalls += 1;
                    self.resources.remove(handle);
                }
            }
        }
        self.ready.push_back(Completion { token, outcome });
    }

    /// Asks the kernel to give every flight back.
    fn cancel_all(&mut self) {
        for handle in self.resources.handles().collect::<Vec<_>>() {
            if let Some(resource) = self.resources.get_mut(handle) {
                resource.closing = true;
                resource.descriptor.shut_down();
            }
        }
        for index in self.flights.indices() {
            // The linked sync of a cancelled write is cancelled with it.
            let entry = opcode::AsyncCancel::new(tag(index, Role::Main)).build().user_data(CANCELLATION);
            self.enqueue(&[entry]);
        }
    }
}

impl Drop for UringDriver {
    /// Nothing is freed before the kernel has let go of it.
    fn drop(&mut self) {
        for index in mem::take(&mut self.backlog) {
            self.flights.take(index);
        }
        self.draining = true;
        self.cancel_all();
        self.waker.wake();
        while !self.flights.is_empty() {
            let entered = self.enter(Some(Duration::from_secs(1)));
            self.reap();
            if entered.is_err() {
                // A ring that cannot be entered any more may still be writing: better to leak than to reuse
                // that memory.
                mem::forget(mem::take(&mut self.flights));
                return;
            }
        }
    }
}

impl Driver for UringDriver {
    type File = File;

    fn now(&self) -> Instant {
        clock::monotonic_now()
    }

    fn wall(&self) -> WallMicros {
        clock::wall_now()
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }

    fn adopt_socket(&mut self, socket: Socket) -> Result<Handle, IoError> {
        self.counters.syscalls += 2;
        // Blocking on purpose: on a non-blocking socket the ring answers "again" instead of waiting.
        let socket = socket.into_kernel()?;
        socket.prepare(false)?;
        self.adopt(Descriptor::Socket(socket))
    }

    fn adopt_listener(&mut self, listener: Listener) -> Result<Handle, IoError> {
        self.counters.syscalls += 1;
        let listener = listener.into_kernel()?;
        listener.prepare(false)?;
        self.adopt(Descriptor::Listener(listener))
    }

    fn adopt_file(&mut self, file: File) -> Result<Handle, IoError> {
        self.adopt(Descriptor::File(file))
    }

    fn local_address(&self, handle: Handle) -> Result<SocketAddr, IoError> {
        match self.open(handle).map(|resource| &resource.descriptor) {
            Some(Descriptor::Socket(socket)) => socket.local_address(),
            Some(Descriptor::Listener(listener)) => listener.local_address(),
            Some(Descriptor::File(_)) | None => Err(IoError::stale("get the local address")),
        }
    }

    fn acknowledged(&self, socket: Handle) -> Option<u64> {
        match self.open(socket).map(|resource| &resource.descriptor) {
            Some(Descriptor::Socket(socket)) => socket.acknowledged(),
            Some(Descriptor::Listener(_) | Descriptor::File(_)) | None => None,
        }
    }

    fn submit(&mut self, token: Token, operation: Operation) {
        assert!(self.outstanding < self.operations_max, "the caller bounds its operations by operations_max");
        self.outstanding += 1;
        self.counters.operations += 1;
        match self.board(operation) {
            Ok((handle, work)) => self.take_off(Flight::new(token, handle, work)),
            Err(outcome) => self.ready.push_back(Completion { token, outcome }),
        }
    }

    fn finish_sending(&mut self, socket: Handle) {
        if let Some(Descriptor::Socket(socket)) = self.open(socket).map(|resource| &resource.descriptor) {
            socket.finish_sending();
            self.counters.syscalls += 1;
        }
    }

    fn acknowledge_now(&mut self, socket: Handle) {
        if let Some(Descriptor::Socket(socket)) = self.open(socket).map(|resource| &resource.descriptor) {
            socket.acknowledge_now();
            self.counters.syscalls += 1;
        }
    }

    fn close(&mut self, handle: Handle) {
        let Some(resource) = self.resources.get_mut(handle).filter(|resource| !resource.closing) else {
            return;
        };
        resource.closing = true;
        resource.descriptor.shut_down();
        self.counters.syscalls += 1;
        if resource.flights == 0 {
            self.counters.syscalls += 1;
            self.resources.remove(handle);
        }
    }

    fn complete(&mut self, wait: Wait, into: &mut Vec<Completion>) -> Result<(), IoError> {
        self.launch_backlog();
        let may_sleep = self.ready.is_empty() && self.backlog.is_empty() && self.ring.completion().is_empty();
        let sleep = match wait {
            Wait::Until(deadline) if may_sleep => {
                Some(clock::time_left(deadline)).filter(|left| !left.is_zero())
            }
            Wait::Until(_) | Wait::Now => None,
        };
        let entered = self.enter(sleep);
        self.reap();
        self.outstanding -= self.ready.len();
        self.counters.completions += self.ready.len() as u64;
        into.extend(self.ready.drain(..));
        entered?;
        self.fault.take().map_or(Ok(()), Err)
    }

    fn counters(&self) -> DriverCounters {
        self.counters
    }
}
