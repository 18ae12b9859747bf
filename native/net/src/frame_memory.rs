//! Memory for the frames of one table, used again and again.

use ng_io::{Buffer, BufferPool, SharedPool};

/// Buffers of frames that have come, for frames to come.
#[derive(Debug)]
pub(crate) struct FrameMemory {
    /// Of frames that were served and forgotten.
    passing: BufferPool,
    /// Page-aligned: of frames whose content is kept for a while. They come back from whoever had it last.
    kept: SharedPool,
}

impl FrameMemory {
    /// Keeps at most so many bytes of spare buffers, half of them for each purpose.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { passing: BufferPool::new(bytes_max / 2), kept: SharedPool::new(bytes_max / 2) }
    }

    /// Bytes of spare buffers.
    pub(crate) fn bytes(&self) -> usize {
        self.passing.bytes() + self.kept.bytes()
    }

    /// Frees what nobody has used for a minute. Returns how many bytes that were.
    pub(crate) fn age(&mut self) -> usize {
        self.passing.age() + self.kept.age()
    }

    /// An empty buffer with room for so many bytes.
    pub(crate) fn room(&mut self, bytes: usize) -> Buffer {
        self.passing.take(bytes).unwrap_or_else(|| Buffer::with_capacity(bytes))
    }

    /// The same with no more room than that.
    pub(crate) fn exact_room(&mut self, bytes: usize) -> Buffer {
        self.passing.take_exactly(bytes).unwrap_or_else(|| Buffer::with_capacity(bytes))
    }

    /// A page-aligned buffer that has `lead` bytes and takes `bytes` more.
    pub(crate) fn room_behind(&self, lead: usize, bytes: usize) -> Buffer {
        let mut buffer = self.kept.take(lead + bytes).unwrap_or_else(|| Buffer::aligned(lead + bytes));
        buffer.extend_zeroes(lead);
        buffer.limit_to(lead + bytes);
        buffer
    }

    /// Takes a buffer that is not needed any more.
    pub(crate) fn give(&mut self, buffer: Buffer) {
        if buffer.is_aligned() {
            self.kept.give(buffer);
        } else {
            self.passing.give(buffer);
        }
    }

    /// Where kept memory goes in the end.
    pub(crate) const fn home(&self) -> &SharedPool {
        &self.kept
    }
}
