//! Everything that is kept beside the journal: segments of the groups and states of the metadata.
//!
//! [`SegmentStore`] is the core. It takes committed batches and events and returns [`Effect`]s; it knows no file
//! descriptor, clock or thread. What it wants done on the disk is a [`plan::Plan`] that [`shell::PlanShell`] performs
//! through a driver.
//!
//! Batches leave memory by write-behind: when a group has enough of them, when it is told, or when they have waited long
//! enough. Nothing here is acknowledged to anybody; the journal holds what is not [`Effect::Synced`] yet.

mod cut;
mod export;
mod fetch;
mod flush;
mod group;
mod group_reads;
mod index_cache;
mod locate;
mod lost;
mod opening;
mod ownership;
mod pending;
mod places;
pub mod plan;
mod plant;
mod readers;
mod rebuild;
mod received;
mod reindex;
mod reserve;
mod scan;
mod segments;
pub mod shell;
mod space;
mod spans;
mod survey;
mod swap;
mod tail;
mod verification;
mod walk;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ng_io::{Buffer, Chunk, IoError};
use thiserror::Error;

pub use cut::{CutSegments, NoCut};
pub use export::{ExportPlan, ExportedFile};
pub use fetch::{Fetch, Fetched};
pub use locate::{LastBegin, Sought};
#[cfg(feature = "plants")]
pub use plant::Plant;
pub use readers::READERS;
pub use rebuild::{FileFound, list_files};
pub use received::{ReceivedBatches, Whole};
pub use segments::SegmentStore;
pub use spans::Span;
pub use swap::{NotStaged, Staging, SwapOrder};
pub use walk::FoundBatches;

use crate::manifest::{GroupEntry, UnsealedSegment};
use crate::refusal::Refusal;
use crate::segments_file::{Fence, SegmentEntry};
use plan::{Plan, PlanFault, PlanResult};

/// Sizes and times of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreLimits {
    /// Bytes of batches up to which a segment takes more, unless its group has another bound; a batch that is larger by
    /// itself gets one of its own.
    pub segment_bytes: u64,
    /// Buffered bytes of a group from which on it is written.
    pub flush_bytes: usize,
    /// How long a batch waits at most before it is written.
    pub flush_delay: Duration,
    /// Bytes of batches that one plan writes, unless one batch alone has more.
    pub plan_bytes_max: usize,
    /// Buffered bytes of all groups from which on [`SegmentStore::has_room`] says no. What was admitted before comes on
    /// top: the pipelines of the groups, which the journal's bound on live bytes bounds, too.
    pub buffered_bytes_max: usize,
    /// The largest batch there can be.
    pub batch_bytes_max: u64,
    /// Plans under way at a time that write: lanes of the shell. [`READERS`] more follow, for those that read.
    pub lanes: u32,
    /// How long to wait after the disk was full.
    pub retry_delay: Duration,
}

/// Whose store it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreOwner {
    /// Identity of the node.
    pub node: u128,
    /// Which shard.
    pub shard: u32,
    /// Of this start: with shard and a count it names what goes to the trash.
    pub incarnation: u64,
    /// Whether other nodes have the same messages, and repair what this one lost.
    pub has_peers: bool,
}

/// A committed batch.
#[derive(Clone, Debug)]
pub struct CommittedBatch {
    /// The op that carried it.
    pub op: u64,
    /// The purge generation of the partition when it was applied.
    pub generation: u64,
    /// Its first offset.
    pub base_offset: u64,
    /// Its last offset.
    pub last_offset: u64,
    /// When it was stamped.
    pub timestamp: u64,
    /// How many messages.
    pub messages: u32,
    /// The bytes, as stamped.
    pub bytes: Arc<Chunk>,
}

