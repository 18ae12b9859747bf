use super::message::{MESSAGE_HEADER_BYTES, Messages};
use super::refusal::{BatchPart, BatchRefusal};
use super::seal::Seal;
use crate::primitive::{Malformed, Reader};

/// Bytes of the header of a batch.
pub const BATCH_HEADER_BYTES: usize = 256;

/// Bytes of the fields that the checksum covers before the checksums of the messages.
const SEALED_BYTES: usize = 44;

/// Bytes behind those fields and the checksum.
const RESERVED_BYTES: usize = BATCH_HEADER_BYTES - SEALED_BYTES - size_of::<u64>();

/// What the header of a batch says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    /// Which partition of the topic.
    pub partition: u64,
    /// Offset of a message with delta 0.
    pub base_offset: u64,
    /// When it was appended, in microseconds since the Unix epoch.
    pub base_timestamp: u64,
    /// Smallest timestamp that its producer gave.
    pub origin_timestamp: u64,
    /// Bytes of header and messages.
    pub length: u64,
    /// XXH3-64 of the other fields and of the checksums of the messages.
    pub checksum: u64,
    /// How many messages.
    pub count: u32,
}

impl BatchHeader {
    /// Reads a header from the front of `bytes`.
    pub fn decode(bytes: &[u8]) -> Result<Self, BatchRefusal> {
        let short = BatchRefusal::Short {
            part: BatchPart::Header,
            needed: BATCH_HEADER_BYTES as u64,
            found: bytes.len() as u64,
        };
        let header: &[u8; BATCH_HEADER_BYTES] = bytes.first_chunk().ok_or(short)?;
        let (header, reserved) = Self::fields(header).map_err(|_| short)?;
        if reserved != [0; RESERVED_BYTES] {
            return Err(BatchRefusal::Reserved(BatchPart::Header));
        }
        if header.count == 0 {
            return Err(BatchRefusal::Empty);
        }
        let least = (BATCH_HEADER_BYTES + MESSAGE_HEADER_BYTES) as u64;
        if header.length < least || header.length > u64::from(u32::MAX) {
            return Err(BatchRefusal::Length(header.length));
        }
        Ok(header)
    }

    fn fields(bytes: &[u8; BATCH_HEADER_BYTES]) -> Result<(Self, &[u8]), Malformed> {
        let mut reader = Reader::new(bytes);
        let header = Self {
            partition: reader.u64()?,
            base_offset: reader.u64()?,
            base_timestamp: reader.u64()?,
            origin_timestamp: reader.u64()?,
            length: reader.u64()?,
            checksum: reader.u64()?,
            count: reader.u32()?,
        };
        let reserved = reader.bytes(reader.remaining())?;
        Ok((header, reserved))
    }

    /// The bytes of the header.
    #[must_use]
    pub fn encode(&self) -> [u8; BATCH_HEADER_BYTES] {
        let sealed = self.sealed_fields();
        let mut bytes = [0; BATCH_HEADER_BYTES];
        bytes[..40].copy_from_slice(&sealed[..40]);
        bytes[40..48].copy_from_slice(&self.checksum.to_le_bytes());
        bytes[48..52].copy_from_slice(&sealed[40..]);
        bytes
    }

    /// The same header with the checksum that it has before these messages.
    pub fn sealed(mut self, messages: &[u8]) -> Result<Self, BatchRefusal> {
        let mut seal = self.seal();
        for message in Messages::new(messages, self.count) {
            seal.add(message?.checksum);
        }
        self.checksum = seal.finish();
        Ok(self)
    }

    /// A hash over the fields; the checksums of the messages come next.
    pub(super) fn seal(&self) -> Seal {
        Seal::new(&self.sealed_fields())
    }

    fn sealed_fields(&self) -> [u8; SEALED_BYTES] {
        let fields =
            [self.partition, self.base_offset, self.base_timestamp, self.origin_timestamp, self.length];
        let mut bytes = [0; SEALED_BYTES];
        for (place, field) in bytes.chunks_exact_mut(8).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        bytes[40..].copy_from_slice(&self.count.to_le_bytes());
        bytes
    }
}
