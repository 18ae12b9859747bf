//! Adoption: compacted files from an offline job replace sealed segments.
//!
//! The files are linked and synced first. Then a swap is proposed to the partition's log; its commit decides,
//! and a start that finds it executes it again. A group has one adoption at a time, so only a purge or a
//! truncation can happen between the check of its segments and the swap, and the partition detects both.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use ng_io::Environment;
use ng_partition::{Applied, Effect as Change};
use ng_storage::store::{NotStaged, Staging, SwapOrder};
use ng_wire::replica::{Level, LogOperation, Op, PartitionOp};

use crate::group::Body;
use crate::host::ShardLog;
use crate::machine::MetadataMachine;
use crate::outbox::Outgoing;
use crate::replicate::request::LogRequest;

/// Files for a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adoption {
    /// Body of the swap operation.
    pub swap: Vec<u8>,
    /// Directory of the files; their names are those of segments.
    pub directory: PathBuf,
}

/// Outcome of an adoption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdoptionEnd {
    /// The files are segments now.
    Done,
    /// The segments to replace were deleted or replaced. Nothing has changed.
    Fenced,
    /// The group is still recovering or has too much to do. The caller may try again.
    Busy,
    /// Refused, because other nodes have the partition but not the files.
    Cluster,
    /// This shard has no such group.
    NoGroup,
    /// The swap contradicts itself.
    Unsound,
    /// The group's segments are damaged, or the new files could not be linked; with the cause in a sentence.
    Failed(String),
}

/// An adoption in progress.
#[derive(Debug)]
struct ActiveAdoption {
    asker: u64,
    stage: AdoptionStage,
}

#[derive(Debug, PartialEq, Eq)]
enum AdoptionStage {
    /// The files are being linked; with the body of the swap.
    Staging(Vec<u8>),
    /// The swap is in the log.
    Proposed,
    /// The swap was executed at this op; the segments are being replaced.
    Executed(Op),
}

/// Adoptions in progress.
#[derive(Debug, Default)]
pub(crate) struct Adoptions {
    under_way: BTreeMap<u64, ActiveAdoption>,
    /// Groups with files that an earlier run of the process has left next to the segments.
    loose: BTreeSet<u64>,
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Replaces segments of a partition by files. The outcome is [`Outgoing::Adopted`].
    pub fn adopt(&mut self, asker: u64, group: u64, adoption: Adoption) {
        let Adoption { swap, directory } = adoption;
        let order = match PartitionOp::decode(LogOperation::Swap, &swap) {
            Some(Ok(PartitionOp::Swap(found))) => Some(SwapOrder::from(&found)),
            _ => None,
        };
        let order = match (order, self.groups.contains_key(&group)) {
            (_, false) => Err(AdoptionEnd::NoGroup),
            (None, _) => Err(AdoptionEnd::Unsound),
            _ if self.life.identity.nodes > 1 => Err(AdoptionEnd::Cluster),
            _ if self.is_occupied(group) => Err(AdoptionEnd::Busy),
            (Some(order), true) => Ok(order),
        };
        match order {
            Err(end) => self.outbox.push(Outgoing::Adopted { asker, group, end }),
            Ok(order) => {
                self.open_segments(group);
                self.adoptions
                    .under_way
                    .insert(group, ActiveAdoption { asker, stage: AdoptionStage::Staging(swap) });
                let staging = Staging { order, directory };
                self.segments.order(|store, effects| store.stage(group, staging, effects));
            }
        }
    }

    /// The group cannot start an adoption yet. While files of an earlier run await removal it must not,
    /// because the removal would delete the new files, too. This holds even if a repeated swap has already
    /// used the old ones.
    fn is_occupied(&self, group: u64) -> bool {
        let Adoptions { under_way, loose } = &self.adoptions;
        !self.is_settled(group) || under_way.contains_key(&group) || loose.contains(&group)
    }

    /// The files were linked, or linking failed.
    pub(crate) fn staged(&mut self, group: u64, result: Result<(), NotStaged>) {
        let end = match result {
            Ok(()) => match self.propose_swap(group) {
                true => return,
                false => {
                    self.segments.order(|store, effects| store.sweep(group, effects));
                    AdoptionEnd::Busy
                }
            },
            Err(NotStaged::Fenced) => AdoptionEnd::Fenced,
            Err(NotStaged::Busy) => AdoptionEnd::Busy,
            Err(NotStaged::Gone) => AdoptionEnd::NoGroup,
            Err(NotStaged::Damaged(damage)) => AdoptionEnd::Failed(damage.to_string()),
            Err(NotStaged::Unlinked(fault)) => AdoptionEnd::Failed(fault.to_string()),
        };
        self.end_adoption(group, end);
    }

