//! Segments rewritten to the messages that survive.

use ng_storage::columns::Walk;
use ng_storage::compaction::Identifier;
use ng_storage::rewrite::{compact, rewrite};

use super::columns::told_of;
use super::newest::key_rule;
use crate::bytes;
use crate::guard;

/// Copies batches of a segment with only those messages whose offsets `kept` names; returns the number of bytes.
///
/// `asked` holds valid bytes of the segment from the piece on, lowest offset of the next batch, partition. `kept` holds
/// offsets, ascending, each as eight bytes, the lowest first. `told` gets bytes consumed, lowest offset of the next
/// batch, messages kept, last offset kept (2^64 - 1: none), why it ended, bytes needed. As many bytes as the piece has
/// are always enough.
///
/// # Safety
/// `piece` points to `piece_length` readable bytes that nobody writes meanwhile, `asked` to three numbers, `kept` to
/// `kept_length` bytes; `buffer` points to `capacity` writable bytes; `needed` is null or points to a writable number;
/// `told` points to six writable numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codec_rewrite(
    piece: *const u8,
    piece_length: usize,
    asked: *const u64,
    kept: *const u8,
    kept_length: usize,
    buffer: *mut u8,
    capacity: usize,
    needed: *mut u64,
    told: *mut u64,
) -> i64 {
    guard::call(|| {
        // SAFETY: passed on as the caller gave it.
        let piece = unsafe { bytes::view(piece, piece_length) }?;
        // SAFETY: passed on as the caller gave it.
        let kept = unsafe { bytes::view(kept, kept_length) }?;
        // SAFETY: the caller vouches for three numbers.
        let [valid, after, partition]: [u64; 3] = unsafe { bytes::numbers(asked) }?;
        let mut written = Vec::new();
        let done = rewrite(piece, &Walk { valid, after, partition, hashed: true }, kept, &mut written);
        let (stop, wanted) = told_of(done.stop);
        let last = done.last_offset.unwrap_or(u64::MAX);
        let numbers = [done.consumed as u64, done.after, done.messages, last, stop, wanted];
        // SAFETY: the caller vouches for six numbers.
        unsafe { bytes::put_numbers(told, &numbers) }?;
        // SAFETY: passed on as the caller gave it.
        unsafe { bytes::copy_out(&written, buffer, capacity, needed) }
    })
}

/// Copies batches of a segment without the messages that have an identity and are not the newest of it; returns the number of
/// bytes.
///
/// `asked` and `key` are those of `codec_newest_add`, with a fifth number: whether each offset of the segment is a message that
/// has an identity. Then batches of which nothing stays are passed over by their headers, and the bytes consumed may be more
/// than the piece has. `newest` holds offsets as `codec_newest_offsets` tells them. `told` gets bytes consumed, lowest offset
/// of the next batch, messages kept, least and greatest timestamp of their batches (2^64 - 1 and 0: none), why it ended,
/// bytes needed. As many bytes as the piece has are always enough.
///
/// # Safety
/// `piece` points to `piece_length` readable bytes that nobody writes meanwhile, `asked` to five numbers, `key` to
/// `key_length` bytes, `newest` to `newest_length` bytes; `buffer` points to `capacity` writable bytes, `told` to seven
/// writable numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codec_compact(
    piece: *const u8,
    piece_length: usize,
    asked: *const u64,
    key: *const u8,
    key_length: usize,
    newest: *const u8,
    newest_length: usize,
    buffer: *mut u8,
    capacity: usize,
    told: *mut u64,
) -> i64 {
    guard::call(|| {
        // SAFETY: passed on as the caller gave it.
        let piece = unsafe { bytes::view(piece, piece_length) }?;
        // SAFETY: passed on as the caller gave it.
        let newest = unsafe { bytes::view_unbounded(newest, newest_length) }?;
        // SAFETY: passed on as the caller gave it.
        let key = unsafe { bytes::copy_in(key, key_length) }?;
        // SAFETY: the caller vouches for five numbers.
        let [valid, after, partition, by_id, dense]: [u64; 5] = unsafe { bytes::numbers(asked) }?;
        let identifier = Identifier { rule: key_rule(&key)?, by_id: by_id != 0 };
        let mut written = Vec::with_capacity(piece.len());
        let walk = Walk { valid, after, partition, hashed: true };
        let done = compact(piece, &walk, &identifier, dense != 0, newest, &mut written);
        let (stop, wanted) = told_of(done.stop);
        let (least, greatest) = done.times.unwrap_or((u64::MAX, 0));
        let numbers = [done.consumed as u64, done.after, done.messages, least, greatest, stop, wanted];
        // SAFETY: the caller vouches for seven numbers.
        unsafe { bytes::put_numbers(told, &numbers) }?;
        // SAFETY: passed on as the caller gave it.
        unsafe { bytes::copy_out(&written, buffer, capacity, std::ptr::null_mut()) }
    })
}
