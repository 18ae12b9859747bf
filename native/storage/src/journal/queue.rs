//! Records that wait for their write, as the blocks that they will form.

use std::collections::VecDeque;
use std::sync::Arc;

use ng_io::{Buffer, Chunk, Output};

use super::Position;
use super::slots::SlotId;
use crate::block::{self, RECORDS_MAX, block_bytes, body_bytes};

/// A block that is not written yet.
#[derive(Debug, Default)]
pub(super) struct Forming {
    /// Record headers, encoded.
    directory: Vec<u8>,
    records: Vec<(SlotId, Arc<Chunk>)>,
    bodies: usize,
    /// Its bytes, if they were laid out ahead of its turn: from then on nothing more may come in.
    laid_out: Option<Output>,
}

/// Blocks to be written, oldest first.
#[derive(Debug)]
pub(super) struct Queue {
    blocks: VecDeque<Forming>,
    bytes: usize,
    /// A block takes no further record beyond this many bytes.
    target: usize,
    /// Of blocks that were written, to be filled again: as many as ever waited at a time.
    spare: Vec<Forming>,
}

impl Forming {
    pub(super) fn bytes(&self) -> usize {
        block_bytes(self.records.len(), self.bodies)
    }

    pub(super) fn records(&self) -> usize {
        self.records.len()
    }

    /// The bytes of the block, but for its header, unless that was done before: around a body that is alone and has room for
    /// it, else in memory of `spare`.
    pub(super) fn lay_out(&mut self, spare: &mut Vec<Buffer>) -> Output {
        if let Some(laid_out) = self.laid_out.take() {
            return laid_out;
        }
        if let [(_, body)] = &self.records[..]
            && let Some(framed) = block::lay_around(&self.directory, body)
        {
            return Output::Framed(framed);
        }
        let bodies = self.records.iter().map(|(_, body)| &body[..]);
        block::lay_out(&self.directory, bodies, spare.pop().unwrap_or_default()).into()
    }

    /// The slot of each record, and the length of its body.
    pub(super) fn slots(&self) -> impl Iterator<Item = (SlotId, usize)> + '_ {
        self.records.iter().map(|(slot, body)| (*slot, body.len()))
    }

    fn takes(&self, body: usize, target: usize) -> bool {
        let bytes = block_bytes(self.records.len() + 1, self.bodies + body_bytes(body));
        self.records.len() < RECORDS_MAX && bytes <= target
    }
}

impl Queue {
    pub(super) fn new(target: usize) -> Self {
        Self { blocks: VecDeque::new(), bytes: 0, target, spare: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub(super) fn len(&self) -> u64 {
        self.blocks.len() as u64
    }

    /// Records of all blocks.
    pub(super) fn records(&self) -> usize {
        self.blocks.iter().map(Forming::records).sum()
    }

    /// Bytes of all blocks.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    pub(super) fn front(&self) -> Option<&Forming> {
        self.blocks.front()
    }

    /// Lays out the first block in memory of `spare` if no record can come into it any more, so that the disk does not wait
    /// for that when its turn comes.
    pub(super) fn lay_out_ahead(&mut self, spare: &mut Vec<Buffer>) {
        if self.blocks.len() > 1
            && let Some(first) = self.blocks.front_mut().filter(|first| first.laid_out.is_none())
        {
            first.laid_out = Some(first.lay_out(spare));
        }
    }

    pub(super) fn pop(&mut self) -> Option<Forming> {
        let forming = self.blocks.pop_front()?;
        assert!(self.bytes >= forming.bytes(), "each block was counted when it was added");
        self.bytes -= forming.bytes();
        Some(forming)
    }

    /// Where a record with a body of this length will be, if the first block will be number `first`.
    pub(super) fn position_of(&self, first: u64, body: usize) -> Position {
        match self.blocks.back().filter(|forming| forming.takes(body, self.target)) {
            Some(forming) => {
                let index = u32::try_from(forming.records.len()).expect("a block has at most 65536 records");
                Position { block: first + self.len() - 1, index }
            }
            None => Position { block: first + self.len(), index: 0 },
        }
    }

    /// Puts a record where [`Queue::position_of`] says.
    pub(super) fn push(&mut self, header: &[u8], slot: SlotId, body: Arc<Chunk>) {
        if !self.blocks.back().is_some_and(|forming| forming.takes(body.len(), self.target)) {
            self.push_block();
        }
        let forming = self.blocks.back_mut().expect("a block was there or was just added");
        assert!(forming.laid_out.is_none(), "a block whose bytes are laid out takes no further record");
        let before = forming.bytes();
        forming.directory.extend_from_slice(header);
        forming.bodies += body_bytes(body.len());
        forming.records.push((slot, body));
        self.bytes += forming.bytes() - before;
    }

    /// Makes sure that a block is formed, even without records.
    pub(super) fn want_block(&mut self) {
        if self.blocks.is_empty() {
            self.push_block();
        }
    }

    /// Takes a block back that was written.
    pub(super) fn recycle(&mut self, mut forming: Forming) {
        forming.directory.clear();
        forming.records.clear();
        forming.bodies = 0;
        self.spare.push(forming);
    }

    /// Gives up the memory that is kept for the next blocks.
    pub(super) fn forget_spare(&mut self) {
        self.spare = Vec::new();
    }

    fn push_block(&mut self) {
        let forming = self.spare.pop().unwrap_or_default();
        self.bytes += forming.bytes();
        self.blocks.push_back(forming);
    }
}
