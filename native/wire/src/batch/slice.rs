use super::header::{BATCH_HEADER_BYTES, BatchHeader};
use super::message::{MessageFrame, Messages};
use super::refusal::{BatchPart, BatchRefusal};

/// Which messages of a batch a consumer gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// None with an offset below this one.
    pub first_offset: u64,
    /// At most so many.
    pub count_max: u32,
    /// At most so many bytes, the header with them; one message goes whatever its length.
    pub bytes_max: u64,
}

/// What was taken of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sliced {
    /// How many messages, at least one.
    pub messages: u32,
    /// The offset of the first of them.
    pub first_offset: u64,
    /// The offset of the last of them.
    pub last_offset: u64,
}

/// Appends what is wanted of a stored batch, as a batch of its own; `None` if nothing is.
///
/// A batch that is wanted as a whole is copied as it is. Of any other the messages stay byte for byte, and
/// with them their deltas; only length, count and checksum of the batch are new. So the batch must have been
/// verified or surveyed since it came from a disk: a checksum made here would hide what rotted there.
pub fn slice(batch: &[u8], wanted: &Wanted, into: &mut Vec<u8>) -> Result<Option<Sliced>, BatchRefusal> {
    let header = BatchHeader::decode(batch)?;
    let length = usize::try_from(header.length).unwrap_or(usize::MAX);
    let Some(messages) = batch.get(BATCH_HEADER_BYTES..length) else {
        let (part, found) = (BatchPart::Header, batch.len() as u64);
        return Err(BatchRefusal::Short { part, needed: header.length, found });
    };
    let Some(cut) = Cut::of(&header, messages, wanted)? else {
        return Ok(None);
    };
    if cut.sliced.messages == header.count {
        into.extend_from_slice(&batch[..length]);
        return Ok(Some(cut.sliced));
    }
    let frames = &messages[cut.start..cut.end];
    let length = (BATCH_HEADER_BYTES + frames.len()) as u64;
    let header = BatchHeader { length, count: cut.sliced.messages, ..header }.sealed(frames)?;
    into.extend_from_slice(&header.encode());
    into.extend_from_slice(frames);
    Ok(Some(cut.sliced))
}

/// The messages that are wanted, and where their bytes are.
struct Cut {
    start: usize,
    end: usize,
    sliced: Sliced,
}

impl Cut {
    fn of(header: &BatchHeader, messages: &[u8], wanted: &Wanted) -> Result<Option<Self>, BatchRefusal> {
        let mut cut: Option<Self> = None;
        let mut at = 0;
        for message in Messages::new(messages, header.count) {
            let message = message?;
            let start = at;
            at += message.bytes.len();
            let offset = offset(header, &message)?;
            if offset < wanted.first_offset {
                continue;
            }
            match &mut cut {
                None if wanted.count_max == 0 => return Ok(None),
                None => {
                    let sliced = Sliced { messages: 1, first_offset: offset, last_offset: offset };
                    cut = Some(Self { start, end: at, sliced });
                }
                Some(cut) if cut.takes(at, wanted) => {
                    cut.end = at;
                    cut.sliced.messages += 1;
                    cut.sliced.last_offset = offset;
                }
                Some(_) => break,
            }
        }
        Ok(cut)
    }

    /// Whether the message that ends there is one of them too.
    fn takes(&self, end: usize, wanted: &Wanted) -> bool {
        let bytes = (BATCH_HEADER_BYTES + end - self.start) as u64;
        self.sliced.messages < wanted.count_max && bytes <= wanted.bytes_max
    }
}

fn offset(header: &BatchHeader, message: &MessageFrame<'_>) -> Result<u64, BatchRefusal> {
    let offset = header.base_offset.checked_add(u64::from(message.offset_delta));
    offset.ok_or(BatchRefusal::Offsets(header.base_offset))
}
