//! The epoll loop of one thread.

use std::collections::VecDeque;
use std::mem;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fs::Timespec;
use rustix::io::Errno;

use super::disk::{DiskThreads, Done, Job, Product, Work};
use super::stream::{ListenerState, SocketState};
use crate::clock::{self, Instant, WallMicros};
use crate::driver::{
    Completion, Driver, DriverCounters, DriverLimits, Handle, Operation, Outcome, Token, Wait,
    offset_is_valid,
};
use crate::error::IoError;
use crate::file::File;
use crate::file_work::FileWork;
use crate::socket::{Listener, Socket};
use crate::table::Table;
use crate::waker::Waker;

/// Events taken from the kernel at a time; what is left comes with the next call.
const EVENTS_MAX: usize = 256;

/// The epoll data of the waker; no handle has this value, for a table never has 2^32 rows.
const WAKER: u64 = u64::MAX;

/// Epoll, a table of descriptors, and the disk threads once there was work for them.
pub struct PosixDriver {
    epoll: OwnedFd,
    waker: Waker,
    resources: Table<Resource>,
    disk: Option<DiskThreads>,
    /// Finished, but not yet handed out.
    ready: VecDeque<Completion>,
    /// The last `complete` asked the kernel for events. See [`PosixDriver::may_skip_polling`].
    polled: bool,
    outstanding: usize,
    operations_max: usize,
    events: Vec<Event>,
    done: Vec<Done>,
    counters: DriverCounters,
}

#[derive(Debug)]
enum Resource {
    Socket(SocketState),
    Listener(ListenerState),
    File(Arc<File>),
}

const _: () =
    assert!(size_of::<Option<Resource>>() <= 160, "ten thousand idle connections have one of these each");

