use super::header::{BATCH_HEADER_BYTES, BatchHeader};
use super::message::{MessageFrame, Messages};
use super::refusal::BatchRefusal;
use super::verify::verify;

/// Appends the batch with those of its messages that `keep` chooses, given their offsets; returns how many, and appends nothing
/// for none.
///
/// The messages stay byte for byte, and with them deltas and checksums; length, count and checksum of the batch are new.
/// So the whole batch is verified first: a checksum made here would hide what rotted.
pub fn pick(
    batch: &[u8],
    mut keep: impl FnMut(u64, &MessageFrame<'_>) -> bool,
    into: &mut Vec<u8>,
) -> Result<u32, BatchRefusal> {
    let header = verify(batch)?.header;
    let start = into.len();
    into.extend_from_slice(&batch[..BATCH_HEADER_BYTES]);
    let mut count = 0;
    for message in Messages::new(&batch[BATCH_HEADER_BYTES..], header.count) {
        let message = message?;
        if keep(header.base_offset + u64::from(message.offset_delta), &message) {
            into.extend_from_slice(message.bytes);
            count += 1;
        }
    }
    if count == 0 {
        into.truncate(start);
    } else if count < header.count {
        let length = (into.len() - start) as u64;
        let kept = BatchHeader { length, count, ..header }.sealed(&into[start + BATCH_HEADER_BYTES..])?;
        into[start..start + BATCH_HEADER_BYTES].copy_from_slice(&kept.encode());
    }
    Ok(count)
}
