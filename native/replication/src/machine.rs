//! What a group executes its operations on.

use std::fmt::Debug;

use ng_partition::{Partition, Stamper};
use ng_wire::replica::PrepareHeader;

/// The state machine of the metadata group. It may take its time: what it was given is executed in that
/// order, and the results come out in that order.
pub trait MetadataMachine: Debug {
    /// Whether it takes another operation now. One that does not is asked again after its next result.
    fn has_room(&self) -> bool {
        true
    }

    /// Takes a committed operation.
    fn execute(&mut self, header: &PrepareHeader, body: &[u8]);

    /// The next result, once there is one.
    fn executed(&mut self) -> Option<Executed>;

    /// Appends the state as of the last result; asked for only when nothing else was taken since.
    fn snapshot(&self, into: &mut Vec<u8>);

    /// Takes over a state; false if the bytes are not one.
    fn install(&mut self, bytes: &[u8]) -> bool;
}

/// An operation that the metadata machine has executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executed {
    /// Which.
    pub header: PrepareHeader,
    /// The answer to its client.
    pub reply: Vec<u8>,
}

/// The state machine of one group.
#[derive(Debug)]
pub(crate) enum Machine {
    /// Executed by the shard's [`MetadataMachine`].
    Metadata,
    /// One partition, and what stamps its offsets while this node leads it.
    Partition(Box<Partition>, Option<Stamper>),
}