impl PosixDriver {
    pub(super) fn new(limits: DriverLimits) -> Result<Self, IoError> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)
            .map_err(|errno| IoError::from_errno("make an epoll set", errno))?;
        let waker = Waker::new()?;
        // Edge-triggered: every write to the eventfd is one event, and nobody ever has to read it.
        watch(&epoll, &waker, WAKER, EventFlags::IN | EventFlags::ET)?;
        Ok(Self {
            epoll,
            waker,
            resources: Table::new(limits.handles_max),
            disk: None,
            ready: VecDeque::new(),
            polled: false,
            outstanding: 0,
            operations_max: limits.operations_max,
            events: Vec::with_capacity(EVENTS_MAX),
            done: Vec::new(),
            counters: DriverCounters::default(),
        })
    }

    /// Stores a resource and registers its descriptor for every event it can have, once and for all.
    fn adopt(&mut self, resource: Resource) -> Result<Handle, IoError> {
        let handle = self.resources.insert(resource)?;
        let all = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        self.counters.syscalls += 1;
        let watched = match self.resources.get(handle) {
            Some(Resource::Socket(state)) => watch(&self.epoll, &state.socket, handle.0, all),
            Some(Resource::Listener(state)) => watch(&self.epoll, &state.listener, handle.0, all),
            Some(Resource::File(_)) | None => Ok(()),
        };
        if watched.is_err() {
            self.resources.remove(handle);
        }
        watched.map(|()| handle)
    }

    /// Starts an operation: its outcome if it is finished already.
    fn start(&mut self, token: Token, operation: Operation) -> Option<Outcome> {
        let syscalls = &mut self.counters.syscalls;
        match operation {
            Operation::Accept { listener } => match self.resources.get_mut(listener) {
                Some(Resource::Listener(state)) => state.accept(token, syscalls),
                _ => Some(Outcome::Accepted(Err(IoError::stale("accept")))),
            },
            Operation::Receive { socket, buffer, wanted } => match self.resources.get_mut(socket) {
                Some(Resource::Socket(state)) => state.receive(token, buffer, wanted, syscalls),
                _ => Some(Outcome::Received { buffer, result: Err(IoError::stale("receive")) }),
            },
            Operation::Send { socket, buffer } => match self.resources.get_mut(socket) {
                Some(Resource::Socket(state)) => state.send(token, buffer, syscalls),
                _ => Some(Outcome::Sent { buffer, result: Err(IoError::stale("send")) }),
            },
            Operation::ReadAt { file, .. } | Operation::WriteAt { file, .. } | Operation::Sync { file } => {
                self.start_on_file(token, file, operation)
            }
            Operation::Open { path, options } => self.start_on_disk(token, Work::Open { path, options }),
            Operation::MakeDirectory { path } => self.start_on_disk(token, Work::MakeDirectory { path }),
            Operation::Rename { from, to } => self.start_on_disk(token, Work::Rename { from, to }),
            Operation::Link { from, to } => self.start_on_disk(token, Work::Link { from, to }),
            Operation::Remove { path } => self.start_on_disk(token, Work::Remove { path }),
        }
    }

    fn start_on_file(&mut self, token: Token, handle: Handle, operation: Operation) -> Option<Outcome> {
        if !offset_is_valid(&operation) {
            return Some(Outcome::failed(operation, IoError::invalid("position")));
        }
        let Some(Resource::File(file)) = self.resources.get(handle) else {
            return Some(Outcome::failed(operation, IoError::stale("disk operation")));
        };
        match FileWork::of(operation) {
            Ok(work) if work.is_only_a_copy(file) => Some(work.run(file, &mut self.counters.syscalls)),
            Ok(work) => {
                let file = Arc::clone(file);
                self.start_on_disk(token, Work::OnFile { handle, file, work })
            }
            Err(operation) => Some(Outcome::failed(operation, IoError::stale("disk operation"))),
        }
    }

    fn start_on_disk(&mut self, token: Token, work: Work) -> Option<Outcome> {
        match self.disk_threads() {
            Ok(disk) => {
                disk.push(Job { token, work });
                None
            }
            Err(error) => Some(match work {
                Work::OnFile { .. } => unreachable!("the threads run since the file was adopted"),
                Work::Open { .. } => Outcome::Opened(Err(error)),
                Work::MakeDirectory { .. }
                | Work::Rename { .. }
                | Work::Link { .. }
                | Work::Remove { .. } => Outcome::Named(Err(error)),
            }),
        }
    }

    fn disk_threads(&mut self) -> Result<&DiskThreads, IoError> {
        if self.disk.is_none() {
            self.disk = Some(DiskThreads::start(self.waker.clone())?);
        }
        Ok(self.disk.as_ref().expect("started just above"))
    }

    /// One `complete` in two may hand out what is ready without asking the kernel. So a request and its
    /// answer cost three calls (wait, receive, send), and yet a socket that never runs dry cannot keep the
    /// others from being heard.
    fn may_skip_polling(&self) -> bool {
        self.polled && !self.ready.is_empty()
    }

    fn poll(&mut self, wait: Wait) -> Result<(), IoError> {
        let timeout = match wait {
            Wait::Until(deadline) if self.ready.is_empty() => clock::time_left(deadline),
            Wait::Until(_) | Wait::Now => std::time::Duration::ZERO,
        };
        let timeout = Timespec::try_from(timeout).expect("a day fits the kernel's time");
        self.counters.syscalls += 1;
        self.counters.sleeps += u64::from(timeout != Timespec::default());
        let mut events = mem::take(&mut self.events);
        events.clear();
        let waited = epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&timeout));
        for event in &events {
            self.on_event(event.data.u64(), event.flags);
        }
        self.events = events;
        match waited {
            // Signals are blocked on a shard's thread; where they are not, returning early is allowed.
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(IoError::from_errno("wait for events", errno)),
        }
    }

    fn on_event(&mut self, data: u64, flags: EventFlags) {
        if data == WAKER {
            self.waker.take();
            self.counters.wakes += 1;
            self.collect_disk_work();
            return;
        }
        let syscalls = &mut self.counters.syscalls;
        match self.resources.get_mut(Handle(data)) {
            Some(Resource::Socket(state)) => state.on_event(flags, syscalls, &mut self.ready),
            Some(Resource::Listener(state)) => state.on_event(syscalls, &mut self.ready),
            Some(Resource::File(_)) | None => {}
        }
    }

    fn collect_disk_work(&mut self) {
        let Some(disk) = &self.disk else { return };
        let mut done = mem::take(&mut self.done);
        disk.take_done(&mut done);
        for Done { token, product, syscalls } in done.drain(..) {
            self.counters.syscalls += syscalls;
            let outcome = self.outcome_of(product);
            self.ready.push_back(Completion { token, outcome });
        }
        self.done = done;
    }

    fn outcome_of(&mut self, product: Product) -> Outcome {
        match product {
            Product::OfFile { handle, outcome } if self.resources.get(handle).is_none() => {
                outcome.cancelled()
            }
            Product::OfFile { outcome, .. } => outcome,
            Product::OfNames(result) => Outcome::Named(result),
            Product::Opened(opened) => Outcome::Opened(opened.and_then(|file| self.adopt_file(file))),
        }
    }
}

