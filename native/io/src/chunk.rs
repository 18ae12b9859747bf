//! Bytes that are written once and then shared, in memory that may go on around them.
//!
//! What a producer sends stays where the kernel put it: with room in front for the headers of a journal block and zeroes
//! behind up to the end of the page, it goes to the disk from there while others read it.

use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut, Range};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::buffer::{Buffer, PAGE};
use crate::shared_pool::SharedPool;

/// Some bytes of a buffer. Whoever has them alone may change them.
pub struct Chunk {
    /// Not to be looked at as a whole: the front may be somebody's to change.
    buffer: Buffer,
    /// Lies within the content of `buffer`. Behind it, aligned memory is zero up to the end of the page.
    range: Range<usize>,
    /// Whether a [`Framed`] exists.
    is_framed: AtomicBool,
    /// Where the memory goes in the end.
    home: Option<SharedPool>,
}

/// A chunk in whole pages: with bytes in front that are the owner's to change, and zeroes behind. There is one at a time.
pub struct Framed {
    chunk: Arc<Chunk>,
    /// Where it begins in the memory of the chunk: at the start of a page, and not behind the chunk.
    start: usize,
}

impl Chunk {
    /// These bytes of a buffer; what is behind them is forgotten. The memory goes to `home` in the end.
    ///
    /// # Panics
    /// If the buffer does not have them.
    #[must_use]
    pub fn of(mut buffer: Buffer, range: Range<usize>, home: Option<SharedPool>) -> Self {
        assert!(range.start <= range.end && range.end <= buffer.len(), "the bytes are there");
        buffer.truncate(range.end);
        if buffer.is_aligned() {
            let page_end = buffer.len().next_multiple_of(PAGE);
            buffer.extend_zeroes(page_end - buffer.len());
        }
        Self { buffer, range, is_framed: AtomicBool::new(false), home }
    }

    /// A copy of `bytes` with room for so many bytes in front of it that [`Chunk::frame`] may have.
    #[must_use]
    pub fn with_front(front: usize, bytes: &[u8]) -> Self {
        let mut buffer = Buffer::aligned(front + bytes.len());
        buffer.extend_zeroes(front);
        buffer.extend_from_slice(bytes);
        let range = front..buffer.len();
        Self::of(buffer, range, None)
    }

    /// How many bytes of memory it holds.
    #[must_use]
    pub fn footprint(&self) -> usize {
        self.buffer.footprint()
    }

    /// The pages that it lies in, if exactly `front` bytes of them are in front of it and nobody has them.
    #[must_use]
    pub fn frame(self: &Arc<Self>, front: usize) -> Option<Framed> {
        let start = self.range.start.checked_sub(front)?;
        let lies_right = self.buffer.is_aligned() && start.is_multiple_of(PAGE);
        // Pairs with the release when a frame is dropped: what its owner wrote was written before.
        (lies_right && !self.is_framed.swap(true, Ordering::Acquire))
            .then(|| Framed { chunk: Arc::clone(self), start })
    }
}

impl Deref for Chunk {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the range lies in the initialised content of the buffer. What changes while the chunk is shared is in front
        // of it; the bytes themselves only with the chunk borrowed mutably.
        unsafe { slice::from_raw_parts(self.buffer.address(self.range.start), self.range.len()) }
    }
}

impl DerefMut for Chunk {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.range.clone()]
    }
}

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

/// Takes the vector's memory over, without a copy.
impl From<Vec<u8>> for Chunk {
    fn from(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Self::of(Buffer::from(bytes), range, None)
    }
}

impl Default for Chunk {
    /// No bytes.
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl Clone for Chunk {
    /// The bytes alone, in memory of their own.
    fn clone(&self) -> Self {
        Self::from(self.to_vec())
    }
}

impl PartialEq for Chunk {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Chunk {}

impl Drop for Chunk {
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            home.give(mem::take(&mut self.buffer));
        }
    }
}

impl fmt::Debug for Chunk {
    /// Sizes only: the bytes may be anybody's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunk").field("len", &self.range.len()).field("buffer", &self.buffer).finish()
    }
}

