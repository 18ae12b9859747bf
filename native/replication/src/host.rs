//! The log of one shard as a value: requests, frames and completions in; operations, frames and answers out.

use std::collections::BTreeMap;
use std::sync::Arc;

use ng_io::{Completion, Environment, Instant};
use ng_partition::PartitionState;
use ng_vsr::{ClientTable, Event, Status, Timing};
use ng_wire::replica::{Op, View};

use crate::clock::{self, Clock};
use crate::durability::checkpoint::Checkpoint;
use crate::durability::journal::ShardJournal;
use crate::durability::read_back::Reads;
use crate::durability::recovery::GroupLimits;
use crate::durability::refused_prepares::RefusedPrepares;
use crate::group::{Body, Group};
use crate::machine::{Machine, MetadataMachine};
use crate::offsets::UnloggedOffsets;
use crate::outbox::{LogCounts, Outbox, Outgoing};
use crate::owner::METADATA;
use crate::plant::Planted;
use crate::poll::execute::Polls;
use crate::replicate::agenda::Agenda;
use crate::replicate::heartbeat::Heartbeat;
use crate::replicate::liveness::{Liveness, Silent};
use crate::segments::adopt::Adoptions;
use crate::segments::retention::Retention;
use crate::segments::store::ShardSegments;
use crate::transfer::receive::Transfers;

/// Who this shard is, and what its groups have in common.
#[derive(Clone, Debug)]
pub struct LogIdentity {
    /// The cluster.
    pub cluster: u128,
    /// The number of the node, which is its replica number in every group.
    pub node: u8,
    /// How many nodes there are.
    pub nodes: u8,
    /// The number of the shard.
    pub shard: u16,
    /// How many the node has.
    pub shards: u16,
    /// Which life of the node this is.
    pub incarnation: u64,
    /// Periods.
    pub timing: Timing,
}

/// Where a group of a shard stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupStatus {
    /// What its replica takes part in.
    pub status: Status,
    /// The view it is in, or votes for.
    pub view: View,
    /// What was executed here.
    pub commit_min: Op,
    /// What the group committed, as far as it knows.
    pub commit_max: Op,
    /// The last place of its log.
    pub head: Op,
}

/// What stays as it is from a start of the log to its end.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) identity: LogIdentity,
    pub(crate) limits: GroupLimits,
    /// See [`crate::LogParts::nonce`].
    pub(crate) nonce: u64,
    pub(crate) planted: Planted,
    /// What the numbers of sessions are beyond the ops of their logins: see
    /// [`ShardLog::sessions_passed_over`].
    pub(crate) sessions_passed_over: u64,
}

/// The other nodes.
#[derive(Debug)]
pub(crate) struct Peers {
    pub(crate) liveness: Liveness,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) refused: RefusedPrepares,
}

/// All groups of one shard on one journal.
#[derive(Debug)]
pub struct ShardLog<E: Environment, M> {
    pub(crate) life: Life,
    pub(crate) journal: ShardJournal<E>,
    pub(crate) groups: BTreeMap<u64, Box<Group>>,
    pub(crate) metadata: M,
    pub(crate) agenda: Agenda,
    pub(crate) peers: Peers,
    pub(crate) reads: Reads,
    pub(crate) transfers: Transfers,
    pub(crate) segments: ShardSegments<E>,
    pub(crate) polls: Polls,
    pub(crate) offsets: UnloggedOffsets,
    pub(crate) retention: Retention,
    pub(crate) adoptions: Adoptions,
    pub(crate) checkpoint: Checkpoint,
    pub(crate) outbox: Outbox,
    pub(crate) clock: Clock,
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Takes a completion; gives it back if it is not of this log.
    pub fn complete(&mut self, driver: &mut E::Driver, completion: Completion) -> Option<Completion> {
        if self.reads.is_of(&completion) {
            self.body_read(completion);
            return None;
        }
        if self.segments.owns(completion.token) {
            self.stored(driver, completion);
            return None;
        }
        if self.checkpoint.shell.owns(completion.token) {
            self.manifest_stepped(driver, completion);
            return None;
        }
        self.journal.complete(driver, completion)
    }

