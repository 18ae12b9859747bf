//! Caller's bytes, in and out. The only place that looks behind a pointer.

use std::ptr;
use std::slice;

use crate::status::{Failure, Status};

/// No call takes or fills more than this at once.
pub(crate) const BYTES_MAX: usize = 64 * 1024 * 1024;

/// A copy of the caller's bytes.
///
/// # Safety
/// `data` points to `length` readable bytes, or `length` is 0.
pub(crate) unsafe fn copy_in(data: *const u8, length: usize) -> Result<Vec<u8>, Failure> {
    if length == 0 {
        return Ok(Vec::new());
    }
    if data.is_null() || length > BYTES_MAX {
        return Err(Failure::new(Status::Invalid, "a null pointer or an absurd length"));
    }
    // SAFETY: the caller vouches for `length` readable bytes at a pointer that is not null.
    Ok(unsafe { slice::from_raw_parts(data, length) }.to_vec())
}

/// The caller's bytes where they are: for a call that is over before they could change.
///
/// # Safety
/// `data` points to `length` readable bytes that nobody writes while the view is in use, or `length` is 0.
pub(crate) unsafe fn view<'a>(data: *const u8, length: usize) -> Result<&'a [u8], Failure> {
    if length > BYTES_MAX {
        return Err(Failure::new(Status::Invalid, "an absurd length"));
    }
    // SAFETY: passed on as the caller gave it.
    unsafe { view_unbounded(data, length) }
}

/// The same of a list that may be as long as the caller's memory.
///
/// # Safety
/// As of [`view`].
pub(crate) unsafe fn view_unbounded<'a>(data: *const u8, length: usize) -> Result<&'a [u8], Failure> {
    if length == 0 {
        return Ok(&[]);
    }
    if data.is_null() || isize::try_from(length).is_err() {
        return Err(Failure::new(Status::Invalid, "a null pointer or an absurd length"));
    }
    // SAFETY: the caller vouches for `length` readable bytes, unchanged meanwhile, at a pointer that is not null.
    Ok(unsafe { slice::from_raw_parts(data, length) })
}

/// The caller's room where it is.
///
/// # Safety
/// `data` points to `length` writable bytes that nobody else looks at while the view is in use, or `length` is 0.
pub(crate) unsafe fn view_mut<'a>(data: *mut u8, length: usize) -> Result<&'a mut [u8], Failure> {
    if length == 0 {
        return Ok(&mut []);
    }
    if data.is_null() || isize::try_from(length).is_err() {
        return Err(Failure::new(Status::Invalid, "a null pointer or an absurd length"));
    }
    // SAFETY: the caller vouches for `length` writable bytes that are ours for now, at a pointer that is not null.
    Ok(unsafe { slice::from_raw_parts_mut(data, length) })
}

/// A copy of the caller's numbers.
///
/// # Safety
/// `data` is null or points to `N` readable numbers.
pub(crate) unsafe fn numbers<const N: usize>(data: *const u64) -> Result<[u64; N], Failure> {
    if data.is_null() {
        return Err(Failure::new(Status::Invalid, "a null pointer"));
    }
    // SAFETY: not null, and the caller vouches for the rest; unaligned because C callers promise nothing.
    Ok(unsafe { data.cast::<[u64; N]>().read_unaligned() })
}

/// Writes numbers to the caller.
///
/// # Safety
/// `place` is null or points to as many writable numbers.
pub(crate) unsafe fn put_numbers(place: *mut u64, numbers: &[u64]) -> Result<(), Failure> {
    if place.is_null() {
        return Err(Failure::new(Status::Invalid, "a null pointer"));
    }
    // SAFETY: not null, and the caller vouches for the room; bytes are copied because C callers promise no alignment.
    unsafe {
        ptr::copy_nonoverlapping(numbers.as_ptr().cast::<u8>(), place.cast::<u8>(), size_of_val(numbers))
    };
    Ok(())
}

/// Fills the caller's buffer. Returns the number of bytes; too small a buffer stays as it was and is told what it needs.
///
/// # Safety
/// `buffer` points to `capacity` writable bytes, or `capacity` is 0; `needed` is null or points to a writable `u64`.
pub(crate) unsafe fn copy_out(
    bytes: &[u8],
    buffer: *mut u8,
    capacity: usize,
    needed: *mut u64,
) -> Result<i64, Failure> {
    if bytes.len() > capacity {
        // SAFETY: passed on as the caller gave it.
        unsafe { put(needed, bytes.len() as u64) };
        return Err(Failure::new(Status::Need, format!("the buffer must hold {} bytes", bytes.len())));
    }
    if !bytes.is_empty() {
        if buffer.is_null() {
            return Err(Failure::new(Status::Invalid, "a null pointer"));
        }
        // SAFETY: the caller vouches for `capacity` writable bytes, of which there are enough; `bytes` is ours.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), buffer, bytes.len()) };
    }
    i64::try_from(bytes.len()).map_err(|_| Failure::new(Status::Invalid, "an absurd length"))
}

/// Writes a number to the caller, who may not want it.
///
/// # Safety
/// `place` is null or points to a writable `u64`.
pub(crate) unsafe fn put(place: *mut u64, value: u64) {
    if !place.is_null() {
        // SAFETY: not null, and the caller vouches for the rest; unaligned because C callers promise nothing.
        unsafe { place.write_unaligned(value) };
    }
}
