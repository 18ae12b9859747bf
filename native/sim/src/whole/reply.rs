//! Replies of the server, read from its bytes.

use ng_wire::batch::{BATCH_HEADER_BYTES, BatchHeader, Messages};
use ng_wire::frame::HEADER_BYTES;
use ng_wire::primitive::{Malformed, Reader};
use ng_wire::table::error::ErrorCode;
use ng_wire::table::operation::Operation;

/// A frame longer than this is none of ours.
const FRAME_BYTES_MAX: usize = 1 << 20;

const COMMAND_REPLY: u8 = 8;
const COMMAND_EVICTION: u8 = 13;

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It was done; what follows the result.
    Done(Vec<u8>),
    /// It was not.
    Refused(ErrorCode),
    /// The session is gone.
    Evicted(u8),
}

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) request: u64,
    pub(super) operation: u8,
    pub(super) answer: Answer,
}

/// Takes the first whole reply off the bytes that have come; `None` while there is none.
pub(super) fn take(received: &mut Vec<u8>) -> Result<Option<Reply>, String> {
    let Some(header) = received.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
    let size = word(header, 48) as usize;
    if !(HEADER_BYTES..=FRAME_BYTES_MAX).contains(&size) {
        return Err(format!("a reply of {size} bytes"));
    }
    if received.len() < size {
        return Ok(None);
    }
    let reply = match header[60] {
        COMMAND_REPLY => Reply {
            request: long(header, 200),
            operation: header[208],
            answer: answer(header[208], word(header, 216), &received[HEADER_BYTES..size])?,
        },
        COMMAND_EVICTION => Reply { request: 0, operation: 0, answer: Answer::Evicted(header[255]) },
        other => return Err(format!("a frame with command {other}")),
    };
    received.drain(..size);
    Ok(Some(reply))
}

fn answer(operation: u8, status: u32, body: &[u8]) -> Result<Answer, String> {
    if status != 0 {
        return refused(status);
    }
    if !Operation::from_code(operation).is_some_and(Operation::has_result_section) {
        return Ok(Answer::Done(body.to_vec()));
    }
    let mut reader = Reader::new(body);
    let short = |fault: Malformed| format!("a result section that cannot be read: {fault:?}");
    match reader.u32().map_err(short)? {
        0 => Ok(Answer::Done(body[4..].to_vec())),
        _ => {
            reader.u32().map_err(short)?;
            refused(reader.u32().map_err(short)?)
        }
    }
}

fn refused(code: u32) -> Result<Answer, String> {
    ErrorCode::from_code(code).map(Answer::Refused).ok_or_else(|| format!("status {code}"))
}

fn word(header: &[u8; HEADER_BYTES], at: usize) -> u32 {
    header[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn long(header: &[u8; HEADER_BYTES], at: usize) -> u64 {
    header[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The session that a login won.
pub(super) fn session(body: &[u8]) -> Result<u64, Malformed> {
    let mut reader = Reader::new(body);
    reader.u32()?;
    reader.u64()
}

/// The offset of the first message of a batch that was taken.
pub(super) fn base_offset(body: &[u8]) -> Result<u64, Malformed> {
    let mut reader = Reader::new(body);
    for _ in 0..4 {
        reader.u32()?;
    }
    reader.u64()
}

/// What a consumer has stored; nothing if there is none.
pub(super) fn stored_offset(body: &[u8]) -> Result<Option<u64>, Malformed> {
    if body.is_empty() {
        return Ok(None);
    }
    let mut reader = Reader::new(body);
    reader.u32()?;
    reader.u64()?;
    reader.u64().map(Some)
}

/// What a poll came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Polled {
    pub(super) current_offset: u64,
    /// Offsets and payloads.
    pub(super) messages: Vec<(u64, Vec<u8>)>,
}

/// Reads the reply to a poll, and holds each message against its checksum.
pub(super) fn polled(body: &[u8]) -> Result<Polled, String> {
    let short = |fault: Malformed| format!("a poll's reply that cannot be read: {fault:?}");
    let mut reader = Reader::new(body);
    reader.u32().map_err(short)?;
    let current_offset = reader.u64().map_err(short)?;
    let count = reader.u32().map_err(short)?;
    let messages = messages_of(reader.bytes(reader.remaining()).map_err(short)?)?;
    if messages.len() != count as usize {
        return Err(format!("{} messages where {count} were announced", messages.len()));
    }
    Ok(Polled { current_offset, messages })
}

/// The messages of successive batches: offsets and payloads, each held against its checksum.
pub(super) fn messages_of(mut rest: &[u8]) -> Result<Vec<(u64, Vec<u8>)>, String> {
    let mut messages = Vec::new();
    while !rest.is_empty() {
        let header = BatchHeader::decode(rest).map_err(|refusal| format!("a batch: {refusal}"))?;
        let length = usize::try_from(header.length).unwrap_or(usize::MAX);
        let (batch, after) = rest.split_at_checked(length).ok_or("a batch that is cut off")?;
        for message in Messages::new(&batch[BATCH_HEADER_BYTES..], header.count) {
            let message = message.map_err(|refusal| format!("a message: {refusal}"))?;
            if !message.is_intact() {
                return Err(format!("the message at {} is not intact", header.base_offset));
            }
            messages.push((header.base_offset + u64::from(message.offset_delta), message.payload.to_vec()));
        }
        rest = after;
    }
    Ok(messages)
}
