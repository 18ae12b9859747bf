//! Batches that come from another replica as one stream of bytes, cut anywhere: each is verified once all of it is here.

use std::sync::Arc;

use ng_wire::batch::{BATCH_HEADER_BYTES, BatchHeader, verify_front};

use super::CommittedBatch;
use crate::refusal::{Reason, Refusal};

/// What has come of the batches of a group. At most one batch and the last piece are kept in memory.
#[derive(Debug)]
pub struct ReceivedBatches {
    generation: u64,
    /// Bytes of batches that were not given out yet.
    left: u64,
    batch_bytes_max: u64,
    last_offset: Option<u64>,
    /// What came and is no whole batch yet.
    carried: Vec<u8>,
}

impl ReceivedBatches {
    /// `bytes` of batches are to come, of this purge generation and from offset `first` on.
    #[must_use]
    pub const fn new(generation: u64, first: u64, bytes: u64, batch_bytes_max: u64) -> Self {
        let last_offset = first.checked_sub(1);
        Self { generation, left: bytes, batch_bytes_max, last_offset, carried: Vec::new() }
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
            whole.push(CommittedBatch {
                op,
                generation: self.generation,
                base_offset,
                last_offset: batch.last_offset,
                timestamp: batch.header.base_timestamp,
                messages: batch.messages,
                bytes: Arc::new(bytes.to_vec()),
            });
            self.last_offset = Some(batch.last_offset);
            taken += length;
        }
        self.carried.drain(..taken);
        self.left -= taken as u64;
        Ok(whole)
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
