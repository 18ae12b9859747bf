//! Buffers that come and go, used again: a page that the kernel gives anew costs more than to receive, hash, copy and send
//! what is put into it.

use crate::buffer::Buffer;

/// Buffers kept at most.
const KEPT_MAX: usize = 64;

/// A kept buffer serves down to this fraction of it, so that little does not sit in much memory.
const ROOMINESS_MAX: usize = 4;

/// Empty buffers of one kind, aligned or not.
#[derive(Debug)]
pub struct BufferPool {
    kept: Vec<Buffer>,
    bytes: usize,
    bytes_max: usize,
}

impl BufferPool {
    /// A pool that keeps at most so many bytes.
    #[must_use]
    pub const fn new(bytes_max: usize) -> Self {
        Self { kept: Vec::new(), bytes: 0, bytes_max }
    }

    /// An empty buffer with room for `capacity` bytes, and seldom for much more, if one is kept.
    pub fn take(&mut self, capacity: usize) -> Option<Buffer> {
        let fitting = capacity..=capacity.saturating_mul(ROOMINESS_MAX);
        let place = self.kept.iter().rposition(|buffer| fitting.contains(&buffer.capacity()))?;
        let buffer = self.kept.swap_remove(place);
        self.bytes -= buffer.capacity();
        Some(buffer)
    }

    /// Takes a buffer that is not needed any more.
    pub fn give(&mut self, mut buffer: Buffer) {
        if self.kept.len() < KEPT_MAX && self.bytes + buffer.capacity() <= self.bytes_max {
            buffer.clear();
            buffer.limit_to(buffer.capacity());
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
        let mut pool = BufferPool::new(1 << 20);
        let mut buffer = Buffer::with_capacity(10_000);
        buffer.extend_from_slice(b"something");
        let address = buffer.as_ptr();
        pool.give(buffer);
        assert!(pool.take(1_000).is_none(), "ten times the room that is needed");
        let again = pool.take(9_000).expect("it is kept");
        assert_eq!((again.as_ptr(), again.len(), again.spare()), (address, 0, 10_000));
        assert!(pool.take(9_000).is_none(), "it is in use");
    }

    #[test]
    fn what_is_kept_is_bounded_in_bytes_and_number() {
        let mut pool = BufferPool::new(100);
        (0..3).for_each(|_| pool.give(Buffer::with_capacity(50)));
        assert_eq!(pool.kept.len(), 2);
        let mut pool = BufferPool::new(1 << 20);
        (0..=KEPT_MAX).for_each(|_| pool.give(Buffer::with_capacity(1)));
        assert_eq!(pool.kept.len(), KEPT_MAX);
    }
}
