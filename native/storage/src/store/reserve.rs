//! Space that a shard keeps for removals: on a full disk even a purge first needs a block for the new list of segments.
//!
//! The reserve is a file of zeroes. A removal that finds no space deletes it and is carried out with what that frees. Later
//! the file is written again; an attempt that finds no space leaves nothing behind.

use std::path::PathBuf;
use std::time::Duration;

use ng_io::{Buffer, Instant};

use super::plan::{Plan, PlanResult, Step};

/// Enough for the list of 4,000 segments.
const BYTES: usize = 256 << 10;

/// How many times the retry delay of the store passes before the reserve is written again.
const PATIENCE: u32 = 10;

/// The reserve of one shard.
#[derive(Debug)]
pub(super) struct Reserve {
    path: PathBuf,
    state: State,
    /// When it is to be written.
    due: Option<Instant>,
    retry: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The life before may have left it; this one has not written it.
    Inherited,
    /// It is time to write it.
    Wanted,
    Writing,
    Held,
    /// What an attempt without space has written is being removed.
    Clearing,
    Spent,
}

impl Reserve {
    pub(super) fn new(path: PathBuf, retry_delay: Duration) -> Self {
        Self { path, state: State::Inherited, due: None, retry: retry_delay * PATIENCE }
    }

    /// Messages were written: there is something that may have to be removed.
    pub(super) fn is_needed(&mut self, now: Instant) {
        if self.state == State::Inherited && self.due.is_none() {
            self.due = Some(now);
        }
    }

    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    pub(super) fn look(&mut self, now: Instant) {
        if self.due.is_some_and(|due| due <= now) {
            (self.state, self.due) = (State::Wanted, None);
        }
    }

    /// What is to be done in a lane that is free, if anything.
    pub(super) fn next(&mut self) -> Option<Plan> {
        if self.state != State::Wanted {
            return None;
        }
        self.state = State::Writing;
        let (path, buffer) = (self.path.clone(), Buffer::from(vec![0; BYTES]));
        Some(vec![
            Step::Write { path: path.clone(), offset: 0, buffer, batches: false },
            Step::Sync { path, batches: false },
        ])
    }

    /// A plan of the reserve has ended: what is to be done in the same lane, or the fault if it is no lack of space.
    pub(super) fn ended(
        &mut self,
        result: PlanResult,
        now: Instant,
    ) -> Result<Option<Plan>, super::plan::PlanFault> {
        match (self.state, result) {
            (State::Writing, Ok(_)) => self.state = State::Held,
            (State::Writing, Err(fault)) if fault.heals() => {
                self.state = State::Clearing;
                return Ok(Some(vec![Step::Remove(self.path.clone())]));
            }
            (State::Writing, Err(fault)) => return Err(fault),
            // What could not be removed is written over by the next attempt.
            (_, _) => (self.state, self.due) = (State::Spent, Some(now + self.retry)),
        }
        Ok(None)
    }

    /// The step that gives its space to a removal, unless it was given away before.
    pub(super) fn spend(&mut self, now: Instant) -> Option<Step> {
        if !matches!(self.state, State::Inherited | State::Held) {
            return None;
        }
        (self.state, self.due) = (State::Spent, Some(now + self.retry));
        Some(Step::Remove(self.path.clone()))
    }
}
