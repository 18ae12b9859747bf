//! Owned bytes that can be lent to the kernel.
//!
//! Not a `Vec<u8>`, because direct I/O needs page-aligned memory and because the kernel fills spare capacity
//! behind the compiler's back; the bytes beyond `len` are never readable, initialised or not.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error, realloc};
use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;

use rustix::mm::{Advice, madvise};

/// Alignment of buffers, offsets and lengths that direct I/O accepts on every device we know.
pub const PAGE: usize = 4096;

/// Memory of an aligned buffer of at least half of this comes in pages of this size where the kernel has them. A
/// device is then told of one piece of memory instead of hundreds, and reads more than twice as fast.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// An owning byte buffer of a known capacity. It moves without moving its bytes, so the kernel may hold their
/// address.
pub struct Buffer {
    /// Dangling while `capacity` is zero; else an allocation of `capacity` bytes at `alignment`.
    start: NonNull<u8>,
    /// The first `len` bytes are initialised; `len <= capacity <= isize::MAX`.
    len: usize,
    capacity: usize,
    /// Where the spare room ends; `len <= limit <= capacity`.
    limit: usize,
    /// 1, [`PAGE`] or [`HUGE_PAGE`]. An aligned buffer's capacity is a multiple of [`PAGE`].
    alignment: usize,
}

// SAFETY: a buffer is the only owner of its memory and has no interior mutability, like a Vec<u8>.
unsafe impl Send for Buffer {}
// SAFETY: shared access only reads initialised bytes.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// An empty buffer with room for exactly `capacity` bytes.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::allocate(capacity, 1)
    }

    /// An empty buffer for direct I/O: page-aligned, with room for `capacity` bytes rounded up to whole
    /// pages.
    #[must_use]
    pub fn aligned(capacity: usize) -> Self {
        let alignment = if capacity < HUGE_PAGE / 2 { PAGE } else { HUGE_PAGE };
        Self::allocate(capacity.next_multiple_of(PAGE), alignment)
    }

    /// How many bytes fit without growing.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many bytes of memory it takes: on large pages more than its capacity.
    #[must_use]
    pub fn footprint(&self) -> usize {
        if self.capacity == 0 { 0 } else { layout(self.capacity, self.alignment).size() }
    }

    /// How many bytes whoever fills this buffer may append.
    #[must_use]
    pub fn spare(&self) -> usize {
        self.limit - self.len
    }

    /// Lets whoever fills this buffer stop at so many bytes of content, whatever its capacity. It still grows beyond on
    /// request.
    pub fn limit_to(&mut self, bytes: usize) {
        self.limit = bytes.clamp(self.len, self.capacity);
    }

    /// Forgets the content, keeps the memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Cuts the content to `len` bytes; longer than it is leaves it alone.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Appends, growing if needed.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        let spare = &mut self.spare_mut()[..bytes.len()];
        spare.write_copy_of_slice(bytes);
        // SAFETY: exactly these bytes were written just above.
        unsafe { self.advance(bytes.len()) };
    }

    /// Makes room for at least `additional` more bytes, at least doubling when it must grow.
    pub fn reserve(&mut self, additional: usize) {
        if additional <= self.spare() {
            return;
        }
        let needed = self.len.saturating_add(additional);
        if needed <= self.capacity {
            self.limit = self.capacity;
            return;
        }
        self.resize(needed.max(self.capacity.saturating_mul(2)).next_multiple_of(self.unit()));
    }

    /// Drops the first `count` bytes and moves the rest to the front: to be called once per batch of parsed
    /// frames.
    ///
    /// # Panics
    /// If there are fewer bytes than that.
    pub fn consume(&mut self, count: usize) {
        assert!(count <= self.len, "only bytes that are there can be consumed");
        self.copy_within(count.., 0);
        self.len -= count;
    }

    /// Whether it is for direct I/O.
    #[must_use]
    pub fn is_aligned(&self) -> bool {
        self.alignment >= PAGE
    }

    /// Appends so many zeroes, growing if needed.
    pub fn extend_zeroes(&mut self, count: usize) {
        self.reserve(count);
        self.spare_mut()[..count].fill(MaybeUninit::new(0));
        // SAFETY: exactly these bytes were written just above.
        unsafe { self.advance(count) };
    }

    /// The address of a place in its memory, or at its end.
    pub(crate) fn address(&self, place: usize) -> *mut u8 {
        assert!(place <= self.capacity, "the memory ends before that");
        // SAFETY: the place is within the allocation or at its end; without one it is zero.
        unsafe { self.start.add(place) }.as_ptr()
    }

    /// Gives memory back down to `capacity` bytes, or to what the content needs if that is more.
    pub fn shrink_to(&mut self, capacity: usize) {
        let target = capacity.max(self.len).next_multiple_of(self.unit());
        if target < self.capacity {
            self.resize(target);
        }
    }

    /// The uninitialised rest, for whoever fills it and then calls [`Buffer::advance`].
    pub(crate) fn spare_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        // SAFETY: `len <= capacity`, so the result stays within (or at the end of) the allocation.
        let start = unsafe { self.start.add(self.len) };
        // SAFETY: from there on `capacity - len` bytes, and so `limit - len`, are ours, and MaybeUninit asks nothing of their
        // content.
        unsafe { slice::from_raw_parts_mut(start.as_ptr().cast(), self.limit - self.len) }
    }

    /// Declares the first `count` spare bytes content.
    ///
    /// # Safety
    /// They were written since the buffer last grew.
    pub(crate) unsafe fn advance(&mut self, count: usize) {
        assert!(count <= self.spare(), "nobody can have written beyond the capacity");
        self.len += count;
    }

    /// What the capacity is a multiple of.
    fn unit(&self) -> usize {
        self.alignment.min(PAGE)
    }

    fn allocate(capacity: usize, alignment: usize) -> Self {
        let mut buffer = Self { start: NonNull::dangling(), len: 0, capacity: 0, limit: 0, alignment };
        if capacity > 0 {
            buffer.resize(capacity);
        }
        buffer
    }

    /// Changes the capacity to `target`, which is at least `len`, keeping the content.
    fn resize(&mut self, target: usize) {
        if target == 0 {
            self.release();
            return;
        }
        let wanted = layout(target, self.alignment);
        let memory = if self.capacity == 0 {
            // SAFETY: the layout's size is not zero.
            unsafe { alloc(wanted) }
        } else {
            let present = layout(self.capacity, self.alignment);
            if present == wanted {
                self.capacity = target;
                self.limit = target;
                return;
            }
            // SAFETY: `start` was allocated with this layout, and the new size is neither zero nor above
            // isize::MAX.
            unsafe { realloc(self.start.as_ptr(), present, wanted.size()) }
        };
        let Some(start) = NonNull::new(memory) else { handle_alloc_error(wanted) };
        if self.alignment == HUGE_PAGE {
            advise_huge_pages(start, wanted.size());
        }
        self.start = start;
        self.capacity = target;
        self.limit = target;
    }

    fn release(&mut self) {
        if self.capacity > 0 {
            // SAFETY: `start` was allocated with this layout and is not used again: the fields below forget
            // it.
            unsafe { dealloc(self.start.as_ptr(), layout(self.capacity, self.alignment)) };
        }
        self.start = NonNull::dangling();
        self.len = 0;
        self.capacity = 0;
        self.limit = 0;
    }
}

