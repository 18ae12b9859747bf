//! The one hash of the client wire: XXH3 of 64 bits, seed 0.

use twox_hash::XxHash3_64;

/// XXH3-64 of `bytes`, seed 0.
#[must_use]
pub fn xxh3_64(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}
