//! The store of a shard: all its groups, and which of them may work on the disk now.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ng_io::{Instant, IoError};

use super::cut::NoCut;
use super::export::ExportPlan;
use super::flush::Trash;
use super::group::{Group, Order, Phase, Running};
use super::opening::{Opening, OpeningRules};
use super::plan::{Plan, PlanFault, PlanResult};
use super::plant::Planted;
use super::readers::Readers;
use super::rebuild::FileFound;
use super::reserve::Reserve;
use super::space::Waits;
use super::tail::Tail;
use super::{CommittedBatch, Effect, Event, Held, StoreLimits, StoreOwner, Vouched};
use crate::home::Home;
use crate::manifest::UnsealedSegment;
use crate::metadata_state::MetadataState;
use crate::poison::Poison;
use crate::segments_file::SegmentEntry;

/// What is left of the memory for batches is worth a write of this part of it: the less there is, the less a group gathers, and
/// before there is none everything that comes is written.
const PART_OF_ROOM: usize = 16;

/// The segments of all groups of a shard. See the module for how it is driven.
#[derive(Debug)]
pub struct SegmentStore {
    pub(super) owner: StoreOwner,
    home: Home,
    pub(super) limits: StoreLimits,
    /// Of the groups whose segments have a size of their own.
    pub(super) segment_bytes: BTreeMap<u64, u64>,
    pub(super) groups: BTreeMap<u64, Group>,
    /// Who has which lane.
    lanes: Vec<Option<Tenant>>,
    ready: VecDeque<u64>,
    /// When which group is to be looked at.
    due: BTreeSet<(Instant, u64)>,
    buffered_bytes: usize,
    /// Counts what went to the trash.
    retired: u64,
    pub(super) poison: Poison,
    pub(super) readers: Readers,
    waits: Waits,
    reserve: Reserve,
    /// Groups of which a start trusted something, in the order in which it is verified.
    pub(super) unverified: VecDeque<u64>,
    pub(super) verify_at: Option<Instant>,
    planted: Planted,
}

/// Who works in a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tenant {
    Group(u64),
    Reserve,
}

impl SegmentStore {
    /// A store that has opened no group yet.
    #[must_use]
    pub fn new(owner: StoreOwner, home: Home, limits: StoreLimits) -> Self {
        let lanes = (0..limits.lanes).map(|_| None).collect();
        let reserve = Reserve::new(home.reserve(owner.shard), limits.retry_delay);
        Self {
            owner,
            home,
            limits,
            segment_bytes: BTreeMap::new(),
            groups: BTreeMap::new(),
            lanes,
            ready: VecDeque::new(),
            due: BTreeSet::new(),
            buffered_bytes: 0,
            retired: 0,
            poison: Poison::none(),
            readers: Readers::new(),
            waits: Waits::default(),
            reserve,
            unverified: VecDeque::new(),
            verify_at: None,
            planted: Planted::default(),
        }
    }

    /// Plants a bug in every group that is opened from now on.
    #[cfg(feature = "plants")]
    pub const fn plant(&mut self, bug: super::Plant) {
        self.planted.bug = Some(bug);
    }

    /// Looks at what a group's directory holds: the answer is [`Effect::Opened`] or [`Effect::Damaged`]. `vouched` is what
    /// its manifest entry says, and what the directory is held against. A group that nobody opens is opened by its first
    /// batch or order, as one that nothing is vouched of. `None` takes back nothing that was vouched before.
    pub fn open(&mut self, group: u64, vouched: Option<Vouched>, effects: &mut Vec<Effect>) {
        let found = self.group(group);
        found.vouched = vouched.or_else(|| found.vouched.take());
        self.enqueue(group);
        self.pump(effects);
    }

    /// Takes over a group that was made just now: it has no directory, which need not be looked for.
    pub fn begin(&mut self, group: u64) {
        self.group(group).phase = Phase::Open;
    }

    /// Sets the size of a group's segments from the next batch on.
    pub fn set_segment_bytes(&mut self, group: u64, bytes: u64) {
        if bytes == self.limits.segment_bytes {
            self.forget_segment_bytes(group);
        } else {
            self.segment_bytes.insert(group, bytes);
        }
    }

    /// A group has segments of the size that all have.
    pub fn forget_segment_bytes(&mut self, group: u64) {
        self.segment_bytes.remove(&group);
    }

