//! Memory that is asked for before it is needed.

/// What a processor fetches at once.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// No more is asked for at once: what goes on in a row the processor foresees by itself.
#[cfg(target_arch = "x86_64")]
const BYTES_MAX: usize = 512;

/// Asks for as many bytes as these are, so many behind them, and does not wait. There need not be any.
///
/// Where Rust has no stable name for this instruction, nothing happens.
#[inline]
pub fn prefetch_behind(bytes: &[u8], distance: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let front = bytes.as_ptr().wrapping_add(distance);
        for at in (0..bytes.len().min(BYTES_MAX)).step_by(LINE) {
            // SAFETY: it changes nothing but caches, and faults at no address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(front.wrapping_add(at).cast()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, distance);
}

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
