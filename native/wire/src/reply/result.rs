//! The result section: how the body of a reply begins where clients strip one.

use crate::primitive::put_u32;
use crate::table::error::ErrorCode;

/// Bytes of the section of a command that could not be done.
pub(super) const REJECTION_BYTES: u32 = 12;

/// Appends the section of a command that was done; the payload follows.
pub fn put_success(into: &mut Vec<u8>) {
    put_u32(into, 0);
}

/// Appends the section of a command that was ordered and could not be done; nothing follows.
pub fn put_rejection(into: &mut Vec<u8>, result: ErrorCode) {
    put_u32(into, 1);
    put_u32(into, 0);
    put_u32(into, result.code());
}
