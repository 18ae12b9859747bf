//! What the store knows of one group.

use std::collections::VecDeque;
use std::path::PathBuf;

use ng_io::Instant;

use super::cut::{Cut, CutSegments};
use super::flush::Trash;
use super::group_reads::GroupReads;
use super::opening::Opening;
use super::pending::Pending;
use super::plan::{Plan, PlanFault, Step};
use super::plant::Planted;
use super::swap::{Staging, SwapOrder, Swapping};
use super::tail::Tail;
use super::verification::{Closing, Verification};
use super::{CommittedBatch, GroupFigures, Held, StoreDamage, StoreLimits, Vouched};
use crate::home::GroupHome;
use crate::segments_file::{Fence, SegmentEntry, SegmentsFile};

/// One group: what is on the disk, and what is on its way there.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) id: u64,
    pub(super) home: GroupHome,
    pub(super) phase: Phase,
    pub(super) vouched: Option<Vouched>,
    /// Whether the directory is there, and its name synced.
    pub(super) present: bool,
    /// SEGMENTS as it is on the disk; of sequence 0 when there is none.
    pub(super) listed: SegmentsFile,
    /// The purge generation once all orders are done.
    pub(super) generation: u64,
    pub(super) tail: Option<Tail>,
    pub(super) pending: Pending,
    pub(super) orders: VecDeque<Order>,
    /// The op of a purge that was found to be done already, until somebody is told: who waits for it cannot know.
    pub(super) purged_before: Option<u64>,
    pub(super) running: Option<Running>,
    pub(super) schedule: Schedule,
    pub(super) reads: GroupReads,
    /// Cuts that have not begun.
    pub(super) cuts: VecDeque<Cut>,
    /// Files that are to become segments, and are not linked yet.
    pub(super) staging: Option<Box<Staging>>,
    /// How often segments took the place of others since it was opened.
    pub(super) swaps: u64,
    /// Why it is damaged.
    pub(super) damage: Option<StoreDamage>,
    /// Bytes and messages of the sealed segments of the list, but for those that are about to go.
    pub(super) sealed: (u64, u64),
    /// Segments before this offset go, or have gone; of the present generation.
    pub(super) truncated_to: u64,
    /// Whether the unsealed segment is to be sealed as it is.
    pub(super) rolls: bool,
    pub(super) batch_bytes_max: u64,
    pub(super) planted: Planted,
    pub(super) doubt: Doubt,
    /// The fences that [`super::Effect::Fenced`] reported last.
    pub(super) reported_fences: Vec<Fence>,
}

/// When a group gets a lane, and why not sooner.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// Whether it waits for a lane.
    pub(super) is_queued: bool,
    /// When to look at it again.
    pub(super) due: Option<Instant>,
    /// The space or descriptors that its last plan found missing. The plan is tried again when it is due.
    pub(super) lack: Option<PlanFault>,
    /// The first step of the next plan: it frees the reserve for a removal that found no space.
    pub(super) relief: Option<Step>,
    /// How often a read failed while the group was being opened.
    pub(super) failed_reads: u8,
}

/// What is known to be damaged in a group, or has yet to be verified.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// The segment that is being verified, between two pieces.
    pub(super) verification: Option<Box<Verification>>,
    /// Whether the next piece may be verified although nothing waits for it.
    pub(super) verify_now: bool,
    /// Whether a poll met damage in the segment that is being verified.
    pub(super) distrusted: bool,
    /// Whether the last plan verified a piece: then pending batches are written first.
    pub(super) verified_last: bool,
    /// Damage that the next list of segments names.
    pub(super) closing: Option<Box<Closing>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nobody has looked at the directory yet.
    Closed,
    Open,
    Damaged,
}

