//! One question to the segments of a group: which file, the index first if the segment is sealed, then the batches.

use std::sync::Arc;

use ng_io::Buffer;

use super::locate::{SegmentView, Sought};
use super::ownership::{Front, FrontVerdict, Ownership, footer_of};
use super::places::Place;
use super::plan::{Plan, PlanFault, PlanResult, Step};
use super::reindex::Reindex;
use super::tail::INDEX_SPAN;
use super::walk::{FoundBatches, PIECE, Walk, Walked};
use super::{StoreDamage, StoreFault};
use crate::PAGE;
use crate::home::GroupHome;
use crate::index::{Index, IndexEntry, place_from, place_of_offset, place_of_time};

/// How often a piece is read before it counts as damaged: some disks fail a read once.
const ATTEMPTS: u8 = 3;

/// Batches that are wanted of those that are on the disk.
#[derive(Clone, Copy, Debug)]
pub struct Fetch {
    /// What the answer is known by to whoever asks.
    pub asker: u64,
    /// The purge generation that is asked about.
    pub generation: u64,
    /// Which is the first.
    pub sought: Sought,
    /// Batches beyond this offset are not wanted.
    pub until: u64,
    /// About how many bytes of batches are wanted.
    pub bytes: usize,
    /// A batch of more bytes is not read, unless [`Fetch::bytes`] has room for it.
    pub batch_bytes: usize,
}

/// What came of a [`Fetch`].
#[derive(Debug)]
pub enum Fetched {
    /// The group is open.
    Opened,
    /// These batches, one at least.
    Batches(FoundBatches),
    /// No such batch is on the disk, or none any more.
    Nothing,
    /// From the offset that was sought up to this one there is no message: a compaction left none, or nobody wants them.
    Passed {
        /// The last such offset.
        last_offset: u64,
    },
    /// The first batch, or one that has to be passed over, alone has so many bytes: more than were to be read.
    Larger {
        /// How many.
        bytes: usize,
    },
    /// The group was purged meanwhile.
    Purged,
    /// What was sought cannot be read.
    Damaged(StoreDamage),
    /// There are too many open files just now.
    Busy,
    /// The group is gone.
    Gone,
}

/// How far a fetch has come.
#[derive(Debug)]
enum Stage {
    /// The index is read from its file, and the footer with it.
    Index,
    /// The first batch is read, because the footer does not say whose the file is.
    Front(Box<Front>),
    /// It is made anew.
    Reindex(Box<Reindex>),
    Walk(Box<Walk>),
}

/// A fetch under way.
#[derive(Debug)]
pub(super) struct Fetching {
    pub(super) fetch: Fetch,
    pub(super) view: SegmentView,
    group: u64,
    home: GroupHome,
    batch_bytes_max: u64,
    place: Option<Place>,
    stage: Stage,
    failed: u8,
    /// The index that it works with was made, not read, by this start.
    reindexed: bool,
}

/// What a fetch does next.
#[derive(Debug)]
pub(super) enum Next {
    Run(Plan),
    Ended(Fetched),
    /// An index was read, or made anew, and may be kept; the second says that it is to be written down.
    Indexed(Arc<Index>, bool),
    /// An index has to be made, unless another fetch is just doing that.
    Reindex,
}

impl Fetching {
    pub(super) fn new(
        fetch: Fetch,
        view: SegmentView,
        (group, home): (u64, GroupHome),
        batch_bytes_max: u64,
        place: Option<Place>,
    ) -> Self {
        let (stage, failed, reindexed) = (Stage::Index, 0, false);
        Self { fetch, view, group, home, batch_bytes_max, place, stage, failed, reindexed }
    }

    /// Begins to read the index from its file.
    pub(super) fn read_index(&mut self) -> Next {
        self.stage = Stage::Index;
        self.run()
    }

    /// Begins to make the index anew.
    pub(super) fn reindex(&mut self) -> Next {
        self.reindexed = true;
        self.stage = Stage::Reindex(Box::new(Reindex::new(self.group, self.view, self.batch_bytes_max)));
        self.run()
    }

    /// Begins to read batches from the best place that is known.
    pub(super) fn walk(&mut self, places: &[IndexEntry]) -> Next {
        let Fetch { sought, bytes, .. } = self.fetch;
        let mut walk = Walk::new(self.group, self.view, self.fetch, self.batch_bytes_max);
        let indexed = match sought {
            Sought::Offset(offset) => place_of_offset(places, offset),
            Sought::Time(time) => place_of_time(places, time),
            Sought::Behind { .. } | Sought::Opened => None,
        };
        let (position, begins) =
            indexed.map_or((0, self.view.begins()), |place| (place.position, Some(place.offset)));
        let known = self.place.take().filter(|place| {
            place.segment == self.view.key(self.group)
                && place.position >= position
                && place.position < self.view.bytes
        });
        let (position, begins, ahead) = match known {
            Some(place) => (place.position, None, 0),
            // What is sought lies somewhere before the next place.
            None if begins.is_some_and(|begins| sought == Sought::Offset(begins)) => (position, begins, 0),
            None => (position, begins, INDEX_SPAN),
        };
        let exact = position + bytes as u64 + ahead;
        let slack = exact + bytes as u64 / 8 + PAGE as u64;
        // Ends between two batches if a place says where.
        let end = place_from(places, exact).map(|place| place.position).filter(|end| *end <= slack);
        let length = usize::try_from(end.unwrap_or(slack) - position).unwrap_or(PIECE);
        walk.begin(position, begins, length);
        self.stage = Stage::Walk(Box::new(walk));
        self.run()
    }

