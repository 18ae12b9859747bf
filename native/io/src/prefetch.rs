//! Memory that is asked for before it is needed.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

/// What a processor fetches at once.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// No more is asked for at once: what goes on in a row the processor foresees by itself.
#[cfg(target_arch = "x86_64")]
const BYTES_MAX: usize = 512;

/// Asks for as many bytes as these are, from `distance` behind their front on, and does not wait. There need not be any.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn prefetch_behind(bytes: &[u8], distance: usize) {
    let front = bytes.as_ptr().wrapping_add(distance);
    for at in (0..bytes.len().min(BYTES_MAX)).step_by(LINE) {
        // SAFETY: it changes nothing but caches, and faults at no address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(front.wrapping_add(at).cast()) };
    }
}

/// The same where Rust has no stable name for this instruction: nothing.
#[cfg(not(target_arch = "x86_64"))]
pub const fn prefetch_behind(_bytes: &[u8], _distance: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_may_be_asked_for() {
        let bytes = [0; 1000];
        for distance in [0, 1 << 20, usize::MAX / 2, usize::MAX] {
            prefetch_behind(&bytes, distance);
            prefetch_behind(&[], distance);
        }
    }
}