impl Driver for PosixDriver {
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
        let socket = socket.into_kernel()?;
        socket.prepare(true)?;
        self.adopt(Resource::Socket(SocketState::new(socket)))
    }

    fn adopt_listener(&mut self, listener: Listener) -> Result<Handle, IoError> {
        self.counters.syscalls += 1;
        let listener = listener.into_kernel()?;
        listener.prepare(true)?;
        self.adopt(Resource::Listener(ListenerState::new(listener)))
    }

    fn adopt_file(&mut self, file: File) -> Result<Handle, IoError> {
        self.disk_threads()?;
        self.resources.insert(Resource::File(Arc::new(file)))
    }

    fn local_address(&self, handle: Handle) -> Result<SocketAddr, IoError> {
        match self.resources.get(handle) {
            Some(Resource::Socket(state)) => state.socket.local_address(),
            Some(Resource::Listener(state)) => state.listener.local_address(),
            Some(Resource::File(_)) | None => Err(IoError::stale("get the local address")),
        }
    }

    fn acknowledged(&self, socket: Handle) -> Option<u64> {
        match self.resources.get(socket) {
            Some(Resource::Socket(state)) => state.socket.acknowledged(),
            Some(Resource::Listener(_) | Resource::File(_)) | None => None,
        }
    }

    fn submit(&mut self, token: Token, operation: Operation) {
        assert!(self.outstanding < self.operations_max, "the caller bounds its operations by operations_max");
        self.outstanding += 1;
        self.counters.operations += 1;
        if let Some(outcome) = self.start(token, operation) {
            self.ready.push_back(Completion { token, outcome });
        }
    }

    fn finish_sending(&mut self, socket: Handle) {
        if let Some(Resource::Socket(state)) = self.resources.get(socket) {
            self.counters.syscalls += 1;
            state.socket.finish_sending();
        }
    }

    fn acknowledge_now(&mut self, socket: Handle) {
        if let Some(Resource::Socket(state)) = self.resources.get(socket) {
            self.counters.syscalls += 1;
            state.socket.acknowledge_now();
        }
    }

    fn close(&mut self, handle: Handle) {
        match self.resources.remove(handle) {
            Some(Resource::Socket(state)) => {
                self.counters.syscalls += 2;
                state.close(&mut self.ready);
            }
            Some(Resource::Listener(state)) => {
                self.counters.syscalls += 2;
                state.close(&mut self.ready);
            }
            // Jobs that run share the file; the last of them closes it.
            Some(Resource::File(_)) => self.counters.syscalls += 1,
            None => {}
        }
    }

    fn complete(&mut self, wait: Wait, into: &mut Vec<Completion>) -> Result<(), IoError> {
        self.polled = !self.may_skip_polling();
        if self.polled {
            self.poll(wait)?;
        }
        self.outstanding -= self.ready.len();
        self.counters.completions += self.ready.len() as u64;
        into.extend(self.ready.drain(..));
        Ok(())
    }

    fn counters(&self) -> DriverCounters {
        self.counters
    }
}

fn watch(epoll: &OwnedFd, source: &impl AsFd, data: u64, flags: EventFlags) -> Result<(), IoError> {
    epoll::add(epoll, source, EventData::new_u64(data), flags)
        .map_err(|errno| IoError::from_errno("watch a descriptor", errno))
}
