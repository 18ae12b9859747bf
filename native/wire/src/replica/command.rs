//! The commands of a frame: which header fields each uses, and its sealed body.

use super::content::{BEAT_ENTRIES_MAX, Beat, BeatEntry, Content, FetchState, SHARDS_MAX, StateChunk};
use super::frame::FrameRefusal;
use super::identity::{Op, View};
use super::message::{
    Commit, DoViewChange, Message, Prepare, PrepareOk, Probe, ProbeReply, RequestPrepares, RequestStartView,
    StartView, StartViewChange, TransferOffer,
};
use super::prepare::{PREPARE_HEADER_BYTES, PrepareHeader};
use super::vote::{SUFFIX_MAX, Standing, SuffixEntry, Tail};
use crate::primitive::{Malformed, Reader, put_u8, put_u16, put_u32, put_u64, put_u128};

/// Bytes of one entry of a vote: a prepare header, the standing, whether the header is known, six zero.
const SUFFIX_ENTRY_BYTES: usize = PREPARE_HEADER_BYTES + 8;

/// Bytes of a beat before its entries: the shard, how many there are, four zero.
const BEAT_BYTES: usize = 8;

/// Bytes of one entry of a beat.
const BEAT_ENTRY_BYTES: usize = 32;

/// Bytes of a checksum.
const CHECKSUM_BYTES: usize = 16;

/// Bytes of a question for a state: a checksum, the generation and the first offset that are here.
const FETCH_BYTES: usize = CHECKSUM_BYTES + 16;

/// The `command` byte of a replica frame.
mod code {
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
    pub(super) const BEAT: u8 = 12;
    pub(super) const NOT_OPEN: u8 = 13;
    pub(super) const OPENED: u8 = 14;
    pub(super) const FETCH_STATE: u8 = 15;
    pub(super) const STATE_CHUNK: u8 = 16;
}

/// The fields of the frame header that depend on the content; unused ones are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) view: u64,
    pub(super) op: u64,
    pub(super) commit_max: u64,
    pub(super) log_view: u64,
    pub(super) nonce: u64,
    pub(super) tail: u8,
}

/// How many bytes behind the frame header the body checksum covers, where a payload follows them.
pub(super) const fn sealed_before_payload(command: u8) -> Option<usize> {
    match command {
        code::PREPARE => Some(PREPARE_HEADER_BYTES),
        code::STATE_CHUNK => Some(CHECKSUM_BYTES),
        _ => None,
    }
}

/// How many bytes [`put_body`] appends.
pub(super) const fn body_bytes(content: &Content) -> usize {
    match content {
        Content::Message(message) => match message {
            Message::Prepare(_) | Message::TransferOffer(_) => PREPARE_HEADER_BYTES,
            Message::PrepareOk(_) => CHECKSUM_BYTES,
            Message::DoViewChange(message) => message.suffix.len() * SUFFIX_ENTRY_BYTES,
            Message::StartView(message) => message.headers.len() * PREPARE_HEADER_BYTES,
            _ => 0,
        },
        Content::Beat(beat) => BEAT_BYTES + beat.entries.len() * BEAT_ENTRY_BYTES,
        Content::NotOpen | Content::Opened => 0,
        Content::FetchState(_) => FETCH_BYTES,
        Content::StateChunk(_) => CHECKSUM_BYTES,
    }
}

/// The command byte and the header fields.
pub(super) const fn fields(content: &Content) -> (u8, Fields) {
    let none = Fields { view: 0, op: 0, commit_max: 0, log_view: 0, nonce: 0, tail: 0 };
    match content {
        Content::Message(message) => message_fields(message),
        Content::Beat(Beat { incarnation, .. }) => (code::BEAT, Fields { nonce: *incarnation, ..none }),
        Content::NotOpen => (code::NOT_OPEN, none),
        Content::Opened => (code::OPENED, none),
        Content::FetchState(FetchState { nonce, position, .. }) => {
            (code::FETCH_STATE, Fields { op: *position, nonce: *nonce, ..none })
        }
        Content::StateChunk(StateChunk { nonce, position, total, .. }) => {
            (code::STATE_CHUNK, Fields { op: *position, commit_max: *total, nonce: *nonce, ..none })
        }
    }
}

