//! How many bytes each thread has hashed, where debug assertions are on: tests hold how often a payload is.

#[cfg(debug_assertions)]
use std::cell::Cell;

#[cfg(debug_assertions)]
thread_local! {
    static BYTES: Cell<u64> = const { Cell::new(0) };
}

/// Bytes that this thread has hashed since it began.
#[cfg(debug_assertions)]
#[must_use]
pub fn hashed_bytes() -> u64 {
    BYTES.get()
}

/// These bytes are about to be hashed.
#[cfg(debug_assertions)]
pub fn count(bytes: &[u8]) {
    BYTES.set(BYTES.get() + bytes.len() as u64);
}

/// The same where nobody looks.
#[cfg(not(debug_assertions))]
pub const fn count(_bytes: &[u8]) {}
