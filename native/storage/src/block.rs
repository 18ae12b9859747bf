//! Journal blocks: the unit in which the journal is written and synced.

use std::sync::Arc;

use ng_io::{Buffer, Chunk, Framed, Output};
use ng_wire::primitive::{put_u32, put_u64, put_u128};

use crate::PAGE;
use crate::bytes::{Fields, count32, put_zero};
use crate::checksum::checksum;
use crate::envelope::Kind;
use crate::record::{RECORD_HEADER, RecordHeader, body_is_whole};
use crate::refusal::{Reason, Refusal};

/// Bytes of a block's header.
pub const BLOCK_HEADER: usize = 256;

/// Records one block can hold.
pub const RECORDS_MAX: usize = 65_536;

/// The memory of a block is doubled up to here.
const DOUBLED_MAX: usize = 2 << 20;

/// Bodies begin at multiples of this.
const BODY_ALIGNMENT: usize = 8;

/// The structure's marks and bounds.
pub const KIND: Kind =
    Kind { name: "block", magic: *b"NGBLOCK\0", version: 2, size: (BLOCK_HEADER, BLOCK_HEADER) };

/// What the header of a block says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockHeader {
    /// The superblock's mark of this journal.
    pub journal: u128,
    /// Checksum of the header before, 0 in the first of an incarnation.
    pub previous: u128,
    /// Number of the block.
    pub sequence: u64,
    /// Incarnation of the writer.
    pub incarnation: u64,
    /// Every block up to here was synced when this one was formed.
    pub synced_through: u64,
    /// The oldest block a recovery needs.
    pub oldest: u64,
    /// Position in its file.
    pub offset: u64,
    /// Number of its file.
    pub file: u32,
    /// Number of the file of the block before; of its own file in the first block of an incarnation.
    pub previous_file: u32,
    /// Bytes of the whole block.
    pub bytes: u32,
    /// How many records it has.
    pub records: u32,
    /// Checksum of the directory.
    pub directory_checksum: u128,
}

/// A record found in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRecord {
    /// Its header.
    pub header: RecordHeader,
    /// Its identity.
    pub checksum: u128,
    /// Where its body begins in the block.
    pub body_start: usize,
    /// Whether the body is the one that was written.
    pub whole: bool,
}

/// Bytes in front of the body in a block of one record.
pub const BODY_FRONT: usize = BLOCK_HEADER + RECORD_HEADER;

/// Bytes that a body takes in a block.
#[must_use]
pub const fn body_bytes(length: usize) -> usize {
    length.next_multiple_of(BODY_ALIGNMENT)
}

/// Bytes of a block of `records` records whose bodies take `bodies` bytes.
#[must_use]
pub const fn block_bytes(records: usize, bodies: usize) -> usize {
    (BLOCK_HEADER + RECORD_HEADER * records + bodies).next_multiple_of(PAGE)
}

/// Builds a block's bytes for direct I/O from encoded record headers and their bodies, in the memory of `buffer` if that is
/// enough: all but the header, for which the place in front stays zero until [`seal`]. Bodies are not hashed: their headers
/// were sealed over them.
#[must_use]
pub fn lay_out<'a>(
    directory: &[u8],
    bodies: impl Iterator<Item = &'a [u8]> + Clone,
    mut buffer: Buffer,
) -> Buffer {
    let records = directory.len() / RECORD_HEADER;
    let bytes = block_bytes(records, bodies.clone().map(|body| body_bytes(body.len())).sum());
    buffer.clear();
    if buffer.capacity() < bytes {
        // Twice what there was, so that blocks that grow little by little do not each want new memory.
        buffer = Buffer::aligned(bytes.max((2 * buffer.capacity()).min(DOUBLED_MAX)));
    }
    buffer.extend_from_slice(&[0; BLOCK_HEADER]);
    buffer.extend_from_slice(directory);
    for body in bodies {
        buffer.extend_from_slice(body);
        pad(&mut buffer, BODY_ALIGNMENT);
    }
    pad(&mut buffer, PAGE);
    buffer
}

/// Builds the bytes of a block around its only body where that lies, if there is room in front of it: all but the header, as
/// [`lay_out`] does.
#[must_use]
pub fn lay_around(directory: &[u8], body: &Arc<Chunk>) -> Option<Framed> {
    debug_assert_eq!(directory.len(), RECORD_HEADER, "a body has one record");
    let mut block = body.frame(BODY_FRONT)?;
    block.front_mut()[BLOCK_HEADER..].copy_from_slice(directory);
    Some(block)
}

