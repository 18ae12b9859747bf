//! Where the journal and the manifest have what a group must not forget.

use std::collections::VecDeque;

use ng_vsr::Position;
use ng_wire::replica::Op;

/// What the disk of this shard has of a group.
#[derive(Debug)]
pub(crate) struct GroupRecords {
    /// The block that says that what was recovered, or founded, is there for good.
    recovered_block: u64,
    /// The block of the group's last record of a view: what it promised there must never be forgotten.
    promise_block: u64,
    /// The blocks of what the replica appended and is not known to be synced.
    appended: VecDeque<(Position, u64)>,
    /// Up to where a manifest in force has the state.
    checkpointed: Op,
    /// Up to where a start has the state: from that manifest, or from a state that was taken over since.
    kept: Op,
    /// What stands behind this op is kept for a node that fetches the state as of it.
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

    /// What the group begins with is in this block.
    pub(crate) const fn set_recovered_block(&mut self, block: u64) {
        self.recovered_block = block;
    }

    pub(crate) const fn promise_block(&self) -> u64 {
        self.promise_block
    }

    /// A record of a view is in this block.
    pub(crate) const fn set_promise_block(&mut self, block: u64) {
        self.promise_block = block;
    }

    /// The replica's record at a position is in this block of the journal, which is synced up to `synced`.
    pub(crate) fn appended(&mut self, position: Position, block: u64, synced: u64) {
        while self.appended.front().is_some_and(|(_, block)| *block <= synced) {
            self.appended.pop_front();
        }
        debug_assert!(
            self.appended.back().is_none_or(|last| *last <= (position, block)),
            "records come in the order of their positions"
        );
        self.appended.push_back((position, block));
    }

    /// The block that must be synced for everything up to a position to be.
    pub(crate) fn block_of(&self, position: Position) -> u64 {
        if position == Position::RECOVERED {
            return self.recovered_block;
        }
        let found = self.appended.iter().find(|(other, _)| *other >= position);
        found.map_or(0, |(_, block)| *block)
    }

    /// Up to where a start has the state.
    pub(crate) const fn kept(&self) -> Op {
        self.kept
    }

    /// A state of another replica was taken over, and is to be written to the journal.
    pub(crate) const fn install(&mut self, op: Op) {
        self.kept = op;
    }

    /// A manifest is in force that has the state as of `op`. Returns up to where the journal may forget, if
    /// that is news.
    pub(crate) fn checkpoint(&mut self, op: Op) -> Option<Op> {
        if op <= self.checkpointed {
            return None;
        }
        self.checkpointed = op;
        self.kept = self.kept.max(op);
        Some(self.released())
    }

    /// Keeps what stands behind an op, or nothing any more. Returns up to where the journal may forget, if
    /// that changed.
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
    fn a_state_that_is_being_fetched_holds_back_what_the_journal_forgets() {
        let mut records = GroupRecords::new(1, Op(10));
        assert_eq!(records.keep_behind(Some(Op(7))), Some(Op(7)));
        assert_eq!(records.keep_behind(Some(Op(7))), None, "it is known");
        assert_eq!(records.checkpoint(Op(20)), Some(Op(7)));
        assert_eq!(records.checkpoint(Op(20)), None);
        assert_eq!(records.keep_behind(None), Some(Op(20)));
        assert_eq!(records.kept(), Op(20));
    }
}
