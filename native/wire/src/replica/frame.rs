use thiserror::Error;

use super::checksum::xxh3_128;
use super::command::{Fields, body_bytes, fields, put_body, read, sealed_before_payload};
use super::content::Content;
use super::prepare::PrepareRefusal;
use crate::primitive::{Malformed, Reader, put_u8, put_u16, put_u32, put_u64, put_u128};

/// Bytes of a replica frame before its body.
pub const FRAME_HEADER_BYTES: usize = 128;

/// The layout this release speaks.
pub const REPLICA_FRAME_VERSION: u16 = 1;

/// Everything about a frame but its payload: the body of a prepare, or the bytes of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The cluster both ends belong to.
    pub cluster: u128,
    /// The group it is about; 0 in a beat.
    pub group: u64,
    /// The epoch of the group's configuration; 0 in a beat.
    pub epoch: u32,
    /// The number of the sender in the group's replica set, which is that of its node.
    pub replica: u8,
    /// What it says.
    pub content: Content,
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
    /// What is about a group names none, or what is about none names one.
    #[error("a replica frame of group {0}")]
    Group(u64),
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

/// How many bytes of a frame its two checksums cover: all of it but the payload, which a checksum within the
/// covered bytes covers.
#[must_use]
pub const fn sealed_bytes(content: &Content) -> usize {
    FRAME_HEADER_BYTES + body_bytes(content)
}

/// Appends the sealed part of a frame; the payload is appended by the caller.
pub fn encode_frame(frame: &Frame, into: &mut Vec<u8>) {
    let sealed = sealed_bytes(&frame.content);
    let size = u32::try_from(sealed).unwrap_or(u32::MAX).saturating_add(frame.content.payload_bytes());
    let (command, fields) = fields(&frame.content);
    let start = into.len();
    into.reserve(sealed);
    put_u128(into, 0);
    put_u128(into, 0);
    put_u128(into, frame.cluster);
    put_u32(into, size);
    put_u32(into, frame.epoch);
    put_u16(into, REPLICA_FRAME_VERSION);
    put_u8(into, command);
    put_u8(into, frame.replica);
    put_u32(into, 0);
    put_u64(into, frame.group);
    for word in [fields.view, fields.op, fields.commit_max, fields.log_view, fields.nonce] {
        put_u64(into, word);
    }
    put_u8(into, fields.tail);
    into.resize(start + FRAME_HEADER_BYTES, 0);
    put_body(&frame.content, into);
    let (header, body) = into[start..].split_at_mut(FRAME_HEADER_BYTES);
    header[16..32].copy_from_slice(&xxh3_128(body).to_le_bytes());
    let checksum = xxh3_128(&header[16..]);
    header[..16].copy_from_slice(&checksum.to_le_bytes());
}

impl Frame {
    /// Reads a whole frame; what is left of `bytes` is the payload. That of a prepare is not yet held against
    /// its header; that of a state is whole.
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
        let found = read_fields(&mut reader)?;
        if zero != 0 || reader.bytes(reader.remaining())?.iter().any(|byte| *byte != 0) {
            return Err(FrameRefusal::Reserved);
        }
        let (sealed, payload) = split_payload(command, body)?;
        if xxh3_128(sealed) != body_checksum {
            return Err(FrameRefusal::BodyChecksum);
        }
        let content = read(command, found, sealed, u32::try_from(payload.len()).unwrap_or(u32::MAX))?;
        let frame = Self { cluster, group, epoch, replica, content };
        frame.check(found, payload)?;
        Ok((frame, payload))
    }

    /// Whether the parts of a frame fit each other.
    fn check(&self, found: Fields, payload: &[u8]) -> Result<(), FrameRefusal> {
        let of_a_group = self.content.is_of_a_group();
        if fields(&self.content).1 != found || (!of_a_group && self.epoch != 0) {
            return Err(FrameRefusal::Reserved);
        }
        if of_a_group == (self.group == 0) {
            return Err(FrameRefusal::Group(self.group));
        }
        if self.content.payload_bytes() as usize != payload.len() {
            return Err(FrameRefusal::Size(u32::try_from(payload.len()).unwrap_or(u32::MAX)));
        }
        match &self.content {
            Content::StateChunk(chunk) if chunk.checksum != xxh3_128(payload) => {
                Err(FrameRefusal::BodyChecksum)
            }
            _ => Ok(()),
        }
    }
}

fn read_fields(reader: &mut Reader<'_>) -> Result<Fields, FrameRefusal> {
    Ok(Fields {
        view: reader.u64()?,
        op: reader.u64()?,
        commit_max: reader.u64()?,
        log_view: reader.u64()?,
        nonce: reader.u64()?,
        tail: reader.u8()?,
    })
}

fn split_payload(command: u8, body: &[u8]) -> Result<(&[u8], &[u8]), FrameRefusal> {
    let Some(sealed) = sealed_before_payload(command) else { return Ok((body, &[])) };
    body.split_at_checked(sealed).ok_or_else(|| Malformed::Short { missing: sealed - body.len() }.into())
}
