use super::refusal::{BatchPart, BatchRefusal};
use crate::checksum::xxh3_64;
use crate::primitive::{Malformed, Reader};

/// Bytes of a message before its payload.
pub const MESSAGE_HEADER_BYTES: usize = 48;

/// A message of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageFrame<'a> {
    /// XXH3-64 of all that follows it in the message.
    pub checksum: u64,
    /// What its producer calls it.
    pub id: u128,
    /// How far its offset lies beyond the base offset of the batch.
    pub offset_delta: u32,
    /// How many microseconds it is younger than the origin timestamp of the batch.
    pub timestamp_delta: u32,
    /// What its producer wrote.
    pub payload: &'a [u8],
    /// The user headers as they came.
    pub user_headers: &'a [u8],
    /// All of its bytes.
    pub bytes: &'a [u8],
}

impl MessageFrame<'_> {
    /// Whether it fits its checksum. This hashes the payload.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        xxh3_64(&self.bytes[size_of::<u64>()..]) == self.checksum
    }
}

/// The messages of a batch, one after the other, by their lengths alone: nothing is hashed.
///
/// It ends behind the last message, or with the first refusal.
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    rest: &'a [u8],
    left: u32,
}

impl<'a> Messages<'a> {
    /// The `count` messages that fill `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8], count: u32) -> Self {
        Self { rest: bytes, left: count }
    }

    fn refuse(&mut self, refusal: BatchRefusal) -> BatchRefusal {
        (self.rest, self.left) = (&[], 0);
        refusal
    }

    fn message(&mut self) -> Result<MessageFrame<'a>, BatchRefusal> {
        let found = self.rest.len();
        let short = |needed| BatchRefusal::Short { part: BatchPart::Message, needed, found: found as u64 };
        let header = self.rest.first_chunk();
        let Some(Ok(fields)) = header.map(Fields::of) else {
            return Err(self.refuse(short(MESSAGE_HEADER_BYTES as u64)));
        };
        if fields.reserved != 0 {
            return Err(self.refuse(BatchRefusal::Reserved(BatchPart::Message)));
        }
        let bytes = MESSAGE_HEADER_BYTES + fields.payload as usize + fields.user_headers as usize;
        let Some((bytes, rest)) = self.rest.split_at_checked(bytes) else {
            return Err(self.refuse(short(bytes as u64)));
        };
        self.rest = rest;
        self.left -= 1;
        let (payload, user_headers) = bytes[MESSAGE_HEADER_BYTES..].split_at(fields.payload as usize);
        let Fields { checksum, id, offset_delta, timestamp_delta, .. } = fields;
        Ok(MessageFrame { checksum, id, offset_delta, timestamp_delta, payload, user_headers, bytes })
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<MessageFrame<'a>, BatchRefusal>;

    fn next(&mut self) -> Option<Self::Item> {
        match (self.left, self.rest.len()) {
            (0, 0) => None,
            (0, extra) => Some(Err(self.refuse(BatchRefusal::Trailing(extra as u64)))),
            _ => Some(self.message()),
        }
    }
}

/// The fields before the payload.
struct Fields {
    checksum: u64,
    id: u128,
    offset_delta: u32,
    timestamp_delta: u32,
    user_headers: u32,
    payload: u32,
    reserved: u64,
}

impl Fields {
    fn of(bytes: &[u8; MESSAGE_HEADER_BYTES]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        Ok(Self {
            checksum: reader.u64()?,
            id: reader.u128()?,
            offset_delta: reader.u32()?,
            timestamp_delta: reader.u32()?,
            user_headers: reader.u32()?,
            payload: reader.u32()?,
            reserved: reader.u64()?,
        })
    }
}
