//! Faults that tests ask for. Builds with debug assertions have them; a release does not know their record kinds.

use std::time::Duration;

use crate::record::Record;

/// The shard of the record panics. No body.
pub const PANIC: u16 = 0xFF00;

/// The shard of the record is stuck for a while. Body: milliseconds (u64).
pub const STALL: u16 = 0xFF01;

/// The next request for a partition that reaches the shard from another one names a wrong receiver. No body.
pub const MISROUTE: u16 = 0xFF02;

/// A fault of one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It panics.
    Panic,
    /// It is stuck for so long.
    Stall(Duration),
    /// It turns again only after a request for a partition has reached it from another shard, and takes that for misrouted.
    Misroute,
}

impl Fault {
    /// The fault that a record asks for.
    pub fn of(record: &Record<'_>) -> Option<Self> {
        match record.kind {
            PANIC => record.body.is_empty().then_some(Self::Panic),
            STALL => {
                let millis = u64::from_le_bytes(record.body.try_into().ok()?);
                Some(Self::Stall(Duration::from_millis(millis)))
            }
            MISROUTE => record.body.is_empty().then_some(Self::Misroute),
            _ => None,
        }
    }
}
