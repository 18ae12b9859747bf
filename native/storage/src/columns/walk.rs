//! From batch to batch of a segment, in pieces.

use ng_io::prefetch::prefetch_behind;
use ng_wire::batch::{
    BATCH_HEADER_BYTES, BatchHeader, BatchRefusal, MessageFrame, Payloads, Verified, verify_each,
};

use crate::refusal::{Reason, Refusal};

/// No batch is longer: what claims to be is damage.
pub const BATCH_BYTES_MAX: u64 = 64 << 20;

/// How far behind the front of a message memory is asked for, to be here when it is read. A processor foresees only a part
/// of what is read in a row: a message of 280 bytes, from memory to columns, takes 65 ns with this and 69 without.
const AHEAD: usize = 2048;

/// Where a walk over a segment stands, and what it holds batches against.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    /// Valid bytes of the segment from the front of the piece on; a batch that crosses their end is damage.
    pub valid: u64,
    /// The next batch begins at this offset or beyond.
    pub after: u64,
    /// The partition that every batch names.
    pub partition: u64,
    /// Whether payloads are hashed.
    pub hashed: bool,
}

/// Why a call came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The valid bytes, or the wanted offsets, are at their end.
    End,
    /// So many bytes from here are needed to go on.
    More(u64),
    /// There was room for no further row.
    Full,
    /// What stands here is no batch, or not the next one.
    Damaged(Refusal),
}

impl Walk {
    /// The batch at the front of `rest`, which is `at` bytes into the piece.
    pub(crate) fn batch(&self, rest: &[u8], at: usize) -> Result<Verified, Stop> {
        self.each(rest, at, |_, _, _| {})
    }

    /// The same, and each of its messages on the way, with header and offset: right only if the batch then is.
    pub(crate) fn each<'a>(
        &self,
        rest: &'a [u8],
        at: usize,
        mut each: impl FnMut(&BatchHeader, u64, &MessageFrame<'a>),
    ) -> Result<Verified, Stop> {
        let header = self.header(rest, at)?;
        let bytes = Self::whole(rest, &header)?;
        let payloads = if self.hashed { Payloads::Hashed } else { Payloads::Trusted };
        let verified = verify_each(bytes, payloads, |offset, message| {
            if self.hashed {
                prefetch_behind(message.bytes, AHEAD);
            }
            each(&header, offset, message);
        });
        verified.map_err(damaged)
    }

    /// All bytes of the batch with this header at the front of `rest`; nothing vouches for them yet.
    pub(crate) fn whole<'a>(rest: &'a [u8], header: &BatchHeader) -> Result<&'a [u8], Stop> {
        let length = usize::try_from(header.length).unwrap_or(usize::MAX);
        rest.get(..length).ok_or(Stop::More(header.length))
    }

    /// Its header alone: nothing vouches for it yet, but it fits its place.
    pub(crate) fn header(&self, rest: &[u8], at: usize) -> Result<BatchHeader, Stop> {
        let left = self.valid.saturating_sub(at as u64);
        if left == 0 {
            return Err(Stop::End);
        }
        if rest.len() < BATCH_HEADER_BYTES && (rest.len() as u64) < left {
            return Err(Stop::More(BATCH_HEADER_BYTES as u64));
        }
        let header = BatchHeader::decode(rest).map_err(damaged)?;
        if header.length > left {
            return Err(refused("length", Reason::Short { needed: header.length, found: left }));
        }
        if header.length > BATCH_BYTES_MAX {
            return Err(refused("length", Reason::Value(header.length)));
        }
        if header.partition != self.partition {
            return Err(refused("partition", Reason::Value(header.partition)));
        }
        if header.base_offset < self.after {
            return Err(refused("base offset", Reason::Order(header.base_offset)));
        }
        Ok(header)
    }
}

fn damaged(refusal: BatchRefusal) -> Stop {
    Stop::Damaged(refusal.into())
}

pub(super) const fn refused(field: &'static str, reason: Reason) -> Stop {
    Stop::Damaged(Refusal::new("batch", field, reason))
}
