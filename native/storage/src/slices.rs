//! Whether the batches of a segment are batches of another one, each whole or a slice: what a compaction may leave.
//!
//! Both are walked together, piece by piece. Every checksum of the slices is looked at; of the other segment nothing is
//! taken on trust either, as messages are compared byte for byte.

use ng_wire::batch::{BATCH_HEADER_BYTES, BatchHeader, Messages};

use crate::columns::{Stop, Walk};
use crate::refusal::Refusal;

/// Why a call came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// All slices were found.
    End,
    /// So many bytes of the slices are needed to go on.
    Slices(u64),
    /// So many bytes of the other segment are needed to go on.
    Whole(u64),
    /// The other segment is at its end: the next slice is not in it.
    WholeEnded,
    /// What stands here is no batch, or not the next one.
    Damaged(Refusal),
    /// The same of the other segment.
    WholeDamaged(Refusal),
    /// The message of this offset, or its batch, is not so in the other segment.
    Foreign(u64),
}

/// How far two pieces were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compared {
    /// Bytes of the slices that were found, and the lowest offset of the next one.
    pub slices: (usize, u64),
    /// Bytes of the other segment that were passed, and the lowest offset of the next batch there.
    pub whole: (usize, u64),
    /// Messages that were found.
    pub messages: u64,
    /// Least and greatest timestamp of the slices, if there was one.
    pub timestamps: Option<(u64, u64)>,
    /// Why it came to its end.
    pub halt: Halt,
}

/// Looks for each batch of `slices` in `whole`; both begin with a batch.
#[must_use]
pub fn compare(slices: (&[u8], &Walk), whole: (&[u8], &Walk)) -> Compared {
    let (slice_bytes, mut slice_walk) = (slices.0, Walk { hashed: true, ..*slices.1 });
    let (whole_bytes, mut whole_walk) = (whole.0, *whole.1);
    let mut done = Compared {
        slices: (0, slice_walk.after),
        whole: (0, whole_walk.after),
        messages: 0,
        timestamps: None,
        halt: Halt::End,
    };
    done.halt = loop {
        let at = done.slices.0;
        let rest = &slice_bytes[at..];
        let slice = match slice_walk.batch(rest, at) {
            Ok(slice) => slice,
            Err(Stop::More(bytes)) => break Halt::Slices(bytes),
            Err(Stop::Damaged(refusal)) => break Halt::Damaged(refusal),
            Err(Stop::End | Stop::Full) => break Halt::End,
        };
        let length = usize::try_from(slice.header.length).unwrap_or(usize::MAX);
        let found = match find(whole_bytes, &mut whole_walk, &mut done.whole, slice.header.base_offset) {
            Ok(found) => found,
            Err(halt) => break halt,
        };
        if let Err(halt) = is_slice(&rest[..length], &slice.header, found) {
            break halt;
        }
        let time = slice.header.base_timestamp;
        let (least, greatest) = done.timestamps.unwrap_or((time, time));
        done.timestamps = Some((least.min(time), greatest.max(time)));
        done.messages += u64::from(slice.messages);
        done.slices = (at + length, slice.last_offset + 1);
        slice_walk.after = done.slices.1;
    };
    done
}

/// The batch of that base offset, which stays the next one.
fn find<'a>(
    bytes: &'a [u8],
    walk: &mut Walk,
    passed: &mut (usize, u64),
    base_offset: u64,
) -> Result<&'a [u8], Halt> {
    loop {
        let (at, _) = *passed;
        let rest = &bytes[at..];
        let header = walk.header(rest, at).map_err(|stop| match stop {
            Stop::More(bytes) => Halt::Whole(bytes),
            Stop::Damaged(refusal) => Halt::WholeDamaged(refusal),
            Stop::End | Stop::Full => Halt::WholeEnded,
        })?;
        if header.base_offset > base_offset {
            return Err(Halt::Foreign(base_offset));
        }
        let length = usize::try_from(header.length).unwrap_or(usize::MAX);
        let batch = rest.get(..length).ok_or(Halt::Whole(header.length))?;
        if header.base_offset == base_offset {
            return Ok(batch);
        }
        *passed = (at + length, header.base_offset + 1);
        walk.after = passed.1;
    }
}

/// Whether a batch that was verified has the fields of another one, and messages of it.
fn is_slice(slice: &[u8], header: &BatchHeader, whole: &[u8]) -> Result<(), Halt> {
    let of_slice = |refusal| Halt::Damaged(Refusal::from(refusal));
    let of_whole = |refusal| Halt::WholeDamaged(Refusal::from(refusal));
    let other = BatchHeader::decode(whole).map_err(of_whole)?;
    let BatchHeader { length, count, checksum, .. } = *header;
    if (BatchHeader { length, count, checksum, ..other }) != *header {
        return Err(Halt::Foreign(header.base_offset));
    }
    let mut others = Messages::new(whole.get(BATCH_HEADER_BYTES..).unwrap_or_default(), other.count);
    for message in Messages::new(slice.get(BATCH_HEADER_BYTES..).unwrap_or_default(), header.count) {
        let message = message.map_err(of_slice)?;
        let offset = header.base_offset + u64::from(message.offset_delta);
        let found = loop {
            match others.next().transpose().map_err(of_whole)? {
                Some(other) if other.offset_delta < message.offset_delta => {}
                found => break found,
            }
        };
        if found.is_none_or(|other| other.bytes != message.bytes) {
            return Err(Halt::Foreign(offset));
        }
    }
    Ok(())
}
