use super::header::{BATCH_HEADER_BYTES, BatchHeader};
use super::message::{MessageFrame, Messages};
use super::refusal::{BatchPart, BatchRefusal};

/// What a batch holds, read to its last message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Its header.
    pub header: BatchHeader,
    /// The offset of its first message; that of a slice lies beyond the base offset.
    pub first_offset: u64,
    /// The offset of its last message. It follows from no count: there may be gaps.
    pub last_offset: u64,
    /// How many messages.
    pub messages: u32,
    /// The smallest timestamp that its producer gave.
    pub min_origin_timestamp: u64,
    /// The greatest timestamp that its producer gave.
    pub max_origin_timestamp: u64,
}

/// Whether the payloads are held against the checksums of their messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payloads {
    /// They are.
    Hashed,
    /// They were before.
    Trusted,
}

/// Checks that `bytes` are one batch: header, messages, every checksum. This is the pass that hashes the
/// payload.
pub fn verify(bytes: &[u8]) -> Result<Verified, BatchRefusal> {
    verify_each(bytes, Payloads::Hashed, |_, _| {})
}

/// The same for a batch that is followed by anything, or by nothing.
pub fn verify_front(bytes: &[u8]) -> Result<Verified, BatchRefusal> {
    read(&BatchHeader::decode(bytes)?, bytes, Payloads::Hashed, |_, _| {})
}

/// Reads a batch that was verified before: everything but the hashes of its payloads.
pub fn survey(bytes: &[u8]) -> Result<Verified, BatchRefusal> {
    verify_each(bytes, Payloads::Trusted, |_, _| {})
}

/// [`verify`], or [`survey`] of trusted payloads, which hands out the offset and the frame of each message on the way.
///
/// What was handed out is right if the batch is found to be: until then it may be of no batch at all.
pub fn verify_each<'a>(
    bytes: &'a [u8],
    payloads: Payloads,
    each: impl FnMut(u64, &MessageFrame<'a>),
) -> Result<Verified, BatchRefusal> {
    let header = BatchHeader::decode(bytes)?;
    match (bytes.len() as u64).checked_sub(header.length) {
        Some(extra @ 1..) => Err(BatchRefusal::Trailing(extra)),
        _ => read(&header, bytes, payloads, each),
    }
}

fn read<'a>(
    header: &BatchHeader,
    bytes: &'a [u8],
    payloads: Payloads,
    mut each: impl FnMut(u64, &MessageFrame<'a>),
) -> Result<Verified, BatchRefusal> {
    let length = usize::try_from(header.length).unwrap_or(usize::MAX);
    let Some(messages) = bytes.get(BATCH_HEADER_BYTES..length) else {
        let (part, found) = (BatchPart::Header, bytes.len() as u64);
        return Err(BatchRefusal::Short { part, needed: header.length, found });
    };
    let mut seal = header.seal();
    let mut deltas: Option<(u32, u32)> = None;
    let (mut youngest, mut oldest) = (0, u32::MAX);
    for message in Messages::new(messages, header.count) {
        let message = message?;
        let delta = message.offset_delta;
        if deltas.is_some_and(|(_, last)| delta <= last) {
            return Err(BatchRefusal::Order(delta));
        }
        if payloads == Payloads::Hashed && !message.is_intact() {
            return Err(BatchRefusal::MessageChecksum);
        }
        seal.add(message.checksum);
        each(header.base_offset.saturating_add(u64::from(delta)), &message);
        deltas = Some((deltas.map_or(delta, |(first, _)| first), delta));
        youngest = message.timestamp_delta.max(youngest);
        oldest = message.timestamp_delta.min(oldest);
    }
    if seal.finish() != header.checksum {
        return Err(BatchRefusal::Checksum);
    }
    let (first, last) = deltas.ok_or(BatchRefusal::Empty)?;
    let Some(last_offset) = header.base_offset.checked_add(u64::from(last)).filter(|last| *last < u64::MAX)
    else {
        return Err(BatchRefusal::Offsets(header.base_offset));
    };
    Ok(Verified {
        header: *header,
        first_offset: header.base_offset + u64::from(first),
        last_offset,
        messages: header.count,
        min_origin_timestamp: header.origin_timestamp.saturating_add(u64::from(oldest)),
        max_origin_timestamp: header.origin_timestamp.saturating_add(u64::from(youngest)),
    })
}
