//! Segments rewritten to the messages that survive.

use ng_storage::columns::Walk;
use ng_storage::rewrite::rewrite;

use super::columns::told_of;
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
