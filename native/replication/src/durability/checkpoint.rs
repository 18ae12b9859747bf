//! Where the groups stand, written down from time to time, so that the journal may forget what came before.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;

use ng_io::{Completion, Environment};
use ng_storage::journal;
use ng_storage::manifest::GroupEntry;
use ng_storage::manifest_writer::{ManifestEffect, ManifestWriter};
use ng_storage::store::shell::PlanShell;
use ng_vsr::{Event, Ticks};
use ng_wire::replica::Op;

use crate::group_state::{entry_of, metadata_state};
use crate::host::ShardLog;
use crate::machine::{Machine, MetadataMachine};
use crate::outbox::Fatal;
use crate::owner::METADATA;
use crate::plant::Planted;

/// Groups looked at in one turn.
const GROUPS_PER_TURN: usize = 64;

/// Milliseconds before a manifest that found no space is made again: each attempt costs the disk as much as
/// one that succeeds.
const SPACE_PATIENCE: Ticks = 1_000;

/// Milliseconds that a stop gives segments to follow the journal. What they lack then is replayed by the next
/// start.
const STOP_PATIENCE: Ticks = 2_000;

/// How far a manifest has come.
#[derive(Debug)]
enum Round {
    /// None is being made.
    Resting,
    /// The groups behind this one are still to be captured.
    Capturing(Option<u64>),
    /// Segments and states that the entries speak of are being written.
    Waiting,
    /// It is being written and put in force.
    Writing,
}

/// Makes one manifest after the other.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    pub(crate) writer: ManifestWriter,
    pub(crate) shell: PlanShell,
    effects: Vec<ManifestEffect>,
    round: Round,
    /// When the next may begin.
    next: Ticks,
    /// One that found no space is not tried again before, however pressed the journal is.
    not_before: Ticks,
    period: Ticks,
    /// Something was executed since the last began.
    pub(crate) dirty: bool,
    /// A group has come so far from where the last one has it that the next may not wait.
    pub(crate) hurried: bool,
    /// Up to where each group was captured.
    captured: BTreeMap<u64, Op>,
    /// What must be on the disk before the manifest may say so.
    awaited: BTreeMap<u64, Op>,
    ended: EndedGroups,
    /// When a state that found no space is written anew.
    again: Option<Ticks>,
    /// Where the groups stood in the manifest before: by now every living member had time to repair up to
    /// there.
    settled: VecDeque<(u64, Op)>,
    /// The state of the metadata that the manifest in force speaks of.
    state: Option<Op>,
    stop: Stop,
    /// When the stop waits for segments no longer.
    impatient_at: Option<Ticks>,
}

/// An orderly stop: a last manifest, then a superblock that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    No,
    Wanted,
    LastRound,
    Cleaning,
    Done,
}

/// Groups that have ended, as long as the manifest in force may name them: the journal keeps their ends.
#[derive(Debug, Default)]
struct EndedGroups {
    /// Not in the manifest that is being collected.
    unsettled: BTreeSet<u64>,
    /// Not in the manifest that is being written.
    left_out: BTreeSet<u64>,
}

impl EndedGroups {
    /// A manifest was collected, and is written now.
    fn collected(&mut self) {
        self.left_out.append(&mut self.unsettled);
    }

    /// It will not come into force.
    fn given_up(&mut self) {
        self.unsettled.append(&mut self.left_out);
    }

    /// It is in force. Takes the groups whose end may be forgotten; the others still have files.
    fn take_settled(&mut self, with_files: &BTreeSet<u64>) -> BTreeSet<u64> {
        let (kept, settled) =
            std::mem::take(&mut self.left_out).into_iter().partition(|group| with_files.contains(group));
        self.unsettled.extend::<BTreeSet<u64>>(kept);
        settled
    }
}

impl Checkpoint {
    pub(crate) fn new(
        writer: ManifestWriter,
        shell: PlanShell,
        period: Ticks,
        now: Ticks,
        state: Option<Op>,
    ) -> Self {
        Self {
            writer,
            shell,
            effects: Vec::new(),
            round: Round::Resting,
            next: now + period,
            not_before: now,
            period,
            dirty: true,
            hurried: false,
            captured: BTreeMap::new(),
            awaited: BTreeMap::new(),
            ended: EndedGroups::default(),
            again: None,
            settled: VecDeque::new(),
            state,
            stop: Stop::No,
            impatient_at: None,
        }
    }

