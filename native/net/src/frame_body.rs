//! The body of a complete frame.

use std::mem;
use std::ops::Range;

use ng_io::{Buffer, Chunk, SharedPool};
use ng_wire::frame::HEADER_BYTES;

/// The bytes after the header of a request. Most are read and dropped. Messages are kept together with the
/// buffer that received them, so that they need no copy.
#[derive(Debug)]
pub struct FrameBody<'a> {
    pub(crate) buffer: &'a mut Buffer,
    /// Position of the frame in the buffer.
    pub(crate) frame: Range<usize>,
    /// Start of the kept part in this connection's frames.
    pub(crate) kept_from: &'a mut Option<usize>,
    /// Pool to which the memory finally returns.
    pub(crate) home: &'a SharedPool,
}

impl FrameBody<'_> {
    /// The bytes of the body.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.frame.start + HEADER_BYTES..self.frame.end]
    }

    /// Keeps the bytes from `start` on: in place if the frame has memory for that, otherwise as a copy.
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

/// Part of a frame that will be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// None, or so little that a copy is cheaper.
    Nothing,
    /// From this position in the frame to its end.
    From(usize),
    /// A part whose start is not known yet.
    Unknown,
}
