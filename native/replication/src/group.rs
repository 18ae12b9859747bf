//! One group of a shard: its replica, its state machine, and the requests that wait for either.

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

/// Identifies a request to the caller, so that the answer finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// State of one group on a shard.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) replica: Replica,
    pub(crate) machine: Machine,
    pub(crate) epoch: u32,
    pub(crate) execution: Execution,
    pub(crate) records: GroupRecords,
    pub(crate) wake_up: WakeUp,
    /// Tickets of requests, by the op that they wait for.
    waiting: BTreeMap<Op, Ticket>,
    /// Index of the partition in its topic, which clients use; unknown until the rows arrive.
    pub(crate) index: Option<u32>,
    pub(crate) files: GroupFiles,
    /// View and phase at the last call of [`Group::role_change`].
    seen: (View, Status),
    /// Commit op in the last heartbeat that this primary sent.
    told: Op,
    /// The group is in the list of news, which the next heartbeat sends first.
    is_news: bool,
}

/// State of a group's segments before they are opened.
#[derive(Debug, Default)]
pub(crate) enum GroupFiles {
    /// The segments are open, or the manifest has no contents for them.
    #[default]
    Opened,
    /// The group was made in this run of the process and has no segments yet.
    Fresh,
    /// Contents that the manifest expects. The store compares them with the files when it opens them.
    Vouched(Vouched),
}

impl GroupFiles {
    /// Contents that the manifest expects of unopened segments.
    pub(crate) const fn vouched(&self) -> Option<&Vouched> {
        match self {
            Self::Vouched(vouched) => Some(vouched),
            Self::Opened | Self::Fresh => None,
        }
    }
}

/// Change of a group's role in its view since the last look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoleChange {
    /// No change.
    Same,
    /// The replica follows another primary, or the view has begun.
    Follows(u8),
    /// The replica neither leads nor follows.
    Adrift,
    /// The replica leads a view that has begun.
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

    /// Registers a request that waits for the execution of an op.
    pub(crate) fn wait(&mut self, op: Op, ticket: Ticket) {
        self.waiting.insert(op, ticket);
    }

    /// Removes and returns the ticket that waits for an op.
    pub(crate) fn take_waiting(&mut self, op: Op) -> Option<Ticket> {
        self.waiting.remove(&op)
    }

    /// Removes and returns all tickets, in the order of their ops.
    pub(crate) fn take_all_waiting(&mut self) -> impl Iterator<Item = Ticket> + use<> {
        std::mem::take(&mut self.waiting).into_values()
    }

    /// Returns true once if this replica leads and has committed ops that no heartbeat has sent yet.
    pub(crate) fn becomes_news(&mut self) -> bool {
        let becomes = self.replica.is_primary() && self.replica.commit_max() > self.told && !self.is_news;
        self.is_news |= becomes;
        becomes
    }

    /// Marks the group as removed from the list of news.
    pub(crate) const fn leave_news(&mut self) {
        self.is_news = false;
    }

    /// The commit for the next heartbeat, if this replica leads.
    pub(crate) fn beat(&mut self) -> Option<Commit> {
        let commit = self.replica.beat()?;
        self.told = commit.commit_max;
        Some(commit)
    }

    /// The machine executes an operation, or the replica has not received the result yet.
    pub(crate) fn is_executing(&self) -> bool {
        self.execution.is_in_machine() || self.execution.executed() != self.replica.commit_min()
    }

    /// Returns the change of role since the last call.
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