/// What a group's manifest entry, or its newest install record, promises of its segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vouched {
    /// Up to and with this op everything is there.
    pub op: u64,
    /// The last offset, `u64::MAX` for none.
    pub last_offset: u64,
    /// The purge generation.
    pub generation: u64,
    /// Messages before this offset were dropped.
    pub first_offset: u64,
    /// Offsets that were given to no message; ascending and apart.
    pub gaps: Vec<(u64, u64)>,
    /// Sequence of the list of segments, or 0.
    pub list_sequence: u64,
    /// The unsealed segment, as far as it was synced.
    pub unsealed: Option<UnsealedSegment>,
}

impl Vouched {
    /// A last offset, of a partition without gaps of which nothing was dropped.
    #[must_use]
    pub const fn new(op: u64, last_offset: u64, generation: u64) -> Self {
        let gaps = Vec::new();
        Self { op, last_offset, generation, first_offset: 0, gaps, list_sequence: 0, unsealed: None }
    }

    /// What an entry promises.
    #[must_use]
    pub fn of(entry: GroupEntry) -> Self {
        Self {
            op: entry.anchor.op,
            last_offset: entry.last_offset,
            generation: entry.purge_generation,
            first_offset: entry.first_offset,
            gaps: entry.gaps,
            list_sequence: entry.list_sequence,
            unsealed: entry.unsealed,
        }
    }

    /// The last offset, if there is one.
    #[must_use]
    pub const fn last(&self) -> Option<u64> {
        if self.last_offset == u64::MAX { None } else { Some(self.last_offset) }
    }
}

/// What a group's directory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The first offset.
    pub first_offset: Option<u64>,
    /// The last offset.
    pub last_offset: Option<u64>,
    /// The purge generation.
    pub generation: u64,
    /// Bytes of batches in all segments.
    pub bytes: u64,
    /// How many segments.
    pub segments: usize,
}

/// What a group holds, whether on the disk or still on its way there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupFigures {
    /// How many segments; one at least.
    pub segments: usize,
    /// Bytes of batches.
    pub bytes: u64,
    /// Messages.
    pub messages: u64,
}

/// What the store wants done, or says.
#[derive(Debug)]
pub enum Effect {
    /// Perform a plan in a lane that has none; answer with [`Event::Ended`].
    Run {
        /// Which lane.
        lane: u32,
        /// What.
        plan: Plan,
    },
    /// A group is open: what its directory holds. Batches that were appended meanwhile are taken.
    Opened {
        /// Which group.
        group: u64,
        /// What it holds.
        held: Held,
    },
    /// A group's directory does not hold what it must. Batches for it are not taken; the journal keeps them.
    Damaged {
        /// Which group.
        group: u64,
        /// What is wrong.
        damage: StoreDamage,
    },
    /// The names and lengths of the files in a directory are needed; answer with [`Event::Named`].
    List {
        /// Which lane waits for them.
        lane: u32,
        /// Which directory.
        directory: PathBuf,
    },
    /// Messages of a group are lost. Said when that is found, at each opening for as long as it is so, and when it is
    /// so no more.
    Fenced {
        /// Which group.
        group: u64,
        /// All ranges of them that there are now.
        fences: Vec<Fence>,
    },
    /// All batches of a group up to this op are in segments, synced and named.
    Synced {
        /// Which group.
        group: u64,
        /// Up to and with this op.
        op: u64,
    },
    /// The segment that a group appended to is sealed.
    Sealed {
        /// Which group.
        group: u64,
    },
    /// Segments of a group that lie before an offset are gone.
    Truncated {
        /// Which group.
        group: u64,
    },
    /// There is no space, or no descriptor: what is buffered stays so and is tried again.
    Pressure {
        /// Which group.
        group: u64,
    },
    /// Files of a group could not be removed, or moved into the trash. That is tried again, less and less often.
    RemovalFailed {
        /// Which group.
        group: u64,
        /// Why.
        fault: PlanFault,
    },
    /// For lack of space a state of the metadata was not written. Nothing is harmed; who asked may ask again.
    GivenUp {
        /// Which group.
        group: u64,
    },
    /// A piece of a segment was read for another replica.
    Read {
        /// Which group.
        group: u64,
        /// Of which segment.
        entry: SegmentEntry,
        /// From where on.
        offset: u64,
        /// What is there; `None` if it cannot be read, or is not there any more.
        bytes: Option<Buffer>,
    },
    /// What came of [`SegmentStore::fetch`].
    Fetched {
        /// Which group.
        group: u64,
        /// Who asked.
        asker: u64,
        /// What came of it.
        fetched: Fetched,
    },
    /// What came of [`SegmentStore::cut`].
    Cut {
        /// Which group.
        group: u64,
        /// Who asked.
        asker: u64,
        /// What it contains, if there is one.
        result: Result<CutSegments, NoCut>,
    },
    /// What came of [`SegmentStore::stage`].
    Staged {
        /// Which group.
        group: u64,
        /// Whether the files have the names of segments, for good.
        result: Result<(), NotStaged>,
    },
    /// A swap is on the disk for good. Nobody begins to read what it replaced.
    Swapped {
        /// Which group.
        group: u64,
        /// The operation of its log.
        op: u64,
        /// The first and the last offset that it is about; nothing if it was there already, or one or the other is gone.
        replaced: Option<(u64, u64)>,
    },
    /// A group's directory is in the trash for good.
    Removed {
        /// Which group.
        group: u64,
    },
    /// A state of the metadata is on the disk for good.
    StateWritten {
        /// Which group.
        group: u64,
        /// Its last op.
        op: u64,
    },
    /// The process must end: what is on the disk is unknown now.
    Fatal(PlanFault),
}

