//! Faults that tests inject. Only builds with debug assertions know their record kinds.

use std::time::Duration;

use ng_control::record::Record;
use ng_wire::table::record::FaultKind;

/// A fault of one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The shard panics.
    Panic,
    /// The shard blocks for this long.
    Stall(Duration),
    /// The shard stops until another shard sends it a request for a partition, then treats that request as
    /// misrouted.
    Misroute,
}

impl Fault {
    /// The fault that a record asks for; `None` for other records.
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
