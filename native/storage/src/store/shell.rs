//! The hands of everything that is kept beside the journal: plans as operations of a driver, step by step, with a
//! bounded number of open files.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::ops::Bound;
use std::path::{Path, PathBuf};

use ng_io::{
    Buffer, BufferPool, Completion, Driver, FileOptions, Handle, IoError, Operation, Outcome, Token,
};

use super::plan::{Plan, PlanFault, PlanResult, Step, lay_out};
use crate::PAGE;

/// Bytes asked for at first of a file that is read whole.
const READ_ALL: usize = 64 * 1024;

/// Memory of reads and of batches that were written, kept for those to come.
const SPARE_BYTES_MAX: usize = 16 << 20;

/// Runs plans, at most one in each of a fixed number of lanes.
#[derive(Debug)]
pub struct PlanShell {
    first_token: u64,
    lanes: Vec<Lane>,
    /// By path, as it is spelled: every path of a home is spelled in one way.
    files: BTreeMap<OsString, OpenFile>,
    files_max: usize,
    direct: bool,
    /// Counts uses of files, to find the one not used for longest.
    uses: u64,
    spare: BufferPool,
}

#[derive(Debug, Default)]
struct Lane {
    step: Option<Step>,
    rest: VecDeque<Step>,
    read: Vec<Option<Buffer>>,
    /// A handle that is closed at the end of its step.
    passing: Option<Handle>,
    /// Why the plan ends once what the failed step has left is removed.
    fault: Option<PlanFault>,
}

#[derive(Clone, Copy, Debug)]
struct OpenFile {
    handle: Handle,
    used: u64,
    /// The lanes whose plans use the file, each by its bit.
    pins: u64,
    /// Whether it stays open whatever comes.
    kept: bool,
}

impl PlanShell {
    /// Lanes for `lanes` plans at a time, whose tokens are the `lanes` from `first_token` on. At most `files_max` files stay
    /// open, and `lanes` more while plans run.
    #[must_use]
    pub fn new(first_token: u64, lanes: usize, files_max: usize, direct: bool) -> Self {
        debug_assert!(lanes <= u64::BITS as usize, "a file has a bit for each lane");
        Self {
            first_token,
            lanes: (0..lanes).map(|_| Lane::default()).collect(),
            files: BTreeMap::new(),
            files_max,
            direct,
            uses: 0,
            spare: BufferPool::new(SPARE_BYTES_MAX),
        }
    }

    /// Takes a file that is open already and stays so.
    pub fn keep(&mut self, path: PathBuf, handle: Handle) {
        self.files.insert(path.into(), OpenFile { handle, used: 0, pins: 0, kept: true });
    }

    /// Takes the memory of a read back that nobody needs any more.
    pub fn use_again(&mut self, buffer: Buffer) {
        self.spare.give(buffer);
    }

    /// Keeps at most so many bytes of spare buffers from now on.
    pub fn set_spare_bytes_max(&mut self, bytes_max: usize) {
        self.spare = BufferPool::new(bytes_max.min(SPARE_BYTES_MAX));
    }

    /// Bytes of spare buffers.
    #[must_use]
    pub const fn spare_bytes(&self) -> usize {
        self.spare.bytes()
    }

    /// Frees spare buffers that nobody has used for a minute; see [`BufferPool::age`].
    pub fn age_spares(&mut self) -> usize {
        self.spare.age()
    }

    /// Whether a completion with this token is for [`PlanShell::completed`].
    #[must_use]
    pub fn owns(&self, token: Token) -> bool {
        token.0.checked_sub(self.first_token).is_some_and(|lane| lane < self.lanes.len() as u64)
    }

    /// Starts a plan, which is not empty, in a lane that has none.
    pub fn start<D: Driver>(&mut self, driver: &mut D, lane: u32, plan: Plan) {
        let lane = lane as usize;
        debug_assert!(self.lanes[lane].step.is_none() && !plan.is_empty(), "one plan at a time in a lane");
        self.lanes[lane] = Lane { rest: plan.into(), ..Lane::default() };
        self.next_step(driver, lane);
    }