/// What moves the store.
#[derive(Debug)]
pub enum Event {
    /// Of [`Effect::Run`].
    Ended {
        /// Which lane.
        lane: u32,
        /// What came of it.
        result: PlanResult,
    },
    /// Of [`Effect::List`].
    Named {
        /// Which lane.
        lane: u32,
        /// The files, or why the directory cannot be listed.
        files: Result<Vec<FileFound>, IoError>,
    },
    /// The time of [`SegmentStore::next_deadline`] has come.
    Due,
}

/// What is wrong with a group's directory.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}: {fault}", path.display())]
pub struct StoreDamage {
    /// Which file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub fault: StoreFault,
}

impl StoreDamage {
    /// Whether a newer server wrote the file: then nothing is damaged.
    #[must_use]
    pub const fn is_newer(&self) -> bool {
        matches!(self.fault, StoreFault::Newer(_))
    }
}

/// What is wrong with a file of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StoreFault {
    /// It is not what its place calls for.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// It belongs to another node or group.
    #[error("it belongs to another node or group")]
    Foreign,
    /// Its footer and the index beside it are damaged: what is left of it may be of another group.
    #[error("its footer and its index are damaged: it may belong to another group")]
    Unproven,
    /// A newer server wrote it.
    #[error("{0}")]
    Newer(Refusal),
    /// It is not there.
    #[error("it is missing")]
    Missing,
    /// Some of its batches do not match their checksums.
    #[error("some of its messages are damaged")]
    Lost,
    /// It is an older version of the file.
    #[error("it is version {found} of the list, and version {vouched} was there")]
    Sequence {
        /// Its sequence.
        found: u64,
        /// The sequence that the manifest has seen.
        vouched: u64,
    },
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(IoError),
    /// It ends before what the manifest vouches for.
    #[error("it ends with offset {found:?}, and offset {vouched} was there")]
    Ends {
        /// The last offset in it.
        found: Option<u64>,
        /// The last offset there was.
        vouched: u64,
    },
    /// It is of a purge generation before the manifest's.
    #[error("it is of purge generation {found}, and generation {vouched} was there")]
    Generation {
        /// Its generation.
        found: u64,
        /// What was there.
        vouched: u64,
    },
}

impl StoreFault {
    /// Whether nothing of the file may be served: it is not the one that the list names, or nobody knows.
    const fn is_of_the_whole_file(&self) -> bool {
        matches!(self, Self::Foreign | Self::Unproven)
    }
}
