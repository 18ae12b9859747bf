//! The log of one shard as a value: requests, frames and completions in; operations, frames and answers out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use ng_io::{Completion, Driver, Environment, Instant, WallMicros};
use ng_partition::PartitionState;
use ng_storage::journal::shell::JournalShell;
use ng_storage::journal::{self, PrepareJournal};
use ng_vsr::{ClientTable, Effects, Event, Status, Ticks, Timing};
use ng_wire::replica::{Message, Op, View};

use crate::durability::after_sync::Held;
use crate::durability::checkpoint::Checkpoint;
use crate::durability::group_commit::Gathering;
use crate::durability::read_back::Reads;
use crate::durability::recovery::GroupLimits;
use crate::durability::refused_prepares::TurnedAway;
use crate::figures::Changed;
use crate::group::{Body, Group, Ticket};
use crate::machine::{Machine, MetadataMachine};
use crate::offsets::Committing;
use crate::outbox::{Fatal, Outgoing};
use crate::owner::METADATA;
use crate::plant::Planted;
use crate::poll::execute::Polls;
use crate::replicate::liveness::{Pairs, Silent};
use crate::replicate::timer_wheel::Wheel;
use crate::segments::adopt::Adoptions;
use crate::segments::retention::Retention;
use crate::segments::write_behind::Storing;
use crate::transfer::receive::Transfers;
use crate::transfer::send::Exports;

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

/// What is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogCounts {
    /// Frames of other nodes that were not taken, and messages that replicas had no use for.
    pub dropped: u64,
    /// Prepares of other nodes for which the journal had no room.
    pub dropped_full: u64,
    /// Messages to other nodes whose bodies found no room among the reads.
    pub dropped_reads: u64,
    /// Requests that were told to come again.
    pub busy: u64,
    /// Bodies read back from the journal.
    pub read: u64,
    /// Times that the segments of a group had to wait for space or descriptors.
    pub put_off: u64,
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

/// Something that waits for the journal.
#[derive(Debug)]
pub(crate) enum Waits {
    /// A message for another replica, or for the own one.
    Message { group: u64, to: u8, message: Box<Message>, body: Option<Body> },
    /// The files of a group that has ended.
    Removal { group: u64 },
}

/// Something to be done with a group in this turn.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) group: u64,
    pub(crate) event: Event,
    pub(crate) body: Option<Body>,
    pub(crate) ticket: Option<Ticket>,
}

/// All groups of one shard on one journal.
#[derive(Debug)]
pub struct ShardLog<E: Environment, M> {
    pub(crate) identity: LogIdentity,
    pub(crate) limits: GroupLimits,
    pub(crate) journal: PrepareJournal,
    pub(crate) shell: JournalShell<E>,
    /// Lists the directory of a group with damage.
    pub(crate) environment: E,
    pub(crate) journal_effects: Vec<journal::Effect>,
    pub(crate) gathering: Gathering,
    pub(crate) first_block: u64,
    pub(crate) quiet_since: Ticks,
    pub(crate) groups: BTreeMap<u64, Box<Group>>,
    pub(crate) metadata: M,
    pub(crate) wheel: Wheel,
    pub(crate) pairs: Pairs,
    pub(crate) held: Held<Waits>,
    /// Messages to other nodes that wait until a promise cannot be forgotten, each with the block that it waits for then.
    pub(crate) promised: Held<(u64, Waits)>,
    pub(crate) reads: Reads,
    pub(crate) turned_away: TurnedAway,
    pub(crate) work: VecDeque<Work>,
    /// Groups whose execution may go on.
    pub(crate) executable: BTreeSet<u64>,
    pub(crate) transfers: Transfers,
    pub(crate) exports: Exports,
    pub(crate) storing: Storing,
    pub(crate) polls: Polls,
    pub(crate) committing: Committing,
    pub(crate) retention: Retention,
    pub(crate) adoptions: Adoptions,
    /// Groups of which the figures changed.
    pub(crate) changed: Changed,
    pub(crate) checkpoint: Checkpoint,
    pub(crate) news: VecDeque<u64>,
    /// The group after which the next beat goes on.
    pub(crate) beat_cursor: u64,
    pub(crate) next_beat: Ticks,
    pub(crate) effects: Effects,
    pub(crate) outgoing: VecDeque<Outgoing>,
    pub(crate) counts: LogCounts,
    pub(crate) now: Ticks,
    pub(crate) instant: Instant,
    pub(crate) wall: WallMicros,
    pub(crate) failed: bool,
    /// Whether each execution is told.
    pub(crate) watched: bool,
    pub(crate) planted: Planted,
    /// Of this life of the node; see [`crate::LogParts::nonce`].
    pub(crate) nonce: u64,
    /// What the numbers of sessions are beyond the ops of their logins: see [`ShardLog::sessions_passed_over`].
    pub(crate) sessions_passed_over: u64,
    /// Groups that have ended and whose files are not gone yet.
    pub(crate) ending: BTreeSet<u64>,
    /// Kept empty between turns, for their capacity.
    pub(crate) due: Vec<(Ticks, u64)>,
    pub(crate) silent: Vec<Silent>,
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Takes a completion; gives it back if it is not of this log.
    pub fn complete(&mut self, driver: &mut E::Driver, completion: Completion) -> Option<Completion> {
        if self.reads.is_of(&completion) {
            self.body_read(completion);
            return None;
        }
        if self.storing.shell.owns(completion.token) {
            self.stored(driver, completion);
            return None;
        }
        if self.checkpoint.shell.owns(completion.token) {
            self.manifest_stepped(driver, completion);
            return None;
        }
        if !self.shell.owns(&completion) {
            return Some(completion);
        }
        if let Some(event) = self.shell.event(driver, completion) {
            self.journal.step(event, &mut self.journal_effects);
        }
        None
    }

