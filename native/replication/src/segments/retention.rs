//! Retention: deletes messages by age, by size, or on request of a client. The primary proposes the first
//! offset to keep as an operation, so that every replica deletes the same messages.

use std::collections::{BTreeMap, BTreeSet};

use ng_io::Environment;
use ng_vsr::Ticks;
use ng_wire::replica::{Level, LogOperation, PartitionOp};

use crate::group::Ticket;
use crate::host::ShardLog;
use crate::machine::MetadataMachine;
use crate::outbox::{LogAnswer, Outgoing};
use crate::replicate::request::LogRequest;
use crate::segments::consumer_activity::{OffsetHold, Readers};
use crate::segments::policy::{Keeping, first_behind};

/// Groups checked per turn.
const LOOKS_PER_TURN: usize = 16;

/// Limits that are the same for all partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionLimits {
    /// Milliseconds between two checks of a partition; `None` disables automatic deletion.
    pub period: Option<Ticks>,
    /// How long a stored offset protects unread messages.
    pub hold: OffsetHold,
}

impl Default for RetentionLimits {
    fn default() -> Self {
        Self { period: Some(60_000), hold: OffsetHold::Seen(24 * 60 * 60 * 1_000) }
    }
}

/// A client's request to delete segments of a partition that is still being opened.
#[derive(Debug)]
struct Deletion {
    ticket: Ticket,
    client: u128,
    count: u32,
    level: Level,
}

/// Retention state of a shard's partitions. Partitions that keep everything have no entry.
#[derive(Debug)]
pub(crate) struct Retention {
    limits: RetentionLimits,
    keeping: BTreeMap<u64, Keeping>,
    /// Time of the next check of each group. A group is in both maps or in neither.
    due: BTreeSet<(Ticks, u64)>,
    due_of: BTreeMap<u64, Ticks>,
    pub(crate) readers: Readers,
    /// Waiting deletions, by group, until its segments are open.
    deletions: BTreeMap<u64, Vec<Deletion>>,
}

impl Retention {
    pub(crate) fn new(now: Ticks) -> Self {
        Self {
            limits: RetentionLimits::default(),
            keeping: BTreeMap::new(),
            due: BTreeSet::new(),
            due_of: BTreeMap::new(),
            readers: Readers::new(now),
            deletions: BTreeMap::new(),
        }
    }

    pub(crate) fn deadline(&self) -> Option<Ticks> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Time of the next periodic check after one at `now`.
    fn later(&self, now: Ticks) -> Ticks {
        now.saturating_add(self.limits.period.unwrap_or(Ticks::MAX))
    }

    /// Schedules a check, unless an earlier one is scheduled.
    fn look_at(&mut self, group: u64, at: Ticks) {
        if !self.keeping.contains_key(&group) || self.due_of.get(&group).is_some_and(|due| *due <= at) {
            return;
        }
        self.not_due(group);
        self.due_of.insert(group, at);
        self.due.insert((at, group));
    }

    fn not_due(&mut self, group: u64) {
        if let Some(at) = self.due_of.remove(&group) {
            self.due.remove(&(at, group));
        }
    }

    fn take_due(&mut self, now: Ticks) -> Option<u64> {
        let (_, group) = self.due.first().copied().filter(|(at, _)| *at <= now)?;
        self.not_due(group);
        Some(group)
    }

    fn forget(&mut self, group: u64) -> Vec<Deletion> {
        self.not_due(group);
        self.keeping.remove(&group);
        self.readers.forget_all(group);
        self.deletions.remove(&group).unwrap_or_default()
    }
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Sets the limits of all partitions.
    pub const fn set_retention_limits(&mut self, limits: RetentionLimits) {
        self.retention.limits = limits;
    }

    /// Sets the retention of a partition from now on. The group may be opened later.
    pub fn keep(&mut self, group: u64, keeping: Keeping) {
        self.segments.order(|store, _| store.set_segment_bytes(group, keeping.segment_bytes));
        let Some(period) = self.retention.limits.period.filter(|_| keeping.is_limited()) else {
            self.retention.keeping.remove(&group);
            self.retention.not_due(group);
            return;
        };
        if self.retention.keeping.insert(group, keeping) != Some(keeping) {
            // Spread over a period, because at a start all groups are registered at once.
            self.retention.look_at(group, self.clock.ticks() + 1 + group % period.max(1));
        }
    }

    /// Removes a deleted partition from retention.
    pub fn keep_nothing(&mut self, group: u64) {
        self.segments.order(|store, _| store.forget_segment_bytes(group));
        for Deletion { ticket, .. } in self.retention.forget(group) {
            self.outbox.push(Outgoing::Answer { ticket, answer: LogAnswer::Uncertain });
        }
    }

    /// Deletes the `count` oldest sealed segments of a partition, except those that a consumer needs. The
    /// answer carries the ticket.
    pub fn delete_segments(&mut self, ticket: Ticket, group: u64, client: u128, count: u32, level: Level) {
        let deletion = Deletion { ticket, client, count, level };
        if !self.groups.contains_key(&group) {
            self.outbox.push(Outgoing::Answer { ticket, answer: LogAnswer::NoGroup });
            return;
        }
        if self.segments.core().is_open(group) || self.is_untouched(group) {
            self.delete_now(group, &deletion);
            return;
        }
        self.retention.deletions.entry(group).or_default().push(deletion);
        self.open_segments(group);
    }

