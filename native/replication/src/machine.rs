//! The state machines that execute a group's operations.

use std::fmt::Debug;

use ng_partition::{Partition, Stamper};
use ng_wire::replica::PrepareHeader;

/// The state machine of the metadata group. It may be slow: it executes operations in the order of arrival
/// and returns results in that order.
pub trait MetadataMachine: Debug {
    /// The machine accepts another operation now. If not, the log asks again after the next result.
    fn has_room(&self) -> bool {
        true
    }

    /// Takes a committed operation.
    fn execute(&mut self, header: &PrepareHeader, body: &[u8]);

    /// Returns the next result, if there is one.
    fn executed(&mut self) -> Option<Executed>;

    /// Appends the state after the last result. The log calls it only when the machine has no operation in
    /// progress.
    fn snapshot(&self, into: &mut Vec<u8>);

    /// Replaces the state; false if the bytes are malformed.
    fn install(&mut self, bytes: &[u8]) -> bool;
}

/// An operation that the metadata machine has executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executed {
    /// Header of the operation.
    pub header: PrepareHeader,
    /// Reply for the client.
    pub reply: Vec<u8>,
}

/// The state machine of one group.
#[derive(Debug)]
pub(crate) enum Machine {
    /// The shard's [`MetadataMachine`] executes the operations.
    Metadata,
    /// One partition, with the stamper that assigns offsets while this node leads it.
    Partition(Box<Partition>, Option<Stamper>),
}
