//! Rewriting a segment to the messages that survive a compaction.

use ng_wire::batch::pick;

use crate::columns::{Stop, Walk};
use crate::refusal::Refusal;

/// How far a piece was rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// Position of the batch that the next call begins with.
    pub consumed: usize,
    /// The `after` of the next call.
    pub after: u64,
    /// How many messages were kept.
    pub messages: u64,
    /// The last offset that was kept, if any was.
    pub last_offset: Option<u64>,
    /// Why it came to its end.
    pub stop: Stop,
}

/// Appends the batches of `piece` with those messages that `kept` names, ascending, each as eight bytes.
///
/// What is written depends on the bytes and on the list alone: everybody who rewrites the same segment by the same list
/// gets the same bytes. Batches without a survivor are gone.
pub fn rewrite(piece: &[u8], walk: &Walk, kept: &[u8], into: &mut Vec<u8>) -> Rewritten {
    let mut walk = Walk { hashed: true, ..*walk };
    let mut offsets =
        kept.chunks_exact(8).filter_map(|bytes| bytes.first_chunk().copied()).map(u64::from_le_bytes);
    let mut next = offsets.next();
    let mut done =
        Rewritten { consumed: 0, after: walk.after, messages: 0, last_offset: None, stop: Stop::End };
    done.stop = loop {
        let rest = &piece[done.consumed..];
        let batch = match walk.batch(rest, done.consumed) {
            Ok(batch) => batch,
            Err(stop) => break stop,
        };
        let length = usize::try_from(batch.header.length).unwrap_or(usize::MAX);
        let picked = pick(
            &rest[..length],
            |offset| keeps(offset, &mut next, &mut offsets, &mut done.last_offset),
            into,
        );
        match picked {
            Ok(count) => done.messages += u64::from(count),
            Err(refusal) => break Stop::Damaged(Refusal::from(refusal)),
        }
        done.consumed += length;
        done.after = batch.last_offset + 1;
        walk.after = done.after;
    };
    done
}

/// Whether an offset is in the list, which is gone through once: messages ascend too.
fn keeps(
    offset: u64,
    next: &mut Option<u64>,
    offsets: &mut impl Iterator<Item = u64>,
    last: &mut Option<u64>,
) -> bool {
    while next.is_some_and(|kept| kept < offset) {
        *next = offsets.next();
    }
    let keeps = *next == Some(offset);
    if keeps {
        *last = Some(offset);
    }
    keeps
}
