//! Memory of arriving frames, used again from frame to frame.

use ng_io::Buffer;

/// Bytes kept for frames to come: a few large ones, or many small ones.
const KEPT_BYTES_MAX: usize = 16 << 20;

/// Buffers kept.
const KEPT_MAX: usize = 64;

/// A kept buffer serves frames down to this fraction of it, so that small frames do not sit in large memory.
const ROOMINESS_MAX: usize = 4;

/// Buffers of one table's connections that hold nothing now.
#[derive(Debug, Default)]
pub(crate) struct FrameMemory {
    kept: Vec<Buffer>,
    bytes: usize,
}

impl FrameMemory {
    /// An empty buffer with room for `capacity` bytes, and seldom for much more.
    pub(crate) fn take(&mut self, capacity: usize) -> Buffer {
        let fitting = capacity..=capacity.saturating_mul(ROOMINESS_MAX);
        match self.kept.iter().rposition(|buffer| fitting.contains(&buffer.capacity())) {
            Some(place) => {
                let buffer = self.kept.swap_remove(place);
                self.bytes -= buffer.capacity();
                buffer
            }
            None => Buffer::with_capacity(capacity),
        }
    }

    /// Takes a buffer that is not needed any more.
    pub(crate) fn give(&mut self, mut buffer: Buffer) {
        if self.kept.len() < KEPT_MAX && self.bytes + buffer.capacity() <= KEPT_BYTES_MAX {
            buffer.clear();
            self.bytes += buffer.capacity();
            self.kept.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again_for_what_nearly_fills_it() {
        let mut memory = FrameMemory::default();
        let buffer = memory.take(10_000);
        let address = buffer.as_ptr();
        memory.give(buffer);
        assert_ne!(memory.take(1_000).as_ptr(), address, "ten times the room that is needed");
        let again = memory.take(9_000);
        assert_eq!(again.as_ptr(), address);
        assert_ne!(memory.take(9_000).as_ptr(), address, "it is in use");
    }

    #[test]
    fn what_is_kept_is_bounded_in_bytes_and_number() {
        let mut memory = FrameMemory::default();
        for _ in 0..3 {
            memory.give(Buffer::with_capacity(KEPT_BYTES_MAX / 2));
        }
        assert_eq!(memory.kept.len(), 2);
        let mut memory = FrameMemory::default();
        (0..=KEPT_MAX).for_each(|_| memory.give(Buffer::with_capacity(1)));
        assert_eq!(memory.kept.len(), KEPT_MAX);
    }
}
