//! The log of one shard as a value: requests, frames and completions in; operations, frames and answers out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use ng_io::{Completion, Driver, Environment, Instant, WallMicros};
use ng_partition::PartitionState;
use ng_storage::journal::shell::JournalShell;
use ng_storage::journal::{self, PrepareJournal};
use ng_vsr::{ClientTable, Effects, Event, Status, Ticks, Timing};
use ng_wire::replica::{Message, Op, View};

use super::adopting::Adoptions;
use super::checkpoint::Checkpoint;
use super::committing::Committing;
use super::figures::Changed;
use super::gathering::Gathering;
use super::group::{Body, Group, Ticket};
use super::held::Held;
use super::machine::{Machine, MetadataMachine};
use super::opening::GroupLimits;
use super::outgoing::{Fatal, Outgoing};
use super::owner::METADATA;
use super::pairs::{Pairs, Silent};
use super::plant::Planted;
use super::polling::Polls;
use super::reading::Reads;
use super::retention::Retention;
use super::serving::Exports;
use super::storing::Storing;
use super::transfer::Transfers;
use super::turned_away::TurnedAway;
use super::wheel::Wheel;

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
pub(super) enum Waits {
    /// A message for another replica, or for the own one.
    Message { group: u64, to: u8, message: Box<Message>, body: Option<Body> },
    /// The files of a group that has ended.
    Removal { group: u64 },
}

/// Something to be done with a group in this turn.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) group: u64,
    pub(super) event: Event,
    pub(super) body: Option<Body>,
    pub(super) ticket: Option<Ticket>,
}

/// All groups of one shard on one journal.
#[derive(Debug)]
pub struct ShardLog<E: Environment, M> {
    pub(super) identity: LogIdentity,
    pub(super) limits: GroupLimits,
    pub(super) journal: PrepareJournal,
    pub(super) shell: JournalShell<E>,
    /// Lists the directory of a group with damage.
    pub(super) environment: E,
    pub(super) journal_effects: Vec<journal::Effect>,
    pub(super) gathering: Gathering,
    pub(super) first_block: u64,
    pub(super) quiet_since: Ticks,
    pub(super) groups: BTreeMap<u64, Box<Group>>,
    pub(super) metadata: M,
    pub(super) wheel: Wheel,
    pub(super) pairs: Pairs,
    pub(super) held: Held<Waits>,
    /// Messages to other nodes that wait until a promise cannot be forgotten, each with the block that it waits for then.
    pub(super) promised: Held<(u64, Waits)>,
    pub(super) reads: Reads,
    pub(super) turned_away: TurnedAway,
    pub(super) work: VecDeque<Work>,
    /// Groups whose execution may go on.
    pub(super) executable: BTreeSet<u64>,
    pub(super) transfers: Transfers,
    pub(super) exports: Exports,
    pub(super) storing: Storing,
    pub(super) polls: Polls,
    pub(super) committing: Committing,
    pub(super) retention: Retention,
    pub(super) adoptions: Adoptions,
    /// Groups of which the figures changed.
    pub(super) changed: Changed,
    pub(super) checkpoint: Checkpoint,
    pub(super) news: VecDeque<u64>,
    /// The group after which the next beat goes on.
    pub(super) beat_cursor: u64,
    pub(super) next_beat: Ticks,
    pub(super) effects: Effects,
    pub(super) outgoing: VecDeque<Outgoing>,
    pub(super) counts: LogCounts,
    pub(super) now: Ticks,
    pub(super) instant: Instant,
    pub(super) wall: WallMicros,
    pub(super) failed: bool,
    /// Whether each execution is told.
    pub(super) watched: bool,
    pub(super) planted: Planted,
    /// Of this life of the node; see [`super::LogParts::nonce`].
    pub(super) nonce: u64,
    /// What the numbers of sessions are beyond the ops of their logins: see [`ShardLog::sessions_passed_over`].
    pub(super) sessions_passed_over: u64,
    /// Groups that have ended and whose files are not gone yet.
    pub(super) ending: BTreeSet<u64>,
    /// Kept empty between turns, for their capacity.
    pub(super) due: Vec<(Ticks, u64)>,
    pub(super) silent: Vec<Silent>,
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

    pub(super) fn fail(&mut self, why: Fatal) {
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

    pub(super) fn suspect(&mut self, part: Silent) {
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

    pub(super) fn share(bytes: Vec<u8>) -> Body {
        Arc::new(bytes.into())
    }
}

/// Nanoseconds of a tick.
const MILLI: u64 = 1_000_000;

/// Milliseconds of a clock.
pub(super) fn ticks(instant: Instant) -> Ticks {
    instant.as_nanos() / MILLI
}