    fn delete_now(&mut self, group: u64, deletion: &Deletion) {
        let Deletion { ticket, client, count, level } = *deletion;
        let needed = self.needed_behind(group);
        let spans = self.segments.core().spans(group);
        let first = spans.and_then(|spans| first_behind(spans, count, needed)).unwrap_or(0);
        self.request(ticket, truncation(group, client, level, first));
    }

    /// The segments of a group were opened.
    pub(crate) fn retention_opened(&mut self, group: u64) {
        let state = self.partition(group).map(|state| (state.purge_generation, state.first_offset));
        if let Some((generation, first_offset)) = state.filter(|(_, first_offset)| *first_offset > 0) {
            // The manifest may contain a truncation that the segments have not executed yet.
            self.segments.order(|store, effects| {
                store.truncate_prefix(group, generation, first_offset, effects);
            });
        }
        for deletion in self.retention.deletions.remove(&group).unwrap_or_default() {
            self.delete_now(group, &deletion);
        }
        self.retention.look_at(group, self.clock.ticks());
    }

    /// The segments of a group are unreadable, so deletions cannot choose any.
    pub(crate) fn retention_damaged(&mut self, group: u64) {
        for Deletion { ticket, .. } in self.retention.deletions.remove(&group).unwrap_or_default() {
            self.outbox.push(Outgoing::Answer { ticket, answer: LogAnswer::Busy });
        }
    }

    /// Segments were sealed or deleted, so others may be due now.
    pub(crate) fn segments_changed(&mut self, group: u64) {
        self.retention.look_at(group, self.clock.ticks());
    }

    /// Messages arrived, so a check will be necessary later.
    pub(crate) fn messages_came(&mut self, group: u64) {
        self.retention.look_at(group, self.retention.later(self.clock.ticks()));
    }

    /// Checks the groups that are due.
    pub(crate) fn tend_retention(&mut self) {
        for _ in 0..LOOKS_PER_TURN {
            let Some(group) = self.retention.take_due(self.clock.ticks()) else { return };
            self.look_at_segments(group);
        }
    }

    fn look_at_segments(&mut self, group: u64) {
        let Some(keeping) = self.retention.keeping.get(&group).copied() else { return };
        if self.is_untouched(group) {
            return;
        }
        let later = self.retention.later(self.clock.ticks());
        let leads = self.groups.get(&group).is_some_and(|group| group.replica.is_primary());
        if !leads {
            self.retention.look_at(group, later);
            return;
        }
        let (now, needed) = (self.clock.wall().0, self.needed_behind(group));
        let held = self.segments.core().figures(group);
        let (bytes, messages) = held.map_or((0, 0), |figures| (figures.bytes, figures.messages));
        let Some(spans) = self.segments.core().spans(group) else {
            // Opening the segments, here or by an append, schedules another check.
            self.open_segments(group);
            self.retention.look_at(group, later);
            return;
        };
        let mut ends = self.segments.core().spans(group).into_iter().flatten();
        let first_segment = ends.next();
        let rolls = keeping.rolls(ends.next_back().or(first_segment), now);
        drop(ends);
        let first = keeping.first_to_keep(spans, bytes, needed, now);
        let due_in = keeping.due_in(first_segment, now).map(|micros| self.clock.ticks() + micros / 1_000 + 1);
        if rolls {
            self.segments.order(|store, effects| store.roll(group, effects));
        }
        // Messages in memory alone are not counted by age, and no event follows when they are written. So the
        // group is checked again later.
        let is_on_its_way = first_segment.is_none() && messages > 0;
        let is_too_much = bytes > keeping.bytes_max;
        if let Some(first) = first {
            // If the operation is refused, the next check proposes it again; if it is executed, the change
            // schedules a check.
            self.prepare(None, truncation(group, 0, Level::Replicated, first)).ok();
        }
        if let Some(at) = due_in.or((is_too_much || is_on_its_way).then_some(later)) {
            self.retention.look_at(group, at.max(later));
        }
    }

    /// Lowest stored offset of an active consumer, which has not read the messages after it.
    fn needed_behind(&self, group: u64) -> Option<u64> {
        let state = self.partition(group)?;
        let Retention { limits, readers, .. } = &self.retention;
        let holds = |(kind, id): (_, u64)| readers.holds(limits.hold, group, (kind, id), self.clock.ticks());
        self.stored_offsets(group, state).filter(|(owner, _)| holds(*owner)).map(|(_, offset)| offset).min()
    }
}

fn truncation(group: u64, client: u128, level: Level, offset: u64) -> LogRequest {
    let (operation, body) = PartitionOp::TruncatePrefix { offset }.encode();
    debug_assert_eq!(operation, LogOperation::TruncatePrefix);
    LogRequest { group, client, session: 0, request: 0, operation, level, body: body.into() }
}
