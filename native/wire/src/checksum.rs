//! The hashes of the client wire: XXH3 of 64 bits over what is sent, XXH32 over what picks a place; seed 0.

use std::hash::Hasher;

use twox_hash::xxhash3_64::{DEFAULT_SECRET_LENGTH, RawHasher, SecretBuffer};
use twox_hash::{XxHash3_64, XxHash32};

use crate::hashed::count;

/// XXH3-64 of `bytes`, seed 0.
#[must_use]
pub fn xxh3_64(bytes: &[u8]) -> u64 {
    count(bytes);
    // `oneshot` hides from the compiler how long the same secret is, and so divides by that each time.
    let secret = SecretBuffer::default().into_secret();
    XxHash3_64::oneshot_with_seed_and_secret(0, secret, bytes).expect("the secret is as long as it must be")
}

/// XXH32 of `bytes`, seed 0: what clients reduce a message's key and a consumer's name to.
#[must_use]
pub fn xxh32(bytes: &[u8]) -> u32 {
    XxHash32::oneshot(0, bytes)
}

/// XXH3-64, seed 0, of bytes that come piece by piece; it allocates nothing.
pub(crate) struct Xxh3(RawHasher<&'static [u8; DEFAULT_SECRET_LENGTH]>);

impl Xxh3 {
    pub(crate) fn new() -> Self {
        Self(RawHasher::new(SecretBuffer::default()))
    }
}

impl Hasher for Xxh3 {
    fn write(&mut self, bytes: &[u8]) {
        count(bytes);
        self.0.write(bytes);
    }

    fn finish(&self) -> u64 {
        self.0.finish()
    }
}