const fn message_fields(message: &Message) -> (u8, Fields) {
    let none = Fields { view: 0, op: 0, commit_max: 0, log_view: 0, nonce: 0, tail: 0 };
    match message {
        Message::Prepare(Prepare { view, commit_max, .. }) => {
            (code::PREPARE, Fields { view: view.0, commit_max: commit_max.0, ..none })
        }
        Message::PrepareOk(PrepareOk { view, op, .. }) => {
            (code::PREPARE_OK, Fields { view: view.0, op: op.0, ..none })
        }
        Message::Commit(Commit { view, commit_max, head }) => {
            (code::COMMIT, Fields { view: view.0, op: head.0, commit_max: commit_max.0, ..none })
        }
        Message::StartViewChange(StartViewChange { view, voted }) => {
            (code::START_VIEW_CHANGE, Fields { view: view.0, log_view: voted.0, ..none })
        }
        Message::DoViewChange(DoViewChange { view, log_view, commit_min, commit_max, tail, .. }) => {
            let (view, log_view, tail) = (view.0, log_view.0, tail.code());
            let (op, commit_max) = (commit_min.0, commit_max.0);
            (code::DO_VIEW_CHANGE, Fields { view, op, commit_max, log_view, nonce: 0, tail })
        }
        Message::StartView(StartView { view, commit_max, nonce, .. }) => {
            (code::START_VIEW, Fields { view: view.0, commit_max: commit_max.0, nonce: *nonce, ..none })
        }
        Message::RequestStartView(RequestStartView { view, nonce }) => {
            (code::REQUEST_START_VIEW, Fields { view: view.0, nonce: *nonce, ..none })
        }
        Message::Probe(Probe { nonce }) => (code::PROBE, Fields { nonce: *nonce, ..none }),
        Message::ProbeReply(ProbeReply { view, nonce }) => {
            (code::PROBE_REPLY, Fields { view: view.0, nonce: *nonce, ..none })
        }
        Message::RequestPrepares(RequestPrepares { view, first, last }) => {
            (code::REQUEST_PREPARES, Fields { view: view.0, op: first.0, nonce: last.0, ..none })
        }
        Message::TransferOffer(TransferOffer { view, commit_max, .. }) => {
            (code::TRANSFER_OFFER, Fields { view: view.0, commit_max: commit_max.0, ..none })
        }
    }
}

/// Appends the sealed body.
pub(super) fn put_body(content: &Content, into: &mut Vec<u8>) {
    match content {
        Content::Message(Message::Prepare(Prepare { header, .. })) => {
            into.extend_from_slice(&header.encode())
        }
        Content::Message(Message::TransferOffer(TransferOffer { anchor, .. })) => {
            into.extend_from_slice(&anchor.encode());
        }
        Content::Message(Message::PrepareOk(PrepareOk { checksum, .. }))
        | Content::StateChunk(StateChunk { checksum, .. }) => put_u128(into, *checksum),
        Content::Message(Message::DoViewChange(vote)) => {
            vote.suffix.iter().for_each(|entry| put_suffix_entry(into, entry));
        }
        Content::Message(Message::StartView(start)) => {
            start.headers.iter().for_each(|header| into.extend_from_slice(&header.encode()));
        }
        Content::Beat(beat) => put_beat(into, beat),
        Content::FetchState(FetchState { anchor, generation, offset, .. }) => {
            put_u128(into, *anchor);
            put_u64(into, *generation);
            put_u64(into, *offset);
        }
        Content::Message(_) | Content::NotOpen | Content::Opened => {}
    }
}

/// Reads what [`fields`] and [`put_body`] wrote; `payload` bytes follow the sealed body.
pub(super) fn read(command: u8, fields: Fields, body: &[u8], payload: u32) -> Result<Content, FrameRefusal> {
    let mut reader = Reader::new(body);
    let (nonce, position) = (fields.nonce, fields.op);
    let content = match command {
        code::BEAT => Content::Beat(read_beat(&mut reader, nonce)?),
        code::NOT_OPEN => Content::NotOpen,
        code::OPENED => Content::Opened,
        code::FETCH_STATE => {
            let (anchor, generation, offset) = (reader.u128()?, reader.u64()?, reader.u64()?);
            Content::FetchState(FetchState { nonce, anchor, position, generation, offset })
        }
        code::STATE_CHUNK => {
            let checksum = reader.u128()?;
            let chunk = StateChunk { nonce, position, total: fields.commit_max, checksum, bytes: payload };
            if !chunk.is_sound() {
                return Err(FrameRefusal::Size(payload));
            }
            Content::StateChunk(chunk)
        }
        _ => Content::Message(read_message(command, fields, &mut reader)?),
    };
    reader.finish()?;
    Ok(content)
}

