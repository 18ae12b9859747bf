//! Operations under way on a simulated machine, and what comes of them.

use std::cmp::Ordering;

use crate::driver::{Handle, Operation, Outcome, Token};
use crate::error::IoError;

/// An operation and when it ends. Its effect happens then, unless the process is gone first.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) ends: u64,
    /// Orders those that end together.
    pub(super) number: u64,
    pub(super) token: Token,
    pub(super) operation: Operation,
    /// The open file it works on.
    pub(super) open: Option<Handle>,
    /// Of a sync: the last write that had completed when it was submitted.
    pub(super) covered: u64,
    /// Refused at the door: the outcome is this error.
    pub(super) refused: Option<IoError>,
}

impl Ord for Flight {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.ends, self.number).cmp(&(other.ends, other.number))
    }
}

impl PartialOrd for Flight {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Flight {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Flight {}

/// What came of an operation.
#[derive(Debug)]
pub(super) enum Product {
    Done(Outcome),
    /// A file that has no handle of the driver yet.
    Opened(Result<Handle, IoError>),
}

impl Product {
    /// What of it goes into the trace.
    pub(super) fn fingerprint(&self) -> u64 {
        match self {
            Self::Done(outcome) => fingerprint(outcome),
            Self::Opened(result) => code(result.map(|_| 0)) | 7,
        }
    }
}

fn fingerprint(outcome: &Outcome) -> u64 {
    match outcome {
        Outcome::Accepted(_) => 1,
        Outcome::Received { .. } => 2,
        Outcome::Sent { .. } => 3,
        Outcome::Read { result, buffer } => {
            code(result.map(|count| count as u64)) ^ fingerprint_of(buffer) << 20 | 4
        }
        Outcome::Written { result, .. } => code(result.map(|()| 0)) | 5,
        Outcome::Synced(result) => code(result.map(|()| 0)) | 6,
        Outcome::Opened(result) => code(result.map(|_| 0)) | 7,
        Outcome::Named(result) => code(result.map(|()| 0)) | 8,
    }
}

fn fingerprint_of(bytes: &[u8]) -> u64 {
    let fold = |sum: u64, word| sum.rotate_left(5) ^ word;
    let (words, rest) = bytes.as_chunks::<8>();
    let (rows, last) = words.as_chunks::<8>();
    // One lane waits for no other.
    let mut lanes = [7; 8];
    for row in rows {
        for (lane, word) in lanes.iter_mut().zip(row) {
            *lane = fold(*lane, u64::from_le_bytes(*word));
        }
    }
    let sum = lanes.into_iter().fold(7, fold);
    let sum = last.iter().map(|word| u64::from_le_bytes(*word)).fold(sum, fold);
    rest.iter().map(|byte| u64::from(*byte)).fold(sum, fold)
}

fn code(result: Result<u64, IoError>) -> u64 {
    match result {
        Ok(count) => count << 8,
        Err(error) => u64::from(error.errno().unsigned_abs()) << 8 | 1,
    }
}
