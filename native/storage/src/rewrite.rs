//! Rewriting a segment to the messages that survive a compaction.

use ng_wire::batch::{MessageFrame, Picked, pick};

use crate::columns::{Stop, Walk};
use crate::compaction::{Ascending, Identifier, Scratch};
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
    /// The least and the greatest timestamp of the batches that are left, if any is.
    pub times: Option<(u64, u64)>,
    /// Why it came to its end.
    pub stop: Stop,
}

/// Appends the batches of `piece` with those messages that `kept` names, ascending, each as eight bytes.
///
/// What is written depends on the bytes and on the list alone: everybody who rewrites the same segment by the same list
/// gets the same bytes. Batches without a survivor are gone.
pub fn rewrite(piece: &[u8], walk: &Walk, kept: &[u8], into: &mut Vec<u8>) -> Rewritten {
    let mut kept = Ascending::from(kept, walk.after);
    copy(piece, walk, |offset, _| kept.has(offset), into)
}

/// Appends the batches of `piece` without the messages that have an identity and are not among the `newest`, whose offsets
/// ascend, each as eight bytes.
///
/// As with [`rewrite`] the bytes that come out depend on those that go in alone.
pub fn compact(
    piece: &[u8],
    walk: &Walk,
    identifier: &Identifier<'_>,
    newest: &[u8],
    into: &mut Vec<u8>,
) -> Rewritten {
    let mut newest = Ascending::from(newest, walk.after);
    let (mut scratch, mut id) = (Scratch::default(), [0; 16]);
    let survives = |offset: u64, message: &MessageFrame<'_>| {
        newest.has(offset) || identifier.identity(message, &mut scratch, &mut id).is_none()
    };
    copy(piece, walk, survives, into)
}

fn copy(
    piece: &[u8],
    walk: &Walk,
    mut survives: impl FnMut(u64, &MessageFrame<'_>) -> bool,
    into: &mut Vec<u8>,
) -> Rewritten {
    let mut walk = *walk;
    let mut done = Rewritten {
        consumed: 0,
        after: walk.after,
        messages: 0,
        last_offset: None,
        times: None,
        stop: Stop::End,
    };
    done.stop = loop {
        let batch = match walk.whole(&piece[done.consumed..], done.consumed) {
            Ok((_, batch)) => batch,
            Err(stop) => break stop,
        };
        match pick(batch, &mut survives, into) {
            Ok(picked) => done.took(&picked),
            Err(refusal) => break Stop::Damaged(Refusal::from(refusal)),
        }
        done.consumed += batch.len();
        walk.after = done.after;
    };
    done
}

impl Rewritten {
    fn took(&mut self, picked: &Picked) {
        self.after = picked.batch.last_offset + 1;
        if let Some((messages, last)) = picked.kept {
            let time = picked.batch.header.base_timestamp;
            let (least, greatest) = self.times.unwrap_or((time, time));
            self.times = Some((least.min(time), greatest.max(time)));
            self.messages += u64::from(messages);
            self.last_offset = Some(last);
        }
    }
}
