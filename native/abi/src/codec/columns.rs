//! The messages of a segment as columns.

use ng_storage::columns::{BUFFERS, Columns, Layout, Selection, Stop, Walk, decode, seek};

use ng_wire::table::segment_codec::{self as table, Column, Place};

use super::newest::key_rule;
use crate::bytes;
use crate::guard;
use crate::status::{Failure, Status, set_last_error};

/// More rows than any reader takes at once.
const ROWS_MAX: u64 = 1 << 24;

// Readers outside are generated from the table, and the crate below has its own numbers: they are the same.
const _: () = {
    assert!(BUFFERS == Place::ALL.len());
    assert!(Columns::KEY.0 == Column::Key.code() as u32);
    assert!(Columns::VALUE.0 == Column::Value.code() as u32);
    assert!(Columns::OFFSET.0 == Column::Offset.code() as u32);
    assert!(Columns::TIMESTAMP.0 == Column::Timestamp.code() as u32);
    assert!(Columns::ORIGIN.0 == Column::Origin.code() as u32);
    assert!(Columns::ID.0 == Column::Id.code() as u32);
    assert!(Columns::HEADERS.0 == Column::Headers.code() as u32);
    assert!(Columns::TOMBSTONE.0 == Column::Tombstone.code() as u32);
    assert!(Columns::USER_HEADERS.0 == Column::UserHeaders.code() as u32);
    assert!(Columns::ALL.0.count_ones() as usize == Column::ALL.len());
};

/// What a reader is told in numbers, and then where its buffers lie.
const OUTCOME: usize = 5 + 2 * BUFFERS;

/// How many bytes the arena of a call takes that decodes at most `rows` rows from `piece_length` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn codec_arena_size(columns: u32, rows: u64, piece_length: u64) -> i64 {
    guard::call(|| {
        let layout = layout(columns, rows, piece_length)?;
        i64::try_from(layout.size).map_err(|_| Failure::new(Status::Invalid, "an absurd length"))
    })
}

/// Decodes batches of a segment to columns in `arena` and returns the number of rows.
///
/// `asked` holds ten numbers: valid bytes of the segment from the piece on, lowest offset of the next batch, partition,
/// whether payloads are hashed, columns, most rows, first offset, end offset, first time, last time. `key` is the
/// rule of the keys: `none`, `id`, `header:NAME` or `json:/PATH`. `told` gets five numbers: bytes consumed, lowest offset of the next batch, first offset to
/// go on with, why it ended (0 end, 1 more bytes are needed, 2 full, 3 damage, which `engine_last_error` explains), bytes
/// needed; then start and length of each of the twenty buffers.
///
/// # Safety
/// `piece` points to `piece_length` readable bytes that nobody writes meanwhile, `asked` to ten numbers, `key` to
/// `key_length` bytes; `arena` points to `capacity` writable bytes, `told` to 45 writable numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codec_decode(
    piece: *const u8,
    piece_length: usize,
    asked: *const u64,
    key: *const u8,
    key_length: usize,
    arena: *mut u8,
    capacity: usize,
    told: *mut u64,
) -> i64 {
    guard::call(|| {
        // SAFETY: passed on as the caller gave it.
        let piece = unsafe { bytes::view(piece, piece_length) }?;
        // SAFETY: passed on as the caller gave it.
        let key = unsafe { bytes::copy_in(key, key_length) }?;
        let key = key_rule(&key)?;
        // SAFETY: the caller vouches for ten numbers.
        let asked: [u64; 10] = unsafe { bytes::numbers(asked) }?;
        // SAFETY: passed on as the caller gave it.
        let arena = unsafe { bytes::view_mut(arena, capacity) }?;
        let [valid, after, partition, hashed, columns, rows, first_offset, end_offset, first, last] = asked;
        let columns = u32::try_from(columns).unwrap_or(u32::MAX);
        let layout = layout(columns, rows, piece.len() as u64)?;
        let walk = Walk { valid, after, partition, hashed: hashed != 0 };
        let selection = Selection {
            columns: Columns(columns),
            rows_max: usize::try_from(rows).unwrap_or(0),
            first_offset,
            end_offset,
            min_timestamp: first,
            max_timestamp: last,
            key,
        };
        let decoded = decode(piece, &walk, &selection, arena).ok_or_else(|| {
            Failure::new(Status::Need, format!("the arena must hold {} bytes", layout.size))
        })?;
        let (stop, wanted) = told_of(decoded.stop);
        let mut numbers = [0; OUTCOME];
        numbers[..5].copy_from_slice(&[
            decoded.consumed as u64,
            decoded.after,
            decoded.first_offset,
            stop,
            wanted,
        ]);
        for (pair, place) in numbers[5..].chunks_exact_mut(2).zip(layout.places) {
            pair.copy_from_slice(&[place.start as u64, place.length as u64]);
        }
        // SAFETY: the caller vouches for as many numbers.
        unsafe { bytes::put_numbers(told, &numbers) }?;
        Ok(i64::try_from(decoded.rows).unwrap_or(i64::MAX))
    })
}

