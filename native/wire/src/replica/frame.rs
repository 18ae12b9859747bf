use thiserror::Error;

use super::checksum::xxh3_128;
use super::identity::{Op, View};
use super::message::{
    Commit, DoViewChange, Message, Prepare, PrepareOk, Probe, ProbeReply, RequestPrepares, RequestStartView,
    StartView, StartViewChange, TransferOffer,
};
use super::prepare::{PREPARE_HEADER_BYTES, PrepareHeader, PrepareRefusal};
use super::vote::{SUFFIX_MAX, Standing, SuffixEntry, Tail};
use crate::primitive::{Malformed, Reader, put_u8, put_u16, put_u32, put_u64, put_u128};

/// Bytes of a replica frame before its body.
pub const FRAME_HEADER_BYTES: usize = 128;

/// The layout this release speaks.
pub const REPLICA_FRAME_VERSION: u16 = 1;

/// Bytes of one entry of a vote: a prepare header, the standing, whether the header is known, six zero.
const ENTRY_BYTES: usize = PREPARE_HEADER_BYTES + 8;

/// Everything about a frame but the body of a prepare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The cluster both ends belong to.
    pub cluster: u128,
    /// The group the message is about.
    pub group: u64,
    /// The epoch of the group's configuration.
    pub epoch: u32,
    /// The number of the sender in the group's replica set.
    pub replica: u8,
    /// What it says.
    pub message: Message,
}

/// A replica frame that is not taken; the link that carried it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameRefusal {
    /// Too few bytes for what they claim, or a discriminant without a meaning.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// A prepare header inside is not taken.
    #[error(transparent)]
    Prepare(#[from] PrepareRefusal),
    /// The header is not the one that was sealed.
    #[error("the checksum of a replica frame's header does not match")]
    HeaderChecksum,
    /// The body is not the one that was sealed.
    #[error("the checksum of a replica frame's body does not match")]
    BodyChecksum,
    /// The frame comes from another release.
    #[error("replica frame version {0}")]
    Version(u16),
    /// The command has no meaning.
    #[error("replica frame command {0}")]
    Command(u8),
    /// The length does not fit the content.
    #[error("a replica frame of {0} bytes")]
    Size(u32),
    /// A field that the command does not use is set.
    #[error("an unused field of a replica frame is set")]
    Reserved,
}

/// The fields of the frame header that depend on the message; unused ones are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fields {
    view: u64,
    op: u64,
    commit_max: u64,
    log_view: u64,
    nonce: u64,
    tail: u8,
}

/// Reads the length of a whole frame from its header, which must be sealed and no longer than `bytes_max`.
pub fn frame_size(header: &[u8; FRAME_HEADER_BYTES], bytes_max: u32) -> Result<u32, FrameRefusal> {
    let mut reader = Reader::new(header);
    if reader.u128()? != xxh3_128(&header[16..]) {
        return Err(FrameRefusal::HeaderChecksum);
    }
    reader.bytes(32)?;
    let size = reader.u32()?;
    if (size as usize) < FRAME_HEADER_BYTES || size > bytes_max {
        return Err(FrameRefusal::Size(size));
    }
    Ok(size)
}

/// How many bytes of a frame its two checksums cover: all of it, except that the body of a prepare is covered
/// by the checksum in the prepare header.
#[must_use]
pub const fn sealed_bytes(message: &Message) -> usize {
    FRAME_HEADER_BYTES
        + match message {
            Message::Prepare(_) | Message::TransferOffer(_) => PREPARE_HEADER_BYTES,
            Message::PrepareOk(_) => 16,
            Message::DoViewChange(message) => message.suffix.len() * ENTRY_BYTES,
            Message::StartView(message) => message.headers.len() * PREPARE_HEADER_BYTES,
            _ => 0,
        }
}

/// Appends the sealed part of a frame; the body of a prepare is appended by the caller.
pub fn encode_frame(frame: &Frame, into: &mut Vec<u8>) {
    let mut body = Vec::with_capacity(sealed_bytes(&frame.message) - FRAME_HEADER_BYTES);
    let (command, fields) = describe(&frame.message, &mut body);
    let payload = match &frame.message {
        Message::Prepare(prepare) => prepare.header.body_bytes,
        _ => 0,
    };
    let sealed = u32::try_from(FRAME_HEADER_BYTES + body.len()).unwrap_or(u32::MAX);
    let mut header = Vec::with_capacity(FRAME_HEADER_BYTES);
    put_u128(&mut header, 0);
    put_u128(&mut header, xxh3_128(&body));
    put_u128(&mut header, frame.cluster);
    put_u32(&mut header, sealed.saturating_add(payload));
    put_u32(&mut header, frame.epoch);
    put_u16(&mut header, REPLICA_FRAME_VERSION);
    put_u8(&mut header, command);
    put_u8(&mut header, frame.replica);
    put_u32(&mut header, 0);
    put_u64(&mut header, frame.group);
    for word in [fields.view, fields.op, fields.commit_max, fields.log_view, fields.nonce] {
        put_u64(&mut header, word);
    }
    put_u8(&mut header, fields.tail);
    header.resize(FRAME_HEADER_BYTES, 0);
    let checksum = xxh3_128(&header[16..]);
    header[..16].copy_from_slice(&checksum.to_le_bytes());
    into.extend_from_slice(&header);
    into.extend_from_slice(&body);
}