/// Something to be done before what is pending is written.
#[derive(Debug)]
pub(super) enum Order {
    /// Batches from `since` on, which were dropped with it, are not safe before it is. Offsets below `next_offset` were given
    /// to messages that are gone.
    Purge {
        generation: u64,
        next_offset: u64,
        op: u64,
        since: u64,
    },
    TruncatePrefix {
        generation: u64,
        offset: u64,
    },
    /// Other segments take the place of some, as an operation of the log says.
    Swap {
        order: Box<SwapOrder>,
        op: u64,
    },
    /// What is loose goes.
    Sweep,
    Remove,
    Read {
        entry: SegmentEntry,
        offset: u64,
        length: usize,
    },
    WriteState {
        op: u64,
        bytes: Vec<u8>,
    },
    DropState {
        op: u64,
    },
    /// The index was made anew.
    WriteIndex {
        entry: SegmentEntry,
        bytes: Vec<u8>,
    },
}

impl Order {
    /// Whether files go that somebody may be reading.
    pub(super) const fn removes(&self) -> bool {
        matches!(self, Self::Purge { .. } | Self::TruncatePrefix { .. } | Self::Sweep | Self::Remove)
    }
}

/// The plan under way.
#[derive(Debug)]
pub(super) enum Running {
    Opening(Opening),
    /// Writes so many of the pending batches.
    Appending {
        count: usize,
        listed: Option<SegmentsFile>,
        /// What may be written of the segment if this fails.
        end: u64,
    },
    Sealing {
        listed: SegmentsFile,
        end: u64,
    },
    Purging {
        listed: SegmentsFile,
        op: u64,
        since: u64,
    },
    Truncating {
        listed: SegmentsFile,
        offset: u64,
    },
    Removing,
    Reading {
        entry: SegmentEntry,
        offset: u64,
    },
    WritingState {
        op: u64,
    },
    DroppingState {
        op: u64,
    },
    WritingIndex,
    Cutting {
        asker: u64,
        contents: CutSegments,
    },
    Staging {
        listed: SegmentsFile,
    },
    Swapping(Swapping),
    Sweeping {
        listed: SegmentsFile,
    },
    Verifying(Box<Verification>),
    Closing {
        closing: Box<Closing>,
        listed: SegmentsFile,
    },
}

impl Running {
    /// Whether files go that somebody may be reading.
    pub(super) const fn removes(&self) -> bool {
        matches!(
            self,
            Self::Purging { .. } | Self::Truncating { .. } | Self::Sweeping { .. } | Self::Removing
        )
    }
}

impl Group {
    pub(super) fn new(id: u64, node: u128, home: GroupHome, batch_bytes_max: u64, planted: Planted) -> Self {
        let listed = SegmentsFile {
            node,
            group: id,
            purge_generation: 0,
            sequence: 0,
            first_op: 0,
            next_offset: 0,
            segments: Vec::new(),
            loose: Vec::new(),
            fences: Vec::new(),
        };
        Self {
            id,
            home,
            phase: Phase::Closed,
            vouched: None,
            present: false,
            listed,
            generation: 0,
            tail: None,
            pending: Pending::default(),
            orders: VecDeque::new(),
            purged_before: None,
            running: None,
            schedule: Schedule::default(),
            reads: GroupReads::default(),
            cuts: VecDeque::new(),
            staging: None,
            swaps: 0,
            damage: None,
            sealed: (0, 0),
            truncated_to: 0,
            rolls: false,
            batch_bytes_max,
            planted,
            doubt: Doubt::default(),
            reported_fences: Vec::new(),
        }
    }

    pub(super) fn held(&self) -> Held {
        Held {
            first_offset: self.staying().first().map(|entry| entry.base_offset),
            last_offset: self.last_offset(),
            generation: self.generation,
            bytes: self.sealed.0 + self.tail.as_ref().map_or(0, |tail| tail.bytes),
            segments: self.staying().len(),
        }
    }

    /// Takes over a list of segments as that which is on the disk.
    pub(super) fn set_list(&mut self, listed: SegmentsFile) {
        self.listed = listed;
        self.count_sealed();
    }

