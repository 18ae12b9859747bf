//! A cut: the segments of a group as they are at one moment, under second names that nothing of the store removes.
//!
//! What the group had committed when it was asked for is written out first. Afterwards the segments may grow, be purged or
//! be removed: what the cut says of them stays true of its names.

use std::path::PathBuf;

use super::group::{Group, Phase, Running};
use super::plan::{Plan, PlanFault, PlanResult, Step};
use super::tail::Tail;
use super::{Effect, SegmentStore, StoreDamage, StoreFault};
use crate::segments_file::SegmentEntry;

/// A cut that waits for what it shall contain, or for its names.
#[derive(Debug)]
pub(super) struct Cut {
    pub(super) asker: u64,
    /// Everything up to this op must be in it.
    op: u64,
    directory: PathBuf,
}

/// What a cut contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutSegments {
    /// The purge generation.
    pub generation: u64,
    /// The last offset.
    pub last_offset: Option<u64>,
    /// In order. The last may be unsealed, which is to have no footer; all else is said of it as of the others.
    pub segments: Vec<SegmentEntry>,
}

/// Why there is no cut. Nothing is harmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoCut {
    /// The group's directory does not hold what it must.
    Damaged(StoreDamage),
    /// The group is gone.
    Gone,
    /// What it shall contain cannot be written out now. It may be asked for again.
    Full(PlanFault),
    /// A name could not be given.
    Unnamed(PlanFault),
}

impl SegmentStore {
    /// Writes what a group has up to `op`, and gives its segments second names in a directory: [`Effect::Cut`].
    pub fn cut(&mut self, group: u64, asker: u64, op: u64, directory: PathBuf, effects: &mut Vec<Effect>) {
        self.group(group).cuts.push_back(Cut { asker, op, directory });
        self.enqueue(group);
        self.pump(effects);
    }

    /// Tells everybody who waits for a cut of a group that there will be none.
    pub(super) fn dismiss_cuts(&mut self, group: u64, why: &NoCut, effects: &mut Vec<Effect>) {
        let waiting = self.groups.get_mut(&group).map(|found| std::mem::take(&mut found.cuts));
        for Cut { asker, .. } in waiting.unwrap_or_default() {
            effects.push(Effect::Cut { group, asker, result: Err(why.clone()) });
        }
    }

    /// The same where it is damaged, or waits for space: who waits for longer than a job does is told why.
    pub(super) fn dismiss_impossible_cuts(&mut self, group: u64, effects: &mut Vec<Effect>) {
        let Some(found) = self.groups.get(&group).filter(|found| !found.cuts.is_empty()) else { return };
        let damaged = || {
            let unknown = || StoreDamage { path: found.home.segments(), fault: StoreFault::Missing };
            NoCut::Damaged(found.damage.clone().unwrap_or_else(unknown))
        };
        let why = match found.phase {
            Phase::Damaged => Some(damaged()),
            _ => found.schedule.lack.clone().map(NoCut::Full),
        };
        if let Some(why) = why {
            self.dismiss_cuts(group, &why, effects);
        }
    }
}

impl Group {
    /// Takes up the cut that is next, as soon as all that it shall contain is written; until then that is what is asked for.
    pub(super) fn next_cut(&mut self) -> Option<(Running, Plan)> {
        let op = self.cuts.front()?.op;
        if self.pending.front().is_some_and(|batch| batch.op <= op) && self.planted.cut_waits() {
            self.pending.ask_to(op);
            return None;
        }
        let Cut { asker, directory, .. } = self.cuts.pop_front()?;
        let contents = self.contents();
        let mut plan: Plan = contents
            .segments
            .iter()
            .map(|entry| Step::Link { from: self.home.segment(entry), to: directory.join(entry.file_name()) })
            .collect();
        plan.push(Step::SyncDirectory(directory));
        Some((Running::Cutting { asker, contents }, plan))
    }

    fn contents(&self) -> CutSegments {
        let tail = || self.tail.as_ref().map(Tail::contents);
        let entry = |entry: &SegmentEntry| {
            // Of a segment of which nothing is left there may be no file.
            if self.is_lost(entry) {
                None
            } else if entry.is_sealed() {
                Some(*entry)
            } else {
                tail().filter(|found| found.bytes > 0)
            }
        };
        CutSegments {
            generation: self.listed.purge_generation,
            last_offset: self.last_offset(),
            segments: self.listed.segments.iter().filter_map(entry).collect(),
        }
    }

    /// A cut has its names, or has not got them all.
    pub(super) fn cut_ended(
        &self,
        asker: u64,
        contents: CutSegments,
        result: PlanResult,
        effects: &mut Vec<Effect>,
    ) {
        let result = result.map(|_| contents).map_err(NoCut::Unnamed);
        effects.push(Effect::Cut { group: self.id, asker, result });
    }
}
