//! Adoption: files that an offline job made of sealed segments become segments in their place.
//!
//! The files are linked and synced first. Then the log of the partition takes a swap: its commit is what
//! counts, and a start that finds it carries it out again. A group has one adoption at a time, so nothing but
//! a purge or a truncation can come between the look at its segments and the swap, and both of these the
//! partition knows of.

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
    /// The body of the swap.
    pub swap: Vec<u8>,
    /// Where the files lie, under the names that segments have.
    pub directory: PathBuf,
}

/// What came of an adoption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdoptionEnd {
    /// The files are segments.
    Done,
    /// The segments that they are for have gone, or are others now. Nothing has changed.
    Fenced,
    /// The group is not past its beginning, or has too much to do. It may be asked for again.
    Busy,
    /// Other nodes have the partition, too, and not the files.
    Cluster,
    /// This shard has no such group.
    NoGroup,
    /// The swap contradicts itself.
    Unsound,
    /// The group's files are not what they must be, or the new ones could not be linked. Why, in a sentence.
    Failed(String),
}

/// An adoption under way.
#[derive(Debug)]
struct ActiveAdoption {
    asker: u64,
    stage: AdoptionStage,
}

#[derive(Debug, PartialEq, Eq)]
enum AdoptionStage {
    /// The files are being linked; the body of the swap.
    Staging(Vec<u8>),
    /// The log has the swap.
    Proposed,
    /// It was executed under this number, and its segments follow.
    Executed(Op),
}

/// What is being adopted.
#[derive(Debug, Default)]
pub(crate) struct Adoptions {
    under_way: BTreeMap<u64, ActiveAdoption>,
    /// Groups beside whose segments a life before this one has left files.
    loose: BTreeSet<u64>,
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Lets files take the place of segments of a partition: [`Outgoing::Adopted`].
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

    /// Whether something else is to become of a group first. Files beside its segments are yet to be swept
    /// where a life before this one has left some, though a swap that was executed again may have done it:
    /// new ones would go with them.
    fn is_occupied(&self, group: u64) -> bool {
        let Adoptions { under_way, loose } = &self.adoptions;
        !self.is_settled(group) || under_way.contains_key(&group) || loose.contains(&group)
    }

    /// The files have their names, or will not get them.
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

    /// A swap was executed: its segments follow.
    pub(crate) fn swap_executed(&mut self, group: u64, op: Op, applied: &Applied, body: &Body) {
        match (applied, PartitionOp::decode(LogOperation::Swap, body)) {
            (Applied::Done(Change::Swap), Some(Ok(PartitionOp::Swap(swap)))) => {
                let order = SwapOrder::from(&swap);
                // Batches that a start has executed again are in memory as they were before: the segments may
                // be replaced already.
                if let (Some(first), Some(last)) = (order.inputs.first(), order.inputs.last()) {
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

    /// A swap is on the disk, or there was nothing to replace. It may be one of a life before this one.
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

    /// What is in memory of segments goes in the moment in which they are replaced: no poll has some of both.
    pub(crate) fn forget_replaced(&mut self) {
        for (group, first, last) in self.segments.replaced() {
            self.polls.cache.forget_between(group, first, last);
        }
    }

    /// Segments of a group were opened. What lies beside them is needed by a swap that is not executed again
    /// yet, or by nobody.
    pub(crate) fn adoptions_opened(&mut self, group: u64) {
        if self.segments.core().has_loose(group) {
            self.adoptions.loose.insert(group);
        }
    }

    /// Removes what a life before this one has left, where everything that its log has was executed.
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

    /// A group ends, and with it what was to be adopted.
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
