//! Faults that tests ask for. Builds with debug assertions have them; a release does not know their record
//! kinds.

use std::time::Duration;

use ng_control::record::Record;
use ng_wire::table::record::FaultKind;

/// A fault of one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It panics.
    Panic,
    /// It is stuck for so long.
    Stall(Duration),
    /// It turns again only after a request for a partition has reached it from another shard, and takes that
    /// for misrouted.
    Misroute,
}

impl Fault {
    /// The fault that a record asks for.
    pub fn of(record: &Record<'_>) -> Option<Self> {
        match FaultKind::from_code(record.kind)? {
            FaultKind::Panic => record.body.is_empty().then_some(Self::Panic),
            FaultKind::Stall => {
                let millis = u64::from_le_bytes(record.body.try_into().ok()?);
                Some(Self::Stall(Duration::from_millis(millis)))
            }
            FaultKind::Misroute => record.body.is_empty().then_some(Self::Misroute),
        }
    }
}