    /// Takes the completion of a step. Returns the lane and the result when that ends its plan.
    pub fn completed<D: Driver>(
        &mut self,
        driver: &mut D,
        completion: Completion,
    ) -> Option<(u32, PlanResult)> {
        let number = u32::try_from(completion.token.0.checked_sub(self.first_token)?).ok()?;
        let lane = number as usize;
        let mut step = self.lanes.get_mut(lane)?.step.take()?;
        let taken = match self.lanes[lane].fault.take() {
            Some(fault) => {
                self.end(driver, lane);
                return Some((number, Err(fault)));
            }
            None => self.take(driver, lane, &mut step, completion.outcome),
        };
        let result = match taken {
            Ok(Some(operation)) => {
                self.lanes[lane].step = Some(step);
                self.submit(driver, lane, operation);
                return None;
            }
            Ok(None) if !self.lanes[lane].rest.is_empty() => {
                self.next_step(driver, lane);
                return None;
            }
            Ok(None) => Ok(std::mem::take(&mut self.lanes[lane].read)),
            Err(error) => match self.clear_up(driver, lane, &step, error) {
                Some(fault) => Err(fault),
                None => return None,
            },
        };
        self.end(driver, lane);
        Some((number, result))
    }

    /// On a full disk a half-written file that was to take the place of another is removed before the plan ends: nobody else
    /// would, and it keeps the space that others wait for. Returns the fault if there is no such file.
    fn clear_up<D: Driver>(
        &mut self,
        driver: &mut D,
        lane: usize,
        step: &Step,
        error: IoError,
    ) -> Option<PlanFault> {
        let fault = step.fault(error);
        let Some(path) = step.draft().filter(|_| fault.lacks_space()).cloned() else { return Some(fault) };
        self.forget(driver, &path);
        let removal = Step::Remove(path.clone());
        self.lanes[lane] =
            Lane { step: Some(removal), fault: Some(fault), ..std::mem::take(&mut self.lanes[lane]) };
        self.submit(driver, lane, Operation::Remove { path });
        None
    }

    fn end<D: Driver>(&mut self, driver: &mut D, lane: usize) {
        self.close_passing(driver, lane);
        self.lanes[lane] = Lane::default();
        for file in self.files.values_mut() {
            file.pins &= !(1 << lane);
        }
    }

    fn next_step<D: Driver>(&mut self, driver: &mut D, lane: usize) {
        self.close_passing(driver, lane);
        let Some(mut step) = self.lanes[lane].rest.pop_front() else { return };
        let operation = match &step {
            Step::MakeDirectory(path) => Operation::MakeDirectory { path: path.clone() },
            Step::Remove(path) => {
                self.forget(driver, path);
                Operation::Remove { path: path.clone() }
            }
            Step::Rename { from, to } | Step::Retire { from, to } => {
                self.forget(driver, from);
                self.forget(driver, to);
                Operation::Rename { from: from.clone(), to: to.clone() }
            }
            Step::Link { from, to } => Operation::Link { from: from.clone(), to: to.clone() },
            _ => match self.open_already(lane, step.path()) {
                Some(handle) => self.on_file(&mut step, handle),
                None => Operation::Open { path: step.path().clone(), options: self.options(&step) },
            },
        };
        self.lanes[lane].step = Some(step);
        self.submit(driver, lane, operation);
    }

    /// What an outcome means for its step: the next operation of it, or none when it is done.
    fn take<D: Driver>(
        &mut self,
        driver: &mut D,
        lane: usize,
        step: &mut Step,
        outcome: Outcome,
    ) -> Result<Option<Operation>, IoError> {
        match (&step, outcome) {
            (_, Outcome::Opened(Ok(handle))) => {
                if matches!(step, Step::SyncDirectory(_) | Step::ReadAll(_)) {
                    self.lanes[lane].passing = Some(handle);
                } else {
                    self.cache(driver, lane, step.path().clone(), handle);
                }
                Ok(Some(self.on_file(step, handle)))
            }
            (step, Outcome::Opened(Err(error))) if step.reads() && error.is_absent() => {
                self.lanes[lane].read.push(None);
                Ok(None)
            }
            (Step::Retire { .. }, Outcome::Named(Err(error))) if error.is_absent() => Ok(None),
            (Step::ReadAll(_), Outcome::Read { mut buffer, result: Ok(_) }) if buffer.spare() == 0 => {
                let offset = buffer.len() as u64;
                buffer.reserve(buffer.len());
                let Some(file) = self.lanes[lane].passing else { return Ok(None) };
                Ok(Some(Operation::ReadAt { file, buffer, offset }))
            }
            (_, Outcome::Read { buffer, result }) => {
                result?;
                self.lanes[lane].read.push(Some(buffer));
                Ok(None)
            }
            (Step::Append { .. }, Outcome::Written { buffer, result }) => {
                if let Some(buffer) = buffer.into_buffer() {
                    self.spare.give(buffer);
                }
                result.map(|()| None)
            }
            (_, Outcome::Written { result, .. } | Outcome::Synced(result) | Outcome::Named(result)) => {
                result.map(|()| None)
            }
            (_, Outcome::Opened(Err(error))) => Err(error),
            // The token of a lane never comes with an outcome of the network.
            (_, Outcome::Accepted(_) | Outcome::Received { .. } | Outcome::Sent { .. }) => Ok(None),
        }
    }

