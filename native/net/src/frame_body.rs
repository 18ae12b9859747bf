//! The body of a frame that is all here.

use std::mem;
use std::ops::Range;

use ng_io::{Buffer, Chunk, SharedPool};
use ng_wire::frame::HEADER_BYTES;

/// What comes behind the header of a request. Most of it is read and forgotten; messages are kept, and so is
/// then the memory that they came in, instead of a copy.
#[derive(Debug)]
pub struct FrameBody<'a> {
    pub(crate) buffer: &'a mut Buffer,
    /// Where the frame is in the buffer.
    pub(crate) frame: Range<usize>,
    /// Where in its frames this connection has what is kept.
    pub(crate) kept_from: &'a mut Option<usize>,
    /// Where the memory goes in the end.
    pub(crate) home: &'a SharedPool,
}

impl FrameBody<'_> {
    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.frame.start + HEADER_BYTES..self.frame.end]
    }

    /// The bytes from `start` on, to be kept: where they are, if the frame was given memory for that, else
    /// copied.
    #[must_use]
    pub fn keep(self, start: usize) -> Chunk {
        let from = self.frame.start + HEADER_BYTES + start;
        *self.kept_from = Some(HEADER_BYTES + start);
        if self.buffer.is_aligned() && self.buffer.len() == self.frame.end {
            Chunk::of(mem::take(self.buffer), from..self.frame.end, Some(self.home.clone()))
        } else {
            self.bytes()[start..].to_vec().into()
        }
    }
}

/// Which part of a frame will be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// None, or so little that it is better copied.
    Nothing,
    /// What begins this far behind the start of the frame, up to its end.
    From(usize),
    /// A part that begins where cannot be told yet.
    Unknown,
}
