//! The footer of a segment, and the digests it holds.

use ng_storage::checksum::checksum;
use ng_storage::footer::Footer;

use crate::bytes;
use crate::guard;
use crate::status::{Failure, Status};

/// The checksum of bytes that a footer has for each MiB: 16 bytes, most significant first.
///
/// # Safety
/// `piece` points to `piece_length` readable bytes that nobody writes meanwhile; `buffer` points to `capacity` writable
/// bytes; `needed` is null or points to a writable number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codec_digest(
    piece: *const u8,
    piece_length: usize,
    buffer: *mut u8,
    capacity: usize,
    needed: *mut u64,
) -> i64 {
    guard::call(|| {
        // SAFETY: passed on as the caller gave it.
        let piece = unsafe { bytes::view(piece, piece_length) }?;
        let digest = checksum(piece).to_be_bytes();
        // SAFETY: passed on as the caller gave it.
        unsafe { bytes::copy_out(&digest, buffer, capacity, needed) }
    })
}

/// Reads the footer at the front of `piece`: fills `buffer` with its checksum and the digest of each MiB, 16 bytes each,
/// most significant first.
///
/// `told` gets ten numbers: group, base offset, last offset, messages, first op, last op, bytes, first time, last time,
/// generation.
///
/// # Safety
/// `piece` points to `piece_length` readable bytes that nobody writes meanwhile; `buffer` points to `capacity` writable
/// bytes; `needed` is null or points to a writable number; `told` points to ten writable numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codec_read_footer(
    piece: *const u8,
    piece_length: usize,
    buffer: *mut u8,
    capacity: usize,
    needed: *mut u64,
    told: *mut u64,
) -> i64 {
    guard::call(|| {
        // SAFETY: passed on as the caller gave it.
        let piece = unsafe { bytes::view(piece, piece_length) }?;
        let (footer, sum) =
            Footer::decode(piece).map_err(|refusal| Failure::new(Status::Invalid, refusal.to_string()))?;
        let numbers = [
            footer.group,
            footer.base_offset,
            footer.last_offset,
            footer.messages,
            footer.first_op,
            footer.last_op,
            footer.bytes,
            footer.min_timestamp,
            footer.max_timestamp,
            u64::from(footer.generation),
        ];
        // SAFETY: the caller vouches for ten numbers.
        unsafe { bytes::put_numbers(told, &numbers) }?;
        let digests: Vec<u8> =
            [sum].iter().chain(&footer.digests).flat_map(|sum| sum.to_be_bytes()).collect();
        // SAFETY: passed on as the caller gave it.
        unsafe { bytes::copy_out(&digests, buffer, capacity, needed) }
    })
}

/// Writes a footer: fills `buffer` with its checksum, 16 bytes, most significant first, and then with its bytes.
///
/// `asked` holds the ten numbers that `codec_read_footer` tells; `digests` those of each MiB as it tells them.
///
/// # Safety
/// `asked` points to ten numbers, `digests` to `digests_length` readable bytes; `buffer` points to `capacity` writable
/// bytes; `needed` is null or points to a writable number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codec_write_footer(
    asked: *const u64,
    digests: *const u8,
    digests_length: usize,
    buffer: *mut u8,
    capacity: usize,
    needed: *mut u64,
) -> i64 {
    guard::call(|| {
        // SAFETY: the caller vouches for ten numbers.
        let asked: [u64; 10] = unsafe { bytes::numbers(asked) }?;
        // SAFETY: passed on as the caller gave it.
        let digests = unsafe { bytes::copy_in(digests, digests_length) }?;
        let footer = footer(asked, &digests)?;
        let (written, sum) = footer.encode();
        let answer = [&sum.to_be_bytes(), &written[..]].concat();
        // SAFETY: passed on as the caller gave it.
        unsafe { bytes::copy_out(&answer, buffer, capacity, needed) }
    })
}

fn footer(numbers: [u64; 10], digests: &[u8]) -> Result<Footer, Failure> {
    let [group, base_offset, last_offset, messages, first_op, last_op, bytes, first, last, generation] =
        numbers;
    let generation = u32::try_from(generation);
    let (digests, rest) = digests.as_chunks::<16>();
    let few = digests.len() <= 65_536 && rest.is_empty();
    let generation =
        generation.ok().filter(|_| few).ok_or_else(|| Failure::new(Status::Invalid, "no such footer"))?;
    Ok(Footer {
        group,
        base_offset,
        last_offset,
        messages,
        first_op,
        last_op,
        bytes,
        min_timestamp: first,
        max_timestamp: last,
        generation,
        digests: digests.iter().map(|digest| u128::from_be_bytes(*digest)).collect(),
    })
}
