use super::header::{BATCH_HEADER_BYTES, BatchHeader};
use super::message::MessageFrame;
use super::refusal::BatchRefusal;
use super::verify::{Payloads, Verified, verify_each};

/// What was taken of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picked {
    /// The batch, all of it.
    pub batch: Verified,
    /// How many messages, and the offset of the last of them; `None` if none.
    pub kept: Option<(u32, u64)>,
}

/// Appends the batch with those of its messages that `keep` chooses, given their offsets; nothing if that is none.
///
/// The messages stay byte for byte, and with them deltas and checksums; length, count and checksum of the batch are new.
/// So the whole batch is verified: a checksum made here would hide what rotted. Of one that is refused nothing is appended.
pub fn pick(
    batch: &[u8],
    mut keep: impl FnMut(u64, &MessageFrame<'_>) -> bool,
    into: &mut Vec<u8>,
) -> Result<Picked, BatchRefusal> {
    let start = into.len();
    let messages = start + BATCH_HEADER_BYTES;
    into.resize(messages, 0);
    let mut kept: Option<(u32, u64)> = None;
    let picked = verify_each(batch, Payloads::Hashed, |offset, message| {
        if keep(offset, message) {
            into.extend_from_slice(message.bytes);
            kept = Some((1 + kept.map_or(0, |(count, _)| count), offset));
        }
    })
    .and_then(|batch| {
        let header = match kept {
            Some((count, _)) if count < batch.messages => {
                let length = (into.len() - start) as u64;
                BatchHeader { length, count, ..batch.header }.sealed(&into[messages..])?
            }
            _ => batch.header,
        };
        into[start..messages].copy_from_slice(&header.encode());
        Ok(Picked { batch, kept })
    });
    if kept.is_none() || picked.is_err() {
        into.truncate(start);
    }
    picked
}