    /// Does everything that can be done at `now`.
    pub fn turn(&mut self, driver: &mut E::Driver) {
        self.clock.turn(driver);
        self.wake_due();
        self.watch_peers();
        self.beat_if_due();
        self.tend_offsets();
        self.tend_retention();
        self.tend_loose();
        loop {
            self.perform_journal(driver);
            self.release_held();
            self.execute();
            self.start_reads(driver);
            if self.outbox.has_failed() || (!self.agenda.has_work() && !self.journal.has_effects()) {
                break;
            }
            while let Some(work) = self.agenda.next_work() {
                self.step(work);
            }
        }
        self.perform_store(driver);
        self.tend_checkpoint(driver);
        self.perform_store(driver);
        self.perform_journal(driver);
        self.ask_for_refused_prepares();
        if self.journal.leave_mark_when_quiet(self.clock.ticks(), self.life.identity.timing.heartbeat) {
            self.perform_journal(driver);
        }
    }

    /// When the next turn is due, if nothing happens before.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let beat = (self.life.identity.nodes > 1).then_some(self.peers.heartbeat.deadline());
        let mark = self.journal.mark_deadline(self.life.identity.timing.heartbeat);
        let store = self.segments.core().next_deadline().map(|at| clock::ticks(at) + 1);
        let checkpoint = self.checkpoint.deadline(self.clock.ticks());
        let waits = self.agenda.has_work() || !self.segments.is_performed();
        let (more, offsets) = (waits.then_some(self.clock.ticks()), self.offsets.deadline());
        let retention = self.retention.deadline();
        let ticks = [self.agenda.deadline(), beat, mark, store, checkpoint, offsets, retention, more];
        let first = ticks.iter().flatten().min().map(|at| clock::instant(*at));
        first.into_iter().chain(self.journal.block_deadline()).min()
    }

    /// Tells of each execution from now on ([`Outgoing::Executed`]): a judge watches.
    pub const fn watch(&mut self) {
        self.outbox.watch();
    }

    /// What leaves, oldest first.
    pub fn outgoing(&mut self) -> impl Iterator<Item = Outgoing> + '_ {
        self.outbox.drain()
    }

    /// What was counted since the start.
    #[must_use]
    pub const fn counts(&self) -> LogCounts {
        self.outbox.counts
    }

    /// The machine of the metadata group.
    #[must_use]
    pub const fn metadata(&self) -> &M {
        &self.metadata
    }

    /// The same, to give it what it waits for.
    pub const fn metadata_mut(&mut self) -> &mut M {
        &mut self.metadata
    }

    /// By how much the number of a session is higher than the op of its login: an operator has accepted that
    /// logins are lost, and no number is given out again. Requests carry these numbers.
    #[must_use]
    pub const fn sessions_passed_over(&self) -> u64 {
        self.life.sessions_passed_over
    }

    /// Where a group stands, if it is of this shard.
    #[must_use]
    pub fn status(&self, group: u64) -> Option<GroupStatus> {
        let replica = &self.groups.get(&group)?.replica;
        Some(GroupStatus {
            status: replica.status(),
            view: replica.view(),
            commit_min: replica.commit_min(),
            commit_max: replica.commit_max(),
            head: replica.head(),
        })
    }

    /// The client table of the metadata group, if that is of this shard.
    #[must_use]
    pub fn clients(&self) -> Option<&ClientTable> {
        self.groups.get(&METADATA)?.replica.clients()
    }

    /// What was made of the operations of a partition group, if it is of this shard.
    #[must_use]
    pub fn partition(&self, group: u64) -> Option<&PartitionState> {
        match &self.groups.get(&group)?.machine {
            Machine::Partition(partition, _) => Some(partition.state()),
            Machine::Metadata => None,
        }
    }

    fn wake_due(&mut self) {
        let now = self.clock.ticks();
        while let Some((at, id)) = self.agenda.next_due(now) {
            let Some(group) = self.groups.get_mut(&id) else { continue };
            let Some(watched) = group.wake_up.wake(at, now) else { continue };
            let primary = group.replica.awaited_primary();
            let silent = watched && primary.is_some_and(|primary| self.peers.liveness.is_silent(primary, id));
            self.agenda.event(id, if silent { Event::PrimarySilent } else { Event::Tick });
        }
    }

    /// Gives every group that is led from a part of another node that fell silent its suspicion.
    fn watch_peers(&mut self) {
        for part in self.peers.liveness.fallen_silent(self.life.identity.node, self.clock.ticks()) {
            self.suspect(part);
        }
    }

    pub(crate) fn suspect(&mut self, part: Silent) {
        for (id, group) in &self.groups {
            if group.replica.awaited_primary() == Some(part.node) && part.leads(*id) {
                self.agenda.event(*id, Event::PrimarySilent);
            }
        }
    }

    pub(crate) fn share(bytes: Vec<u8>) -> Body {
        Arc::new(bytes.into())
    }
}