    /// Segments before an offset are about to go, and count no more.
    pub(super) fn truncate_to(&mut self, offset: u64) {
        self.truncated_to = self.truncated_to.max(offset);
        self.count_sealed();
    }

    fn count_sealed(&mut self) {
        let sums = |(bytes, messages): (u64, u64), entry: &SegmentEntry| {
            (bytes + entry.bytes, messages + u64::from(entry.messages))
        };
        self.sealed = self.staying().iter().fold((0, 0), sums);
    }

    /// The segments of the list, but for those that are about to go.
    pub(super) fn staying(&self) -> &[SegmentEntry] {
        &self.listed.segments[self.before(self.truncated_to).len()..]
    }

    /// What it holds of the present generation.
    pub(super) fn figures(&self) -> GroupFigures {
        let mut figures = GroupFigures { segments: 1, bytes: 0, messages: 0 };
        if self.is_purging() {
            for batch in self.in_memory() {
                figures.bytes += batch.bytes.len() as u64;
                figures.messages += u64::from(batch.messages);
            }
            return figures;
        }
        let tail = self.tail.as_ref().map_or((0, 0), |tail| (tail.bytes, tail.messages));
        figures.segments = self.staying().len().max(1);
        figures.bytes = self.sealed.0 + tail.0 + self.pending.bytes() as u64;
        figures.messages = self.sealed.1 + tail.1 + self.pending.messages();
        figures
    }

    /// The last offset that was in the segments; those may have gone.
    pub(super) fn last_offset(&self) -> Option<u64> {
        let sealed = || self.listed.segments.last().filter(|entry| entry.is_sealed());
        let tail = self.tail.as_ref().map(|tail| tail.last_offset);
        tail.or_else(|| sealed().map(|entry| entry.last_offset))
            .or_else(|| self.listed.next_offset.checked_sub(1))
    }

    /// Whether a batch is here already, or was purged: a restart applies ops again that it had applied before, and what came
    /// from another replica is applied, too, where its ops come one by one.
    pub(super) fn is_known(&self, batch: &CommittedBatch) -> bool {
        let purging = self.listed.purge_generation < self.generation;
        let there = self.last_offset().is_some_and(|last| batch.base_offset <= last);
        let before = self.pending.back().filter(|before| before.generation == batch.generation);
        let waits = before.is_some_and(|before| batch.base_offset <= before.last_offset);
        batch.generation < self.generation || waits || (!purging && there)
    }

    /// Drops the pending batches that the directory turned out to hold.
    pub(super) fn drop_known(&mut self) {
        for batch in self.pending.take_all() {
            self.take(batch);
        }
    }

    /// Takes a batch, unless it is known.
    pub(super) fn take(&mut self, batch: CommittedBatch) {
        if self.phase == Phase::Damaged {
            return;
        }
        if self.phase == Phase::Open && self.is_known(&batch) {
            if let Some(tail) = self.tail.as_mut().filter(|_| batch.generation == self.generation) {
                tail.last_op = tail.last_op.max(batch.op);
            }
            return;
        }
        self.pending.push(batch);
    }

    /// Drops what is pending, but for what is just being written.
    pub(super) fn drop_pending(&mut self) {
        let written = match &self.running {
            Some(Running::Appending { count, .. }) => *count,
            _ => 0,
        };
        self.pending.truncate(written);
    }

    /// The lowest op that is not safe in the segments yet.
    pub(super) fn first_unsynced(&self) -> Option<u64> {
        if self.phase == Phase::Damaged {
            return Some(0);
        }
        let ordered = self.orders.iter().filter_map(|order| match order {
            Order::Purge { since, .. } => Some(*since),
            Order::Swap { op, .. } => Some(*op),
            _ => None,
        });
        let running = match &self.running {
            Some(Running::Purging { since, .. }) => Some(*since),
            Some(Running::Swapping(swapping)) => Some(swapping.op),
            _ => None,
        };
        ordered.chain(running).chain(self.pending.front().map(|batch| batch.op)).min()
    }

