//! Whether a segment holds nothing but slices of another one.

use ng_storage::columns::Walk;
use ng_storage::slices::{Halt, compare};
use ng_wire::table::segment_codec as table;

use crate::bytes;
use crate::guard;
use crate::status::set_last_error;

/// Looks for each batch of a compacted segment in the segment that it was made from; returns why it came to its end: 0 all were
/// found, 1 more bytes of the compacted one are needed, 2 of the other one, 3 the other one is at its end, 4 something is wrong,
/// which `engine_last_error` explains.
///
/// `asked` holds valid bytes of the compacted segment from the piece on and the lowest offset of its next batch, the same two
/// of the other one, and the partition. `told` gets bytes that were found and the lowest offset of the next batch, bytes of
/// the other one that were passed and the lowest offset there, messages found, their least (2^64 - 1: none) and greatest
/// timestamp, bytes needed.
///
/// # Safety
/// `slices` points to `slices_length` readable bytes and `whole` to `whole_length`, which nobody writes meanwhile; `asked` to
/// five numbers; `told` to eight writable numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codec_compare(
    slices: *const u8,
    slices_length: usize,
    whole: *const u8,
    whole_length: usize,
    asked: *const u64,
    told: *mut u64,
) -> i64 {
    guard::call(|| {
        // SAFETY: passed on as the caller gave it.
        let slices = unsafe { bytes::view(slices, slices_length) }?;
        // SAFETY: passed on as the caller gave it.
        let whole = unsafe { bytes::view(whole, whole_length) }?;
        // SAFETY: the caller vouches for five numbers.
        let asked: [u64; 5] = unsafe { bytes::numbers(asked) }?;
        let [slice_valid, slice_after, whole_valid, whole_after, partition] = asked;
        let walk = |valid, after| Walk { valid, after, partition, hashed: true };
        let slice_walk = walk(slice_valid, slice_after);
        let done = compare((slices, &slice_walk), (whole, &walk(whole_valid, whole_after)));
        let (halt, wanted) = halted(done.halt);
        let (least, greatest) = done.timestamps.unwrap_or((u64::MAX, 0));
        let numbers = [
            done.slices.0 as u64,
            done.slices.1,
            done.whole.0 as u64,
            done.whole.1,
            done.messages,
            least,
            greatest,
            wanted,
        ];
        // SAFETY: the caller vouches for eight numbers.
        unsafe { bytes::put_numbers(told, &numbers) }?;
        Ok(halt)
    })
}

/// The number of a halt and the bytes that are needed; what is wrong leaves its sentence behind.
fn halted(halt: Halt) -> (i64, u64) {
    let why = match halt {
        Halt::End => return (table::Halt::End.code().into(), 0),
        Halt::Slices(bytes) => return (table::Halt::Slices.code().into(), bytes),
        Halt::Whole(bytes) => return (table::Halt::Whole.code().into(), bytes),
        Halt::WholeEnded => return (table::Halt::WholeEnded.code().into(), 0),
        Halt::Damaged(refusal) => refusal.to_string(),
        Halt::WholeDamaged(refusal) => format!("in the segment that it was made from: {refusal}"),
        Halt::Foreign(offset) => {
            format!(
                "offset {offset}: the message, or its batch, is not so in the segment that it was made from"
            )
        }
    };
    set_last_error(why);
    (table::Halt::Foreign.code().into(), 0)
}
