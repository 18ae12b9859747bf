//! Segments: the batches of a group back to back, as the primary stamped them.

use ng_wire::checksum::xxh3_64;
use ng_wire::primitive::{put_u32, put_u64};

use crate::PAGE;
use crate::bytes::Fields;
use crate::refusal::{Reason, Refusal};

/// Bytes of a batch's header.
pub const BATCH_HEADER: usize = 256;

const FRAME_HEADER: usize = 48;
const NAME: &str = "batch";

/// What the header of a stamped batch says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    /// Which partition of the topic.
    pub partition: u64,
    /// Offset of a message with delta 0.
    pub base_offset: u64,
    /// When it was appended.
    pub base_timestamp: u64,
    /// Smallest timestamp of its producer.
    pub origin_timestamp: u64,
    /// Bytes of header and frames.
    pub length: u64,
    /// Checksum over header fields and frame checksums.
    pub checksum: u64,
    /// How many messages.
    pub count: u32,
}

/// A batch that was checked to the last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Its header.
    pub header: BatchHeader,
    /// The offset of its last message.
    pub last_offset: u64,
}

/// What was found at a position of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A batch; the next one begins behind it.
    Batch(Batch),
    /// No batch follows: only zero bytes up to the next page, or nothing.
    End,
}

impl BatchHeader {
    /// Reads a header.
    pub fn decode(bytes: &[u8]) -> Result<Self, Refusal> {
        let mut fields = Fields::new(NAME, bytes);
        let header = Self {
            partition: fields.u64("partition")?,
            base_offset: fields.u64("base offset")?,
            base_timestamp: fields.u64("base timestamp")?,
            origin_timestamp: fields.u64("origin timestamp")?,
            length: fields.u64("length")?,
            checksum: fields.u64("checksum")?,
            count: fields.u32("count")?,
        };
        fields.zero("reserved", 204)?;
        if header.count == 0 {
            return Err(fields.refuse("count", Reason::Value(0)));
        }
        let least = (BATCH_HEADER + FRAME_HEADER) as u64;
        if header.length < least || header.length > u64::from(u32::MAX) {
            return Err(fields.refuse("length", Reason::Value(header.length)));
        }
        Ok(header)
    }

    /// What the checksum covers, up to the checksums of the frames.
    #[must_use]
    pub fn hashed(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(44 + 8 * self.count.min(1024) as usize);
        for field in
            [self.partition, self.base_offset, self.base_timestamp, self.origin_timestamp, self.length]
        {
            put_u64(&mut bytes, field);
        }
        put_u32(&mut bytes, self.count);
        bytes
    }
}

impl Batch {
    /// Checks a batch at the front of `bytes`: header, frames, checksums.
    pub fn decode(bytes: &[u8]) -> Result<Self, Refusal> {
        let header = BatchHeader::decode(bytes)?;
        let length = usize::try_from(header.length).unwrap_or(usize::MAX);
        let Some(mut frames) = bytes.get(BATCH_HEADER..length) else {
            let short = Reason::Short { needed: header.length, found: bytes.len() as u64 };
            return Err(Refusal::new(NAME, "length", short));
        };
        let mut hashed = header.hashed();
        let mut last_delta = 0;
        for _ in 0..header.count {
            let frame = Frame::decode(frames)?;
            frames = frame.rest;
            hashed.extend_from_slice(&frame.checksum.to_le_bytes());
            last_delta = frame.offset_delta.max(last_delta);
        }
        if !frames.is_empty() {
            return Err(Refusal::new(NAME, "length", Reason::Trailing(frames.len() as u64)));
        }
        if xxh3_64(&hashed) != header.checksum {
            return Err(Refusal::new(NAME, "checksum", Reason::Checksum));
        }
        let Some(last_offset) = header.base_offset.checked_add(u64::from(last_delta)) else {
            return Err(Refusal::new(NAME, "base offset", Reason::Value(header.base_offset)));
        };
        Ok(Self { header, last_offset })
    }
}

struct Frame<'a> {
    checksum: u64,
    offset_delta: u32,
    rest: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Checks the message at the front of `bytes`.
    fn decode(bytes: &'a [u8]) -> Result<Self, Refusal> {
        let mut fields = Fields::new("message", bytes);
        let checksum = fields.u64("checksum")?;
        fields.u128("id")?;
        let offset_delta = fields.u32("offset delta")?;
        fields.u32("timestamp delta")?;
        let headers = fields.u32("headers length")?;
        let payload = fields.u32("payload length")?;
        fields.zero("reserved", 8)?;
        let body = headers as usize + payload as usize;
        fields.bytes("payload", body)?;
        let (whole, rest) = bytes.split_at(FRAME_HEADER + body);
        if xxh3_64(&whole[8..]) != checksum {
            return Err(fields.refuse("checksum", Reason::Checksum));
        }
        Ok(Self { checksum, offset_delta, rest })
    }
}

/// Looks at what begins at the front of `rest`, which is `position` bytes into its segment.
///
/// A whole batch is asked for first: the first bytes of one that crosses a page may all be zero.
pub fn look(rest: &[u8], position: usize) -> Result<Found, Refusal> {
    let refusal = match Batch::decode(rest) {
        Ok(batch) => return Ok(Found::Batch(batch)),
        Err(refusal) => refusal,
    };
    let to_page = (position.next_multiple_of(PAGE) - position).min(rest.len());
    let (padding, page) = rest.split_at(to_page);
    let unwritten = page.iter().take(PAGE).all(|byte| *byte == 0);
    let sealed = page.get(16..24) == Some(crate::footer::KIND.magic.as_slice());
    if padding.iter().all(|byte| *byte == 0) && (unwritten || sealed) {
        return Ok(Found::End);
    }
    Err(refusal)
}
