//! Unlogged offsets: stored offsets that are visible at once and enter the log later, with the next batch,
//! after 100 ms, or at a stop.

use std::collections::{BTreeMap, BTreeSet};

use ng_io::Environment;
use ng_partition::{Applied, Effect as Change, OffsetsAhead, Partition, PartitionState};
use ng_vsr::Ticks;
use ng_wire::replica::{ConsumerKind, Level, LogOperation, OffsetRefusal, Op, PartitionOp, offsets_body};

use crate::group::{Group, RoleChange};
use crate::host::ShardLog;
use crate::machine::{Machine, MetadataMachine};
use crate::poll::request::Consumer;
use crate::replicate::request::LogRequest;

/// Maximum time of an offset outside the log, if the log has room for it.
const DELAY: Ticks = 100;

/// Kind and id of a consumer, as in the log.
type Owner = (ConsumerKind, u64);

/// Unlogged offsets of all groups of a shard.
#[derive(Debug, Default)]
pub(crate) struct UnloggedOffsets {
    ahead: BTreeMap<u64, OffsetsAhead>,
    /// Time at which the offsets of a group are proposed. A group is in both maps or in neither.
    due: BTreeSet<(Ticks, u64)>,
    due_of: BTreeMap<u64, Ticks>,
}

impl UnloggedOffsets {
    pub(crate) fn deadline(&self) -> Option<Ticks> {
        self.due.first().map(|(at, _)| *at)
    }

    fn remind(&mut self, group: u64, at: Ticks) {
        if let Some(before) = self.due_of.insert(group, at) {
            self.due.remove(&(before, group));
        }
        self.due.insert((at, group));
    }

    fn changed(&mut self, group: u64, now: Ticks) {
        if !self.due_of.contains_key(&group) {
            self.remind(group, now + DELAY);
        }
    }

    fn take_due(&mut self, now: Ticks) -> Option<u64> {
        let (at, group) = self.due.first().copied().filter(|(at, _)| *at <= now)?;
        self.due.remove(&(at, group));
        self.due_of.remove(&group);
        Some(group)
    }

    /// No offset waits to be proposed.
    fn is_settled(&self) -> bool {
        self.due.is_empty()
    }

    /// Makes all offsets due now.
    fn hasten(&mut self, now: Ticks) {
        for (group, at) in &mut self.due_of {
            self.due.remove(&(*at, *group));
            *at = now.min(*at);
            self.due.insert((*at, *group));
        }
    }

    pub(crate) fn forget(&mut self, group: u64) {
        self.ahead.remove(&group);
        if let Some(at) = self.due_of.remove(&group) {
            self.due.remove(&(at, group));
        }
    }
}

