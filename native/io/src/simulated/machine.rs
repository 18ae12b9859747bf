//! One machine: its clock, its disk, and what the processes on it have asked for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;
use std::sync::Arc;

use super::Faults;
use super::clock::MachineClock;
use super::crash::LateWrite;
use super::disk::{Disk, Kind, NodeId};
use super::flight::{Flight, Product};
use super::random::{Random, mix};
use super::streams::Streams;
use super::watch::{ChangeKind, Watch, change_of, name_of};
use crate::buffer::PAGE;
use crate::clock::Instant;
use crate::driver::{Handle, Operation, Outcome, Token, Wait};
use crate::error::IoError;
use crate::file::FileOptions;
use crate::table::Table;

/// The longest that an operation takes on a quick disk, in nanoseconds.
pub(super) const LATENCY_MAX: u64 = 400_000;

#[derive(Debug)]
pub(super) struct Machine {
    pub(super) clock: MachineClock,
    pub(super) wall_offset: i64,
    pub(super) disk: Disk,
    pub(super) faults: Faults,
    /// The longest that an operation takes, in nanoseconds.
    pub(super) latency_max: u64,
    /// No operation ends before then.
    pub(super) stalled_until: u64,
    /// Counts the processes that have run here.
    pub(super) process: u64,
    pub(super) trace: u64,
    pub(super) random: Random,
    /// For what the processes make of chance themselves.
    pub(super) identities: Random,
    pub(super) opens: Table<Open>,
    /// What is under way, for each driver of the process, by when it ends.
    pub(super) queues: Vec<BinaryHeap<Reverse<Flight>>>,
    /// Connections to its processes.
    pub(super) streams: Streams,
    /// Writes of dead processes that are still to land, in the order in which they will.
    pub(super) late: Vec<LateWrite>,
    pub(super) watch: Watch,
    /// Counts the operations of all drivers.
    submitted: u64,
}

/// An open file of the process.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) node: NodeId,
    /// Its name when it was opened.
    path: Arc<Path>,
    pub(super) options: FileOptions,
    /// The descriptor, and the operations under way on it.
    references: u32,
}

impl Machine {
    pub(super) fn new(clock: MachineClock, seed: u64) -> Self {
        Self {
            clock,
            wall_offset: 0,
            disk: Disk::empty(u64::MAX),
            faults: Faults::default(),
            latency_max: LATENCY_MAX,
            stalled_until: 0,
            process: 1,
            trace: 0,
            random: Random::new(seed),
            identities: Random::new(seed ^ 0x6964_656e_7469_7479),
            opens: Table::new(u32::MAX as usize),
            queues: Vec::new(),
            streams: Streams::new(seed ^ 0x7374_7265_616d),
            late: Vec::new(),
            watch: Watch::default(),
            submitted: 0,
        }
    }

    /// The place for what a new driver will ask for.
    pub(super) fn add_queue(&mut self) -> usize {
        self.queues.push(BinaryHeap::new());
        self.queues.len() - 1
    }

    pub(super) fn open(&mut self, path: &Path, options: FileOptions) -> Result<Handle, IoError> {
        let fail = |errno| Err(IoError::new("open", errno));
        self.check_process("open")?;
        self.land_late_writes();
        let node = match self.disk.find("open", path) {
            Ok(_) if options.create && options.exclusive => return fail(libc::EEXIST),
            Err(error) if error.is_absent() && options.create => {
                let made = self.disk.create_file(path)?;
                self.watch.changed(ChangeKind::Names, || Arc::from(path));
                made
            }
            found => found?,
        };
        match &self.disk.node(node).kind {
            Kind::File(_) if options.directory => return fail(libc::ENOTDIR),
            Kind::Directory(_) if options.write || options.create => return fail(libc::EISDIR),
            Kind::File(_) | Kind::Directory(_) => {}
        }
        let now = self.clock.now();
        let held = self.disk.node(node);
        if options.lock && (held.holder.is_some() || now < held.held_until) {
            return Err(IoError::new("lock", libc::EWOULDBLOCK));
        }
        let open = self.opens.insert(Open { node, path: Arc::from(path), options, references: 1 })?;
        if options.lock {
            self.disk.node_mut(node).holder = Some(open);
        }
        Ok(open)
    }