/// Finds the last batch of a segment that begins at `offset` or before, by headers alone.
///
/// `asked` holds valid bytes of the segment from the piece on, lowest offset of the next batch, partition. `told` gets the
/// position of the last such batch in the piece (2^64 - 1: none), the position of the next header to look at, and
/// whether to look there. Returns 0, or 1 for damage, which `engine_last_error` explains.
///
/// # Safety
/// `piece` points to `piece_length` readable bytes that nobody writes meanwhile, `asked` to three numbers, `told` to three
/// writable numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codec_seek(
    piece: *const u8,
    piece_length: usize,
    asked: *const u64,
    offset: u64,
    told: *mut u64,
) -> i64 {
    guard::call(|| {
        // SAFETY: passed on as the caller gave it.
        let piece = unsafe { bytes::view(piece, piece_length) }?;
        // SAFETY: the caller vouches for three numbers.
        let [valid, after, partition]: [u64; 3] = unsafe { bytes::numbers(asked) }?;
        let seat = match seek(piece, &Walk { valid, after, partition, hashed: false }, offset) {
            Ok(seat) => seat,
            Err(stop) => {
                told_of(stop);
                return Ok(1);
            }
        };
        let found = seat.found.map_or(u64::MAX, |at| at as u64);
        // SAFETY: the caller vouches for three numbers.
        unsafe { bytes::put_numbers(told, &[found, seat.next, u64::from(seat.goes_on)]) }?;
        Ok(0)
    })
}

fn layout(columns: u32, rows: u64, piece_length: u64) -> Result<Layout, Failure> {
    let invalid = || Failure::new(Status::Invalid, "no such columns, or an absurd number of rows or bytes");
    let rows = usize::try_from(rows).ok().filter(|_| (1..=ROWS_MAX).contains(&rows)).ok_or_else(invalid)?;
    let piece = usize::try_from(piece_length).ok().filter(|bytes| *bytes <= bytes::BYTES_MAX);
    let known = columns & !Columns::ALL.0 == 0;
    let piece = piece.filter(|_| known).ok_or_else(invalid)?;
    Ok(Layout::new(Columns(columns), rows, piece))
}

/// The number of a stop and the bytes that are needed; damage leaves its sentence behind.
pub(super) fn told_of(stop: Stop) -> (u64, u64) {
    match stop {
        Stop::End => (table::Stop::End.code().into(), 0),
        Stop::More(bytes) => (table::Stop::More.code().into(), bytes),
        Stop::Full => (table::Stop::Full.code().into(), 0),
        Stop::Damaged(refusal) => {
            set_last_error(refusal.to_string());
            (table::Stop::Damaged.code().into(), 0)
        }
    }
}
