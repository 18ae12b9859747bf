//! A segment that comes from another replica, looked at as its bytes pass: batches that are whole and in order, then the
//! footer that its list names.

use ng_wire::batch::{BATCH_HEADER_BYTES, BatchHeader, verify_front};

use super::tail::{Passing, Tail};
use crate::PAGE;
use crate::footer::{self, Footer};
use crate::refusal::{Reason, Refusal};
use crate::segments_file::SegmentEntry;

/// What has come of a segment. At most one batch, or one footer, and the last piece are kept in memory.
#[derive(Debug)]
pub struct ReceivedSegment {
    group: u64,
    entry: SegmentEntry,
    /// Bytes of the batches.
    batches: u64,
    batch_bytes_max: u64,
    tail: Tail,
    /// What came and was not looked at yet.
    carried: Vec<u8>,
}

impl ReceivedSegment {
    /// Nothing has come yet. `batches`: bytes of its batches, which the entry of an unsealed segment does not say.
    #[must_use]
    pub fn new(group: u64, entry: SegmentEntry, batches: u64, batch_bytes_max: u64) -> Self {
        let tail = Tail::new(entry.base_offset, 0);
        Self { group, entry, batches, batch_bytes_max, tail, carried: Vec::new() }
    }

    /// Takes the next piece.
    pub fn feed(&mut self, piece: &[u8]) -> Result<(), Refusal> {
        self.carried.extend_from_slice(piece);
        let mut taken = 0;
        while self.tail.bytes < self.batches {
            let rest = &self.carried[taken..];
            if rest.len() < BATCH_HEADER_BYTES {
                break;
            }
            let length = BatchHeader::decode(rest)?.length;
            if length > self.batch_bytes_max.min(self.batches - self.tail.bytes) {
                return Err(Refusal::new("batch", "length", Reason::Value(length)));
            }
            let Some(bytes) = usize::try_from(length).ok().and_then(|length| rest.get(..length)) else {
                break;
            };
            let batch = verify_front(bytes)?;
            let base_offset = batch.header.base_offset;
            if !self.tail.is_followed_by(base_offset) {
                return Err(Refusal::new("batch", "base offset", Reason::Order(base_offset)));
            }
            taken += bytes.len();
            self.tail.absorb(Passing {
                bytes,
                base_offset,
                last_offset: batch.last_offset,
                timestamp: batch.header.base_timestamp,
                messages: batch.messages,
            });
        }
        self.carried.drain(..taken);
        Ok(())
    }

    /// Its last offset, once all of it has come and is as its list says.
    pub fn finish(mut self) -> Result<u64, Refusal> {
        if self.tail.bytes != self.batches || self.batches == 0 {
            let (needed, found) = (self.batches, self.tail.bytes);
            return Err(Refusal::new("segment", "batches", Reason::Short { needed, found }));
        }
        let padding = self.batches.next_multiple_of(PAGE as u64) - self.batches;
        let padding = usize::try_from(padding).unwrap_or(PAGE);
        if self.entry.is_sealed() {
            let (footer, _) = Footer::decode(self.carried.get(padding..).unwrap_or_default())?;
            (self.tail.first_op, self.tail.last_op) = (footer.first_op, footer.last_op);
            let (_, entry, _) = self.tail.seal(self.group);
            if entry != self.entry {
                return Err(Refusal::new(footer::KIND.name, "checksum", Reason::Checksum));
            }
            self.carried.truncate(padding);
        }
        if self.carried.iter().any(|byte| *byte != 0) {
            return Err(Refusal::new("segment", "padding", Reason::NotZero));
        }
        Ok(self.tail.last_offset)
    }
}