    /// Takes a committed batch. One that is in the segments already is dropped: a start applies ops again.
    pub fn append(&mut self, group: u64, batch: CommittedBatch, now: Instant, effects: &mut Vec<Effect>) {
        let (delay, flush_bytes) = (self.limits.flush_delay, self.flush_bytes());
        let found = self.group(group);
        let before = found.pending.bytes();
        found.take(batch);
        let more = found.pending.bytes() - before;
        let unopened = found.phase == Phase::Closed;
        let starts = more > 0 && found.schedule.due.is_none();
        let acts = unopened || (found.running.is_none() && found.pending.bytes() >= flush_bytes);
        self.buffered_bytes += more;
        if starts {
            self.remind(group, now + delay);
        }
        if acts {
            self.enqueue(group);
            self.pump(effects);
        }
    }

    /// Writes what is pending of a group now.
    pub fn flush(&mut self, group: u64, effects: &mut Vec<Effect>) {
        let Some(found) = self.groups.get_mut(&group) else { return };
        found.pending.ask();
        self.enqueue(group);
        self.pump(effects);
    }

    /// Drops every batch of a group up to and with this op; [`Effect::Synced`] says when that is on the disk.
    pub fn purge(&mut self, group: u64, generation: u64, op: u64, effects: &mut Vec<Effect>) {
        let found = self.group(group);
        if found.phase == Phase::Open && generation <= found.generation {
            return;
        }
        self.empty(group, generation, 0, op, effects);
    }

    /// Makes a group one of this purge generation that has no messages: offsets below `next_offset` were given to some that
    /// are gone. Those that it has up to `op` go.
    pub fn empty(
        &mut self,
        group: u64,
        generation: u64,
        next_offset: u64,
        op: u64,
        effects: &mut Vec<Effect>,
    ) {
        let found = self.group(group);
        if generation > found.generation {
            (found.generation, found.truncated_to) = (generation, 0);
        }
        let since = found.first_unsynced().map_or(op, |first| first.min(op));
        self.drop_pending(group);
        self.order(group, Order::Purge { generation, next_offset, op, since }, effects);
    }

    /// Drops whole sealed segments of this purge generation before `offset`. They count no more from now on.
    pub fn truncate_prefix(&mut self, group: u64, generation: u64, offset: u64, effects: &mut Vec<Effect>) {
        let found = self.group(group);
        if generation >= found.generation {
            found.truncate_to(offset);
        }
        self.order(group, Order::TruncatePrefix { generation, offset }, effects);
    }

    /// Seals the segment that a group appends to: [`Effect::Sealed`], unless there is none.
    pub fn roll(&mut self, group: u64, effects: &mut Vec<Effect>) {
        let Some(found) = self.groups.get_mut(&group) else { return };
        found.rolls = true;
        self.enqueue(group);
        self.pump(effects);
    }

    /// Moves a group's directory into the trash: [`Effect::Removed`].
    pub fn remove(&mut self, group: u64, effects: &mut Vec<Effect>) {
        self.drop_pending(group);
        self.dismiss_readers(group, effects);
        self.dismiss_cuts(group, &NoCut::Gone, effects);
        self.group(group).orders.clear();
        self.order(group, Order::Remove, effects);
    }

    /// Writes a state of the metadata: [`Effect::StateWritten`], or [`Effect::GivenUp`].
    pub fn write_state(&mut self, state: &MetadataState, effects: &mut Vec<Effect>) {
        self.order(state.group, Order::WriteState { op: state.op, bytes: state.encode() }, effects);
    }

    /// Removes a state of the metadata that no manifest in force names any more.
    pub fn drop_state(&mut self, group: u64, op: u64, effects: &mut Vec<Effect>) {
        self.order(group, Order::DropState { op }, effects);
    }

    /// What to read of a group for another replica: what is on the disk, see [`SegmentStore::synced`]. `None` while the
    /// group is not open, or anything but its growth is under way.
    #[must_use]
    pub fn export(&self, group: u64) -> Option<ExportPlan> {
        self.groups.get(&group)?.export()
    }

