//! Buffers that come and go, used again: a page that the kernel gives anew costs more than to receive, hash, copy and send
//! what is put into it.

use crate::buffer::Buffer;

/// Buffers kept at most.
const KEPT_MAX: usize = 64;

/// A kept buffer serves down to this fraction of it, so that little does not sit in much memory.
const ROOMINESS_MAX: usize = 4;

/// What is kept for a while may take memory that is larger by this fraction.
const SLACK_FRACTION: usize = 8;

/// Empty buffers of one kind, aligned or not.
#[derive(Debug)]
pub struct BufferPool {
    kept: Vec<Buffer>,
    bytes: usize,
    bytes_max: usize,
}

impl BufferPool {
    /// A pool that takes at most so many bytes of memory.
    #[must_use]
    pub const fn new(bytes_max: usize) -> Self {
        Self { kept: Vec::new(), bytes: 0, bytes_max }
    }

    /// An empty buffer with room for `capacity` bytes, and seldom for much more, if one is kept.
    pub fn take(&mut self, capacity: usize) -> Option<Buffer> {
        let fitting = capacity..=capacity.saturating_mul(ROOMINESS_MAX);
        self.take_of(|found| fitting.contains(&found))
    }

    /// An empty buffer with room for `capacity` bytes and no more, for who keeps it, if one is kept here.
    pub fn take_exactly(&mut self, capacity: usize) -> Option<Buffer> {
        self.take_of(|found| found == capacity)
    }

    /// An empty buffer with room for `capacity` bytes and hardly more, for who keeps it for a while, if one is kept here.
    pub fn take_snugly(&mut self, capacity: usize) -> Option<Buffer> {
        let fitting = capacity..=capacity + capacity / SLACK_FRACTION;
        self.take_of(|found| fitting.contains(&found))
    }

    fn take_of(&mut self, fits: impl Fn(usize) -> bool) -> Option<Buffer> {
        let place = self.kept.iter().rposition(|buffer| fits(buffer.capacity()))?;
        let buffer = self.kept.swap_remove(place);
        self.bytes -= buffer.footprint();
        Some(buffer)
    }

    /// Takes a buffer that is not needed any more; one without memory is nothing. Where there are too many, the smallest goes.
    pub fn give(&mut self, mut buffer: Buffer) {
        if buffer.capacity() == 0 {
            return;
        }
        let crowded = self.kept.len() >= KEPT_MAX;
        let sizes = self.kept.iter().map(Buffer::footprint).enumerate();
        let out = sizes.min_by_key(|(_, bytes)| *bytes).filter(|_| crowded);
        let (given, freed) = (buffer.footprint(), out.map_or(0, |(_, bytes)| bytes));
        if (crowded && given <= freed) || self.bytes - freed + given > self.bytes_max {
            return;
        }
        if let Some((place, _)) = out {
            self.kept.swap_remove(place);
        }
        buffer.clear();
        buffer.limit_to(buffer.capacity());
        self.bytes = self.bytes - freed + given;
        self.kept.push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::{HUGE_PAGE, PAGE};

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

    #[test]
    fn a_buffer_counts_with_the_memory_that_it_takes() {
        let large = || Buffer::aligned(HUGE_PAGE / 2 + PAGE);
        let mut pool = BufferPool::new(3 * HUGE_PAGE);
        (0..4).for_each(|_| pool.give(large()));
        assert_eq!((pool.kept.len(), pool.bytes), (3, 3 * HUGE_PAGE));
        while pool.take(HUGE_PAGE / 2).is_some() {}
        assert_eq!((pool.kept.len(), pool.bytes), (0, 0));
    }

    #[test]
    fn small_buffers_keep_no_large_one_out() {
        let mut pool = BufferPool::new(1 << 20);
        (0..KEPT_MAX).for_each(|_| pool.give(Buffer::with_capacity(1_000)));
        pool.give(Buffer::with_capacity(500_000));
        assert!(pool.take(500_000).is_some(), "it came in place of a small one");
        pool.give(Buffer::with_capacity(500_000));
        assert_eq!((pool.kept.len(), pool.bytes), (KEPT_MAX, 500_000 + (KEPT_MAX - 1) * 1_000));
        pool.give(Buffer::with_capacity(600_000));
        pool.give(Buffer::with_capacity(1_000));
        assert_eq!(pool.bytes, 500_000 + (KEPT_MAX - 1) * 1_000, "one too large, and one no larger than any");
    }

    #[test]
    fn who_keeps_a_buffer_gets_no_larger_one() {
        let mut pool = BufferPool::new(1 << 20);
        [1_001, 1_000, 4_000].into_iter().for_each(|bytes| pool.give(Buffer::with_capacity(bytes)));
        assert_eq!(pool.take_exactly(1_000).map(|buffer| buffer.capacity()), Some(1_000));
        assert!(pool.take_exactly(1_000).is_none());
        assert_eq!(pool.bytes, 5_001);
    }
}
