//! The bounded table of stored offsets.

use std::collections::BTreeMap;

use ng_wire::replica::{ConsumerKind, OffsetRefusal, OffsetWrite};

/// Stored offsets by whom they belong to.
pub(crate) type Offsets = BTreeMap<(ConsumerKind, u64), u64>;

/// Stores or drops one offset; one beyond `last_offset` names no message.
pub(crate) fn write(
    table: &mut Offsets,
    write: OffsetWrite,
    last_offset: Option<u64>,
    max: u32,
) -> Result<(), OffsetRefusal> {
    let place = (write.kind, write.id);
    let Some(offset) = write.offset else {
        return table.remove(&place).map(drop).ok_or(OffsetRefusal::Missing);
    };
    if last_offset.is_none_or(|last| offset > last) {
        return Err(OffsetRefusal::BeyondEnd);
    }
    let has_room = table.len() < max as usize;
    match table.get_mut(&place) {
        Some(stored) => *stored = offset,
        None if has_room => {
            table.insert(place, offset);
        }
        None => return Err(OffsetRefusal::TableFull),
    }
    Ok(())
}
