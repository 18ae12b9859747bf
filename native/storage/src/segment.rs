//! Segments: the batches of a group back to back, as the primary stamped them.

use ng_wire::batch::{BatchPart, BatchRefusal, Verified, verify_front};

use crate::PAGE;
use crate::refusal::{Reason, Refusal};

/// What was found at a position of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A batch; the next one begins behind it.
    Batch(Verified),
    /// No batch follows: only zero bytes up to the next page, or nothing.
    End,
}

impl From<BatchRefusal> for Refusal {
    fn from(refusal: BatchRefusal) -> Self {
        let (part, field, reason) = match refusal {
            BatchRefusal::Short { part, needed, found } => (part, "length", Reason::Short { needed, found }),
            BatchRefusal::Trailing(extra) => (BatchPart::Header, "length", Reason::Trailing(extra)),
            BatchRefusal::Reserved(part) => (part, "reserved", Reason::NotZero),
            BatchRefusal::Empty => (BatchPart::Header, "count", Reason::Value(0)),
            BatchRefusal::Length(length) => (BatchPart::Header, "length", Reason::Value(length)),
            BatchRefusal::Order(delta) => {
                (BatchPart::Message, "offset delta", Reason::Order(u64::from(delta)))
            }
            BatchRefusal::Offsets(base) => (BatchPart::Header, "base offset", Reason::Value(base)),
            BatchRefusal::MessageChecksum => (BatchPart::Message, "checksum", Reason::Checksum),
            BatchRefusal::Checksum => (BatchPart::Header, "checksum", Reason::Checksum),
        };
        let structure = match part {
            BatchPart::Header => "batch",
            BatchPart::Message => "message",
        };
        Self::new(structure, field, reason)
    }
}

/// Looks at what begins at the front of `rest`, which is `position` bytes into its segment.
///
/// A whole batch is asked for first: the first bytes of one that crosses a page may all be zero.
pub fn look(rest: &[u8], position: usize) -> Result<Found, Refusal> {
    let refusal = match verify_front(rest) {
        Ok(batch) => return Ok(Found::Batch(batch)),
        Err(refusal) => refusal,
    };
    let to_page = (position.next_multiple_of(PAGE) - position).min(rest.len());
    let (padding, page) = rest.split_at(to_page);
    let unwritten = page.iter().take(PAGE).all(|byte| *byte == 0);
    let sealed = page.get(16..24) == Some(crate::footer::KIND.magic.as_slice());
    if padding.iter().all(|byte| *byte == 0) && (unwritten || sealed) {
        return Ok(Found::End);
    }
    Err(refusal.into())
}
