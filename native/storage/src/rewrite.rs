//! Rewriting a segment to the messages that survive a compaction.

use ng_wire::batch::{BatchHeader, MessageFrame, Picked, pick};

use crate::columns::{Stop, Walk};
use crate::compaction::{Ascending, Identifier, Scratch};
use crate::refusal::Refusal;

/// How far a piece was rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// Position of the batch that the next call begins with; it may lie behind the piece.
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
    copy(piece, walk, &mut Survivors::new(kept, walk, Others::Go), into)
}

/// Appends the batches of `piece` without the messages that have an identity and are not among the `newest`, whose offsets
/// ascend, each as eight bytes.
///
/// As with [`rewrite`] the bytes that come out depend on those that go in alone. In a `dense` segment each offset is a
/// message that has an identity: batches of which nothing stays are passed over by their headers, and not read.
pub fn compact(
    piece: &[u8],
    walk: &Walk,
    identifier: &Identifier<'_>,
    dense: bool,
    newest: &[u8],
    into: &mut Vec<u8>,
) -> Rewritten {
    let others = if dense { Others::GoUnread } else { Others::StayWithoutIdentity(identifier) };
    copy(piece, walk, &mut Survivors::new(newest, walk, others), into)
}

/// What becomes of messages that no list names.
#[derive(Clone, Copy, Debug)]
enum Others<'a> {
    Go,
    /// The offsets of a batch are as many as its messages, without a gap: that none is named its header tells.
    GoUnread,
    StayWithoutIdentity(&'a Identifier<'a>),
}

/// Which messages of a segment stay.
struct Survivors<'a> {
    named: Ascending<'a>,
    others: Others<'a>,
    scratch: Scratch,
    id: [u8; 16],
}

impl<'a> Survivors<'a> {
    fn new(named: &'a [u8], walk: &Walk, others: Others<'a>) -> Self {
        let named = Ascending::from(named, walk.after);
        Self { named, others, scratch: Scratch::default(), id: [0; 16] }
    }

    /// Where the next batch may begin, if none of this one stays as far as its header tells.
    fn behind_dead(&mut self, batch: &BatchHeader) -> Option<u64> {
        let end = batch.base_offset.saturating_add(u64::from(batch.count));
        let is_dead = matches!(self.others, Others::GoUnread) && !self.named.has_any(batch.base_offset..end);
        is_dead.then_some(end)
    }

    fn has(&mut self, offset: u64, message: &MessageFrame<'_>) -> bool {
        self.named.has(offset)
            || match self.others {
                Others::Go | Others::GoUnread => false,
                Others::StayWithoutIdentity(identifier) => {
                    identifier.identity(message, &mut self.scratch, &mut self.id).is_none()
                }
            }
    }
}

fn copy(piece: &[u8], walk: &Walk, survivors: &mut Survivors<'_>, into: &mut Vec<u8>) -> Rewritten {
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
        match step(piece, &walk, survivors, into, &mut done) {
            Ok(()) => walk.after = done.after,
            Err(stop) => break stop,
        }
    };
    done
}

fn step(
    piece: &[u8],
    walk: &Walk,
    survivors: &mut Survivors<'_>,
    into: &mut Vec<u8>,
    done: &mut Rewritten,
) -> Result<(), Stop> {
    let rest = piece.get(done.consumed..).unwrap_or_default();
    let header = walk.header(rest, done.consumed)?;
    if let Some(end) = survivors.behind_dead(&header) {
        done.after = end;
    } else {
        let batch = Walk::whole(rest, &header)?;
        let picked = pick(batch, |offset, message| survivors.has(offset, message), into);
        done.took(&picked.map_err(|refusal| Stop::Damaged(Refusal::from(refusal)))?);
    }
    done.consumed += usize::try_from(header.length).unwrap_or(usize::MAX);
    Ok(())
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
