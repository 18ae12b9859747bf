//! Offsets that count as stored and are not in the log yet: those of polls that commit by themselves, and of consumers that
//! do not wait. They are lost with the process, and then an older one counts again.

use std::collections::BTreeMap;

use ng_wire::replica::{ConsumerKind, OffsetRefusal, OffsetWrite, OffsetWrites, RefusedOffset};

use crate::state::{PartitionLimits, PartitionState};

/// Whose offset it is.
type Owner = (ConsumerKind, u64);

/// One that is ahead of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ahead {
    /// `None`: it was dropped.
    offset: Option<u64>,
    /// The last operation of the log when it was stored.
    behind: u64,
    /// An operation of its consumer that was prepared since and is not executed: proposed behind it, this offset would replace
    /// one that is newer.
    overtaken_by: Option<u64>,
}

/// The offsets of one partition that are ahead of its log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetsAhead {
    entries: BTreeMap<Owner, Ahead>,
    /// Whether some were stored since they were proposed last.
    fresh: bool,
}

impl OffsetsAhead {
    /// The offset that counts.
    #[must_use]
    pub fn visible(&self, state: &PartitionState, owner: Owner) -> Option<u64> {
        match self.entries.get(&owner) {
            Some(ahead) => ahead.offset,
            None => state.offsets.get(&owner).copied(),
        }
    }

    /// A poll has answered messages up to `offset`, which counts as stored unless a later one does, or the table is full.
    /// `behind` is the last operation of the log. Whether anything changed.
    pub fn advance(
        &mut self,
        state: &PartitionState,
        limits: &PartitionLimits,
        owner: Owner,
        offset: u64,
        behind: u64,
    ) -> bool {
        let covered = self.visible(state, owner).is_some_and(|visible| visible >= offset);
        !covered && self.store(state, limits, owner, Some(offset), behind).is_ok()
    }

    /// A consumer that does not wait stores an offset, or drops it. It may step back.
    pub fn store(
        &mut self,
        state: &PartitionState,
        limits: &PartitionLimits,
        owner: Owner,
        offset: Option<u64>,
        behind: u64,
    ) -> Result<(), OffsetRefusal> {
        match offset {
            None if self.visible(state, owner).is_none() => return Err(OffsetRefusal::Missing),
            Some(offset) if state.last_offset.is_none_or(|last| offset > last) => {
                return Err(OffsetRefusal::BeyondEnd);
            }
            Some(_) if !self.has_room(state, limits, owner) => return Err(OffsetRefusal::TableFull),
            _ => {}
        }
        self.entries.insert(owner, Ahead { offset, behind, overtaken_by: None });
        self.fresh = true;
        Ok(())
    }

    fn has_room(&self, state: &PartitionState, limits: &PartitionLimits, owner: Owner) -> bool {
        let known = |owner: &Owner| state.offsets.contains_key(owner);
        let added = || self.entries.keys().filter(|owner| !known(owner)).count();
        let max = limits.consumer_offsets_max as usize;
        known(&owner) || self.entries.contains_key(&owner) || state.offsets.len() + added() < max
    }