    /// When there is something to do, if nothing else happens.
    pub(crate) fn deadline(&self, now: Ticks) -> Option<Ticks> {
        match self.round {
            Round::Resting if self.writer.is_idle() => {
                self.dirty.then_some(if self.hurried { now } else { self.next }.max(self.not_before))
            }
            Round::Capturing(_) => Some(now),
            Round::Waiting => self.again.into_iter().chain(self.impatient_at).min(),
            Round::Resting | Round::Writing => None,
        }
    }

    /// The journal has a further file, which the superblock is to count.
    pub(crate) fn enlist(&mut self, files: u32) {
        self.writer.enlist(files, &mut self.effects);
    }

    /// A group has ended: nothing of it is waited for, and the next manifest does not name it.
    pub(crate) fn end(&mut self, group: u64, planted: Planted) {
        self.awaited.remove(&group);
        self.captured.remove(&group);
        if planted.leaves_out_ended_groups() {
            self.writer.leave_out(group);
        }
        self.ended.unsettled.insert(group);
    }

    fn is_due(&self, now: Ticks, pressed: bool) -> bool {
        let wanted = matches!(self.stop, Stop::Wanted);
        matches!(self.round, Round::Resting)
            && self.writer.is_idle()
            && (wanted
                || (self.dirty && now >= self.not_before && (now >= self.next || pressed || self.hurried)))
    }
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Begins an orderly stop: a last manifest is written, then the superblock says that the stop was
    /// orderly. Requests are to be taken no more; see [`ShardLog::is_stopped`].
    pub fn begin_stop(&mut self) {
        if self.checkpoint.stop == Stop::No {
            self.checkpoint.stop = Stop::Wanted;
            self.checkpoint.impatient_at = Some(self.clock.ticks() + STOP_PATIENCE);
            self.hasten_offsets();
        }
    }

    /// Whether a stop was begun.
    pub(crate) const fn is_stopping(&self) -> bool {
        !matches!(self.checkpoint.stop, Stop::No)
    }

