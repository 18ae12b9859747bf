//! Reading an unsealed segment to its end after a start: the batches that are whole, in order, and nothing behind them.

use ng_wire::batch::{BATCH_HEADER_BYTES, BatchHeader};

use super::tail::{Passing, Tail};
use crate::PAGE;
use crate::segment::{Found, look};

/// Bytes read at a time.
pub(super) const PIECE: usize = 1 << 20;

/// A segment being read. Ask [`Scan::offset`], bring [`PIECE`] bytes from there to [`Scan::feed`], until it is finished.
#[derive(Debug)]
pub(super) struct Scan {
    tail: Tail,
    /// What was read and belongs to no batch yet; it begins where the tail ends.
    carried: Vec<u8>,
    read_to: u64,
    batch_bytes_max: u64,
    /// No further batch follows.
    ended: bool,
    finished: bool,
}

impl Scan {
    pub(super) const fn new(tail: Tail, batch_bytes_max: u64) -> Self {
        Self { tail, carried: Vec::new(), read_to: 0, batch_bytes_max, ended: false, finished: false }
    }

    /// Goes on after a prefix that is trusted: `carried` was read behind it, up to `read_to`.
    pub(super) fn resume(tail: Tail, carried: Vec<u8>, read_to: u64, batch_bytes_max: u64) -> Self {
        Self { carried, read_to, ..Self::new(tail, batch_bytes_max) }
    }

    /// Takes what was read with the prefix; `whole` if the file ends there. True when nothing is left to read.
    pub(super) fn begin(&mut self, whole: bool) -> bool {
        self.finished = whole;
        self.take_batches();
        whole
    }

    /// Where the next piece begins.
    pub(super) const fn offset(&self) -> u64 {
        self.read_to
    }

    /// Takes the next piece; a short one is the last. True when the whole file was read.
    pub(super) fn feed(&mut self, piece: &[u8]) -> bool {
        self.finished = piece.len() < PIECE;
        self.read_to += piece.len() as u64;
        if !self.ended {
            self.carried.extend_from_slice(piece);
            self.take_batches();
        }
        self.finished
    }

    /// The segment as it was found; `None` if it has no batch.
    pub(super) fn finish(mut self) -> Option<Tail> {
        self.tail.stale_to = self.read_to;
        (self.tail.bytes > 0).then_some(self.tail)
    }

    fn take_batches(&mut self) {
        let mut taken = 0;
        while !self.ended {
            let rest = &self.carried[taken..];
            if !self.finished && self.wants_more(rest) {
                break;
            }
            let position = usize::try_from(self.tail.bytes).unwrap_or(usize::MAX);
            match look(rest, position) {
                Ok(Found::Batch(batch)) if self.tail.is_followed_by(batch.header.base_offset) => {
                    let length = usize::try_from(batch.header.length).unwrap_or(rest.len());
                    self.tail.absorb(Passing {
                        bytes: &rest[..length],
                        base_offset: batch.header.base_offset,
                        last_offset: batch.last_offset,
                        timestamp: batch.header.base_timestamp,
                        messages: batch.messages,
                    });
                    taken += length;
                }
                // Whether something had to be there is for the manifest and the journal to say.
                _ => self.ended = true,
            }
        }
        self.carried.drain(..taken);
        if self.ended {
            self.carried = Vec::new();
        }
    }

    /// Whether the next piece could make a batch, or the end, of what is there.
    fn wants_more(&self, rest: &[u8]) -> bool {
        let begun = BatchHeader::decode(rest).map(|header| header.length);
        let short = |length: u64| length > rest.len() as u64 && length <= self.batch_bytes_max;
        rest.len() < BATCH_HEADER_BYTES + 2 * PAGE || begun.is_ok_and(short)
    }
}