/// A partition that this node leads, with the last op of its log.
fn led(groups: &BTreeMap<u64, Box<Group>>, id: u64) -> Option<(&Partition, u64)> {
    let group = groups.get(&id).filter(|group| group.replica.is_primary())?;
    match &group.machine {
        Machine::Partition(partition, _) => Some((partition, group.replica.head().0)),
        Machine::Metadata => None,
    }
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// The visible stored offset of a consumer.
    #[must_use]
    pub fn stored_offset(&self, group: u64, (kind, id): Consumer) -> Option<u64> {
        let state = self.partition(group)?;
        let owner = (kind, id.into());
        match self.offsets.ahead.get(&group) {
            Some(ahead) => ahead.visible(state, owner),
            None => state.offsets.get(&owner).copied(),
        }
    }

    /// All visible stored offsets of a partition.
    pub(crate) fn stored_offsets<'a>(
        &'a self,
        group: u64,
        state: &'a PartitionState,
    ) -> impl Iterator<Item = (Owner, u64)> + 'a {
        let ahead = self.offsets.ahead.get(&group);
        let fresh = ahead.into_iter().flat_map(OffsetsAhead::owners);
        let fresh = fresh.filter(|owner| !state.offsets.contains_key(owner));
        state.offsets.keys().copied().chain(fresh).filter_map(move |owner| {
            let offset = match ahead {
                Some(ahead) => ahead.visible(state, owner),
                None => state.offsets.get(&owner).copied(),
            };
            Some((owner, offset?))
        })
    }

    /// Stores or deletes an offset without waiting for the log. Returns `None` if this shard does not have
    /// the partition or does not lead it.
    pub fn store_ahead(
        &mut self,
        group: u64,
        (kind, id): Consumer,
        offset: Option<u64>,
    ) -> Option<Result<(), OffsetRefusal>> {
        let (partition, head) = led(&self.groups, group)?;
        let ahead = self.offsets.ahead.entry(group).or_default();
        let stored = ahead.store(partition.state(), partition.limits(), (kind, id.into()), offset, head);
        if stored.is_ok() && offset.is_some() {
            self.retention.readers.saw(group, (kind, id.into()), self.clock.ticks());
        }
        self.ahead_changed(group);
        Some(stored)
    }

    /// Stores the last offset of a poll with auto-commit. It is ignored if the partition was purged since the
    /// poll began.
    pub(crate) fn commit_ahead(&mut self, group: u64, (kind, id): Consumer, generation: u64, offset: u64) {
        let Some((partition, head)) = led(&self.groups, group) else { return };
        if partition.state().purge_generation == generation {
            let ahead = self.offsets.ahead.entry(group).or_default();
            let owner = (kind, id.into());
            if ahead.advance(partition.state(), partition.limits(), owner, offset, head) {
                self.retention.readers.saw(group, owner, self.clock.ticks());
            }
            self.ahead_changed(group);
        }
    }

    fn ahead_changed(&mut self, group: u64) {
        match self.offsets.ahead.get(&group) {
            Some(ahead) if ahead.is_empty() => self.offsets.forget(group),
            Some(ahead) if ahead.is_fresh() => self.offsets.changed(group, self.clock.ticks()),
            _ => {}
        }
    }

    /// Proposes the offsets that are due.
    pub(crate) fn tend_offsets(&mut self) {
        while let Some(group) = self.offsets.take_due(self.clock.ticks()) {
            if !self.propose_offsets(group) {
                // A stop is shorter than many delays, so it retries sooner.
                let delay = if self.is_stopping() { 1 } else { DELAY };
                self.offsets.remind(group, self.clock.ticks() + delay);
            }
        }
    }

    /// Proposes the unlogged offsets of a group, if there are any. Returns false if the log has no room now.
    pub(crate) fn propose_offsets(&mut self, group: u64) -> bool {
        let fresh = self.offsets.ahead.get(&group).filter(|ahead| ahead.is_fresh());
        let Some(writes) = fresh.map(OffsetsAhead::writes) else { return true };
        if led(&self.groups, group).is_none() {
            self.offsets.forget(group);
            return true;
        }
        let request = LogRequest {
            group,
            client: 0,
            session: 0,
            request: 0,
            operation: LogOperation::Offsets,
            level: Level::Replicated,
            body: offsets_body(&writes).into(),
        };
        let taken = self.prepare(None, request).is_ok();
        if let Some(ahead) = self.offsets.ahead.get_mut(&group).filter(|_| taken) {
            ahead.proposed();
        }
        taken
    }

    /// All offsets were proposed.
    pub(crate) fn offsets_are_proposed(&self) -> bool {
        self.offsets.is_settled()
    }

    /// A client's offset operation was prepared. It supersedes unlogged offsets, which must not be proposed
    /// after it.
    pub(crate) fn offsets_prepared(&mut self, group: u64, operation: LogOperation, op: Op, body: &[u8]) {
        let Some(ahead) = self.offsets.ahead.get_mut(&group) else { return };
        match PartitionOp::decode(operation, body) {
            Some(Ok(PartitionOp::Offsets(writes))) => ahead.prepared(op.0, writes),
            Some(Ok(PartitionOp::DropGroupOffsets { id })) => ahead.drop_prepared(op.0, id),
            // The partition will reject it.
            Some(Err(_)) => {}
            Some(Ok(_)) | None => debug_assert!(false, "{operation:?} overtakes no offset"),
        }
    }

    /// The log will stop soon, so all offsets must enter it.
    pub(crate) fn hasten_offsets(&mut self) {
        self.offsets.hasten(self.clock.ticks());
    }

    /// An operation was executed, so the unlogged offsets that it supersedes are dropped.
    pub(crate) fn offsets_follow(&mut self, id: u64, op: Op, applied: &Applied, body: &[u8]) {
        self.readers_follow(id, applied, body);
        let Some(ahead) = self.offsets.ahead.get_mut(&id) else { return };
        match applied {
            Applied::Done(Change::Purge { .. }) => return self.offsets.forget(id),
            Applied::Done(Change::Offsets { refused }) => {
                if let Some(Ok(PartitionOp::Offsets(writes))) =
                    PartitionOp::decode(LogOperation::Offsets, body)
                {
                    ahead.executed(op.0, writes, refused);
                }
            }
            Applied::Done(Change::DropGroupOffsets { .. }) => {
                if let Some(Ok(PartitionOp::DropGroupOffsets { id })) =
                    PartitionOp::decode(LogOperation::DropGroupOffsets, body)
                {
                    ahead.group_dropped(op.0, id);
                }
            }
            _ => return,
        }
        self.ahead_changed(id);
    }

    /// An operation was executed: a consumer that stored an offset was active, and one that deleted its
    /// offset protects no messages any more.
    fn readers_follow(&mut self, id: u64, applied: &Applied, body: &[u8]) {
        let readers = &mut self.retention.readers;
        match applied {
            Applied::Done(Change::Purge { .. }) => readers.forget_all(id),
            Applied::Done(Change::Offsets { refused }) => {
                let decoded = PartitionOp::decode(LogOperation::Offsets, body);
                let Some(Ok(PartitionOp::Offsets(writes))) = decoded else { return };
                for (index, write) in (0..).zip(writes.iter()) {
                    match write.offset {
                        None => readers.forget(id, (write.kind, write.id)),
                        Some(_) if refused.iter().any(|refused| refused.index == index) => {}
                        Some(_) => readers.saw(id, (write.kind, write.id), self.clock.ticks()),
                    }
                }
            }
            Applied::Done(Change::DropGroupOffsets { .. }) => {
                let decoded = PartitionOp::decode(LogOperation::DropGroupOffsets, body);
                if let Some(Ok(PartitionOp::DropGroupOffsets { id: owner })) = decoded {
                    readers.forget(id, (ConsumerKind::Group, owner));
                }
            }
            _ => {}
        }
    }

    /// The group's role changed. Proposed offsets may be lost, and only the primary can propose them again.
    pub(crate) fn offsets_turn(&mut self, id: u64, change: RoleChange) {
        match (change, self.offsets.ahead.get_mut(&id)) {
            (_, None) | (RoleChange::Same | RoleChange::Adrift, _) => {}
            (RoleChange::Follows(_), _) => self.offsets.forget(id),
            (RoleChange::Leads, Some(ahead)) => {
                ahead.propose_again();
                self.offsets.changed(id, self.clock.ticks());
            }
        }
    }
}
