//! What this build is, for the handshake.

use ng_wire::table;

use crate::bytes;
use crate::guard;

/// The version of this boundary: raised with every change of an export or of a record.
const ABI_VERSION: u32 = 7;

/// The version of this boundary.
#[unsafe(no_mangle)]
pub extern "C" fn abi_version() -> u32 {
    ABI_VERSION
}

/// Fills `buffer` with lines of `key=value` about this build: its package version, the digest of its tables, its profile.
///
/// # Safety
/// `buffer` points to `capacity` writable bytes; `needed` is null or points to a writable number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn describe(buffer: *mut u8, capacity: usize, needed: *mut u64) -> i64 {
    guard::call(|| {
        let profile = if cfg!(debug_assertions) { "ci" } else { "release" };
        let text = format!(
            "package={}\ntables={:016x}\nprofile={profile}\n",
            env!("CARGO_PKG_VERSION"),
            table::digest(),
        );
        // SAFETY: passed on as the caller gave it.
        unsafe { bytes::copy_out(text.as_bytes(), buffer, capacity, needed) }
    })
}
