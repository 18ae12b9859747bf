//! Buffers that come and go, used again: a page that the kernel gives anew costs more than to receive, hash, copy and send
//! what is put into it.

use crate::buffer::Buffer;

/// Buffers kept at most.
const KEPT_MAX: usize = 64;

/// A kept buffer serves down to this fraction of it, so that little does not sit in much memory.
const ROOMINESS_MAX: usize = 4;

/// What is kept for a while may take memory that is larger by this fraction.
const SLACK_FRACTION: usize = 8;

/// A buffer that nobody has used for so many calls of [`BufferPool::age`] is freed.
const AGE_MAX: u32 = 6;

/// Empty buffers of one kind, aligned or not.
#[derive(Debug)]
pub struct BufferPool {
    kept: Vec<Spare>,
    bytes: usize,
    bytes_max: usize,
    /// How often [`BufferPool::age`] was called.
    age: u32,
}

#[derive(Debug)]
struct Spare {
    buffer: Buffer,
    /// The age of the pool when it came.
    since: u32,
}

impl BufferPool {
    /// A pool that takes at most so many bytes of memory.
    #[must_use]
    pub const fn new(bytes_max: usize) -> Self {
        Self { kept: Vec::new(), bytes: 0, bytes_max, age: 0 }
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
        let place = self.kept.iter().rposition(|spare| fits(spare.buffer.capacity()))?;
        let Spare { buffer, .. } = self.kept.swap_remove(place);
        self.bytes -= buffer.footprint();
        Some(buffer)
    }

    /// Bytes that are kept.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Frees what nobody has used for a while; to be called every ten seconds. Returns how many bytes that were.
    pub fn age(&mut self) -> usize {
        self.age = self.age.wrapping_add(1);
        let (age, before) = (self.age, self.bytes);
        self.kept.retain(|spare| age.wrapping_sub(spare.since) <= AGE_MAX);
        self.bytes = self.kept.iter().map(|spare| spare.buffer.footprint()).sum();
        before - self.bytes
    }

    /// Takes a buffer that is not needed any more; one without memory is nothing. Where there are too many, the smallest goes.
    pub fn give(&mut self, mut buffer: Buffer) {
        if buffer.capacity() == 0 {
            return;
        }
        let crowded = self.kept.len() >= KEPT_MAX;
        let sizes = self.kept.iter().map(|spare| spare.buffer.footprint()).enumerate();
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
        self.kept.push(Spare { buffer, since: self.age });
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
    fn what_nobody_uses_is_freed_and_what_is_used_is_not() {
        let mut pool = BufferPool::new(1 << 20);
        [1_000, 2_000].into_iter().for_each(|bytes| pool.give(Buffer::with_capacity(bytes)));
        for _ in 0..AGE_MAX {
            assert_eq!(pool.age(), 0);
            let used = pool.take_exactly(1_000).expect("it is kept");
            pool.give(used);
        }
        assert_eq!((pool.age(), pool.bytes()), (2_000, 1_000));
        assert!(pool.take_exactly(1_000).is_some());
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
