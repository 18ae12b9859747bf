//! A pool whose buffers come back from wherever they were last used.

use std::sync::{Arc, Mutex, MutexGuard};

use crate::buffer::Buffer;
use crate::buffer_pool::BufferPool;

/// A [`BufferPool`] with several owners.
#[derive(Clone, Debug)]
pub struct SharedPool(Arc<Mutex<BufferPool>>);

impl SharedPool {
    /// A pool that takes at most so many bytes of memory.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self(Arc::new(Mutex::new(BufferPool::new(bytes_max))))
    }

    /// See [`BufferPool::take_snugly`].
    #[must_use]
    pub fn take(&self, capacity: usize) -> Option<Buffer> {
        self.lock().take_snugly(capacity)
    }

    /// See [`BufferPool::give`].
    pub fn give(&self, buffer: Buffer) {
        self.lock().give(buffer);
    }

    /// See [`BufferPool::bytes`].
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.lock().bytes()
    }

    /// See [`BufferPool::age`].
    pub fn age(&self) -> usize {
        self.lock().age()
    }

    fn lock(&self) -> MutexGuard<'_, BufferPool> {
        self.0.lock().expect("nothing panics while it holds this lock")
    }
}
