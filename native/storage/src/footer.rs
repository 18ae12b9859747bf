//! The footer that seals a segment.

use ng_wire::primitive::{put_u32, put_u64, put_u128};

use crate::bytes::{Fields, count32, put_zero};
use crate::checksum::checksum;
use crate::envelope::Kind;
use crate::refusal::{Reason, Refusal};

/// How much of the batches one digest covers.
pub const DIGEST_SPAN: usize = 1 << 20;

const SIZE: usize = 128;
const DIGESTS_MAX: usize = 65_536;

/// The structure's marks and bounds.
pub const KIND: Kind =
    Kind { name: "footer", magic: *b"NGFOOTER", version: 1, size: (SIZE, SIZE + 16 * DIGESTS_MAX) };

/// What a sealed segment holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footer {
    /// Which group.
    pub group: u64,
    /// The first offset.
    pub base_offset: u64,
    /// The last offset.
    pub last_offset: u64,
    /// How many messages; gaps are allowed.
    pub messages: u64,
    /// Op of the first batch.
    pub first_op: u64,
    /// Op of the last batch.
    pub last_op: u64,
    /// Bytes of the batches.
    pub bytes: u64,
    /// Smallest timestamp of the batches.
    pub min_timestamp: u64,
    /// Greatest timestamp of the batches.
    pub max_timestamp: u64,
    /// 0, or which compaction made it.
    pub generation: u32,
    /// Checksum of each MiB of the batches.
    pub digests: Vec<u128>,
}

/// The checksum of each MiB of a segment's batches.
#[must_use]
pub fn digests(batches: &[u8]) -> Vec<u128> {
    batches.chunks(DIGEST_SPAN).map(checksum).collect()
}

impl Footer {
    /// The footer's bytes, without padding, and the checksum by which SEGMENTS names it.
    #[must_use]
    pub fn encode(&self) -> (Vec<u8>, u128) {
        let mut bytes = Vec::with_capacity(SIZE + 16 * self.digests.len());
        let sum = KIND.seal(&mut bytes, |into| {
            for field in [
                self.group,
                self.base_offset,
                self.last_offset,
                self.messages,
                self.first_op,
                self.last_op,
                self.bytes,
                self.min_timestamp,
                self.max_timestamp,
            ] {
                put_u64(into, field);
            }
            put_u32(into, self.generation);
            put_u32(into, count32(self.digests.len()));
            put_zero(into, 16);
            for digest in &self.digests {
                put_u128(into, *digest);
            }
        });
        (bytes, sum)
    }

    /// Reads a footer from the front of `bytes`; what follows it is padding.
    pub fn decode(bytes: &[u8]) -> Result<(Self, u128), Refusal> {
        let opened = KIND.open(bytes)?;
        let mut fields = Fields::new(KIND.name, opened.content);
        let mut footer = Self {
            group: fields.u64("group")?,
            base_offset: fields.u64("base offset")?,
            last_offset: fields.u64("last offset")?,
            messages: fields.u64("messages")?,
            first_op: fields.u64("first op")?,
            last_op: fields.u64("last op")?,
            bytes: fields.u64("bytes")?,
            min_timestamp: fields.u64("min timestamp")?,
            max_timestamp: fields.u64("max timestamp")?,
            generation: fields.u32("generation")?,
            digests: Vec::new(),
        };
        let count = fields.count("digests", 0, count32(DIGESTS_MAX))?;
        if count as u64 != footer.bytes.div_ceil(DIGEST_SPAN as u64) {
            return Err(fields.refuse("digests", Reason::Value(count as u64)));
        }
        fields.zero("reserved", 16)?;
        footer.digests = (0..count).map(|_| fields.u128("digest")).collect::<Result<_, _>>()?;
        fields.finish()?;
        if opened.rest.iter().any(|byte| *byte != 0) {
            return Err(Refusal::new(KIND.name, "padding", Reason::NotZero));
        }
        Ok((footer, opened.checksum))
    }
}
