//! One setting of the C allocator that keeps the process small.

/// Allocations of this size and more are mapped on their own and go back to the kernel when freed: glibc's
/// initial value.
pub const MMAP_THRESHOLD_BYTES: i32 = 128 * 1024;

/// Pins glibc's mmap threshold; returns whether it took. Elsewhere there is nothing to pin.
///
/// Left alone, glibc raises the threshold after the first freed mapping, up to 32 MiB: two concurrent
/// password hashes of 19 MiB each would then come from the heap, and their 38 MiB would stay in the process
/// for good.
pub fn pin_mmap_threshold() -> bool {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: mallopt takes two plain numbers, may be called at any time, and 1 is its answer for
        // success.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES) == 1 }
    }
    #[cfg(not(target_env = "gnu"))]
    {
        false
    }
}
