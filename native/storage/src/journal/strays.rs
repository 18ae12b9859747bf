//! Files that lie where a file of the journal must, or beside those, and are not what this life of the journal left there.
//!
//! A superblock says how many files count, each block in which file and at which place it was written, and incarnations
//! only ever rise from block to block. So a copy, a swap, a file of another journal and one of an earlier life are known for
//! what they are, and nothing is read from them.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt;

use super::scan::FoundBlock;
use super::shell::file_name;
use crate::block::BlockHeader;

/// A file that must not be read as part of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrayFile {
    /// The number in its name.
    pub number: u32,
    /// What it is instead.
    pub standing: Stray,
}

/// What a stray file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stray {
    /// It begins with a block of another journal.
    Foreign,
    /// It begins with a block that was written to the file of this number: a copy, or swapped.
    Holds(u32),
    /// It has blocks that a later incarnation wrote past: an older copy.
    Earlier,
    /// The superblock does not count it.
    Surplus,
}

impl fmt::Display for StrayFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = file_name(self.number);
        match self.standing {
            Stray::Foreign => write!(out, "{name} is of another journal"),
            Stray::Holds(number) => write!(out, "{name} holds the blocks of {}", file_name(number)),
            Stray::Earlier => write!(out, "{name} is of an earlier life of this journal"),
            Stray::Surplus => write!(out, "{name} is one more than the superblock counts"),
        }
    }
}

/// What a file is whose first page holds this header, if it is not the file of this number.
#[must_use]
pub fn stray_front(journal: u128, number: u32, front: &BlockHeader) -> Option<Stray> {
    if front.journal != journal {
        Some(Stray::Foreign)
    } else if front.file != number {
        Some(Stray::Holds(front.file))
    } else {
        None
    }
}

/// The files that hold a block which an incarnation before another one's blocks wrote, and which is numbered beyond them.
///
/// Each incarnation begins beyond every block that a start before it found. So such a block was not there then.
#[must_use]
pub fn earlier_files(blocks: &[FoundBlock]) -> Vec<StrayFile> {
    let mut headers: Vec<&BlockHeader> = blocks.iter().map(|block| &block.header).collect();
    headers.sort_unstable_by_key(|header| (header.sequence, Reverse(header.incarnation)));
    let mut newest = 0;
    let mut numbers = BTreeSet::new();
    for header in headers {
        newest = header.incarnation.max(newest);
        if header.incarnation < newest {
            numbers.insert(header.file);
        }
    }
    numbers.into_iter().map(|number| StrayFile { number, standing: Stray::Earlier }).collect()
}