impl Framed {
    /// What is in front of the chunk.
    pub fn front_mut(&mut self) -> &mut [u8] {
        let len = self.chunk.range.start - self.start;
        // SAFETY: the bytes in front of the range are initialised, no reference that the chunk gives out covers them, and
        // `&mut self` excludes others of this frame, of which there is one.
        unsafe { slice::from_raw_parts_mut(self.chunk.buffer.address(self.start), len) }
    }
}

impl Deref for Framed {
    type Target = [u8];

    /// All the pages.
    fn deref(&self) -> &[u8] {
        let len = self.chunk.buffer.len() - self.start;
        // SAFETY: these bytes are initialised. The front is not changed while this frame is borrowed, and nothing else is
        // while the chunk is shared, as it is by the frame.
        unsafe { slice::from_raw_parts(self.chunk.buffer.address(self.start), len) }
    }
}

impl Drop for Framed {
    fn drop(&mut self) {
        self.chunk.is_framed.store(false, Ordering::Release);
    }
}

impl fmt::Debug for Framed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Framed").field("chunk", &self.chunk).field("start", &self.start).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_of(front: usize, bytes: &[u8]) -> Vec<u8> {
        let mut page = vec![9; front];
        page.extend_from_slice(bytes);
        page.resize(page.len().next_multiple_of(PAGE), 0);
        page
    }

    #[test]
    fn a_frame_is_the_pages_of_its_chunk() {
        for (front, bytes) in [(0, 5), (416, 3_000), (416, PAGE - 416), (416, 100_000), (PAGE, 7)] {
            let content = vec![7; bytes];
            let chunk = Arc::new(Chunk::with_front(front, &content));
            let mut frame = chunk.frame(front).expect("it was made for this front");
            frame.front_mut().fill(9);
            assert_eq!(&frame[..], page_of(front, &content));
            assert_eq!(frame.as_ptr().align_offset(PAGE), 0);
            assert_eq!(&chunk[..], content);
        }
    }

    #[test]
    fn there_is_one_frame_at_a_time() {
        let chunk = Arc::new(Chunk::with_front(16, b"bytes"));
        let frame = chunk.frame(16).expect("nobody has it");
        assert!(chunk.frame(16).is_none());
        drop(frame);
        assert!(chunk.frame(16).is_some());
    }

    #[test]
    fn only_what_lies_right_can_be_framed() {
        assert!(Arc::new(Chunk::with_front(16, b"bytes")).frame(17).is_none());
        assert!(Arc::new(Chunk::with_front(16, b"bytes")).frame(15).is_none());
        assert!(Arc::new(Chunk::from(vec![0; 2 * PAGE])).frame(0).is_none(), "memory of any alignment");
    }

    #[test]
    fn what_was_behind_the_chunk_is_not_in_its_frame() {
        let mut buffer = Buffer::aligned(2 * PAGE);
        buffer.extend_from_slice(&[5; 2 * PAGE]);
        let chunk = Arc::new(Chunk::of(buffer, 100..200, None));
        let frame = chunk.frame(100).expect("it lies right");
        assert_eq!(&frame[..200], [5; 200]);
        assert_eq!(&frame[200..], [0; PAGE - 200]);
    }

    #[test]
    fn a_frame_keeps_the_memory_and_the_last_of_all_gives_it_back() {
        let home = SharedPool::new(1 << 20);
        let mut buffer = Buffer::aligned(PAGE);
        buffer.extend_from_slice(b"front and bytes");
        let address = buffer.as_ptr();
        let chunk = Arc::new(Chunk::of(buffer, 6..15, Some(home.clone())));
        let frame = chunk.frame(6).expect("it lies right");
        drop(chunk);
        assert!(home.take(PAGE).is_none(), "the frame has it");
        assert_eq!(&frame[6..15], b"and bytes");
        drop(frame);
        assert_eq!(home.take(PAGE).map(|buffer| buffer.as_ptr()), Some(address));
    }

    #[test]
    fn bytes_change_while_they_have_one_owner() {
        let mut chunk = Chunk::with_front(16, b"bytes");
        chunk[0] = b'B';
        assert_eq!(&chunk[..], b"Bytes");
        assert_eq!(Chunk::from(b"Bytes".to_vec()), chunk.clone());
    }
}
