//! A file of a data directory in words.

use ng_storage::describe::{self, FileKind};

use crate::bytes;
use crate::guard;
use crate::status::{Failure, Status};

/// Describes a piece of a file of a data directory in lines of JSON.
///
/// `kind` is "layout", "superblock", "journal", "manifest", "segment", "segments", "index" or "state"; the piece begins at
/// `position` of a file of `file_length` bytes. `next` is written with where to go on and `wanted` with how many bytes to
/// bring from there, 0 at the end.
///
/// # Safety
/// `kind` points to `kind_length` readable bytes, `piece` to `piece_length`; `buffer` points to `capacity` writable bytes;
/// `needed`, `next` and `wanted` are null or point to writable numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codec_describe_file(
    kind: *const u8,
    kind_length: usize,
    position: u64,
    file_length: u64,
    piece: *const u8,
    piece_length: usize,
    buffer: *mut u8,
    capacity: usize,
    needed: *mut u64,
    next: *mut u64,
    wanted: *mut u64,
) -> i64 {
    guard::call(|| {
        // SAFETY: passed on as the caller gave it.
        let name = unsafe { bytes::copy_in(kind, kind_length) }?;
        let kind = str::from_utf8(&name).ok().and_then(FileKind::of);
        let kind = kind.ok_or_else(|| Failure::new(Status::Invalid, "no such kind of file"))?;
        // SAFETY: passed on as the caller gave it.
        let piece = unsafe { bytes::copy_in(piece, piece_length) }?;
        let described = describe::describe(kind, position, file_length, &piece);
        // SAFETY: passed on as the caller gave it.
        unsafe { bytes::put(next, described.next) };
        // SAFETY: passed on as the caller gave it.
        unsafe { bytes::put(wanted, described.wanted) };
        // SAFETY: passed on as the caller gave it.
        unsafe { bytes::copy_out(described.lines.as_bytes(), buffer, capacity, needed) }
    })
}
