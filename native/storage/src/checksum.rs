//! The one hash of the disk.

use ng_wire::hashed::count;
use twox_hash::XxHash3_128;

/// XXH3-128 of `bytes`, seed 0.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u128 {
    count(bytes);
    XxHash3_128::oneshot(bytes)
}