fn read_message(command: u8, fields: Fields, reader: &mut Reader<'_>) -> Result<Message, FrameRefusal> {
    let (view, op, commit_max) = (View(fields.view), Op(fields.op), Op(fields.commit_max));
    let nonce = fields.nonce;
    Ok(match command {
        code::PREPARE => Message::Prepare(Prepare { view, commit_max, header: read_header(reader)? }),
        code::PREPARE_OK => Message::PrepareOk(PrepareOk { view, op, checksum: reader.u128()? }),
        code::COMMIT => Message::Commit(Commit { view, commit_max, head: op }),
        code::START_VIEW_CHANGE => {
            Message::StartViewChange(StartViewChange { view, voted: View(fields.log_view) })
        }
        code::DO_VIEW_CHANGE => Message::DoViewChange(DoViewChange {
            view,
            log_view: View(fields.log_view),
            commit_min: op,
            commit_max,
            tail: Tail::from_code(fields.tail)?,
            suffix: read_log(reader, SUFFIX_ENTRY_BYTES, read_suffix_entry)?,
        }),
        code::START_VIEW => {
            let headers = read_log(reader, PREPARE_HEADER_BYTES, read_header)?;
            Message::StartView(StartView { view, commit_max, nonce, headers })
        }
        code::REQUEST_START_VIEW => Message::RequestStartView(RequestStartView { view, nonce }),
        code::PROBE => Message::Probe(Probe { nonce }),
        code::PROBE_REPLY => Message::ProbeReply(ProbeReply { view, nonce }),
        code::REQUEST_PREPARES => {
            Message::RequestPrepares(RequestPrepares { view, first: op, last: Op(nonce) })
        }
        code::TRANSFER_OFFER => {
            Message::TransferOffer(TransferOffer { view, commit_max, anchor: read_header(reader)? })
        }
        other => return Err(FrameRefusal::Command(other)),
    })
}

/// Reads entries to the end of the body; at least one, so that every log has an anchor, at most
/// [`SUFFIX_MAX`].
fn read_log<'a, T>(
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

fn put_suffix_entry(into: &mut Vec<u8>, entry: &SuffixEntry) {
    let header = entry.header.map_or([0; PREPARE_HEADER_BYTES], |header| header.encode());
    into.extend_from_slice(&header);
    put_u8(into, entry.standing.code());
    put_u8(into, entry.header.is_some().into());
    into.extend_from_slice(&[0; 6]);
}

fn read_suffix_entry(reader: &mut Reader<'_>) -> Result<SuffixEntry, FrameRefusal> {
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

fn put_beat(into: &mut Vec<u8>, beat: &Beat) {
    put_u16(into, beat.shard);
    put_u16(into, beat.shards);
    put_u32(into, 0);
    for entry in &beat.entries {
        put_u64(into, entry.group);
        put_u64(into, entry.view.0);
        put_u64(into, entry.commit_max.0);
        put_u64(into, entry.head.0);
    }
}

fn read_beat(reader: &mut Reader<'_>, incarnation: u64) -> Result<Beat, FrameRefusal> {
    let (shard, shards, zero) = (reader.u16()?, reader.u16()?, reader.u32()?);
    if zero != 0 {
        return Err(FrameRefusal::Reserved);
    }
    if incarnation == 0 || shard >= shards || shards > SHARDS_MAX {
        return Err(Malformed::Value(shards.into()).into());
    }
    let count = reader.remaining() / BEAT_ENTRY_BYTES;
    if count > BEAT_ENTRIES_MAX {
        return Err(FrameRefusal::Size(u32::try_from(reader.remaining()).unwrap_or(u32::MAX)));
    }
    let entries: Result<_, FrameRefusal> = (0..count).map(|_| read_beat_entry(reader)).collect();
    Ok(Beat { shard, shards, incarnation, entries: entries? })
}

fn read_beat_entry(reader: &mut Reader<'_>) -> Result<BeatEntry, FrameRefusal> {
    let (group, view) = (reader.u64()?, View(reader.u64()?));
    let (commit_max, head) = (Op(reader.u64()?), Op(reader.u64()?));
    if group == 0 {
        return Err(FrameRefusal::Group(0));
    }
    Ok(BeatEntry { group, view, commit_max, head })
}
