//! Batches that come from another replica as one stream of bytes, cut anywhere: each is verified once all of it is here.

use std::sync::Arc;

use ng_wire::batch::{BATCH_HEADER_BYTES, BatchHeader, verify_front};

use super::CommittedBatch;
use crate::refusal::{Reason, Refusal};

/// Which offsets batches that come must have between them, so that none is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole {
    /// The first one that comes. What lies before `kept_from` may be missing: it was dropped, and not everywhere at once.
    pub first: u64,
    /// Messages from here on are kept.
    pub kept_from: u64,
    /// The last one.
    pub last_offset: Option<u64>,
    /// Offsets that were given to no message.
    pub gaps: Vec<(u64, u64)>,
}

impl Whole {
    /// The first offset that is missing if a batch, or the end, comes at `found` where `next` should.
    fn missing(&self, next: u64, found: u64) -> Option<u64> {
        let mut wanted = next.max(self.kept_from);
        for (first, last) in &self.gaps {
            if (*first..=*last).contains(&wanted) {
                wanted = last + 1;
            }
        }
        (wanted < found).then_some(wanted)
    }
}

/// What has come of the batches of a group. At most one batch and the last piece are kept in memory.
#[derive(Debug)]
pub struct ReceivedBatches {
    generation: u64,
    /// Bytes of batches that were not given out yet.
    left: u64,
    batch_bytes_max: u64,
    last_offset: Option<u64>,
    whole: Whole,
    /// What came and is no whole batch yet.
    carried: Vec<u8>,
}

impl ReceivedBatches {
    /// `bytes` of batches are to come, of this purge generation.
    #[must_use]
    pub const fn new(generation: u64, whole: Whole, bytes: u64, batch_bytes_max: u64) -> Self {
        let last_offset = whole.first.checked_sub(1);
        Self { generation, left: bytes, batch_bytes_max, last_offset, whole, carried: Vec::new() }
    }

    /// The purge generation.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether all of them were given out.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.left == 0 && self.carried.is_empty()
    }

    /// Takes the next piece; gives out the batches that are whole now, as batches of `op`.
    pub fn feed(&mut self, piece: &[u8], op: u64) -> Result<Vec<CommittedBatch>, Refusal> {
        self.carried.extend_from_slice(piece);
        if self.carried.len() as u64 > self.left {
            let found = self.carried.len() as u64;
            return Err(Refusal::new("batches", "length", Reason::Value(found)));
        }
        let (mut taken, mut whole) = (0, Vec::new());
        while let Some(length) = self.length(taken)? {
            let Some(bytes) = self.carried.get(taken..taken + length) else { break };
            let batch = verify_front(bytes)?;
            let base_offset = batch.header.base_offset;
            if self.last_offset.is_some_and(|last| base_offset <= last) {
                return Err(Refusal::new("batch", "base offset", Reason::Order(base_offset)));
            }
            self.miss_nothing_before(base_offset)?;
            whole.push(CommittedBatch {
                op,
                generation: self.generation,
                base_offset,
                last_offset: batch.last_offset,
                timestamp: batch.header.base_timestamp,
                messages: batch.messages,
                bytes: Arc::new(bytes.to_vec().into()),
            });
            self.last_offset = Some(batch.last_offset);
            taken += length;
        }
        self.carried.drain(..taken);
        self.left -= taken as u64;
        if self.is_whole() {
            self.miss_nothing_before(self.whole.last_offset.map_or(0, |last| last + 1))?;
        }
        Ok(whole)
    }

    /// A source that lost a segment, or a batch, without knowing must not pass that on.
    fn miss_nothing_before(&self, offset: u64) -> Result<(), Refusal> {
        let next = self.last_offset.map_or(0, |last| last + 1);
        match self.whole.missing(next, offset) {
            None => Ok(()),
            Some(missing) => Err(Refusal::new("batches", "offset", Reason::Missing(missing))),
        }
    }

    /// How long the batch is that begins there, if that is known.
    fn length(&self, at: usize) -> Result<Option<usize>, Refusal> {
        let rest = &self.carried[at..];
        if rest.len() < BATCH_HEADER_BYTES {
            return Ok(None);
        }
        let length = BatchHeader::decode(rest)?.length;
        if length > self.batch_bytes_max.min(self.left - at as u64) {
            return Err(Refusal::new("batch", "length", Reason::Value(length)));
        }
        Ok(usize::try_from(length).ok())
    }
}
