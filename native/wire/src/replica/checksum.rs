use twox_hash::XxHash3_128;

use crate::hashed::count;

/// XXH3-128 of `bytes`, seed 0: identity of a prepare, and the seal of a replica frame.
#[must_use]
pub fn xxh3_128(bytes: &[u8]) -> u128 {
    count(bytes);
    XxHash3_128::oneshot(bytes)
}