    /// Whether there is something to propose.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.fresh && self.entries.values().any(|ahead| ahead.overtaken_by.is_none())
    }

    /// Whose offsets are ahead.
    pub fn owners(&self) -> impl Iterator<Item = Owner> + '_ {
        self.entries.keys().copied()
    }

    /// Whether nothing is ahead.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What an operation that brings the log up to here says. An offset that an operation overtakes is left out.
    #[must_use]
    pub fn writes(&self) -> Vec<OffsetWrite> {
        let write = |((kind, id), ahead): (&Owner, &Ahead)| OffsetWrite {
            kind: *kind,
            id: *id,
            offset: ahead.offset,
        };
        let entries = self.entries.iter().filter(|(_, ahead)| ahead.overtaken_by.is_none());
        entries.map(write).collect()
    }

    /// They were proposed.
    pub const fn proposed(&mut self) {
        self.fresh = false;
    }

    /// It is not known whether what was proposed will be executed: it is to be proposed again.
    pub fn propose_again(&mut self) {
        self.fresh = !self.entries.is_empty();
        for ahead in self.entries.values_mut() {
            ahead.overtaken_by = None;
        }
    }

    /// Consumers store or drop these offsets with operation `op`, which was prepared just now.
    pub fn prepared(&mut self, op: u64, writes: OffsetWrites<'_>) {
        for write in writes.iter() {
            self.overtake(op, (write.kind, write.id));
        }
    }

    /// The offset of a group is dropped with operation `op`, which was prepared just now.
    pub fn drop_prepared(&mut self, op: u64, id: u64) {
        self.overtake(op, (ConsumerKind::Group, id));
    }

    fn overtake(&mut self, op: u64, owner: Owner) {
        if let Some(ahead) = self.entries.get_mut(&owner) {
            ahead.overtaken_by = Some(op);
        }
    }

    /// Operation `op` was executed and stored these offsets but for those that were refused: what counted before it was
    /// prepared counts no more. That an offset is to be dropped overtakes it even if the log does not know it yet.
    pub fn executed(&mut self, op: u64, writes: OffsetWrites<'_>, refused: &[RefusedOffset]) {
        for (index, write) in (0..).zip(writes.iter()) {
            let owner = (write.kind, write.id);
            let changed = write.offset.is_none() || !refused.iter().any(|refused| refused.index == index);
            if changed || !self.revive(op, owner) {
                self.overtaken(op, owner);
            }
        }
    }

    /// The operation that overtook an offset changed nothing, so that the offset still counts. Whether there is one.
    fn revive(&mut self, op: u64, owner: Owner) -> bool {
        let ahead =
            self.entries.get_mut(&owner).filter(|ahead| ahead.overtaken_by.is_some_and(|by| by >= op));
        let Some(ahead) = ahead else { return false };
        if ahead.overtaken_by == Some(op) {
            ahead.overtaken_by = None;
            self.fresh = true;
        }
        true
    }

    /// Operation `op` was executed and dropped the offset of a group.
    pub fn group_dropped(&mut self, op: u64, id: u64) {
        self.overtaken(op, (ConsumerKind::Group, id));
    }

    fn overtaken(&mut self, op: u64, owner: Owner) {
        if self.entries.get(&owner).is_some_and(|ahead| ahead.behind < op) {
            self.entries.remove(&owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use ng_wire::replica::{LogOperation, PartitionOp, offsets_body};

    use super::*;

    const ONE: Owner = (ConsumerKind::Consumer, 1);
    const TWO: Owner = (ConsumerKind::Group, 2);
    const LIMITS: PartitionLimits =
        PartitionLimits { index: 0, batch_bytes_max: 4096, consumer_offsets_max: 2 };

    fn state(stored: &[(Owner, u64)]) -> PartitionState {
        let offsets = stored.iter().copied().collect();
        PartitionState { last_offset: Some(100), offsets, ..PartitionState::default() }
    }

    fn execute(ahead: &mut OffsetsAhead, op: u64, writes: &[OffsetWrite]) {
        let body = offsets_body(writes);
        let Some(Ok(PartitionOp::Offsets(writes))) = PartitionOp::decode(LogOperation::Offsets, &body) else {
            panic!("a good body")
        };
        ahead.executed(op, writes, &[]);
    }

    #[test]
    fn a_poll_never_steps_back_and_a_consumer_may() {
        let (state, mut ahead) = (state(&[(ONE, 10)]), OffsetsAhead::default());
        assert!(!ahead.advance(&state, &LIMITS, ONE, 10, 5));
        assert!(ahead.advance(&state, &LIMITS, ONE, 11, 5));
        assert!(!ahead.advance(&state, &LIMITS, ONE, 11, 5));
        assert_eq!(ahead.store(&state, &LIMITS, ONE, Some(3), 5), Ok(()));
        assert_eq!(ahead.visible(&state, ONE), Some(3));
        assert_eq!(ahead.store(&state, &LIMITS, ONE, None, 5), Ok(()));
        assert_eq!(ahead.visible(&state, ONE), None);
        assert_eq!(ahead.store(&state, &LIMITS, ONE, None, 5), Err(OffsetRefusal::Missing));
        assert_eq!(ahead.store(&state, &LIMITS, ONE, Some(101), 5), Err(OffsetRefusal::BeyondEnd));
    }

    #[test]
    fn the_table_is_as_large_as_that_of_the_log() {
        let (state, mut ahead) = (state(&[(ONE, 10)]), OffsetsAhead::default());
        assert_eq!(ahead.store(&state, &LIMITS, TWO, Some(1), 5), Ok(()));
        assert_eq!(ahead.store(&state, &LIMITS, ONE, Some(1), 5), Ok(()));
        let third = (ConsumerKind::Group, 1);
        assert_eq!(ahead.store(&state, &LIMITS, third, Some(1), 5), Err(OffsetRefusal::TableFull));
        assert!(!ahead.advance(&state, &LIMITS, third, 1, 5));
    }

    #[test]
    fn what_was_stored_behind_an_operation_outlives_it() {
        let (state, mut ahead) = (state(&[]), OffsetsAhead::default());
        ahead.advance(&state, &LIMITS, ONE, 10, 5);
        ahead.advance(&state, &LIMITS, TWO, 20, 5);
        let writes = ahead.writes();
        ahead.proposed();
        assert!(!ahead.is_fresh());
        ahead.advance(&state, &LIMITS, ONE, 11, 6);
        assert!(ahead.is_fresh());
        execute(&mut ahead, 6, &writes);
        let left = [OffsetWrite { kind: ONE.0, id: ONE.1, offset: Some(11) }];
        assert_eq!(ahead.writes(), left);
        ahead.propose_again();
        execute(&mut ahead, 7, &left);
        assert!(ahead.is_empty());
        ahead.propose_again();
        assert!(!ahead.is_fresh());
    }

    #[test]
    fn what_an_operation_overtakes_is_not_proposed_behind_it() {
        let (state, mut ahead) = (state(&[]), OffsetsAhead::default());
        ahead.advance(&state, &LIMITS, ONE, 10, 5);
        let body = offsets_body(&[OffsetWrite { kind: ONE.0, id: ONE.1, offset: Some(30) }]);
        let Some(Ok(PartitionOp::Offsets(writes))) = PartitionOp::decode(LogOperation::Offsets, &body) else {
            panic!("a good body")
        };
        ahead.prepared(6, writes);
        assert!(!ahead.is_fresh() && ahead.writes().is_empty());
        assert_eq!(ahead.visible(&state, ONE), Some(10), "it still counts");
        ahead.propose_again();
        assert_eq!(ahead.writes().len(), 1, "nobody knows what became of the operation");
        ahead.prepared(6, writes);
        let refused = [RefusedOffset { index: 0, reason: OffsetRefusal::BeyondEnd }];
        ahead.executed(6, writes, &refused);
        assert!(ahead.is_fresh() && ahead.writes().len() == 1, "the operation changed nothing");
        ahead.proposed();
        ahead.executed(7, writes, &refused);
        assert!(ahead.is_empty(), "it was refused itself");
    }

    #[test]
    fn a_group_that_is_dropped_takes_what_was_ahead_with_it() {
        let (state, mut ahead) = (state(&[]), OffsetsAhead::default());
        ahead.advance(&state, &LIMITS, TWO, 20, 5);
        ahead.group_dropped(5, TWO.1);
        assert_eq!(ahead.visible(&state, TWO), Some(20), "it was stored behind that operation");
        ahead.group_dropped(6, TWO.1);
        assert!(ahead.is_empty());
    }
}