    fn propose_swap(&mut self, group: u64) -> bool {
        let Some(adopting) = self.adoptions.under_way.get_mut(&group) else { return false };
        let AdoptionStage::Staging(body) = std::mem::replace(&mut adopting.stage, AdoptionStage::Proposed)
        else {
            return false;
        };
        let (operation, level) = (LogOperation::Swap, Level::Persisted);
        let body = body.into();
        let request = LogRequest { group, client: 0, session: 0, request: 0, operation, level, body };
        self.prepare(None, request).is_ok()
    }

    /// A swap was executed; its segments must be replaced.
    pub(crate) fn swap_executed(&mut self, group: u64, op: Op, applied: &Applied, body: &Body) {
        match (applied, PartitionOp::decode(LogOperation::Swap, body)) {
            (Applied::Done(Change::Swap), Some(Ok(PartitionOp::Swap(swap)))) => {
                let order = SwapOrder::from(&swap);
                // A start executes batches again and puts them into memory as they were, although their
                // segments may already be replaced.
                if let (Some(first), Some(last)) = (order.inputs.first(), order.inputs.last())
                    && self.life.planted.forgets_replaced()
                {
                    self.polls.cache.forget_between(group, first.base_offset, last.last_offset);
                }
                if let Some(adopting) = self.adoptions.under_way.get_mut(&group) {
                    adopting.stage = AdoptionStage::Executed(op);
                }
                self.segments.order(|store, effects| store.swap(group, op.0, order, effects));
            }
            (Applied::Rejected(_), _) if self.adoptions.under_way.contains_key(&group) => {
                self.segments.order(|store, effects| store.sweep(group, effects));
                self.end_adoption(group, AdoptionEnd::Fenced);
            }
            _ => {}
        }
    }

    /// A swap is on the disk, or there was no segment to replace. It may belong to an earlier run.
    pub(crate) fn swapped(&mut self, group: u64, op: Op, replaced: bool) {
        if replaced {
            self.segments.note_change(group);
            self.segments_changed(group);
        }
        let adopting = self.adoptions.under_way.get(&group);
        if adopting.is_some_and(|adopting| adopting.stage == AdoptionStage::Executed(op)) {
            let end = if replaced { AdoptionEnd::Done } else { AdoptionEnd::Fenced };
            self.end_adoption(group, end);
        }
    }

    /// Drops cached batches at the moment their segments are replaced, so that no poll mixes old and new
    /// ones.
    pub(crate) fn forget_replaced(&mut self) {
        if !self.life.planted.forgets_replaced() {
            return;
        }
        for (group, first, last) in self.segments.replaced() {
            self.polls.cache.forget_between(group, first, last);
        }
    }

    /// Segments of a group were opened. Other files in the directory belong to a swap that awaits its
    /// repetition, or are garbage.
    pub(crate) fn adoptions_opened(&mut self, group: u64) {
        if self.segments.core().has_loose(group) {
            self.adoptions.loose.insert(group);
        }
    }

    /// Removes leftover files of earlier runs, once all operations in the log of their group are executed.
    pub(crate) fn tend_loose(&mut self) {
        if self.adoptions.loose.is_empty() {
            return;
        }
        let settled: Vec<u64> =
            self.adoptions.loose.iter().copied().filter(|group| self.is_settled(*group)).collect();
        for group in settled {
            self.adoptions.loose.remove(&group);
            self.segments.order(|store, effects| store.sweep(group, effects));
        }
    }

    /// A group ends, and with it its adoption.
    pub(crate) fn forget_adoptions(&mut self, group: u64) {
        self.adoptions.loose.remove(&group);
        self.end_adoption(group, AdoptionEnd::NoGroup);
    }

    fn end_adoption(&mut self, group: u64, end: AdoptionEnd) {
        if let Some(ActiveAdoption { asker, .. }) = self.adoptions.under_way.remove(&group) {
            self.outbox.push(Outgoing::Adopted { asker, group, end });
        }
    }
}
