//! The log of one shard as a value: requests, frames and completions go in; operations, frames and answers
//! leave.

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

/// Identity of this shard, and the periods of its groups.
#[derive(Clone, Debug)]
pub struct LogIdentity {
    /// Cluster id.
    pub cluster: u128,
    /// Number of the node; it is also its replica number in every group.
    pub node: u8,
    /// Number of nodes.
    pub nodes: u8,
    /// Number of this shard.
    pub shard: u16,
    /// Number of shards of the node.
    pub shards: u16,
    /// Number of this run of the node; each start counts up.
    pub incarnation: u64,
    /// Protocol periods in milliseconds.
    pub timing: Timing,
}

/// Progress of one group on this shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupStatus {
    /// Phase of the replica.
    pub status: Status,
    /// Current view, or the view that it votes for.
    pub view: View,
    /// Last op executed here.
    pub commit_min: Op,
    /// Last op committed by the group, as far as this replica knows.
    pub commit_max: Op,
    /// Last op of the log.
    pub head: Op,
}

/// Values that stay constant from the start of a log to its stop.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) identity: LogIdentity,
    pub(crate) limits: GroupLimits,
    /// See [`crate::LogParts::nonce`].
    pub(crate) nonce: u64,
    pub(crate) planted: Planted,
    /// Difference between a session's number and the op of its login: see [`ShardLog::sessions_passed_over`].
    pub(crate) sessions_passed_over: u64,
}

/// Protocol state that concerns the other nodes.
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
    /// Takes a completion; returns it if it belongs to another component.
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

    /// Does all work that is possible now. It never waits.
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

    /// Time of the next turn, unless a completion, request or frame arrives earlier.
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

    /// Reports each execution from now on ([`Outgoing::Executed`]), because a checker wants to compare them.
    pub const fn watch(&mut self) {
        self.outbox.watch();
    }

    /// Frames and answers that leave, oldest first.
    pub fn outgoing(&mut self) -> impl Iterator<Item = Outgoing> + '_ {
        self.outbox.drain()
    }

    /// Counters since the start.
    #[must_use]
    pub const fn counts(&self) -> LogCounts {
        self.outbox.counts
    }

    /// The machine of the metadata group.
    #[must_use]
    pub const fn metadata(&self) -> &M {
        &self.metadata
    }

    /// The machine of the metadata group, to pass in decisions that it waits for.
    pub const fn metadata_mut(&mut self) -> &mut M {
        &mut self.metadata
    }

    /// Difference between the number of a session and the op of its login. It is above zero after an operator
    /// accepted the loss of logins, because a number must never be given to two sessions and requests carry
    /// it.
    #[must_use]
    pub const fn sessions_passed_over(&self) -> u64 {
        self.life.sessions_passed_over
    }

    /// Progress of a group, if this shard has it.
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

    /// The client table of the metadata group, if this shard has it.
    #[must_use]
    pub fn clients(&self) -> Option<&ClientTable> {
        self.groups.get(&METADATA)?.replica.clients()
    }

    /// The state of a partition group, if this shard has it.
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

    /// Suspects the primaries of the shard parts that fell silent.
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
