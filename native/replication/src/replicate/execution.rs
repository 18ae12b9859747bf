//! Execution queue of a group: committed operations in order, until the machine has executed them.

use std::collections::{BTreeMap, VecDeque};

use ng_wire::replica::{Op, PrepareHeader};

use crate::group::Body;

/// Operations of a group that are not executed yet.
#[derive(Debug)]
pub(crate) struct Execution {
    /// Bodies in memory, by op, with their checksums.
    bodies: BTreeMap<Op, (u128, Body)>,
    /// Last op that the machine has executed. The replica is notified shortly after.
    executed: Op,
    /// Committed operations, oldest first.
    handed_out: VecDeque<PrepareHeader>,
    /// Number of those that the metadata machine is executing, because it answers asynchronously.
    in_machine: usize,
}

impl Execution {
    /// Starts after the last executed op.
    pub(crate) const fn behind(executed: Op) -> Self {
        Self { bodies: BTreeMap::new(), executed, handed_out: VecDeque::new(), in_machine: 0 }
    }

    pub(crate) const fn executed(&self) -> Op {
        self.executed
    }

    /// Adds a committed operation.
    pub(crate) fn hand_out(&mut self, header: PrepareHeader) {
        self.handed_out.push_back(header);
    }

    /// The next operation for the machine.
    pub(crate) fn next(&self) -> Option<PrepareHeader> {
        self.handed_out.get(self.in_machine).copied()
    }

    /// The metadata machine took the next operation.
    pub(crate) const fn begin(&mut self) {
        self.in_machine += 1;
    }

    /// The metadata machine has executed its oldest operation.
    pub(crate) fn end(&mut self) -> Option<PrepareHeader> {
        debug_assert!(self.in_machine > 0, "the machine has executed an operation that it did not have");
        self.in_machine = self.in_machine.saturating_sub(1);
        self.handed_out.pop_front()
    }

    /// Takes the next operation for a machine that executes it at once.
    pub(crate) fn take(&mut self) -> Option<PrepareHeader> {
        debug_assert!(self.in_machine == 0, "the machine of a partition keeps nothing");
        self.handed_out.pop_front()
    }

    /// All operations up to `op` are executed.
    pub(crate) fn advance(&mut self, op: Op) {
        self.bodies = self.bodies.split_off(&op.next());
        self.executed = op;
    }

    /// A state of another replica replaced all operations up to `op`.
    pub(crate) fn skip_to(&mut self, op: Op) {
        self.handed_out.clear();
        self.advance(op);
    }

    pub(crate) const fn is_in_machine(&self) -> bool {
        self.in_machine > 0
    }

    pub(crate) fn keep_body(&mut self, op: Op, checksum: u128, body: Body) {
        self.bodies.insert(op, (checksum, body));
    }

    /// The body of an op, if it is in memory.
    pub(crate) fn body(&self, op: Op, checksum: u128) -> Option<&Body> {
        self.bodies.get(&op).filter(|(known, _)| *known == checksum).map(|(_, body)| body)
    }
}
