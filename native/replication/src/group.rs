//! One group of a shard: its replica, its state machine, and what waits for either.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ng_io::Chunk;
use ng_storage::store::Vouched;
use ng_vsr::{Position, Replica, Status, Ticks};
use ng_wire::replica::{Op, PrepareHeader, View};

use crate::machine::Machine;

/// The bytes of an operation, shared by journal, links and state machine.
pub type Body = Arc<Chunk>;

/// Names a request to whoever asked it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) replica: Replica,
    pub(crate) machine: Machine,
    pub(crate) epoch: u32,
    /// Bodies of operations that are not executed yet, by place.
    pub(crate) bodies: BTreeMap<Op, (u128, Body)>,
    /// What the machine has executed: the replica hears of it a moment later.
    pub(crate) executed: Op,
    /// Handed out for execution, oldest first; the first ones may be executing.
    pub(crate) applying: VecDeque<PrepareHeader>,
    /// How many of them the metadata machine has.
    pub(crate) executing: usize,
    /// Who waits for which place.
    pub(crate) waiting: BTreeMap<Op, Ticket>,
    /// The block that says that what was recovered, or founded, is there for good.
    pub(crate) recovered_block: u64,
    /// The block of its last record of a view: what it promised there must never be forgotten.
    pub(crate) sworn_block: u64,
    /// The journal's blocks of what the replica appended and is not known to be synced.
    appended: VecDeque<(Position, u64)>,
    /// The number that clients know the partition by, once it is told.
    pub(crate) index: Option<u32>,
    /// Whether it was made in this life of the process and has no segments yet.
    pub(crate) fresh: bool,
    /// What the manifest says of its segments, until they are opened: then they are held against it.
    pub(crate) vouched: Option<Vouched>,
    /// When the wheel wakes this group.
    pub(crate) armed: Option<Ticks>,
    /// When to look whether the primary it follows is silent.
    pub(crate) watch: Option<Ticks>,
    /// The view, and whether it had begun, when this was looked at last.
    seen: (View, Status),
    /// The commit that the beats have told.
    pub(crate) told: Op,
    /// Whether it stands in the list of news.
    pub(crate) is_news: bool,
    /// Up to where a manifest in force has the state.
    pub(crate) checkpointed: Op,
    /// Up to where a start has the state: from that manifest, or from a state that was taken over since.
    pub(crate) kept: Op,
    /// What stands behind this op is kept for a node that fetches the state as of it.
    pub(crate) kept_behind: Option<Op>,
}

/// What became of a group's place in its view since the last look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing new.
    Same,
    /// It follows another primary, or a view began.
    Follows(u8),
    /// It neither leads nor follows now.
    Adrift,
    /// It leads a view that has begun.
    Leads,
}

impl Group {
    pub(crate) fn new(replica: Replica, machine: Machine, epoch: u32, recovered_block: u64) -> Self {
        let checkpointed = replica.commit_min();
        Self {
            replica,
            machine,
            epoch,
            bodies: BTreeMap::new(),
            executed: checkpointed,
            applying: VecDeque::new(),
            executing: 0,
            waiting: BTreeMap::new(),
            recovered_block,
            sworn_block: recovered_block,
            appended: VecDeque::new(),
            index: None,
            fresh: false,
            vouched: None,
            armed: None,
            watch: None,
            seen: (View(0), Status::Rejoining),
            told: Op::ZERO,
            is_news: false,
            checkpointed,
            kept: checkpointed,
            kept_behind: None,
        }
    }

    /// The replica's record at a position is in this block of the journal.
    pub(crate) fn appended(&mut self, position: Position, block: u64, synced: u64) {
        while self.appended.front().is_some_and(|(_, block)| *block <= synced) {
            self.appended.pop_front();
        }
        self.appended.push_back((position, block));
    }

    /// The block that must be synced for everything up to a position to be.
    pub(crate) fn block_of(&self, position: Position) -> u64 {
        if position == Position::RECOVERED {
            return self.recovered_block;
        }
        let found = self.appended.iter().find(|(other, _)| *other >= position);
        found.map_or(0, |(_, block)| *block)
    }

    /// Whether the machine is at something that was handed out, or the replica has not heard of it yet.
    pub(crate) fn is_executing(&self) -> bool {
        self.executing > 0 || self.executed != self.replica.commit_min()
    }

    /// The body at a place, if it is in memory.
    pub(crate) fn body(&self, op: Op, checksum: u128) -> Option<&Body> {
        self.bodies.get(&op).filter(|(known, _)| *known == checksum).map(|(_, body)| body)
    }

    /// What became of its place since this was asked last.
    pub(crate) fn turn(&mut self) -> Turn {
        let now = (self.replica.view(), self.replica.status());
        if now == self.seen {
            return Turn::Same;
        }
        self.seen = now;
        match self.replica.primary() {
            Some(_) if self.replica.is_primary() => Turn::Leads,
            Some(primary) => Turn::Follows(primary),
            None => Turn::Adrift,
        }
    }

    /// The moment at which something is due.
    pub(crate) fn deadline(&self) -> Option<Ticks> {
        match (self.replica.deadline(), self.watch) {
            (Some(replica), Some(watch)) => Some(replica.min(watch)),
            (one, other) => one.or(other),
        }
    }
}
