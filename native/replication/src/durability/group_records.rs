//! Positions in journal and manifest of the records that a group must not lose.

use std::collections::VecDeque;

use ng_vsr::Position;
use ng_wire::replica::Op;

/// Durable records of a group on this shard.
#[derive(Debug)]
pub(crate) struct GroupRecords {
    /// The block whose sync makes the recovered or founded state durable.
    recovered_block: u64,
    /// The block of the group's last view record. It contains a promise, which must never be lost.
    promise_block: u64,
    /// Positions and blocks of appended records that are not known to be synced.
    appended: VecDeque<(Position, u64)>,
    /// Op of the state in the manifest that is in force.
    checkpointed: Op,
    /// Op of the state that a start would have: from that manifest, or from a later install.
    kept: Op,
    /// The log after this op is retained for a node that fetches the state at it.
    kept_behind: Option<Op>,
}

impl GroupRecords {
    /// A group whose state was recovered, or founded, up to `checkpointed`.
    pub(crate) const fn new(recovered_block: u64, checkpointed: Op) -> Self {
        Self {
            recovered_block,
            promise_block: recovered_block,
            appended: VecDeque::new(),
            checkpointed,
            kept: checkpointed,
            kept_behind: None,
        }
    }

    /// Sets the block that makes the initial state durable.
    pub(crate) const fn set_recovered_block(&mut self, block: u64) {
        self.recovered_block = block;
    }

    pub(crate) const fn promise_block(&self) -> u64 {
        self.promise_block
    }

    /// Sets the block of the last view record.
    pub(crate) const fn set_promise_block(&mut self, block: u64) {
        self.promise_block = block;
    }

    /// Notes that the record at a position is in `block`; the journal is synced up to `synced`.
    pub(crate) fn appended(&mut self, position: Position, block: u64, synced: u64) {
        while self.appended.front().is_some_and(|(_, block)| *block <= synced) {
            self.appended.pop_front();
        }
        debug_assert!(
            self.appended.back().is_none_or(|last| *last <= (position, block)),
            "records arrive in the order of their positions"
        );
        self.appended.push_back((position, block));
    }

    /// The block whose sync makes all records up to a position durable.
    pub(crate) fn block_of(&self, position: Position) -> u64 {
        if position == Position::RECOVERED {
            return self.recovered_block;
        }
        let found = self.appended.iter().find(|(other, _)| *other >= position);
        found.map_or(0, |(_, block)| *block)
    }

    /// Op of the state that a start would have.
    pub(crate) const fn kept(&self) -> Op {
        self.kept
    }

    /// A state of another replica was installed and is being appended to the journal.
    pub(crate) const fn install(&mut self, op: Op) {
        self.kept = op;
    }

    /// A manifest with the state at `op` is in force. Returns the op up to which the journal may forget, if
    /// it has advanced.
    pub(crate) fn checkpoint(&mut self, op: Op) -> Option<Op> {
        if op <= self.checkpointed {
            return None;
        }
        self.checkpointed = op;
        self.kept = self.kept.max(op);
        Some(self.released())
    }

    /// Sets or clears the op after which the log is retained. Returns the op up to which the journal may
    /// forget, if that changed.
    pub(crate) fn keep_behind(&mut self, op: Option<Op>) -> Option<Op> {
        if op == self.kept_behind {
            return None;
        }
        self.kept_behind = op;
        Some(self.released())
    }

    fn released(&self) -> Op {
        self.kept_behind.map_or(self.checkpointed, |kept| kept.min(self.checkpointed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_being_fetched_holds_back_the_release_of_the_journal() {
        let mut records = GroupRecords::new(1, Op(10));
        assert_eq!(records.keep_behind(Some(Op(7))), Some(Op(7)));
        assert_eq!(records.keep_behind(Some(Op(7))), None, "it is known");
        assert_eq!(records.checkpoint(Op(20)), Some(Op(7)));
        assert_eq!(records.checkpoint(Op(20)), None);
        assert_eq!(records.keep_behind(None), Some(Op(20)));
        assert_eq!(records.kept(), Op(20));
    }
}
