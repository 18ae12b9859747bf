//! Checkpoints: a manifest records the state of every group from time to time, so that the journal can reuse
//! the blocks before it.

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

/// Groups captured per turn.
const GROUPS_PER_TURN: usize = 64;

/// Milliseconds before a manifest that failed for lack of space is tried again, because each attempt costs
/// the disk as much as a successful one.
const SPACE_PATIENCE: Ticks = 1_000;

/// Milliseconds that a stop waits for segments. The next start replays operations that they still lack.
const STOP_PATIENCE: Ticks = 2_000;

/// Progress of the current manifest.
#[derive(Debug)]
enum Round {
    /// No manifest is in progress.
    Resting,
    /// Capturing groups; those after this one remain.
    Capturing(Option<u64>),
    /// Segments and states to which the entries refer are being written.
    Waiting,
    /// The manifest is being written and put in force.
    Writing,
}

/// Makes one manifest after another.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    pub(crate) writer: ManifestWriter,
    pub(crate) shell: PlanShell,
    effects: Vec<ManifestEffect>,
    round: Round,
    /// Earliest time of the next manifest.
    next: Ticks,
    /// Earliest time of the next attempt after one failed for lack of space, even if the journal is nearly
    /// full.
    not_before: Ticks,
    period: Ticks,
    /// Operations were executed since the last manifest began.
    pub(crate) dirty: bool,
    /// A group has so much that the last manifest lacks that the next one must begin now.
    pub(crate) hurried: bool,
    /// Op at which each group was captured.
    captured: BTreeMap<u64, Op>,
    /// Op that must be in synced segments before the manifest may claim it, by group.
    awaited: BTreeMap<u64, Op>,
    ended: EndedGroups,
    /// Time at which a state that found no space is written again.
    again: Option<Ticks>,
    /// Ops of the groups in the previous manifest. Replicas may forget up to there, because every live member
    /// had time to repair it.
    settled: VecDeque<(u64, Op)>,
    /// Op of the metadata state to which the current manifest refers.
    state: Option<Op>,
    stop: Stop,
    /// Time after which a stop no longer waits for segments.
    impatient_at: Option<Ticks>,
}

/// An orderly stop: a last manifest, then a superblock with the clean flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    No,
    Wanted,
    LastRound,
    Cleaning,
    Done,
}

/// Ended groups that the current manifest may still name. The journal keeps the records of their ends until
/// it does not.
#[derive(Debug, Default)]
struct EndedGroups {
    /// Absent from the manifest that is being collected.
    unsettled: BTreeSet<u64>,
    /// Absent from the manifest that is being written.
    left_out: BTreeSet<u64>,
}

impl EndedGroups {
    /// A manifest was collected and is being written now.
    fn collected(&mut self) {
        self.left_out.append(&mut self.unsettled);
    }

    /// The manifest will not come into force.
    fn given_up(&mut self) {
        self.unsettled.append(&mut self.left_out);
    }

    /// The manifest is in force. Returns the groups whose end the journal may forget; the others still have
    /// files.
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

    /// Time of the next step, unless a completion arrives earlier.
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

    /// Records in the superblock that the journal has `files` files.
    pub(crate) fn enlist(&mut self, files: u32) {
        self.writer.enlist(files, &mut self.effects);
    }

    /// Removes an ended group from the current and the next manifest.
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
    /// Begins an orderly stop: writes a last manifest, then a superblock with the clean flag. The caller must
    /// send no requests after this; see [`ShardLog::is_stopped`].
    pub fn begin_stop(&mut self) {
        if self.checkpoint.stop == Stop::No {
            self.checkpoint.stop = Stop::Wanted;
            self.checkpoint.impatient_at = Some(self.clock.ticks() + STOP_PATIENCE);
            self.hasten_offsets();
        }
    }

    /// A stop was begun.
    pub(crate) const fn is_stopping(&self) -> bool {
        !matches!(self.checkpoint.stop, Stop::No)
    }

    /// The stop is complete, or cannot complete because the log has failed.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.outbox.has_failed() || self.checkpoint.stop == Stop::Done
    }

    /// Ends the wait of a stop for segments, because they take too long or because segments or journal lack
    /// space. The previous manifest stays in force; no acknowledged operation is lost, since the journal has
    /// all later ones.
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

    /// Captures the next groups, each at its current state.
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
        // Between turns the replica has received all results of its machine; otherwise the group is skipped.
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

    /// Adds to each entry the file list that a start may trust, because all of it is synced.
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

    /// Segments of a group are synced up to an op, so the manifest may claim it.
    pub(crate) fn segments_synced(&mut self, group: u64, op: u64) {
        let awaited = &mut self.checkpoint.awaited;
        if awaited.get(&group).is_some_and(|awaited| awaited.0 <= op) {
            awaited.remove(&group);
        }
    }

    /// A metadata state found no space. It is written again later, in its then current form.
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

    /// The journal forgets the operations in the new manifest; replicas forget those in the previous one.
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

/// The metadata group has its state in a separate file; the entry contains only its op.
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
    fn an_end_is_settled_by_a_later_manifest_once_its_files_are_deleted() {
        let (mut ended, none) = (EndedGroups::default(), BTreeSet::new());
        ended.unsettled.insert(1);
        ended.collected();
        ended.unsettled.insert(2);
        ended.given_up();
        assert_eq!(ended.take_settled(&none), none, "no manifest is in force");
        ended.collected();
        ended.unsettled.insert(3);
        assert_eq!(ended.take_settled(&BTreeSet::from([2])), BTreeSet::from([1]), "2 has files, 3 is named");
        ended.collected();
        assert_eq!(ended.take_settled(&none), BTreeSet::from([2, 3]));
    }
}
