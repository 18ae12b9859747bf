//! The C allocator: small when idle, and no page of memory fetched anew for each large frame.

/// Allocations of this size and more are mapped on their own and go back to the kernel when freed: above the frames of
/// ordinary producers, below the 19 MiB in which a password is hashed.
pub const MMAP_THRESHOLD_BYTES: i32 = 4 << 20;

/// Free memory that a heap keeps at its end. Frames that come and go then use the same pages again: a fresh page costs
/// more than to receive, hash, copy and write what is put into it.
pub const TRIM_THRESHOLD_BYTES: i32 = 16 << 20;

/// Pins glibc's thresholds; returns whether it took. Elsewhere there is nothing to pin.
///
/// Left alone, glibc raises the first after a freed mapping, up to 32 MiB: two concurrent password hashes of 19 MiB
/// each would then come from the heap, and their 38 MiB would stay in the process for good.
pub fn pin_thresholds() -> bool {
    #[cfg(target_env = "gnu")]
    {
        let pin = |parameter, bytes| {
            // SAFETY: mallopt takes two plain numbers, may be called at any time, and 1 is its answer for
            // success.
            unsafe { libc::mallopt(parameter, bytes) == 1 }
        };
        pin(libc::M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES) && pin(libc::M_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES)
    }
    #[cfg(not(target_env = "gnu"))]
    {
        false
    }
}

/// Gives the pages of freed memory back to the kernel, those between allocations in use, too. Whoever allocates meanwhile waits
/// for it, a few milliseconds for each 100 MiB: it is for a process at rest.
pub fn release_free_pages() {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: malloc_trim takes a plain number, may be called at any time and by any thread, and touches free memory only.
        let _ = unsafe { libc::malloc_trim(0) };
    }
}
