//! Tables of the newest message of each key, in the caller's memory.

use ng_storage::columns::Walk;
use ng_storage::compaction::{Identifier, KeyRule, Newest, TableFull, note};

use super::columns::told_of;
use crate::bytes;
use crate::guard;
use crate::status::{Failure, Status};

/// Makes an empty table of bytes that are zero. `seed` is what keys are hashed with: nobody who sends messages knows it.
///
/// # Safety
/// `table` points to `capacity` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codec_newest_begin(table: *mut u8, capacity: usize, seed: u64) -> i64 {
    guard::call(|| {
        // SAFETY: passed on as the caller gave it.
        let table = unsafe { bytes::view_mut(table, capacity) }?;
        Newest::begin(table, seed).ok_or_else(too_small)?;
        Ok(0)
    })
}

/// Takes the messages of a piece of a segment into account; returns how many of them have an identity.
///
/// `asked` holds valid bytes of the segment from the piece on, lowest offset of the next batch, partition, and whether
/// messages without a key are identified by their ids. `key` is the rule of the keys: `none`, `id`, `header:NAME` or
/// `json:/PATH`. `told` gets bytes consumed, lowest offset of the next batch, messages, why it ended (0 end, 1 more bytes
/// are needed, 2 a larger table is, 3 damage, which `engine_last_error` explains), bytes needed.
///
/// # Safety
/// `piece` points to `piece_length` readable bytes that nobody writes meanwhile, `asked` to four numbers, `key` to
/// `key_length` bytes; `table` points to `capacity` writable bytes, `told` to five writable numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codec_newest_add(
    piece: *const u8,
    piece_length: usize,
    asked: *const u64,
    key: *const u8,
    key_length: usize,
    table: *mut u8,
    capacity: usize,
    told: *mut u64,
) -> i64 {
    guard::call(|| {
        // SAFETY: passed on as the caller gave it.
        let piece = unsafe { bytes::view(piece, piece_length) }?;
        // SAFETY: passed on as the caller gave it.
        let key = unsafe { bytes::copy_in(key, key_length) }?;
        // SAFETY: the caller vouches for four numbers.
        let [valid, after, partition, by_id]: [u64; 4] = unsafe { bytes::numbers(asked) }?;
        // SAFETY: passed on as the caller gave it.
        let table = unsafe { bytes::view_mut(table, capacity) }?;
        let mut table = Newest::open(table).ok_or_else(no_table)?;
        let identifier = Identifier { rule: key_rule(&key)?, by_id: by_id != 0 };
        let noted = note(piece, &Walk { valid, after, partition, hashed: true }, &identifier, &mut table);
        let (stop, wanted) = told_of(noted.stop);
        let numbers = [noted.consumed as u64, noted.after, noted.messages, stop, wanted];
        // SAFETY: the caller vouches for five numbers.
        unsafe { bytes::put_numbers(told, &numbers) }?;
        i64::try_from(noted.identified).map_err(|_| too_small())
    })
}

/// Moves a table into a larger one that is empty.
///
/// # Safety
/// `table` points to `capacity` writable bytes, `larger` to `larger_capacity` others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codec_newest_move(
    table: *mut u8,
    capacity: usize,
    larger: *mut u8,
    larger_capacity: usize,
) -> i64 {
    guard::call(|| {
        // SAFETY: passed on as the caller gave it.
        let table = unsafe { bytes::view_mut(table, capacity) }?;
        // SAFETY: passed on as the caller gave it.
        let larger = unsafe { bytes::view_mut(larger, larger_capacity) }?;
        let (table, mut larger) =
            (Newest::open(table).ok_or_else(no_table)?, Newest::open(larger).ok_or_else(no_table)?);
        table.move_into(&mut larger).map_err(|TableFull| too_small())?;
        Ok(0)
    })
}

/// Fills `buffer` with the offsets of the newest messages, ascending, eight bytes each; tombstones that were appended before
/// `horizon`, microseconds, are left out. Returns the number of bytes.
///
/// # Safety
/// `table` points to `capacity` writable bytes; `buffer` points to `buffer_capacity` writable bytes; `needed` is null or points
/// to a writable number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codec_newest_offsets(
    table: *mut u8,
    capacity: usize,
    horizon: u64,
    buffer: *mut u8,
    buffer_capacity: usize,
    needed: *mut u64,
) -> i64 {
    guard::call(|| {
        // SAFETY: passed on as the caller gave it.
        let table = unsafe { bytes::view_mut(table, capacity) }?;
        let table = Newest::open(table).ok_or_else(no_table)?;
        let offsets: Vec<u8> =
            table.winners(horizon).iter().flat_map(|offset| offset.to_le_bytes()).collect();
        // SAFETY: passed on as the caller gave it.
        unsafe { bytes::copy_out(&offsets, buffer, buffer_capacity, needed) }
    })
}

/// The rule that a caller names.
pub(super) fn key_rule(text: &[u8]) -> Result<KeyRule<'_>, Failure> {
    let rule = str::from_utf8(text).ok().and_then(KeyRule::of);
    rule.ok_or_else(|| Failure::new(Status::Invalid, "no rule of keys: none, id, header:NAME or json:/PATH"))
}

fn too_small() -> Failure {
    Failure::new(Status::Invalid, "the table is too small")
}

fn no_table() -> Failure {
    Failure::new(Status::Invalid, "the bytes are no table")
}