impl Frame {
    /// Reads a whole frame; what is left of `bytes` is the body of a prepare, not yet held against its
    /// checksum.
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), FrameRefusal> {
        let Some((header, body)) = bytes.split_first_chunk::<FRAME_HEADER_BYTES>() else {
            return Err(Malformed::Short { missing: FRAME_HEADER_BYTES - bytes.len() }.into());
        };
        let size = frame_size(header, u32::MAX)?;
        if size as usize != bytes.len() {
            return Err(FrameRefusal::Size(size));
        }
        let mut reader = Reader::new(&header[16..]);
        let (body_checksum, cluster) = (reader.u128()?, reader.u128()?);
        reader.u32()?;
        let (epoch, version) = (reader.u32()?, reader.u16()?);
        if version != REPLICA_FRAME_VERSION {
            return Err(FrameRefusal::Version(version));
        }
        let (command, replica, zero, group) = (reader.u8()?, reader.u8()?, reader.u32()?, reader.u64()?);
        let fields = Fields {
            view: reader.u64()?,
            op: reader.u64()?,
            commit_max: reader.u64()?,
            log_view: reader.u64()?,
            nonce: reader.u64()?,
            tail: reader.u8()?,
        };
        if zero != 0 || reader.bytes(reader.remaining())?.iter().any(|byte| *byte != 0) {
            return Err(FrameRefusal::Reserved);
        }
        let (sealed, payload) = split_payload(command, body)?;
        if xxh3_128(sealed) != body_checksum {
            return Err(FrameRefusal::BodyChecksum);
        }
        let message = message(command, fields, sealed)?;
        if describe(&message, &mut Vec::new()).1 != fields {
            return Err(FrameRefusal::Reserved);
        }
        if let Message::Prepare(prepare) = &message
            && prepare.header.body_bytes as usize != payload.len()
        {
            return Err(FrameRefusal::Size(size));
        }
        Ok((Self { cluster, group, epoch, replica, message }, payload))
    }
}

fn split_payload(command: u8, body: &[u8]) -> Result<(&[u8], &[u8]), FrameRefusal> {
    if command != command_byte::PREPARE {
        return Ok((body, &[]));
    }
    body.split_at_checked(PREPARE_HEADER_BYTES)
        .ok_or_else(|| Malformed::Short { missing: PREPARE_HEADER_BYTES - body.len() }.into())
}

/// The `command` byte of a replica frame.
mod command_byte {
    pub(super) const PREPARE: u8 = 1;
    pub(super) const PREPARE_OK: u8 = 2;
    pub(super) const COMMIT: u8 = 3;
    pub(super) const START_VIEW_CHANGE: u8 = 4;
    pub(super) const DO_VIEW_CHANGE: u8 = 5;
    pub(super) const START_VIEW: u8 = 6;
    pub(super) const REQUEST_START_VIEW: u8 = 7;
    pub(super) const PROBE: u8 = 8;
    pub(super) const PROBE_REPLY: u8 = 9;
    pub(super) const REQUEST_PREPARES: u8 = 10;
    pub(super) const TRANSFER_OFFER: u8 = 11;
}

/// The command byte and the fields of a message; its sealed body is appended.
fn describe(message: &Message, body: &mut Vec<u8>) -> (u8, Fields) {
    let none = Fields::default();
    match message {
        Message::Prepare(Prepare { view, commit_max, header }) => {
            body.extend_from_slice(&header.encode());
            (command_byte::PREPARE, Fields { view: view.0, commit_max: commit_max.0, ..none })
        }
        Message::PrepareOk(PrepareOk { view, op, checksum }) => {
            put_u128(body, *checksum);
            (command_byte::PREPARE_OK, Fields { view: view.0, op: op.0, ..none })
        }
        Message::Commit(Commit { view, commit_max, head }) => {
            (command_byte::COMMIT, Fields { view: view.0, op: head.0, commit_max: commit_max.0, ..none })
        }
        Message::StartViewChange(StartViewChange { view, voted }) => {
            (command_byte::START_VIEW_CHANGE, Fields { view: view.0, log_view: voted.0, ..none })
        }
        Message::DoViewChange(vote) => {
            vote.suffix.iter().for_each(|entry| put_entry(body, entry));
            let fields = Fields {
                view: vote.view.0,
                op: vote.commit_min.0,
                commit_max: vote.commit_max.0,
                log_view: vote.log_view.0,
                tail: vote.tail.code(),
                ..none
            };
            (command_byte::DO_VIEW_CHANGE, fields)
        }
        Message::StartView(StartView { view, commit_max, nonce, headers }) => {
            headers.iter().for_each(|header| body.extend_from_slice(&header.encode()));
            let fields = Fields { view: view.0, commit_max: commit_max.0, nonce: *nonce, ..none };
            (command_byte::START_VIEW, fields)
        }
        Message::RequestStartView(RequestStartView { view, nonce }) => {
            (command_byte::REQUEST_START_VIEW, Fields { view: view.0, nonce: *nonce, ..none })
        }
        Message::Probe(Probe { nonce }) => (command_byte::PROBE, Fields { nonce: *nonce, ..none }),
        Message::ProbeReply(ProbeReply { view, nonce }) => {
            (command_byte::PROBE_REPLY, Fields { view: view.0, nonce: *nonce, ..none })
        }
        Message::RequestPrepares(RequestPrepares { view, first, last }) => {
            (command_byte::REQUEST_PREPARES, Fields { view: view.0, op: first.0, nonce: last.0, ..none })
        }
        Message::TransferOffer(TransferOffer { view, commit_max, anchor }) => {
            body.extend_from_slice(&anchor.encode());
            (command_byte::TRANSFER_OFFER, Fields { view: view.0, commit_max: commit_max.0, ..none })
        }
    }
}