    /// Whether an order needs nothing of what the directory holds.
    fn is_blind(order: &Order) -> bool {
        matches!(order, Order::Remove)
    }

    /// The next thing to do, if there is anything to do now.
    pub(super) fn next(
        &mut self,
        limits: &StoreLimits,
        trash: impl FnOnce() -> Trash,
    ) -> Option<(Running, Plan)> {
        let readers_first = self.reads.are_under_way() && self.orders.front().is_some_and(Order::removes);
        if self.running.is_some() || self.schedule.lack.is_some() || readers_first {
            return None;
        }
        if self.phase == Phase::Damaged {
            self.orders.retain(Self::is_blind);
        }
        if self.phase != Phase::Open && !self.orders.front().is_some_and(Self::is_blind) {
            return (self.phase == Phase::Closed).then(|| self.begin_opening());
        }
        self.next_plan(limits, trash)
    }

    /// Takes back what a plan that could not be carried out was for, to be tried again. False if that is gone.
    pub(super) fn take_back(&mut self, running: Running) -> bool {
        let order = match running {
            Running::Purging { listed, op, since } => {
                let (generation, next_offset) = (listed.purge_generation, listed.next_offset);
                Order::Purge { generation, next_offset, op, since }
            }
            Running::Truncating { listed, offset } => {
                Order::TruncatePrefix { generation: listed.purge_generation, offset }
            }
            Running::Swapping(Swapping { order, op, .. }) => Order::Swap { order, op },
            Running::Sweeping { .. } => Order::Sweep,
            Running::Removing => Order::Remove,
            Running::DroppingState { op } => Order::DropState { op },
            Running::Appending { end, .. } => {
                self.note_stale(end);
                // It was being written when it was purged: nothing of it may precede what came after the purge.
                self.pending.drop_before(self.generation);
                return true;
            }
            Running::Sealing { end, .. } => {
                self.note_stale(end);
                self.rolls = true;
                return true;
            }
            // An index that is not written is made again when it is needed.
            Running::Opening(_) | Running::WritingIndex => return true,
            Running::Closing { closing, .. } => {
                self.doubt.closing = Some(closing);
                return true;
            }
            Running::Verifying(verification) => {
                self.doubt.verification = Some(verification);
                return true;
            }
            Running::Reading { .. }
            | Running::WritingState { .. }
            | Running::Cutting { .. }
            | Running::Staging { .. } => return false,
        };
        self.orders.push_front(order);
        true
    }

    /// Whether a write failed because the file that it appends to is not there any more.
    pub(super) fn is_gone(&self, fault: &PlanFault) -> bool {
        fault.error.is_absent() && (self.present || self.tail.is_some())
    }

    /// Up to there the unsealed segment may hold something of a write that failed.
    fn note_stale(&mut self, end: u64) {
        if let Some(tail) = &mut self.tail {
            tail.stale_to = tail.stale_to.max(end);
        }
    }

    /// The steps that make the directory, if it is not there.
    pub(super) fn make_directory(&self, plan: &mut Plan) {
        if !self.present {
            let parent = self.home.parent().to_owned();
            let above: PathBuf = parent.parent().map(PathBuf::from).unwrap_or_default();
            plan.push(Step::MakeDirectory(parent.clone()));
            plan.push(Step::SyncDirectory(above));
            plan.push(Step::MakeDirectory(self.home.directory()));
            plan.push(Step::SyncDirectory(parent));
        }
    }

    /// Whether nothing is under way or waits.
    pub(super) fn is_settled(&self) -> bool {
        self.running.is_none()
            && self.orders.is_empty()
            && self.pending.is_empty()
            && self.cuts.is_empty()
            && self.staging.is_none()
            && self.doubt.closing.is_none()
            && self.reads.are_idle()
    }
}