impl Default for Buffer {
    /// An empty buffer without memory.
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.release();
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the first `len` bytes are ours and initialised; without memory `len` is zero and `start`
        // dangling.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` excludes any other access.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

/// Takes the vector's memory over, without a copy.
impl From<Vec<u8>> for Buffer {
    fn from(bytes: Vec<u8>) -> Self {
        let mut bytes = ManuallyDrop::new(bytes);
        let (len, capacity) = (bytes.len(), bytes.capacity());
        let start = NonNull::new(bytes.as_mut_ptr()).unwrap_or(NonNull::dangling());
        Self { start, len, capacity, limit: capacity, alignment: 1 }
    }
}

impl fmt::Debug for Buffer {
    /// Sizes only: the bytes may be anybody's password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("len", &self.len).field("capacity", &self.capacity).finish()
    }
}

fn layout(capacity: usize, alignment: usize) -> Layout {
    // A huge page is all or nothing.
    let size = if alignment == HUGE_PAGE { capacity.next_multiple_of(HUGE_PAGE) } else { capacity };
    Layout::from_size_align(size, alignment).expect("a buffer never exceeds half the address space")
}

fn advise_huge_pages(start: NonNull<u8>, size: usize) {
    // SAFETY: the range is one allocation of ours, whose start and size are whole pages; the advice changes no content.
    // Without such pages the kernel refuses, and small ones serve as well.
    let _ = unsafe { madvise(start.as_ptr().cast(), size, Advice::LinuxHugepage) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_aligned_buffer_stays_aligned_while_it_grows_and_shrinks() {
        let mut buffer = Buffer::aligned(1);
        assert_eq!(buffer.capacity(), PAGE);
        for round in 0..64_u8 {
            buffer.extend_from_slice(&[round; 1_000]);
            assert_eq!(buffer.as_ptr().align_offset(PAGE), 0);
            assert_eq!(buffer.capacity() % PAGE, 0);
        }
        buffer.truncate(10);
        buffer.shrink_to(0);
        assert_eq!((buffer.capacity(), buffer.as_ptr().align_offset(PAGE)), (PAGE, 0));
        assert_eq!(&buffer[..], [0; 10]);
    }

    #[test]
    fn a_large_buffer_lies_on_huge_pages_and_has_the_capacity_that_was_asked_for() {
        let mut buffer = Buffer::aligned(HUGE_PAGE / 2 + 1);
        assert_eq!(buffer.as_ptr().align_offset(HUGE_PAGE), 0);
        assert_eq!(buffer.capacity(), HUGE_PAGE / 2 + PAGE);
        let address = buffer.as_ptr();
        buffer.extend_from_slice(&[7; 3 * PAGE]);
        buffer.shrink_to(0);
        assert_eq!((buffer.capacity(), buffer.as_ptr()), (3 * PAGE, address), "its memory is one page");
        buffer.reserve(HUGE_PAGE);
        assert_eq!((buffer.as_ptr().align_offset(HUGE_PAGE), buffer.len()), (0, 3 * PAGE));
        assert!(buffer.iter().all(|byte| *byte == 7));
    }

    #[test]
    fn a_vector_becomes_a_buffer_without_a_copy() {
        let bytes = b"as it was".to_vec();
        let address = bytes.as_ptr();
        let mut buffer = Buffer::from(bytes);
        assert_eq!(buffer.as_ptr(), address);
        buffer.extend_from_slice(b" and more");
        assert_eq!(&buffer[..], b"as it was and more");
        assert!(Buffer::from(Vec::new()).is_empty());
    }

    #[test]
    fn exactly_the_asked_capacity_is_taken() {
        assert_eq!(Buffer::with_capacity(1_000).capacity(), 1_000);
        assert_eq!(Buffer::default().capacity(), 0);
    }

    #[test]
    #[should_panic(expected = "only bytes that are there")]
    fn more_than_the_content_cannot_be_consumed() {
        Buffer::from(vec![1, 2, 3]).consume(4);
    }

    #[derive(Clone, Debug)]
    enum Change {
        Append(Vec<u8>),
        Consume(usize),
        Truncate(usize),
        Reserve(usize),
        ShrinkTo(usize),
        LimitTo(usize),
        Clear,
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            4 => proptest::collection::vec(any::<u8>(), 0..200).prop_map(Change::Append),
            2 => (0..300_usize).prop_map(Change::Consume),
            1 => (0..300_usize).prop_map(Change::Truncate),
            1 => (0..10_000_usize).prop_map(Change::Reserve),
            1 => (0..500_usize).prop_map(Change::ShrinkTo),
            1 => (0..500_usize).prop_map(Change::LimitTo),
            1 => Just(Change::Clear),
        ]
    }

    proptest! {
        #[test]
        fn a_buffer_behaves_like_a_vector(
            aligned in any::<bool>(),
            changes in proptest::collection::vec(change(), 0..60),
        ) {
            let mut buffer = if aligned { Buffer::aligned(0) } else { Buffer::with_capacity(0) };
            let mut model: Vec<u8> = Vec::new();
            for change in changes {
                match change {
                    Change::Append(bytes) => {
                        buffer.extend_from_slice(&bytes);
                        model.extend_from_slice(&bytes);
                    }
                    Change::Consume(count) => {
                        let count = count.min(model.len());
                        buffer.consume(count);
                        model.drain(..count);
                    }
                    Change::Truncate(len) => {
                        buffer.truncate(len);
                        model.truncate(len);
                    }
                    Change::Reserve(additional) => {
                        buffer.reserve(additional);
                        prop_assert!(buffer.spare() >= additional);
                    }
                    Change::ShrinkTo(capacity) => buffer.shrink_to(capacity),
                    Change::LimitTo(bytes) => {
                        buffer.limit_to(bytes);
                        prop_assert_eq!(buffer.len() + buffer.spare(), bytes.clamp(buffer.len(), buffer.capacity()));
                    }
                    Change::Clear => {
                        buffer.clear();
                        model.clear();
                    }
                }
                prop_assert_eq!(&buffer[..], &model[..]);
                prop_assert!(buffer.capacity() >= buffer.len());
            }
        }
    }
}
