//! What a group executes: committed operations in their order, from the moment they are handed out until the
//! machine has them.

use std::collections::{BTreeMap, VecDeque};

use ng_wire::replica::{Op, PrepareHeader};

use crate::group::Body;

/// The operations of a group that are not executed yet.
#[derive(Debug)]
pub(crate) struct Execution {
    /// The bodies that are in memory, by place.
    bodies: BTreeMap<Op, (u128, Body)>,
    /// What the machine has executed. The replica hears of it a moment later.
    executed: Op,
    /// Handed out, oldest first.
    handed_out: VecDeque<PrepareHeader>,
    /// How many of them the metadata machine has; it takes its time.
    in_machine: usize,
}

impl Execution {
    /// Goes on behind what was executed.
    pub(crate) const fn behind(executed: Op) -> Self {
        Self { bodies: BTreeMap::new(), executed, handed_out: VecDeque::new(), in_machine: 0 }
    }

    pub(crate) const fn executed(&self) -> Op {
        self.executed
    }

    /// An operation is committed.
    pub(crate) fn hand_out(&mut self, header: PrepareHeader) {
        self.handed_out.push_back(header);
    }

    /// The next operation for the machine.
    pub(crate) fn next(&self) -> Option<PrepareHeader> {
        self.handed_out.get(self.in_machine).copied()
    }

    /// The metadata machine took the next one.
    pub(crate) const fn begin(&mut self) {
        self.in_machine += 1;
    }

    /// The metadata machine has executed the oldest that it took.
    pub(crate) fn end(&mut self) -> Option<PrepareHeader> {
        debug_assert!(self.in_machine > 0, "the machine has executed what it was not given");
        self.in_machine = self.in_machine.saturating_sub(1);
        self.handed_out.pop_front()
    }

    /// Takes the next one for a machine that executes it at once.
    pub(crate) fn take(&mut self) -> Option<PrepareHeader> {
        debug_assert!(self.in_machine == 0, "the machine of a partition keeps nothing");
        self.handed_out.pop_front()
    }

    /// Everything up to a place was executed.
    pub(crate) fn advance(&mut self, op: Op) {
        self.bodies = self.bodies.split_off(&op.next());
        self.executed = op;
    }

    /// A state of another replica took the place of everything up to `op`.
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

    /// The body at a place, if it is in memory.
    pub(crate) fn body(&self, op: Op, checksum: u128) -> Option<&Body> {
        self.bodies.get(&op).filter(|(known, _)| *known == checksum).map(|(_, body)| body)
    }
}