    /// The descriptor, or an operation on it, is gone.
    pub(super) fn release(&mut self, open: Handle) {
        let Some(file) = self.opens.get_mut(open) else { return };
        file.references -= 1;
        if file.references == 0 {
            let holder = &mut self.disk.node_mut(file.node).holder;
            if *holder == Some(open) {
                *holder = None;
            }
            self.opens.remove(open);
        }
    }

    pub(super) fn submit(&mut self, queue: usize, token: Token, operation: Operation, open: Option<Handle>) {
        self.submitted += 1;
        let refused = self.refuse(&operation, open);
        let mut covered = 0;
        if let Some(file) = open.and_then(|open| self.opens.get_mut(open)) {
            file.references += 1;
            covered = self.disk.content(file.node).map_or(0, |content| content.completed());
        }
        let begins = self.clock.now().max(self.stalled_until);
        let ends = begins + 1 + self.random.below(self.latency_max);
        let number = self.submitted;
        self.queues[queue].push(Reverse(Flight { ends, number, token, operation, open, covered, refused }));
    }

    /// Why an operation cannot even begin.
    fn refuse(&self, operation: &Operation, open: Option<Handle>) -> Option<IoError> {
        operation.handle()?;
        let Some(file) = open.and_then(|open| self.opens.get(open)) else {
            return Some(IoError::stale("disk operation"));
        };
        if !crate::driver::offset_is_valid(operation) {
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

    /// Moves the time as far as the waiting of a driver does for which something happens next then, and returns what it is.
    pub(super) fn pass_time(&mut self, next: Option<u64>, wait: Wait) -> Result<u64, IoError> {
        if let Wait::Until(deadline) = wait
            && self.clock.moves()
        {
            if next.is_none() && deadline == Instant::FAR_FUTURE {
                return Err(IoError::new("wait for events", libc::EDEADLK));
            }
            self.clock.wait_until(next.unwrap_or(u64::MAX).min(deadline.as_nanos()));
        }
        Ok(self.clock.now())
    }

    /// When the next operation of a driver ends.
    pub(super) fn next_end(&self, queue: usize) -> Option<u64> {
        self.queues[queue].peek().map(|Reverse(flight)| flight.ends)
    }

    /// Does the next operation of a driver that has ended by now.
    pub(super) fn finish_next(&mut self, queue: usize, now: u64) -> Option<(Token, Option<Handle>, Product)> {
        self.land_late_writes();
        let Reverse(first) = self.queues[queue].peek()?;
        if first.ends > now || self.watch.ended {
            return None;
        }
        let Reverse(Flight { ends, token, operation, open, covered, refused, .. }) =
            self.queues[queue].pop()?;
        let handle = operation.handle().filter(|_| refused.is_none());
        let file = open.and_then(|open| self.opens.get(open)).map(|file| (file.node, file.path.clone()));
        let product = match (refused, file) {
            (Some(error), _) => Product::Done(Outcome::failed(operation, error)),
            (None, Some((node, path))) => {
                let change = change_of(&operation);
                let outcome = self.work_on(node, operation, covered);
                if let Some(kind) = change.filter(|_| succeeded(&outcome)) {
                    self.watch.changed(kind, || path);
                }
                Product::Done(outcome)
            }
            (None, None) => self.work_on_names(operation),
        };
        if let Some(open) = open {
            self.release(open);
        }
        for value in [ends, token.0, product.fingerprint()] {
            self.trace = mix(self.trace ^ value);
        }
        Some((token, handle, product))
    }

    fn work_on(&mut self, node: NodeId, operation: Operation, covered: u64) -> Outcome {
        match operation {
            Operation::ReadAt { mut buffer, offset, .. } => {
                let result = match self.random.strikes(self.faults.read_error) {
                    true => Err(IoError::new("read", libc::EIO)),
                    false => self.disk.read(node, offset, &mut buffer),
                };
                Outcome::Read { buffer, result }
            }
            Operation::WriteAt { buffer, offset, sync, .. } => {
                let mut result = self.write(node, offset, &buffer);
                if sync && result.is_ok() {
                    result = self.sync_write(node, offset + buffer.len() as u64, covered);
                }
                Outcome::Written { buffer, result }
            }
            Operation::Sync { .. } => Outcome::Synced(self.sync(node, covered)),
            other => Outcome::failed(other, IoError::new("network operation", libc::ENOSYS)),
        }
    }

    pub(super) fn work_on_names(&mut self, operation: Operation) -> Product {
        let name = name_of(&operation);
        let result = match operation {
            Operation::Open { path, options } => {
                return Product::Opened(self.open(&path, options));
            }
            Operation::MakeDirectory { path } => self.disk.make_directory(&path),
            Operation::Rename { from, to } => self.disk.rename(&from, &to),
            Operation::Link { from, to } => self.disk.link(&from, &to),
            Operation::Remove { path } => self.remove(&path),
            other => return Product::Done(Outcome::failed(other, IoError::stale("disk operation"))),
        };
        if let (Some(path), Ok(())) = (name, result) {
            self.watch.changed(ChangeKind::Names, || path);
        }
        Product::Done(Outcome::Named(result))
    }

    /// Refuses what a process asks for after its end.
    pub(super) const fn check_process(&self, operation: &'static str) -> Result<(), IoError> {
        if self.watch.ended { Err(IoError::new(operation, libc::ESRCH)) } else { Ok(()) }
    }

    /// A change of names that the process waits for.
    pub(super) fn change_names(
        &mut self,
        path: &Path,
        change: impl FnOnce(&mut Disk) -> Result<(), IoError>,
    ) -> Result<(), IoError> {
        self.check_process("change names")?;
        change(&mut self.disk)?;
        self.watch.changed(ChangeKind::Names, || Arc::from(path));
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &Path) -> Result<(), IoError> {
        if self.random.strikes(self.faults.removal_error) {
            return Err(IoError::new("remove", libc::EACCES));
        }
        self.disk.remove(path)
    }

    fn write(&mut self, node: NodeId, offset: u64, bytes: &[u8]) -> Result<(), IoError> {
        let room = self.disk.room_for(node, offset + bytes.len() as u64);
        let fails = self.random.strikes(self.faults.write_error) || self.watch.fails();
        let moves = self.random.strikes(self.faults.misdirected_write);
        if room.is_err() || fails {
            self.disk.write_partly(node, offset, bytes, room.is_err(), &mut self.random);
            return room.and(Err(IoError::new("write", libc::EIO)));
        }
        let pages = self.disk.content(node).map_or(0, |content| content.length() / PAGE as u64);
        let offset = if moves { self.random.below(pages) * PAGE as u64 } else { offset };
        self.disk.write(node, offset, bytes);
        Ok(())
    }

    fn sync_write(&mut self, node: NodeId, end: u64, covered: u64) -> Result<(), IoError> {
        if self.random.strikes(self.faults.sync_error) {
            return Err(IoError::new("sync", libc::EIO));
        }
        self.disk.sync_last_write(node, end);
        self.disk.sync(node, covered);
        Ok(())
    }

    /// Syncs a file as far as its writes had completed when that was asked for, or a directory.
    fn sync(&mut self, node: NodeId, covered: u64) -> Result<(), IoError> {
        if self.random.strikes(self.faults.sync_error) || self.watch.fails() {
            return Err(IoError::new("sync", libc::EIO));
        }
        self.disk.sync(node, covered);
        if self.disk.nameless > 64 {
            let roots = self.roots();
            self.disk.sweep(&roots);
        }
        Ok(())
    }

    pub(super) fn sync_directory(&mut self, path: &Path) -> Result<(), IoError> {
        self.check_process("sync a directory")?;
        let node = self.disk.find("open", path)?;
        if self.disk.content(node).is_some() {
            return Err(IoError::new("open", libc::ENOTDIR));
        }
        self.sync(node, 0)?;
        self.watch.changed(ChangeKind::Sync, || Arc::from(path));
        Ok(())
    }

    /// What is needed although it may have no name.
    fn roots(&self) -> Vec<NodeId> {
        let opens = self.opens.handles().filter_map(|open| self.opens.get(open)).map(|open| open.node);
        opens.chain(self.late.iter().map(|write| write.node)).collect()
    }
}

/// Whether an operation on a file did what it was to do.
const fn succeeded(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Written { result: Ok(()), .. } | Outcome::Synced(Ok(())))
}
