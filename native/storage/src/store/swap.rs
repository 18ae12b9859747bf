//! Compacted segments that take the place of others, in three steps that a crash may come between.
//!
//! *Staging* lists the files that are to come as loose, then links and syncs them; the log of the group may say then that
//! they are taken. *Swapping* replaces the list: those that came count, those that went are loose. *Sweeping* removes what
//! is loose, once nobody reads it. So the list always names every file that lies beside the segments, and a start that
//! has executed its log removes them without looking for them.

use std::path::PathBuf;

use ng_wire::replica::{Swap, SwapInput, SwapOutput};

use super::group::{Group, Order, Phase, Running};
use super::index_cache::IndexKey;
use super::plan::{Plan, PlanFault, PlanResult, Step};
use super::walk::FoundBatches;
use super::{Effect, SegmentStore, StoreDamage, StoreFault};
use crate::home::replacement;
use crate::segments_file::{SegmentEntry, SegmentsFile};

/// Segments that take the place of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwapOrder {
    /// The purge generation that they are of.
    pub generation: u64,
    /// Those that go, ascending.
    pub inputs: Vec<SwapInput>,
    /// Those that come, ascending: each for a run of whole inputs.
    pub outputs: Vec<SwapOutput>,
}

impl From<&Swap<'_>> for SwapOrder {
    fn from(swap: &Swap<'_>) -> Self {
        Self {
            generation: swap.generation,
            inputs: swap.inputs().collect(),
            outputs: swap.outputs().collect(),
        }
    }
}

/// Files that are to become segments of a group.
#[derive(Clone, Debug)]
pub struct Staging {
    /// What they are, and what they are for.
    pub order: SwapOrder,
    /// Where they lie, under the names that segments have; on the file system of the segments.
    pub directory: PathBuf,
}

/// Why files do not become segments. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotStaged {
    /// Some of those that they are for are not there, or not as they were.
    Fenced,
    /// Files of a swap before lie there, or there is no space: another time.
    Busy,
    /// The group's directory does not hold what it must.
    Damaged(StoreDamage),
    /// The group is gone.
    Gone,
    /// A file could not be linked or synced.
    Unlinked(PlanFault),
}

/// A swap on its way to the list.
#[derive(Debug)]
pub(super) struct Swapping {
    pub(super) order: Box<SwapOrder>,
    pub(super) op: u64,
    /// The list with the segments that come; nothing if it has them, or names none to come, or has not what they are for any
    /// more.
    listed: Option<SegmentsFile>,
}

impl SegmentStore {
    /// Gives files the names of segments of a group, for a swap that its log does not have yet: [`Effect::Staged`]. One at a
    /// time in a group.
    pub fn stage(&mut self, group: u64, staging: Staging, effects: &mut Vec<Effect>) {
        self.group(group).staging = Some(Box::new(staging));
        self.enqueue(group);
        self.pump(effects);
    }

    /// The log of a group says that staged files take the place of segments: [`Effect::Swapped`], and [`Effect::Synced`] when
    /// that is on the disk.
    pub fn swap(&mut self, group: u64, op: u64, order: SwapOrder, effects: &mut Vec<Effect>) {
        self.order(group, Order::Swap { order: Box::new(order), op }, effects);
    }

    /// Removes the files of a group that do not count. The log has no swap that would be executed later and needs them.
    pub fn sweep(&mut self, group: u64, effects: &mut Vec<Effect>) {
        self.order(group, Order::Sweep, effects);
    }

    /// Whether files lie beside the segments of an open group.
    #[must_use]
    pub fn has_loose(&self, group: u64) -> bool {
        self.groups.get(&group).is_some_and(|found| !found.listed.loose.is_empty())
    }

    /// How often segments of a group took the place of others since it was opened: who read before and reads on after would
    /// see some of both.
    #[must_use]
    pub fn swaps(&self, group: u64) -> u64 {
        self.groups.get(&group).map_or(0, |found| found.swaps)
    }