    /// What a step does with its file once that is open.
    fn on_file(&mut self, step: &mut Step, file: Handle) -> Operation {
        match step {
            Step::Write { offset, buffer, .. } => Operation::WriteAt {
                file,
                buffer: std::mem::take(buffer).into(),
                offset: *offset,
                sync: false,
            },
            Step::Append { offset, partial, batches, .. } => {
                let bytes = partial.len() + batches.iter().map(|batch| batch.len()).sum::<usize>();
                let room = bytes.next_multiple_of(PAGE);
                let buffer = self.spare.take(room).unwrap_or_else(|| Buffer::aligned(room));
                let pieces = std::iter::once(&partial[..]).chain(batches.iter().map(|batch| &batch[..]));
                let buffer = lay_out(pieces, buffer);
                Operation::WriteAt { file, buffer: buffer.into(), offset: *offset, sync: false }
            }
            Step::Read { offset, length, .. } => {
                let mut buffer = self.spare.take(*length).unwrap_or_else(|| Buffer::aligned(*length));
                buffer.limit_to(length.next_multiple_of(PAGE));
                Operation::ReadAt { file, buffer, offset: *offset }
            }
            Step::ReadAll(_) => {
                Operation::ReadAt { file, buffer: Buffer::with_capacity(READ_ALL), offset: 0 }
            }
            _ => Operation::Sync { file },
        }
    }

    fn options(&self, step: &Step) -> FileOptions {
        match step {
            Step::SyncDirectory(_) => FileOptions::DIRECTORY,
            Step::Write { batches, .. } => {
                FileOptions { create: !*batches, direct: self.direct && *batches, ..FileOptions::WRITE }
            }
            Step::Append { create, .. } => {
                FileOptions { create: *create, direct: self.direct, ..FileOptions::WRITE }
            }
            Step::Sync { batches, .. } => {
                FileOptions { create: false, direct: self.direct && *batches, ..FileOptions::WRITE }
            }
            Step::Read { .. } => FileOptions { create: false, direct: self.direct, ..FileOptions::WRITE },
            _ => FileOptions::READ,
        }
    }

    fn open_already(&mut self, lane: usize, path: &Path) -> Option<Handle> {
        let file = self.files.get_mut(path.as_os_str())?;
        self.uses += 1;
        file.used = self.uses;
        file.pins |= 1 << lane;
        Some(file.handle)
    }

    fn cache<D: Driver>(&mut self, driver: &mut D, lane: usize, path: PathBuf, handle: Handle) {
        if self.files.contains_key(path.as_os_str()) {
            // Two lanes opened it at the same time.
            self.lanes[lane].passing = Some(handle);
            return;
        }
        if self.files.len() >= self.files_max {
            let idle = self.files.iter().filter(|(_, file)| file.pins == 0 && !file.kept);
            let oldest = idle.min_by_key(|(_, file)| file.used).map(|(path, _)| path.clone());
            if let Some(file) = oldest.and_then(|path| self.files.remove(&path)) {
                driver.close(file.handle);
            }
        }
        self.uses += 1;
        let file = OpenFile { handle, used: self.uses, pins: 1 << lane, kept: false };
        self.files.insert(path.into(), file);
    }

    /// Closes a file that is about to lose its name, and all below a directory.
    fn forget<D: Driver>(&mut self, driver: &mut D, path: &Path) {
        if let Some(file) = self.files.remove(path.as_os_str()) {
            driver.close(file.handle);
        }
        let mut directory = path.as_os_str().to_owned();
        directory.push("/");
        let from = (Bound::Included(directory.as_os_str()), Bound::Unbounded);
        while let Some((open, file)) = self.files.range::<OsStr, _>(from).next()
            && open.as_encoded_bytes().starts_with(directory.as_encoded_bytes())
        {
            driver.close(file.handle);
            let open = open.clone();
            self.files.remove(&open);
        }
    }

    fn close_passing<D: Driver>(&mut self, driver: &mut D, lane: usize) {
        if let Some(handle) = self.lanes[lane].passing.take() {
            driver.close(handle);
        }
    }

    fn submit<D: Driver>(&self, driver: &mut D, lane: usize, operation: Operation) {
        driver.submit(Token(self.first_token + lane as u64), operation);
    }
}