    /// Whether the stop that was begun has ended, or cannot.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.outbox.has_failed() || self.checkpoint.stop == Stop::Done
    }

    /// A stop that cannot wait for segments, because they take too long or they or the journal find no space,
    /// leaves the manifest of before in force: everything that was acknowledged since is in the journal.
    fn leave_manifest_as_it_is(&mut self) {
        let Checkpoint { stop, round, impatient_at, .. } = &mut self.checkpoint;
        let stopping = matches!(stop, Stop::Wanted | Stop::LastRound);
        let collecting = matches!(round, Round::Resting | Round::Capturing(_) | Round::Waiting);
        let hopeless = self.segments.core().waits_for_space() > 0
            || self.journal.core().is_stuck()
            || impatient_at.is_some_and(|at| at <= self.clock.ticks());
        if stopping && collecting && hopeless {
            (*stop, *round) = (Stop::LastRound, Round::Resting);
            self.checkpoint.again = None;
            self.checkpoint.awaited.clear();
            self.checkpoint.captured.clear();
        }
    }

    pub(crate) fn tend_checkpoint(&mut self, driver: &mut E::Driver) {
        self.leave_manifest_as_it_is();
        self.checkpoint.writer.set_synced(self.journal.core().synced_block());
        if self.checkpoint.is_due(self.clock.ticks(), self.journal.core().is_pressed()) {
            self.begin_manifest();
        }
        if let Round::Capturing(after) = self.checkpoint.round {
            self.capture(after);
        }
        let waiting = matches!(self.checkpoint.round, Round::Waiting);
        if waiting && self.checkpoint.again.is_some_and(|again| again <= self.clock.ticks()) {
            self.checkpoint.again = None;
            self.capture_group(METADATA);
        }
        if matches!(self.checkpoint.round, Round::Waiting) && self.checkpoint.awaited.is_empty() {
            self.checkpoint.round = Round::Writing;
            self.describe_files();
            self.checkpoint.ended.collected();
            self.checkpoint.writer.finish(&mut self.checkpoint.effects);
        }
        let impatient = self.checkpoint.impatient_at.is_some_and(|at| at <= self.clock.ticks());
        let waits_for_offsets = self.life.planted.stop_waits_for_offsets() && !self.offsets_are_proposed();
        if self.checkpoint.stop == Stop::LastRound
            && matches!(self.checkpoint.round, Round::Resting)
            && (self.journal.core().is_stuck()
                || self.journal.core().is_quiet() && (!waits_for_offsets || impatient))
        {
            self.checkpoint.stop = Stop::Cleaning;
            self.checkpoint.writer.mark_clean(&mut self.checkpoint.effects);
        }
        self.perform_manifest(driver);
    }

    fn begin_manifest(&mut self) {
        let Checkpoint {
            writer, round, dirty, hurried, captured, awaited, again, next, period, stop, ..
        } = &mut self.checkpoint;
        if writer.begin().is_none() {
            return;
        }
        if *stop == Stop::Wanted {
            *stop = Stop::LastRound;
        }
        (*dirty, *hurried) = (false, false);
        *next = self.clock.ticks() + *period;
        captured.clear();
        awaited.clear();
        *again = None;
        *round = Round::Capturing(None);
    }

    /// Captures some of the groups, each as it stands now.
    fn capture(&mut self, after: Option<u64>) {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let ids: Vec<u64> =
            self.groups.range((from, Bound::Unbounded)).map(|(id, _)| *id).take(GROUPS_PER_TURN).collect();
        for id in &ids {
            self.capture_group(*id);
        }
        self.checkpoint.round = match ids.last() {
            Some(last) if ids.len() == GROUPS_PER_TURN => Round::Capturing(Some(*last)),
            _ => Round::Waiting,
        };
    }

    fn capture_group(&mut self, id: u64) {
        let Some(group) = self.groups.get(&id) else { return };
        // Nothing is waited for between the machine and its replica when a turn ends.
        let Some(anchor) = group.replica.anchor().filter(|anchor| anchor.op == group.execution.executed())
        else {
            return;
        };
        let (segments, checkpoint) = (&mut self.segments, &mut self.checkpoint);
        let entry = match &group.machine {
            Machine::Partition(partition, _) => {
                segments.order(|store, effects| store.flush(id, effects));
                if segments.core().synced(id) < anchor.op.0 {
                    checkpoint.awaited.insert(id, anchor.op);
                }
                entry_of(partition, &anchor)
            }
            Machine::Metadata => {
                let mut machine = Vec::new();
                self.metadata.snapshot(&mut machine);
                let Some(clients) = group.replica.clients() else { return };
                if checkpoint.state != Some(anchor.op) {
                    checkpoint.awaited.insert(id, anchor.op);
                    let state = metadata_state(&anchor, clients, machine);
                    segments.order(|store, effects| store.write_state(&state, effects));
                }
                metadata_entry(id, anchor.into(), self.life.sessions_passed_over)
            }
        };
        checkpoint.captured.insert(id, anchor.op);
        checkpoint.writer.add(entry);
    }

    /// Adds to the entries of the manifest what a start may trust of the files: all of it is synced.
    fn describe_files(&mut self) {
        let (store, groups) = (self.segments.core(), &self.groups);
        self.checkpoint.writer.complete(|entry| {
            let generation = entry.purge_generation;
            let unopened = groups.get(&entry.group).and_then(|group| group.files.vouched());
            let described = match unopened.filter(|vouched| vouched.generation == generation) {
                Some(vouched) => Some((vouched.list_sequence, vouched.unsealed)),
                None => store.synced_files(entry.group, generation),
            };
            if let Some((sequence, unsealed)) = described {
                (entry.list_sequence, entry.unsealed) = (sequence, unsealed);
            }
        });
    }

    /// What a manifest will speak of has come to the disk.
    pub(crate) fn segments_synced(&mut self, group: u64, op: u64) {
        let awaited = &mut self.checkpoint.awaited;
        if awaited.get(&group).is_some_and(|awaited| awaited.0 <= op) {
            awaited.remove(&group);
        }
    }

    /// There was no space for a state of the metadata. It is written anew, as it will be then.
    pub(crate) fn state_given_up(&mut self, group: u64) {
        if self.checkpoint.stop != Stop::No {
            self.checkpoint.impatient_at = Some(self.clock.ticks());
        }
        if self.checkpoint.awaited.contains_key(&group) {
            self.checkpoint.again = Some(self.clock.ticks() + self.life.identity.timing.resend);
        }
    }

    /// Takes the completion of a step of the manifest.
    pub(crate) fn manifest_stepped(&mut self, driver: &mut E::Driver, completion: Completion) {
        let Checkpoint { shell, writer, effects, .. } = &mut self.checkpoint;
        if let Some((_, result)) = shell.completed(driver, completion) {
            writer.step(result, effects);
        }
    }

    fn perform_manifest(&mut self, driver: &mut E::Driver) {
        for effect in std::mem::take(&mut self.checkpoint.effects) {
            match effect {
                ManifestEffect::Run(plan) => self.checkpoint.shell.start(driver, 0, plan),
                ManifestEffect::InForce { .. } => self.manifest_in_force(),
                ManifestEffect::Enlisted => {
                    self.journal.step(journal::Event::Enlisted);
                }
                ManifestEffect::GivenUp => {
                    self.checkpoint.round = Round::Resting;
                    self.checkpoint.ended.given_up();
                    self.checkpoint.dirty = true;
                    self.checkpoint.not_before = self.clock.ticks() + SPACE_PATIENCE;
                }
                ManifestEffect::Clean => self.checkpoint.stop = Stop::Done,
                ManifestEffect::Fatal(fault) => {
                    let file = fault.path.display().to_string();
                    self.outbox.fail(Fatal::Write { file, error: fault.error });
                }
            }
        }
    }

    /// The journal forgets what the manifest holds; replicas forget what the one before held.
    fn manifest_in_force(&mut self) {
        let captured = std::mem::take(&mut self.checkpoint.captured);
        let settled: Vec<_> = self.checkpoint.settled.drain(..).collect();
        for (group, op) in settled {
            self.agenda.event(group, Event::Checkpointed(op));
        }
        for (id, op) in captured {
            self.hold_log(id);
            let Some(group) = self.groups.get_mut(&id) else { continue };
            let Some(released) = group.records.checkpoint(op) else { continue };
            self.checkpoint.settled.push_back((id, op));
            self.journal.step(journal::Event::Released { group: id, op: released.0 });
            if matches!(group.machine, Machine::Metadata)
                && let Some(before) = self.checkpoint.state.replace(op)
            {
                self.segments.order(|store, effects| store.drop_state(id, before.0, effects));
            }
        }
        for group in self.checkpoint.ended.take_settled(self.segments.ending()) {
            self.journal.step(journal::Event::Ended { group });
        }
        self.checkpoint.round = Round::Resting;
    }
}

/// The metadata group has its state in a file of its own; the entry says of which operation.
fn metadata_entry(group: u64, anchor: ng_storage::record::RecordHeader, passed_over: u64) -> GroupEntry {
    GroupEntry {
        group,
        last_offset: u64::MAX,
        purge_generation: 0,
        first_offset: 0,
        fenced: false,
        skipped_to: passed_over,
        anchor,
        offsets: Vec::new(),
        gaps: Vec::new(),
        list_sequence: 0,
        unsealed: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_settled_by_a_manifest_collected_after_it_once_its_files_are_gone() {
        let (mut ended, none) = (EndedGroups::default(), BTreeSet::new());
        ended.unsettled.insert(1);
        ended.collected();
        ended.unsettled.insert(2);
        ended.given_up();
        assert_eq!(ended.take_settled(&none), none, "nothing came into force");
        ended.collected();
        ended.unsettled.insert(3);
        assert_eq!(ended.take_settled(&BTreeSet::from([2])), BTreeSet::from([1]), "2 has files, 3 is named");
        ended.collected();
        assert_eq!(ended.take_settled(&none), BTreeSet::from([2, 3]));
    }
}
