//! Changing a superblock: two copies, sync, the other two, sync; at no moment do fewer than two good copies agree.

use ng_io::{Buffer, IoError};
use thiserror::Error;

use crate::PAGE;
use crate::poison::Poison;
use crate::superblock::{COPIES, Elected, Superblock};

/// Holds the superblock in force and writes the next one, one operation after the other.
#[derive(Debug)]
pub struct SuperblockWriter {
    current: Superblock,
    checksum: u128,
    next: Option<Writing>,
    /// Whether all four copies hold what is in force.
    complete: bool,
    /// Whether what was read is on the disk for good: a process that was killed may have left it in the page cache alone.
    settled: bool,
    poison: Poison,
}

#[derive(Clone, Copy, Debug)]
struct Writing {
    /// What is being written: the next superblock, or first the one in force where copies of it are missing. Only with four
    /// good copies to begin with do two agree at every moment of a change.
    written: Superblock,
    phase: Phase,
    next: Superblock,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// What was read is being synced.
    Settling,
    /// Copies 0 and 1 are being written.
    FirstHalf,
    /// ... and synced.
    FirstSync,
    /// Copies 2 and 3 are being written.
    SecondHalf,
    /// ... and synced.
    SecondSync,
}

/// What is to be done with the superblock's file; answer with [`SuperblockWriter::completed`].
#[derive(Debug)]
pub enum SuperblockStep {
    /// Write these bytes.
    Write {
        /// Position in the file.
        offset: u64,
        /// Two copies.
        buffer: Buffer,
    },
    /// Sync the file.
    Sync,
    /// The next superblock is in force.
    Done,
}

/// Why a superblock is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SuperblockFault {
    /// Another one is being written.
    #[error("a superblock is being written")]
    Busy,
    /// A write or sync failed: the process must end, for what is on the disk is unknown now.
    #[error("superblock: {0}")]
    Io(#[from] IoError),
    /// It failed before.
    #[error("the superblock could not be written before")]
    Failed,
}

impl SuperblockWriter {
    /// Goes on from what was read.
    #[must_use]
    pub const fn resume(elected: &Elected) -> Self {
        let Elected { superblock, checksum, .. } = elected;
        let complete = elected.agreeing == COPIES;
        Self {
            current: *superblock,
            checksum: *checksum,
            next: None,
            complete,
            settled: false,
            poison: Poison::none(),
        }
    }

    /// Begins a new file with `first`, whose sequence must be 0: what is written is sequence 1.
    #[must_use]
    pub const fn found(first: Superblock) -> Self {
        Self {
            current: first,
            checksum: 0,
            next: None,
            complete: true,
            settled: true,
            poison: Poison::none(),
        }
    }

    /// The superblock in force.
    #[must_use]
    pub const fn current(&self) -> &Superblock {
        &self.current
    }

    /// Begins to write what `change` makes of the superblock in force.
    pub fn begin(&mut self, change: impl FnOnce(&mut Superblock)) -> Result<SuperblockStep, SuperblockFault> {
        if self.poison.is_set() {
            return Err(SuperblockFault::Failed);
        }
        if self.next.is_some() {
            return Err(SuperblockFault::Busy);
        }
        let mut next = self.current;
        change(&mut next);
        next.sequence = self.current.sequence + 1;
        next.parent = self.checksum;
        let written = if self.complete { next } else { self.current };
        let (phase, step) = if self.settled {
            (Phase::FirstHalf, write(&written, 0))
        } else {
            (Phase::Settling, SuperblockStep::Sync)
        };
        self.next = Some(Writing { written, phase, next });
        Ok(step)
    }

    /// Takes the end of the operation that was asked for, and says what is next.
    pub fn completed(&mut self, result: Result<(), IoError>) -> Result<SuperblockStep, SuperblockFault> {
        let Some(mut writing) = self.next.take() else { return Err(SuperblockFault::Failed) };
        if let Err(error) = result {
            self.poison.set();
            return Err(SuperblockFault::Io(error));
        }
        let step;
        (writing.phase, step) = match writing.phase {
            Phase::Settling => {
                self.settled = true;
                (Phase::FirstHalf, write(&writing.written, 0))
            }
            Phase::FirstHalf => (Phase::FirstSync, SuperblockStep::Sync),
            Phase::FirstSync => (Phase::SecondHalf, write(&writing.written, 2)),
            Phase::SecondHalf => (Phase::SecondSync, SuperblockStep::Sync),
            Phase::SecondSync if !self.complete => {
                self.complete = true;
                writing.written = writing.next;
                (Phase::FirstHalf, write(&writing.next, 0))
            }
            Phase::SecondSync => {
                self.current = writing.next;
                self.checksum = writing.next.encode_copy(0).1;
                return Ok(SuperblockStep::Done);
            }
        };
        self.next = Some(writing);
        Ok(step)
    }
}

fn write(superblock: &Superblock, first: u8) -> SuperblockStep {
    let half = superblock.encode_half(first);
    let mut buffer = Buffer::aligned(half.len());
    buffer.extend_from_slice(&half);
    SuperblockStep::Write { offset: u64::from(first) * PAGE as u64, buffer }
}