    /// Reads a piece of a segment, whole pages from a page on: [`Effect::Read`].
    pub fn read(
        &mut self,
        group: u64,
        entry: SegmentEntry,
        offset: u64,
        length: usize,
        effects: &mut Vec<Effect>,
    ) {
        self.order(group, Order::Read { entry, offset, length }, effects);
    }

    /// The first offset of an open group's generation that is neither on the disk nor was there.
    #[must_use]
    pub fn lacks_from(&self, group: u64) -> u64 {
        self.groups.get(&group).map_or(0, Group::lacks_from)
    }

    /// Whether all messages of a purge generation up to an offset are on the disk, or were and have gone.
    #[must_use]
    pub fn holds(&self, group: u64, generation: u64, last_offset: Option<u64>) -> bool {
        self.groups.get(&group).is_some_and(|found| found.holds(generation, last_offset))
    }

    /// Up to which op everything of a group is safe in its segments: all ops there are, if nothing is on its way.
    #[must_use]
    pub fn synced(&self, group: u64) -> u64 {
        let first = self.groups.get(&group).and_then(Group::first_unsynced);
        first.map_or(u64::MAX, |first| first.saturating_sub(1))
    }

    /// What an open group holds on the disk.
    #[must_use]
    pub fn held(&self, group: u64) -> Option<Held> {
        self.groups.get(&group).filter(|found| found.phase == Phase::Open).map(Group::held)
    }

    /// Whether a group waits for space.
    #[must_use]
    pub fn is_full(&self, group: u64) -> bool {
        self.groups.get(&group).is_some_and(|found| found.schedule.lack.is_some())
    }

    /// How many groups have something for which there was no space.
    #[must_use]
    pub fn waits_for_space(&self) -> usize {
        self.waits.for_space()
    }

    /// How many groups have files that could not be removed.
    #[must_use]
    pub fn waits_for_removals(&self) -> usize {
        self.waits.for_removals()
    }

    /// Whether more batches should be admitted. Those that are committed already are taken all the same.
    #[must_use]
    pub const fn has_room(&self) -> bool {
        self.buffered_bytes < self.limits.buffered_bytes_max
    }

    /// How much of a group is worth a write now.
    fn flush_bytes(&self) -> usize {
        let room = self.limits.buffered_bytes_max.saturating_sub(self.buffered_bytes);
        self.limits.flush_bytes.min(room / PART_OF_ROOM)
    }

    /// Bytes of batches that are not in segments yet.
    #[must_use]
    pub const fn buffered_bytes(&self) -> usize {
        self.buffered_bytes
    }

    /// Frees the memory of a group of which nothing is on its way; it opens again when it is needed.
    pub fn forget(&mut self, group: u64) {
        if self.groups.get(&group).is_some_and(Group::is_settled) {
            self.drop_group(group);
        }
    }

