//! The journal of a shard: every prepare, view, open, close and install of all its groups, in one ring of files.
//!
//! [`PrepareJournal`] is the core. It takes records and events and returns [`Effect`]s; it knows no file, clock or
//! thread. [`shell::JournalShell`] performs the effects through a driver. [`recovery`] says what a directory of files
//! holds after a crash. FORMAT.md gives the bytes, and the rules of reading them.

mod admission;
mod group;
mod groups;
mod losses;
mod notes;
mod plant;
mod proof;
mod queue;
mod reclaim;
mod recovered;
pub mod recovery;
pub mod scan;
pub mod shell;
mod slots;
mod space;
pub mod strays;
mod writer;

use ng_io::{Buffer, IoError, Output};
use thiserror::Error;

pub use groups::Located;
#[cfg(feature = "plants")]
pub use plant::Plant;
pub use slots::SlotState;
pub use writer::PrepareJournal;

use crate::PAGE;

/// Blocks that may be unsynced at any time, and the sequences that a new incarnation skips.
pub const UNSYNCED_MAX: u64 = 64;

/// Where a record is in the order of the journal: its block, and its place in the block's directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Sequence of the block.
    pub block: u64,
    /// Place in the directory.
    pub index: u32,
}

/// Sizes of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of every file of the ring: whole pages, at least twice the largest body and a page more.
    pub file_bytes: u64,
    /// Files that the ring may grow to, at least 5: one is written, one is freed, two are kept for relocation.
    pub files_max: u32,
    /// A block is closed when it has this many bytes, unless one record alone has more.
    pub block_bytes_target: usize,
    /// Bytes that may wait for their write.
    pub queued_bytes_max: usize,
    /// Ops that one group may have in the journal between its lowest and its highest.
    pub window_max: usize,
    /// Prepares that all groups together may have.
    pub slots_max: usize,
}

impl Limits {
    /// The largest body that a record may have.
    #[must_use]
    pub const fn body_bytes_max(&self) -> usize {
        (self.file_bytes / 2) as usize - 512
    }

    /// Bytes of live records up to which new ones are taken: with more, freeing files would move more than it frees.
    #[must_use]
    pub const fn live_bytes_max(&self) -> u64 {
        (self.files_max as u64 - 3) * self.file_bytes / 2
    }
}

/// What the journal wants done. At most one write and one sync are under way at a time, and one read.
#[derive(Debug)]
pub enum Effect {
    /// Write these bytes; answer with [`Event::Written`].
    Write {
        /// Number of the file.
        file: u32,
        /// Position in it.
        offset: u64,
        /// A whole block.
        buffer: Output,
        /// Whether the write is over only once it is synced.
        sync: bool,
    },
    /// Sync what was written to a file; answer with [`Event::Synced`].
    Sync {
        /// Number of the file.
        file: u32,
    },
    /// Read a piece of a file; answer with [`Event::Read`].
    Read {
        /// Number of the file.
        file: u32,
        /// Position in it.
        offset: u64,
        /// Whole pages.
        length: usize,
    },
    /// Make a further file: all zero, written and synced, its name, too; answer with [`Event::Grown`].
    Grow {
        /// Number of the file.
        file: u32,
    },
    /// Have the superblock count so many files; answer with [`Event::Enlisted`] once that is in force. No block is written to
    /// a file before.
    Enlist {
        /// How many files the journal has.
        files: u32,
    },
    /// Every record in a block up to this one is on the disk for good.
    Durable {
        /// Sequence of the block.
        through: u64,
        /// How many records became so just now.
        records: usize,
    },
    /// A live record of this group cannot be read. Its file is freed all the same: a note stands for it, or the list of
    /// what is lost, until it was appended again or released.
    Damaged {
        /// Which group.
        group: u64,
        /// Which op; 0 for a record that is no prepare.
        op: u64,
    },
    /// The process must end: nothing further is durable.
    Fatal(JournalFault),
}

impl Effect {
    /// Whether it is something to be done with a file.
    const fn is_of_the_disk(&self) -> bool {
        matches!(self, Self::Write { .. } | Self::Sync { .. } | Self::Read { .. } | Self::Grow { .. })
    }
}

/// What became of an effect, and what else moves the journal.
#[derive(Debug)]
pub enum Event {
    /// Of [`Effect::Write`].
    Written {
        /// The bytes, whose memory the next block may use.
        buffer: Output,
        /// Whether they were written, and synced if asked.
        result: Result<(), IoError>,
    },
    /// Of [`Effect::Sync`].
    Synced(Result<(), IoError>),
    /// Of [`Effect::Read`], with what was read.
    Read(Result<Buffer, IoError>),
    /// Of [`Effect::Grow`].
    Grown(Result<(), IoError>),
    /// Of [`Effect::Enlist`]. One that fails ends the process.
    Enlisted,
    /// Everything of a group up to this op is safe elsewhere: in segments, under a manifest that is in force.
    Released {
        /// Which group.
        group: u64,
        /// Up to and with this op.
        op: u64,
    },
    /// The files of a group that has ended are gone, and the manifest in force does not name it: nothing contradicts its end.
    Ended {
        /// Which group.
        group: u64,
    },
    /// Nothing else is to be done just now. Leaves a mark that makes the window of doubt empty, and tries again to grow.
    Idle,
}

/// A failed write or sync of the journal. It is never tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("journal-{file:08}: {error}")]
pub struct JournalFault {
    /// Number of the file.
    pub file: u32,
    /// Why.
    pub error: IoError,
}

/// Why a record was not taken. Nothing of it has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// There is no room now; there will be.
    #[error("the journal has no room now")]
    Busy,
    /// The group has too many ops in the journal, or all groups together have.
    #[error("the window of ops is full")]
    Window,
    /// The body is larger than half a file.
    #[error("a body of {0} bytes is larger than the journal takes")]
    TooLarge(usize),
    /// The header does not fit the body, or the body its kind.
    #[error("header and body do not belong together")]
    Malformed,
    /// The op is there already, in a view as high, as another record; or was released.
    #[error("the op is settled already")]
    Settled,
    /// The journal has failed before.
    #[error("the journal has failed")]
    Failed,
}

/// Files of a journal that can relocate what it must keep, and free one of them.
pub const FILES_MIN: u32 = 2;

const fn pages(bytes: usize) -> usize {
    bytes.next_multiple_of(PAGE)
}
