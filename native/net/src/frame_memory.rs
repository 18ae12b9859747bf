//! Memory for the frames of one table, reused.

use ng_io::{Buffer, BufferPool, SharedPool};

/// Buffers of served frames, for later frames.
#[derive(Debug)]
pub(crate) struct FrameMemory {
    /// Buffers of frames that were served and dropped.
    passing: BufferPool,
    /// Page-aligned buffers of frames with a kept part. Their last owner returns them.
    kept: SharedPool,
}

impl FrameMemory {
    /// Keeps at most `bytes_max` bytes of spare buffers, half of them in each pool.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { passing: BufferPool::new(bytes_max / 2), kept: SharedPool::new(bytes_max / 2) }
    }

    /// Bytes of spare buffers.
    pub(crate) fn bytes(&self) -> usize {
        self.passing.bytes() + self.kept.bytes()
    }

    /// Frees buffers without use for a minute. Returns the number of bytes freed.
    pub(crate) fn age(&mut self) -> usize {
        self.passing.age() + self.kept.age()
    }

    /// An empty buffer with room for `bytes` bytes.
    pub(crate) fn room(&mut self, bytes: usize) -> Buffer {
        self.passing.take(bytes).unwrap_or_else(|| Buffer::with_capacity(bytes))
    }

    /// An empty buffer with room for exactly `bytes` bytes.
    pub(crate) fn exact_room(&mut self, bytes: usize) -> Buffer {
        self.passing.take_exactly(bytes).unwrap_or_else(|| Buffer::with_capacity(bytes))
    }

    /// A page-aligned buffer with `lead` bytes and room for `bytes` more.
    pub(crate) fn room_behind(&self, lead: usize, bytes: usize) -> Buffer {
        let mut buffer = self.kept.take(lead + bytes).unwrap_or_else(|| Buffer::aligned(lead + bytes));
        buffer.extend_zeroes(lead);
        buffer.limit_to(lead + bytes);
        buffer
    }

    /// Takes an unneeded buffer back.
    pub(crate) fn give(&mut self, buffer: Buffer) {
        if buffer.is_aligned() {
            self.kept.give(buffer);
        } else {
            self.passing.give(buffer);
        }
    }

    /// Pool to which kept memory finally returns.
    pub(crate) const fn home(&self) -> &SharedPool {
        &self.kept
    }
}