    /// Whether it is making an index.
    pub(super) const fn is_reindexing(&self) -> bool {
        matches!(self.stage, Stage::Reindex(_))
    }

    fn run(&self) -> Next {
        let path = self.home.segment(&self.view.entry);
        Next::Run(vec![match &self.stage {
            Stage::Index => {
                let footer = footer_of(&self.view.entry, path);
                return Next::Run(vec![Step::ReadAll(self.home.index(&self.view.entry)), footer]);
            }
            Stage::Front(front) => front.step(path),
            Stage::Reindex(reindex) => reindex.step(path),
            Stage::Walk(walk) => walk.step(path),
        }])
    }

    /// Takes what was read.
    pub(super) fn ended(&mut self, result: PlanResult) -> Next {
        let mut footer = None;
        let read = match result {
            Ok(read) => {
                let mut read = read.into_iter();
                let first = read.next().flatten();
                footer = read.next().flatten();
                Ok(first)
            }
            Err(fault) if fault.error.is_out_of_descriptors() => return Next::Ended(Fetched::Busy),
            Err(_) if self.failed + 1 < ATTEMPTS => {
                self.failed += 1;
                return self.run();
            }
            Err(PlanFault { error, .. }) => Err(StoreFault::Unreadable(error)),
        };
        self.failed = 0;
        match &mut self.stage {
            Stage::Index => match read {
                Ok(index) => self.index_read(index, footer),
                // The disk fails, and nothing speaks of another file.
                Err(_) => Next::Reindex,
            },
            Stage::Front(front) => {
                // A front that cannot be read is damage like any other.
                match front.judge(&read.ok().flatten().unwrap_or_default()) {
                    FrontVerdict::Own(index) => Next::Indexed(index, false),
                    FrontVerdict::Foreign => self.damaged(StoreFault::Foreign),
                    FrontVerdict::ReadOn => self.run(),
                }
            }
            Stage::Reindex(reindex) => {
                if !reindex.feed(read) {
                    return self.run();
                }
                let view = reindex.view;
                let done = std::mem::replace(reindex, Box::new(Reindex::new(self.group, view, 0)));
                let (index, whole) = done.finish();
                Next::Indexed(Arc::new(index), whole)
            }
            Stage::Walk(_) => match read.and_then(|piece| piece.ok_or(StoreFault::Missing)) {
                Ok(piece) => self.walked(piece),
                Err(fault) => self.damaged(fault),
            },
        }
    }

    fn index_read(&mut self, bytes: Option<Buffer>, footer: Option<Buffer>) -> Next {
        let entry = &self.view.entry;
        let index = bytes.and_then(|bytes| Index::decode(&bytes).ok());
        let index = index.filter(|index| index.is_of(self.group, entry)).map(Arc::new);
        let Some(footer) = footer else { return self.damaged(StoreFault::Missing) };
        match (Ownership::by_footer(entry, &footer), index) {
            (Ownership::Own, Some(index)) => Next::Indexed(index, false),
            (Ownership::Own, None) => Next::Reindex,
            (Ownership::Foreign, _) => self.damaged(StoreFault::Foreign),
            // Damage had taken the first batch before: there is nothing to hold the file against.
            (Ownership::Unknown, Some(index)) if index.first_checksum == 0 => Next::Indexed(index, false),
            (Ownership::Unknown, Some(index)) => {
                self.stage = Stage::Front(Box::new(Front::new(index, self.batch_bytes_max)));
                self.run()
            }
            (Ownership::Unknown, None) if entry.is_closed() => Next::Reindex,
            (Ownership::Unknown, None) => self.damaged(StoreFault::Unproven),
        }
    }

    fn walked(&mut self, piece: Buffer) -> Next {
        let Stage::Walk(walk) = &mut self.stage else { return self.run() };
        match walk.feed(piece) {
            Walked::On => self.run(),
            Walked::Found(found) => Next::Ended(Fetched::Batches(found)),
            Walked::Larger { bytes } => Next::Ended(Fetched::Larger { bytes }),
            Walked::Passed { last_offset } => Next::Ended(Fetched::Passed { last_offset }),
            Walked::Nothing => Next::Ended(Fetched::Nothing),
            Walked::Damaged(refusal) => self.damaged(StoreFault::Refused(refusal)),
            Walked::Disagrees(refusal) if self.reindexed || !self.view.entry.is_sealed() => {
                self.damaged(StoreFault::Refused(refusal))
            }
            Walked::Disagrees(_) => Next::Reindex,
        }
    }

    fn damaged(&self, fault: StoreFault) -> Next {
        let path = self.home.segment(&self.view.entry);
        Next::Ended(Fetched::Damaged(StoreDamage { path, fault }))
    }
}
