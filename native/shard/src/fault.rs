//! Faults that tests ask for. Builds with debug assertions have them; a release does not know their record kinds.

use std::time::Duration;

use crate::record::Record;

/// The first shard panics. No body.
pub const PANIC: u16 = 0xFF00;

/// The first shard is stuck for a while. Body: milliseconds (u64).
pub const STALL: u16 = 0xFF01;

/// Whether a record asks for a fault, and is whole.
pub fn is_fault(record: &Record<'_>) -> bool {
    match record.kind {
        PANIC => record.body.is_empty(),
        STALL => record.body.len() == 8,
        _ => false,
    }
}

/// Does what a record asks for.
pub fn happen(record: &Record<'_>) {
    match (record.kind, record.body.try_into()) {
        (STALL, Ok(millis)) => std::thread::sleep(Duration::from_millis(u64::from_le_bytes(millis))),
        _ => unreachable!("a fault that a test asked for"),
    }
}
