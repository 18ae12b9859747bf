use super::header::{BATCH_HEADER_BYTES, BatchHeader};
use super::message::MESSAGE_HEADER_BYTES;
use crate::checksum::xxh3_64;
use crate::primitive::{put_u32, put_u64, put_u128};

/// Makes a batch as a producer sends it: message by message, offsets from zero on, not stamped.
#[derive(Clone, Debug)]
pub struct BatchBuilder {
    origin_timestamp: u64,
    count: u32,
    bytes: Vec<u8>,
}

impl BatchBuilder {
    /// A batch whose messages are as old as `origin_timestamp` or younger.
    #[must_use]
    pub fn new(origin_timestamp: u64) -> Self {
        Self { origin_timestamp, count: 0, bytes: vec![0; BATCH_HEADER_BYTES] }
    }

    /// Appends a message. Payload and headers of a batch stay below the longest frame, far from 32 bits.
    #[must_use]
    pub fn message(mut self, id: u128, timestamp_delta: u32, payload: &[u8], user_headers: &[u8]) -> Self {
        let start = self.bytes.len();
        self.bytes.reserve(MESSAGE_HEADER_BYTES + payload.len() + user_headers.len());
        put_u64(&mut self.bytes, 0);
        put_u128(&mut self.bytes, id);
        put_u32(&mut self.bytes, self.count);
        put_u32(&mut self.bytes, timestamp_delta);
        put_u32(&mut self.bytes, u32::try_from(user_headers.len()).unwrap_or(u32::MAX));
        put_u32(&mut self.bytes, u32::try_from(payload.len()).unwrap_or(u32::MAX));
        put_u64(&mut self.bytes, 0);
        self.bytes.extend_from_slice(payload);
        self.bytes.extend_from_slice(user_headers);
        let checksum = xxh3_64(&self.bytes[start + size_of::<u64>()..]);
        self.bytes[start..start + size_of::<u64>()].copy_from_slice(&checksum.to_le_bytes());
        self.count += 1;
        self
    }

    /// The bytes of the batch.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        let header = BatchHeader {
            partition: 0,
            base_offset: 0,
            base_timestamp: 0,
            origin_timestamp: self.origin_timestamp,
            length: self.bytes.len() as u64,
            checksum: 0,
            count: self.count,
        };
        let sealed = header.sealed(&self.bytes[BATCH_HEADER_BYTES..]);
        let header = sealed.expect("the messages are those that were just written");
        self.bytes[..BATCH_HEADER_BYTES].copy_from_slice(&header.encode());
        self.bytes
    }
}

/// A batch of messages with these payloads, numbered from 1 on.
#[must_use]
pub fn build(origin_timestamp: u64, payloads: &[&[u8]]) -> Vec<u8> {
    let empty = BatchBuilder::new(origin_timestamp);
    let numbered = (1_u128..).zip(payloads);
    numbered.fold(empty, |batch, (id, payload)| batch.message(id, 0, payload, &[])).finish()
}
