use super::header::{BATCH_HEADER_BYTES, BatchHeader};
use super::refusal::BatchRefusal;

/// Gives a verified batch its place: partition, offset of its first delta, time of its append.
///
/// Only the header changes. A batch that is refused stays as it was.
pub fn stamp(
    batch: &mut [u8],
    partition: u64,
    base_offset: u64,
    base_timestamp: u64,
) -> Result<BatchHeader, BatchRefusal> {
    let came = BatchHeader::decode(batch)?;
    let messages = &batch[BATCH_HEADER_BYTES..];
    let header = BatchHeader { partition, base_offset, base_timestamp, ..came }.sealed(messages)?;
    batch[..BATCH_HEADER_BYTES].copy_from_slice(&header.encode());
    Ok(header)
}
