//! One group of a shard: its replica, its state machine, and what waits for either.

use std::collections::BTreeMap;
use std::sync::Arc;

use ng_io::Chunk;
use ng_storage::store::Vouched;
use ng_vsr::{Replica, Status};
use ng_wire::replica::{Commit, Op, View};

use crate::durability::group_records::GroupRecords;
use crate::machine::Machine;
use crate::replicate::execution::Execution;
use crate::replicate::wake_up::WakeUp;

/// The bytes of an operation, shared by journal, links and state machine.
pub type Body = Arc<Chunk>;

/// Names a request to whoever asked it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// What a shard has of one group.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) replica: Replica,
    pub(crate) machine: Machine,
    pub(crate) epoch: u32,
    pub(crate) execution: Execution,
    pub(crate) records: GroupRecords,
    pub(crate) wake_up: WakeUp,
    /// Who waits for which place.
    waiting: BTreeMap<Op, Ticket>,
    /// The number that clients know the partition by, once it is told.
    pub(crate) index: Option<u32>,
    pub(crate) files: GroupFiles,
    /// The view, and whether it had begun, when this was looked at last.
    seen: (View, Status),
    /// The commit that the beats have told.
    told: Op,
    /// Whether the next beat tells of it first.
    is_news: bool,
}

/// The segments of a group, as long as they are not opened.
#[derive(Debug, Default)]
pub(crate) enum GroupFiles {
    /// They are open, or there is nothing to say of them.
    #[default]
    Opened,
    /// It was made in this life of the process and has none yet.
    Fresh,
    /// What the manifest says of them: they are held against it when they are opened.
    Vouched(Vouched),
}

impl GroupFiles {
    /// What the manifest says of segments that are not opened.
    pub(crate) const fn vouched(&self) -> Option<&Vouched> {
        match self {
            Self::Vouched(vouched) => Some(vouched),
            Self::Opened | Self::Fresh => None,
        }
    }
}

/// What became of a group's place in its view since the last look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoleChange {
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
            execution: Execution::behind(checkpointed),
            records: GroupRecords::new(recovered_block, checkpointed),
            wake_up: WakeUp::default(),
            waiting: BTreeMap::new(),
            index: None,
            files: GroupFiles::default(),
            seen: (View(0), Status::Rejoining),
            told: Op::ZERO,
            is_news: false,
        }
    }

    /// Somebody waits for the answer to the operation at a place.
    pub(crate) fn wait(&mut self, op: Op, ticket: Ticket) {
        self.waiting.insert(op, ticket);
    }

    /// Who waits for a place; they wait no longer.
    pub(crate) fn take_waiting(&mut self, op: Op) -> Option<Ticket> {
        self.waiting.remove(&op)
    }

    /// Everybody who waits, in the order of the places; they wait no longer.
    pub(crate) fn take_all_waiting(&mut self) -> impl Iterator<Item = Ticket> + use<> {
        std::mem::take(&mut self.waiting).into_values()
    }

    /// Whether it leads, and has committed what the other nodes were not told. Says so once.
    pub(crate) fn becomes_news(&mut self) -> bool {
        let becomes = self.replica.is_primary() && self.replica.commit_max() > self.told && !self.is_news;
        self.is_news |= becomes;
        becomes
    }

    /// It left the list of news.
    pub(crate) const fn leave_news(&mut self) {
        self.is_news = false;
    }

    /// What a beat tells of it, if it leads.
    pub(crate) fn beat(&mut self) -> Option<Commit> {
        let commit = self.replica.beat()?;
        self.told = commit.commit_max;
        Some(commit)
    }

    /// Whether the machine is at something that was handed out, or the replica has not heard of it yet.
    pub(crate) fn is_executing(&self) -> bool {
        self.execution.is_in_machine() || self.execution.executed() != self.replica.commit_min()
    }

    /// What became of its place since this was asked last.
    pub(crate) fn role_change(&mut self) -> RoleChange {
        let now = (self.replica.view(), self.replica.status());
        if now == self.seen {
            return RoleChange::Same;
        }
        self.seen = now;
        match self.replica.primary() {
            Some(_) if self.replica.is_primary() => RoleChange::Leads,
            Some(primary) => RoleChange::Follows(primary),
            None => RoleChange::Adrift,
        }
    }
}