    /// Whether batches were read from a segment that still counts.
    #[must_use]
    pub fn is_current(&self, group: u64, found: &FoundBatches) -> bool {
        self.groups.get(&group).is_some_and(|open| {
            let segments = &open.listed.segments;
            let place = segments.binary_search_by_key(&found.segment.base_offset, |entry| entry.base_offset);
            place.is_ok_and(|place| segments[place].generation == found.segment.generation)
        })
    }

    /// Refuses a staging that is next and cannot be.
    pub(super) fn refuse_staging(&mut self, group: u64, effects: &mut Vec<Effect>) {
        let Some(found) = self.groups.get_mut(&group) else { return };
        if let Some(why) = found.staging.as_ref().and_then(|staging| found.refuses(staging)) {
            found.staging = None;
            effects.push(Effect::Staged { group, result: Err(why) });
        }
    }

    /// Tells who waits for a staging of a group that is gone.
    pub(super) fn dismiss_staging(&mut self, group: u64, effects: &mut Vec<Effect>) {
        let staging = self.groups.get_mut(&group).and_then(|found| found.staging.take());
        if staging.is_some() {
            effects.push(Effect::Staged { group, result: Err(NotStaged::Gone) });
        }
    }

    /// A swap is in the list. Nobody begins to read what it replaced.
    pub(super) fn swapped(&mut self, group: u64, swapping: Swapping, effects: &mut Vec<Effect>) {
        let Some(found) = self.groups.get_mut(&group) else { return };
        let op = swapping.op;
        let synced = found.first_unsynced().map_or(op, |first| op.min(first.saturating_sub(1)));
        let replaced = found.take_swap(swapping);
        for entry in &found.listed.loose {
            let SegmentEntry { base_offset, generation, .. } = *entry;
            self.readers.forget_index(IndexKey { group, base_offset, generation });
        }
        effects.push(Effect::Swapped { group, op, replaced });
        effects.push(Effect::Synced { group, op: synced });
    }
}

impl Group {
    /// Why a staging cannot be carried out. Nothing yet, while something comes before it.
    fn refuses(&self, staging: &Staging) -> Option<NotStaged> {
        if self.phase == Phase::Damaged {
            let unknown = || StoreDamage { path: self.home.segments(), fault: StoreFault::Missing };
            return Some(NotStaged::Damaged(self.damage.clone().unwrap_or_else(unknown)));
        }
        if self.schedule.lack.is_some() {
            return Some(NotStaged::Busy);
        }
        if self.phase != Phase::Open || self.running.is_some() || !self.orders.is_empty() {
            return None;
        }
        if !self.listed.loose.is_empty() {
            return Some(NotStaged::Busy);
        }
        let stays = self.run_of(&staging.order).is_some_and(|first| {
            self.listed.segments[first].last_offset >= self.truncated_to && !self.is_purging()
        });
        (!stays).then_some(NotStaged::Fenced)
    }

    /// Where in the list the inputs of a swap stand, exactly as it has them.
    fn run_of(&self, order: &SwapOrder) -> Option<usize> {
        let first = order.inputs.first().filter(|_| order.generation == self.listed.purge_generation)?;
        let segments = &self.listed.segments;
        let place = segments.binary_search_by_key(&first.base_offset, |entry| entry.base_offset).ok()?;
        let found = segments.get(place..place + order.inputs.len())?;
        found.iter().zip(&order.inputs).all(|(entry, input)| is_same(entry, input)).then_some(place)
    }

    /// Takes up the staging that waits, unless it is to be refused.
    pub(super) fn next_staging(&mut self) -> Option<(Running, Plan)> {
        if self.staging.as_ref().is_some_and(|staging| self.refuses(staging).is_some()) {
            return None;
        }
        let Staging { order, directory } = *self.staging.take()?;
        let loose: Vec<SegmentEntry> = order.outputs.iter().map(entry_of).collect();
        let listed = SegmentsFile { loose, ..self.list_next() };
        let mut plan = Plan::new();
        self.put_list(&mut plan, &listed);
        for entry in &listed.loose {
            let to = self.home.segment(entry);
            plan.push(Step::Remove(to.clone()));
            plan.push(Step::Remove(self.home.index(entry)));
            plan.push(Step::Link { from: directory.join(entry.file_name()), to: to.clone() });
            plan.push(Step::Sync { path: to, batches: true });
        }
        plan.push(Step::SyncDirectory(self.home.directory()));
        Some((Running::Staging { listed }, plan))
    }

