//! Which bytes of stored batches answer a poll: all of a batch, or a slice of it under a header of its own.

use std::ops::Range;

use ng_wire::batch::{BATCH_HEADER_BYTES, BatchHeader, BatchRefusal, Messages, survey, verify};

/// The header of a slice.
pub type SliceHeader = [u8; BATCH_HEADER_BYTES];

/// Where the messages of a poll come from, and so what is proven of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// They never left the memory since they were verified; the last one has this offset.
    Memory(u64),
    /// They were read from a disk: what is taken is held against its checksums.
    Disk,
}

/// What of one batch goes into an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The header to send first, where the batch is not taken whole.
    pub header: Option<Box<SliceHeader>>,
    /// The bytes of the batch to send; without its header where there is another.
    pub range: Range<usize>,
    /// How many messages those are.
    pub messages: u32,
}

impl Cut {
    /// How many bytes it adds to the answer.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.range.len() + self.header.as_ref().map_or(0, |header| header.len())
    }
}

/// The messages of a poll, chosen batch by batch, first to last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    next: u64,
    wanted: u32,
    bytes_left: usize,
    messages: u32,
    last_offset: Option<u64>,
    full: bool,
}

impl Selection {
    /// At most `count` messages from `offset` on, in batches of at most `bytes_max` bytes; the first is taken whatever its
    /// size.
    #[must_use]
    pub const fn new(offset: u64, count: u32, bytes_max: usize) -> Self {
        Self {
            next: offset,
            wanted: count,
            bytes_left: bytes_max,
            messages: 0,
            last_offset: None,
            full: count == 0,
        }
    }

    /// No message below this offset is of interest any more.
    #[must_use]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// There is no message up to this offset that was not taken.
    pub fn pass(&mut self, last_offset: u64) {
        self.next = self.next.max(last_offset.saturating_add(1));
    }

    /// How many messages were taken.
    #[must_use]
    pub const fn messages(&self) -> u32 {
        self.messages
    }

    /// How many more would be taken.
    #[must_use]
    pub const fn messages_left(&self) -> u32 {
        self.wanted - self.messages
    }

    /// How many more bytes would be taken.
    #[must_use]
    pub const fn bytes_left(&self) -> usize {
        self.bytes_left
    }

    /// The offset of the last message that was taken.
    #[must_use]
    pub const fn last_offset(&self) -> Option<u64> {
        self.last_offset
    }

    /// Whether nothing more is taken.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.full
    }

    /// Takes what there is to take of the next batch; `None` if that is nothing.
    pub fn take(&mut self, batch: &[u8], source: Source) -> Result<Option<Cut>, BatchRefusal> {
        if self.full {
            return Ok(None);
        }
        let header = BatchHeader::decode(batch)?;
        let whole = header.base_offset >= self.next
            && header.count <= self.messages_left()
            && batch.len() <= self.bytes_left;
        if whole {
            let last_offset = match source {
                Source::Memory(last_offset) => last_offset,
                Source::Disk => verify(batch)?.last_offset,
            };
            self.took(header.count, last_offset, batch.len());
            return Ok(Some(Cut { header: None, range: 0..batch.len(), messages: header.count }));
        }
        let ends = match source {
            Source::Memory(last_offset) => last_offset,
            Source::Disk => survey(batch)?.last_offset,
        };
        let cut = self.slice(&header, batch, source)?;
        if cut.is_none() && !self.full {
            self.next = self.next.max(ends + 1);
        }
        Ok(cut)
    }

    /// Takes those messages of a batch that are wanted and have room.
    fn slice(
        &mut self,
        header: &BatchHeader,
        batch: &[u8],
        source: Source,
    ) -> Result<Option<Cut>, BatchRefusal> {
        let (mut start, mut end) = (BATCH_HEADER_BYTES, BATCH_HEADER_BYTES);
        let (mut count, mut last_offset) = (0, None);
        for message in Messages::new(&batch[BATCH_HEADER_BYTES..], header.count) {
            let message = message?;
            let offset = header.base_offset.saturating_add(message.offset_delta.into());
            if offset < self.next {
                start += message.bytes.len();
                end = start;
                continue;
            }
            let length = BATCH_HEADER_BYTES + end - start + message.bytes.len();
            let is_first = self.messages == 0 && count == 0;
            if count == self.messages_left() || (length > self.bytes_left && !is_first) {
                self.full = true;
                break;
            }
            if source == Source::Disk && !message.is_intact() {
                return Err(BatchRefusal::MessageChecksum);
            }
            (count, last_offset) = (count + 1, Some(offset));
            end += message.bytes.len();
        }
        let Some(last_offset) = last_offset else { return Ok(None) };
        let length = BATCH_HEADER_BYTES + end - start;
        let sliced = BatchHeader { count, length: length as u64, ..*header }.sealed(&batch[start..end])?;
        self.took(count, last_offset, length);
        let header = Some(Box::new(sliced.encode()));
        Ok(Some(Cut { header, range: start..end, messages: count }))
    }

    fn took(&mut self, messages: u32, last_offset: u64, bytes: usize) {
        self.messages += messages;
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        self.next = last_offset + 1;
        self.last_offset = Some(last_offset);
        self.full |= self.messages == self.wanted || self.bytes_left == 0;
    }
}

/// The offset of the first message behind the first `skipped` ones of a batch.
pub fn offset_behind(batch: &[u8], skipped: u64) -> Result<Option<u64>, BatchRefusal> {
    let header = BatchHeader::decode(batch)?;
    let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
    let messages = batch.get(BATCH_HEADER_BYTES..).unwrap_or_default();
    let found = Messages::new(messages, header.count).nth(skipped).transpose()?;
    Ok(found.map(|message| header.base_offset.saturating_add(message.offset_delta.into())))
}