    /// When [`Event::Due`] is to be given.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at).into_iter().chain(self.verify_at).chain(self.reserve.due()).min()
    }

    /// What a manifest says of the files of a group in this purge generation, as far as they are synced: the sequence of the
    /// list, and the unsealed segment.
    #[must_use]
    pub fn synced_files(&self, group: u64, generation: u64) -> Option<(u64, Option<UnsealedSegment>)> {
        let found = self.groups.get(&group)?;
        if found.phase == Phase::Closed {
            let vouched = found.vouched.as_ref().filter(|vouched| vouched.generation == generation)?;
            return Some((vouched.list_sequence, vouched.unsealed));
        }
        let listed = &found.listed;
        let same = listed.purge_generation == generation && listed.sequence > 0;
        same.then(|| (listed.sequence, found.tail.as_ref().and_then(Tail::unsealed)))
    }

    /// Takes an event.
    pub fn step(&mut self, event: Event, now: Instant, effects: &mut Vec<Effect>) {
        if self.poison.is_set() {
            return;
        }
        match event {
            Event::Ended { lane, result } if lane >= self.limits.lanes => {
                self.read_ended(lane - self.limits.lanes, result, effects);
            }
            Event::Ended { lane, result } => self.ended(lane, result, now, effects),
            Event::Named { lane, files } => self.named(lane, files, now, effects),
            Event::Due => {
                self.look_at_due(now);
                self.verify_next(now);
            }
        }
        self.pump(effects);
    }

    pub(super) fn group(&mut self, group: u64) -> &mut Group {
        let (home, node, batch_bytes_max) = (&self.home, self.owner.node, self.limits.batch_bytes_max);
        let planted = self.planted;
        let new = || Group::new(group, node, home.group(group), batch_bytes_max, planted);
        self.groups.entry(group).or_insert_with(new)
    }

    pub(super) fn order(&mut self, group: u64, order: Order, effects: &mut Vec<Effect>) {
        self.group(group).orders.push_back(order);
        self.enqueue(group);
        self.pump(effects);
    }

    fn drop_pending(&mut self, group: u64) {
        let found = self.group(group);
        let before = found.pending.bytes();
        found.drop_pending();
        let dropped = before - found.pending.bytes();
        assert!(dropped <= self.buffered_bytes, "each pending batch was counted");
        self.buffered_bytes -= dropped;
    }

    fn remind(&mut self, group: u64, at: Instant) {
        let Some(found) = self.groups.get_mut(&group) else { return };
        if let Some(before) = found.schedule.due.replace(at) {
            self.due.remove(&(before, group));
        }
        self.due.insert((at, group));
    }

    fn look_at_due(&mut self, now: Instant) {
        self.reserve.look(now);
        while let Some((at, group)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, group));
            if let Some(found) = self.groups.get_mut(&group) {
                found.schedule.due = None;
                found.schedule.lack = None;
                found.pending.ask();
                self.enqueue(group);
            }
        }
    }

    pub(super) fn enqueue(&mut self, group: u64) {
        if let Some(found) = self.groups.get_mut(&group).filter(|found| !found.schedule.is_queued) {
            found.schedule.is_queued = true;
            self.ready.push_back(group);
        }
    }

    /// Gives free lanes to groups that have something to do.
    pub(super) fn pump(&mut self, effects: &mut Vec<Effect>) {
        self.pump_plans(effects);
        self.pump_readers(effects);
        // A reader may wait for an index that is to be made first.
        self.pump_plans(effects);
    }

    fn pump_plans(&mut self, effects: &mut Vec<Effect>) {
        while let Some(lane) = self.lanes.iter().position(Option::is_none) {
            let Some(group) = self.ready.pop_front().filter(|_| !self.poison.is_set()) else {
                return self.tend_reserve(lane, effects);
            };
            let (segment_bytes, flush_bytes) = (self.segment_bytes(group), self.flush_bytes());
            let Some(found) = self.groups.get_mut(&group) else { continue };
            assert!(found.schedule.is_queued, "a group is in the queue once");
            found.schedule.is_queued = false;
            let trash = || {
                let StoreOwner { shard, incarnation, .. } = self.owner;
                let name = format!("{group:016x}-{shard}-{incarnation}-{}", self.retired);
                Trash { directory: self.home.trash(), name }
            };
            let limits = StoreLimits { segment_bytes, flush_bytes, ..self.limits };
            let next = found.next(&limits, trash);
            effects.extend(found.purged_before.take().map(|op| Effect::Synced { group, op }));
            self.wake_readers(group);
            self.dismiss_impossible_cuts(group, effects);
            let Some((running, mut plan)) = next else {
                self.refuse_staging(group, effects);
                continue;
            };
            let Some(found) = self.groups.get_mut(&group) else { continue };
            self.retired += 1;
            if let Some(step) = found.schedule.relief.take() {
                plan.insert(0, step);
            }
            found.running = Some(running);
            self.lanes[lane] = Some(Tenant::Group(group));
            effects.push(Effect::Run { lane: u32::try_from(lane).unwrap_or(u32::MAX), plan });
        }
    }

    /// Writes the reserve in a lane that nobody else needs now.
    fn tend_reserve(&mut self, lane: usize, effects: &mut Vec<Effect>) {
        if let Some(plan) = self.reserve.next().filter(|_| !self.poison.is_set()) {
            self.lanes[lane] = Some(Tenant::Reserve);
            effects.push(Effect::Run { lane: u32::try_from(lane).unwrap_or(u32::MAX), plan });
        }
    }

    fn reserve_ended(&mut self, lane: u32, result: PlanResult, now: Instant, effects: &mut Vec<Effect>) {
        match self.reserve.ended(result, now) {
            Ok(Some(plan)) => {
                self.lanes[lane as usize] = Some(Tenant::Reserve);
                effects.push(Effect::Run { lane, plan });
            }
            Ok(None) => {}
            Err(fault) => self.fail(fault, effects),
        }
    }

    fn ended(&mut self, lane: u32, result: PlanResult, now: Instant, effects: &mut Vec<Effect>) {
        let group = match self.lanes.get_mut(lane as usize).and_then(Option::take) {
            Some(Tenant::Group(group)) => group,
            Some(Tenant::Reserve) => return self.reserve_ended(lane, result, now, effects),
            None => unreachable!("a plan ends in lane {lane}, which has none"),
        };
        let found = self.groups.get_mut(&group).expect("a group with a plan under way is not forgotten");
        let running = found.running.take().expect("a group has a plan as long as it has a lane");
        let before = found.pending.bytes();
        match (running, result) {
            (Running::Reading { entry, offset }, result) => {
                let bytes = result.ok().and_then(|read| read.into_iter().next().flatten());
                effects.push(Effect::Read { group, entry, offset, bytes });
            }
            (Running::Cutting { asker, contents }, result) => {
                found.cut_ended(asker, contents, result, effects);
            }
            (Running::Staging { listed }, result) => {
                if let Err(fault) = found.staged(listed, result, effects) {
                    self.fail(fault, effects);
                }
            }
            // What is read meanwhile would count as damaged.
            (running @ (Running::Verifying(_) | Running::Opening(_)), Err(fault))
                if fault.error.is_out_of_descriptors() =>
            {
                self.wait_for_space(group, running, fault, now, effects);
            }
            (Running::Verifying(verification), result) => {
                let has_peers = self.owner.has_peers;
                if let Err(damage) = found.verified(verification, result, has_peers) {
                    found.lose(damage, effects);
                }
            }
            // Without space the fences are in memory only. The next start finds the same damage.
            (Running::Opening(Opening::Writing), Err(fault)) if fault.heals() => {
                self.open_on(lane, group, Opening::Writing, Ok(Vec::new()), now, effects);
            }
            (running, Err(fault)) if fault.heals() => {
                self.wait_for_space(group, running, fault, now, effects);
            }
            (running, Err(fault)) if fault.removing => {
                self.wait_for_removal(group, running, fault, now, effects);
            }
            (Running::Opening(Opening::Syncing | Opening::Writing), Err(fault)) => self.fail(fault, effects),
            (Running::Opening(opening), result) => {
                self.open_on(lane, group, opening, result, now, effects);
            }
            (running @ (Running::Appending { .. } | Running::Sealing { .. }), Err(fault))
                if !self.owner.has_peers && found.is_gone(&fault) =>
            {
                found.take_back(running);
                found.close_missing();
            }
            (_, Err(fault)) => self.fail(fault, effects),
            (Running::Swapping(swapping), Ok(_)) => self.swapped(group, swapping, effects),
            (running, Ok(_)) => self.carried_out(group, running, now, effects),
        }
        let after = self.groups.get(&group).map_or(before, |found| found.pending.bytes());
        assert!(
            after <= before && before - after <= self.buffered_bytes,
            "a plan writes batches, and adds none"
        );
        self.buffered_bytes -= before - after;
        self.answer_unindexed(group);
        self.bury(group, effects);
        self.enqueue(group);
    }

    fn carried_out(&mut self, group: u64, running: Running, now: Instant, effects: &mut Vec<Effect>) {
        if matches!(running, Running::Appending { .. }) {
            self.reserve.is_needed(now);
        }
        if let Running::Closing { closing, .. } = &running {
            self.readers.forget_index(closing.key(group));
        }
        self.note_progress(group, &running);
        if let Some(found) = self.groups.get_mut(&group) {
            found.carried_out(running, effects);
        }
    }

    /// Goes on with the opening of a group in its lane.
    fn open_on(
        &mut self,
        lane: u32,
        group: u64,
        opening: Opening,
        result: PlanResult,
        now: Instant,
        effects: &mut Vec<Effect>,
    ) {
        let rules = self.opening_rules();
        let Some(found) = self.groups.get_mut(&group) else { return };
        let next = found.continue_opening(opening, result, rules, effects);
        self.opened_so_far(lane, group, next, now, effects);
    }

    /// The files in the directory of a group that is being opened.
    fn named(
        &mut self,
        lane: u32,
        files: Result<Vec<FileFound>, IoError>,
        now: Instant,
        effects: &mut Vec<Effect>,
    ) {
        let Some(Tenant::Group(group)) = self.lanes.get_mut(lane as usize).and_then(Option::take) else {
            return;
        };
        let rules = self.opening_rules();
        let Some(found) = self.groups.get_mut(&group) else { return };
        found.running = None;
        let files = match files {
            Ok(files) => files,
            // Nobody knows what is lost.
            Err(error) => {
                let path = found.home.directory();
                return self.fail(PlanFault { path, error, reading: true, removing: false }, effects);
            }
        };
        let next = found.take_names(&files, rules, effects);
        self.opened_so_far(lane, group, next, now, effects);
    }

    fn opened_so_far(
        &mut self,
        lane: u32,
        group: u64,
        next: Option<(Running, Plan)>,
        now: Instant,
        effects: &mut Vec<Effect>,
    ) {
        let Some((running, plan)) = next else {
            self.verify_later(group, now);
            self.enqueue(group);
            return;
        };
        let Some(found) = self.groups.get_mut(&group) else { return };
        if matches!(running, Running::Opening(Opening::Names)) {
            effects.push(Effect::List { lane, directory: found.home.directory() });
        } else {
            effects.push(Effect::Run { lane, plan });
        }
        found.running = Some(running);
        self.lanes[lane as usize] = Some(Tenant::Group(group));
    }

    const fn opening_rules(&self) -> OpeningRules {
        OpeningRules { batch_bytes_max: self.limits.batch_bytes_max, has_peers: self.owner.has_peers }
    }

    fn wait_for_space(
        &mut self,
        group: u64,
        running: Running,
        fault: PlanFault,
        now: Instant,
        effects: &mut Vec<Effect>,
    ) {
        let Some(found) = self.groups.get_mut(&group) else { return };
        let lacks_space = fault.lacks_space();
        if lacks_space && running.removes() {
            found.schedule.relief = self.reserve.spend(now);
        }
        if !found.take_back(running) {
            effects.push(Effect::GivenUp { group });
            return;
        }
        if lacks_space {
            self.waits.lacks_space(group);
        }
        if found.schedule.relief.is_some() {
            return;
        }
        found.schedule.lack = Some(fault);
        effects.push(Effect::Pressure { group });
        self.remind(group, now + self.limits.retry_delay);
    }

    /// What cannot be removed harms nobody but by the space it takes: it is tried again, later each time.
    fn wait_for_removal(
        &mut self,
        group: u64,
        running: Running,
        fault: PlanFault,
        now: Instant,
        effects: &mut Vec<Effect>,
    ) {
        let Some(found) = self.groups.get_mut(&group) else { return };
        let delay = self.waits.removal_failed(group, self.limits.retry_delay);
        if found.take_back(running) {
            found.schedule.lack = Some(fault.clone());
            self.remind(group, now + delay);
        } else {
            effects.push(Effect::GivenUp { group });
        }
        effects.push(Effect::RemovalFailed { group, fault });
    }

    /// A plan of a group was carried out: it may be that the group waits for nothing any more.
    fn note_progress(&mut self, group: u64, done: &Running) {
        let wrote =
            matches!(done, Running::Appending { .. } | Running::Sealing { .. } | Running::Purging { .. });
        if wrote || self.groups.get(&group).is_some_and(Group::is_settled) {
            self.waits.forget(group);
        } else if done.removes() {
            self.waits.removed(group);
        }
    }

    fn fail(&mut self, fault: PlanFault, effects: &mut Vec<Effect>) {
        if self.poison.set() {
            effects.push(Effect::Fatal(fault));
        }
    }

    /// Forgets a group that was just removed.
    fn bury(&mut self, group: u64, effects: &mut Vec<Effect>) {
        let removed = |effect: &Effect| matches!(effect, Effect::Removed { group: gone } if *gone == group);
        if effects.iter().any(removed) {
            self.dismiss_readers(group, effects);
            self.dismiss_cuts(group, &NoCut::Gone, effects);
            self.dismiss_staging(group, effects);
            self.drop_group(group);
        }
    }

    fn drop_group(&mut self, group: u64) {
        self.waits.forget(group);
        if let Some(due) = self.groups.remove(&group).and_then(|found| found.schedule.due) {
            self.due.remove(&(due, group));
        }
    }
}