    /// Does everything that can be done at `now`.
    pub fn turn(&mut self, driver: &mut E::Driver) {
        self.instant = driver.now();
        self.now = ticks(self.instant).max(self.now);
        self.wall = driver.wall();
        self.wake_due();
        self.watch_pairs();
        self.beat_if_due();
        self.tend_offsets();
        self.tend_retention();
        self.tend_loose();
        loop {
            self.perform_journal(driver);
            self.release_held();
            self.execute();
            self.start_reads(driver);
            if self.failed || (self.work.is_empty() && self.journal_effects.is_empty()) {
                break;
            }
            while let Some(work) = self.work.pop_front() {
                self.step(work);
            }
        }
        self.perform_store(driver);
        self.tend_checkpoint(driver);
        self.perform_store(driver);
        self.perform_journal(driver);
        self.ask_for_turned_away();
        self.leave_mark_when_quiet(driver);
    }

    /// When the next turn is due, if nothing happens before.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let beat = (self.identity.nodes > 1).then_some(self.next_beat);
        let mark =
            (self.quiet_since != Ticks::MAX).then(|| self.quiet_since + self.identity.timing.heartbeat);
        let store = self.storing.store.next_deadline().map(|at| ticks(at) + 1);
        let checkpoint = self.checkpoint.deadline(self.now);
        let waits = !self.work.is_empty() || !self.storing.effects.is_empty();
        let (more, offsets) = (waits.then_some(self.now), self.committing.deadline());
        let retention = self.retention.deadline();
        let ticks = [self.wheel.next(), beat, mark, store, checkpoint, offsets, retention, more];
        let first = ticks.iter().flatten().min().map(|at| Instant::from_nanos(at.saturating_mul(MILLI)));
        first.into_iter().chain(self.gathering.deadline()).min()
    }

    /// Tells of each execution from now on ([`Outgoing::Executed`]): a judge watches.
    pub const fn watch(&mut self) {
        self.watched = true;
    }

    /// What leaves, oldest first.
    pub fn outgoing(&mut self) -> impl Iterator<Item = Outgoing> + '_ {
        self.outgoing.drain(..)
    }

    /// What was counted since the start.
    #[must_use]
    pub const fn counts(&self) -> LogCounts {
        self.counts
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

    /// By how much the number of a session is higher than the op of its login: an operator has accepted that logins are lost,
    /// and no number is given out again. Requests carry these numbers.
    #[must_use]
    pub const fn sessions_passed_over(&self) -> u64 {
        self.sessions_passed_over
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

    pub(crate) fn fail(&mut self, why: Fatal) {
        if !self.failed {
            self.failed = true;
            self.outgoing.push_back(Outgoing::Fatal(Box::new(why)));
        }
    }

    fn wake_due(&mut self) {
        let mut due = std::mem::take(&mut self.due);
        self.wheel.due(self.now, &mut due);
        for (at, id) in due.drain(..) {
            let Some(group) = self.groups.get_mut(&id).filter(|group| group.armed == Some(at)) else {
                continue;
            };
            group.armed = None;
            let watched = group.watch.filter(|watch| *watch <= self.now).is_some();
            if watched {
                group.watch = None;
            }
            let primary = group.replica.awaited_primary();
            let silent = watched && primary.is_some_and(|primary| self.pairs.is_silent(primary, id));
            let event = if silent { Event::PrimarySilent } else { Event::Tick };
            self.work.push_back(Work { group: id, event, body: None, ticket: None });
        }
        self.due = due;
    }

    /// Gives every group that is led from a part of another node that fell silent its suspicion.
    fn watch_pairs(&mut self) {
        let mut silent = std::mem::take(&mut self.silent);
        self.pairs.fallen_silent(self.identity.node, self.now, &mut silent);
        for part in silent.drain(..) {
            self.suspect(part);
        }
        self.silent = silent;
    }

    pub(crate) fn suspect(&mut self, part: Silent) {
        let led = self
            .groups
            .iter()
            .filter(|(id, group)| group.replica.awaited_primary() == Some(part.node) && part.leads(**id));
        let work = |id: u64| Work { group: id, event: Event::PrimarySilent, body: None, ticket: None };
        self.work.extend(led.map(|(id, _)| work(*id)));
    }

    /// An idle journal says once that it is: then a crash leaves nothing unproven.
    fn leave_mark_when_quiet(&mut self, driver: &mut E::Driver) {
        if !self.journal.wants_mark() {
            self.quiet_since = Ticks::MAX;
        } else if self.quiet_since == Ticks::MAX {
            self.quiet_since = self.now;
        } else if self.now >= self.quiet_since + self.identity.timing.heartbeat {
            self.quiet_since = Ticks::MAX;
            self.journal.step(journal::Event::Idle, &mut self.journal_effects);
            self.perform_journal(driver);
        }
    }

    pub(crate) fn share(bytes: Vec<u8>) -> Body {
        Arc::new(bytes.into())
    }
}

/// Nanoseconds of a tick.
const MILLI: u64 = 1_000_000;

/// Milliseconds of a clock.
pub(crate) fn ticks(instant: Instant) -> Ticks {
    instant.as_nanos() / MILLI
}