/// Puts the header in front of a block of `records` records that was laid out, by way of `encoded`. Size, record count and
/// checksums of `header` are filled in; returns it with its own checksum.
pub fn seal(
    block: &mut Output,
    records: usize,
    mut header: BlockHeader,
    encoded: &mut Vec<u8>,
) -> (BlockHeader, u128) {
    header.bytes = count32(block.len());
    header.records = count32(records);
    let (front, rest) = block.front_mut().split_at_mut(BLOCK_HEADER);
    header.directory_checksum = checksum(&rest[..records * RECORD_HEADER]);
    encoded.clear();
    let sum = header.encode(encoded);
    front.copy_from_slice(encoded);
    (header, sum)
}

fn pad(buffer: &mut Buffer, unit: usize) {
    const ZERO: [u8; PAGE] = [0; PAGE];
    let missing = buffer.len().next_multiple_of(unit) - buffer.len();
    buffer.extend_from_slice(&ZERO[..missing]);
}

impl BlockHeader {
    /// Appends the header's bytes and returns their checksum.
    fn encode(&self, into: &mut Vec<u8>) -> u128 {
        KIND.seal(into, |into| {
            put_u128(into, self.journal);
            put_u128(into, self.previous);
            for field in [self.sequence, self.incarnation, self.synced_through, self.oldest, self.offset] {
                put_u64(into, field);
            }
            put_u32(into, self.file);
            put_u32(into, self.bytes);
            put_u32(into, self.records);
            put_u32(into, self.previous_file);
            put_u128(into, self.directory_checksum);
            put_zero(into, 120);
        })
    }

    /// Reads a header from the front of a page; returns its checksum too.
    pub fn decode(page: &[u8]) -> Result<(Self, u128), Refusal> {
        let opened = KIND.open(page)?;
        let mut fields = Fields::new(KIND.name, opened.content);
        let header = Self {
            journal: fields.u128("journal")?,
            previous: fields.u128("previous")?,
            sequence: fields.u64("sequence")?,
            incarnation: fields.u64("incarnation")?,
            synced_through: fields.u64("synced through")?,
            oldest: fields.u64("oldest")?,
            offset: fields.u64("offset")?,
            file: fields.u32("file")?,
            bytes: fields.u32("bytes")?,
            records: count32(fields.count("records", 0, count32(RECORDS_MAX))?),
            previous_file: fields.u32("previous file")?,
            directory_checksum: fields.u128("directory checksum")?,
        };
        fields.zero("reserved", 120)?;
        fields.finish()?;
        header.check()?;
        Ok((header, opened.checksum))
    }

    fn check(&self) -> Result<(), Refusal> {
        let refuse = |field, value| Err(Refusal::new(KIND.name, field, Reason::Value(value)));
        let least = block_bytes(self.records as usize, 0);
        if !(self.bytes as usize).is_multiple_of(PAGE) || (self.bytes as usize) < least {
            return refuse("bytes", u64::from(self.bytes));
        }
        if self.sequence == 0 || self.sequence == u64::MAX {
            return refuse("sequence", self.sequence);
        }
        if self.oldest == 0 || self.oldest > self.sequence {
            return refuse("oldest", self.oldest);
        }
        if self.synced_through >= self.sequence {
            return refuse("synced through", self.synced_through);
        }
        Ok(())
    }

    /// Reads the directory and checks each body of the whole block.
    ///
    /// A refusal means that the directory cannot be trusted, so the block may have held anything.
    pub fn records(&self, block: &[u8]) -> Result<Vec<BlockRecord>, Refusal> {
        let record = |(header, checksum, body_start): (RecordHeader, u128, usize)| {
            let body = block.get(body_start..body_start + header.body_length as usize);
            let whole = body.is_some_and(|body| body_is_whole(&header, body));
            BlockRecord { header, checksum, body_start, whole }
        };
        Ok(self.directory(block)?.into_iter().map(record).collect())
    }

    /// Reads the directory: each header, its identity, and where its body begins, within the block.
    pub fn directory(&self, block: &[u8]) -> Result<Vec<(RecordHeader, u128, usize)>, Refusal> {
        let mut fields = Fields::new(KIND.name, block);
        fields.bytes("header", BLOCK_HEADER)?;
        let directory = fields.bytes("directory", RECORD_HEADER * self.records as usize)?;
        if checksum(directory) != self.directory_checksum {
            return Err(fields.refuse("directory checksum", Reason::Checksum));
        }
        let mut body_start = BLOCK_HEADER + directory.len();
        let mut records = Vec::with_capacity(self.records as usize);
        for bytes in directory.chunks_exact(RECORD_HEADER) {
            let (header, identity) = RecordHeader::decode(bytes)?;
            let end = body_start.saturating_add(header.body_length as usize);
            if end > self.bytes as usize {
                return Err(fields.refuse("bodies", Reason::Value(end as u64)));
            }
            records.push((header, identity, body_start));
            body_start += body_bytes(header.body_length as usize);
        }
        Ok(records)
    }
}