    /// Takes note of the end of a staging; gives back the fault that must end the process.
    pub(super) fn staged(
        &mut self,
        listed: SegmentsFile,
        result: PlanResult,
        effects: &mut Vec<Effect>,
    ) -> Result<(), PlanFault> {
        let group = self.id;
        let of_a_file = |fault: &PlanFault| {
            let mut files = listed.loose.iter().map(|entry| self.home.segment(entry));
            files.any(|path| path == fault.path)
        };
        // Once it may have its name, the list counts: files may lie there that no other one names.
        let unnamed = replacement(&self.home.segments());
        let in_force = result.as_ref().err().is_none_or(|fault| fault.path != unnamed);
        let result = match result {
            Ok(_) => Ok(()),
            Err(fault) if fault.heals() => Err(NotStaged::Busy),
            Err(fault) if of_a_file(&fault) => Err(NotStaged::Unlinked(fault)),
            Err(fault) => return Err(fault),
        };
        if in_force {
            self.set_list(listed);
        }
        if result.is_err() {
            self.orders.push_back(Order::Sweep);
        }
        effects.push(Effect::Staged { group, result });
        Ok(())
    }

    /// The plan of a swap. A start applies one again that the list has; then there is nothing to do, and that is synced. The
    /// same where the list does not name what comes: what goes is all that there is of its messages, and stays.
    pub(super) fn plan_swap(&self, order: Box<SwapOrder>, op: u64) -> (Running, Plan) {
        let outputs: Vec<SegmentEntry> = order.outputs.iter().map(entry_of).collect();
        let are_staged = outputs.iter().all(|output| self.listed.loose.contains(output));
        let listed = self.run_of(&order).filter(|_| are_staged).map(|first| {
            let mut listed = self.list_next();
            listed.loose.retain(|entry| !outputs.contains(entry));
            let replaced = listed.segments.splice(first..first + order.inputs.len(), outputs);
            listed.loose.extend(replaced);
            listed
        });
        let mut plan = Plan::new();
        self.make_directory(&mut plan);
        match &listed {
            Some(listed) => self.put_list(&mut plan, listed),
            None => plan.push(Step::SyncDirectory(self.home.directory())),
        }
        (Running::Swapping(Swapping { order, op, listed }), plan)
    }

    /// Takes over the list of a swap; the offsets that it is about, if it had anything to replace.
    fn take_swap(&mut self, swapping: Swapping) -> Option<(u64, u64)> {
        self.present = true;
        let Swapping { order, listed, .. } = swapping;
        self.set_list(listed?);
        self.swaps += 1;
        self.orders.push_back(Order::Sweep);
        Some((order.inputs.first()?.base_offset, order.inputs.last()?.last_offset))
    }

    pub(super) fn plan_sweep(&self) -> (Running, Plan) {
        let listed = SegmentsFile { loose: Vec::new(), ..self.list_next() };
        let mut plan = Plan::new();
        self.remove_files(&mut plan, &self.listed.loose);
        // The names must be gone before nothing tells of them any more.
        plan.push(Step::SyncDirectory(self.home.directory()));
        self.put_list(&mut plan, &listed);
        (Running::Sweeping { listed }, plan)
    }
}

fn is_same(entry: &SegmentEntry, input: &SwapInput) -> bool {
    let SwapInput { base_offset, last_offset, generation, footer } = *input;
    (entry.base_offset, entry.last_offset, entry.generation, entry.footer)
        == (base_offset, last_offset, generation, footer)
}

const fn entry_of(output: &SwapOutput) -> SegmentEntry {
    let SwapOutput {
        base_offset,
        last_offset,
        min_timestamp,
        max_timestamp,
        bytes,
        generation,
        messages,
        footer,
    } = *output;
    SegmentEntry {
        base_offset,
        last_offset,
        min_timestamp,
        max_timestamp,
        bytes,
        messages,
        generation,
        footer,
    }
}