fn message(command: u8, fields: Fields, body: &[u8]) -> Result<Message, FrameRefusal> {
    let (view, op, commit_max) = (View(fields.view), Op(fields.op), Op(fields.commit_max));
    let nonce = fields.nonce;
    let mut reader = Reader::new(body);
    let message = match command {
        command_byte::PREPARE => {
            Message::Prepare(Prepare { view, commit_max, header: read_header(&mut reader)? })
        }
        command_byte::PREPARE_OK => Message::PrepareOk(PrepareOk { view, op, checksum: reader.u128()? }),
        command_byte::COMMIT => Message::Commit(Commit { view, commit_max, head: op }),
        command_byte::START_VIEW_CHANGE => {
            Message::StartViewChange(StartViewChange { view, voted: View(fields.log_view) })
        }
        command_byte::DO_VIEW_CHANGE => Message::DoViewChange(DoViewChange {
            view,
            log_view: View(fields.log_view),
            commit_min: op,
            commit_max,
            tail: Tail::from_code(fields.tail)?,
            suffix: read_all(&mut reader, ENTRY_BYTES, read_entry)?,
        }),
        command_byte::START_VIEW => Message::StartView(StartView {
            view,
            commit_max,
            nonce,
            headers: read_all(&mut reader, PREPARE_HEADER_BYTES, read_header)?,
        }),
        command_byte::REQUEST_START_VIEW => Message::RequestStartView(RequestStartView { view, nonce }),
        command_byte::PROBE => Message::Probe(Probe { nonce }),
        command_byte::PROBE_REPLY => Message::ProbeReply(ProbeReply { view, nonce }),
        command_byte::REQUEST_PREPARES => {
            Message::RequestPrepares(RequestPrepares { view, first: op, last: Op(nonce) })
        }
        command_byte::TRANSFER_OFFER => {
            Message::TransferOffer(TransferOffer { view, commit_max, anchor: read_header(&mut reader)? })
        }
        other => return Err(FrameRefusal::Command(other)),
    };
    reader.finish()?;
    Ok(message)
}

fn put_entry(body: &mut Vec<u8>, entry: &SuffixEntry) {
    let header = entry.header.map_or([0; PREPARE_HEADER_BYTES], |header| header.encode());
    body.extend_from_slice(&header);
    put_u8(body, entry.standing.code());
    put_u8(body, entry.header.is_some().into());
    body.extend_from_slice(&[0; 6]);
}

/// Reads entries to the end of the body; at least one, so that every log has an anchor, at most
/// [`SUFFIX_MAX`].
fn read_all<'a, T>(
    reader: &mut Reader<'a>,
    entry_bytes: usize,
    read: fn(&mut Reader<'a>) -> Result<T, FrameRefusal>,
) -> Result<Vec<T>, FrameRefusal> {
    let count = reader.remaining() / entry_bytes;
    if !(1..=SUFFIX_MAX).contains(&count) {
        return Err(FrameRefusal::Size(u32::try_from(reader.remaining()).unwrap_or(u32::MAX)));
    }
    (0..count).map(|_| read(reader)).collect()
}

fn read_header(reader: &mut Reader<'_>) -> Result<PrepareHeader, FrameRefusal> {
    let missing = PREPARE_HEADER_BYTES.saturating_sub(reader.remaining());
    let bytes = reader.bytes(PREPARE_HEADER_BYTES)?.first_chunk().ok_or(Malformed::Short { missing })?;
    Ok(PrepareHeader::decode(bytes)?)
}

fn read_entry(reader: &mut Reader<'_>) -> Result<SuffixEntry, FrameRefusal> {
    let bytes = reader.bytes(PREPARE_HEADER_BYTES)?;
    let standing = Standing::from_code(reader.u8()?)?;
    let header = match reader.u8()? {
        0 if bytes.iter().all(|byte| *byte == 0) => None,
        1 => Some(read_header(&mut Reader::new(bytes))?),
        other => return Err(Malformed::Value(other.into()).into()),
    };
    if reader.bytes(6)?.iter().any(|byte| *byte != 0) {
        return Err(FrameRefusal::Reserved);
    }
    Ok(SuffixEntry { header, standing })
}
