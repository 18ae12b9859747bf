//! Where the messages of a group are: in which of its segments, or still in memory.

use super::CommittedBatch;
use super::group::Order;
use super::group::{Group, Phase, Running};
use super::index_cache::IndexKey;
use crate::segments_file::SegmentEntry;

/// What is looked for in the segments of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sought {
    /// Nothing; the group shall be open.
    Opened,
    /// The batch with the message of this offset, or the first batch behind it.
    Offset(u64),
    /// The first batch that was appended at this time or later.
    Time(u64),
    /// The batch in which the first message behind so many of a segment is.
    Behind {
        /// The first offset of the segment.
        segment: u64,
        /// Its generation: another compaction leaves others of its messages.
        generation: u32,
        /// How many messages are passed over.
        messages: u64,
    },
}

/// Where the last messages of a group begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastBegin {
    /// With this offset.
    At(u64),
    /// Behind so many messages of a segment that has gaps: ask for [`Sought::Behind`].
    Behind {
        /// The first offset of the segment.
        segment: u64,
        /// Its generation.
        generation: u32,
        /// How many messages of it come before.
        messages: u64,
    },
    /// Its end is not executed again yet, so nobody can count back from it.
    Unsettled,
}

/// The batches of one segment, as far as they are safe on the disk.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentView {
    pub(super) entry: SegmentEntry,
    pub(super) last_offset: u64,
    pub(super) max_timestamp: u64,
    pub(super) bytes: u64,
    pub(super) messages: u64,
}

impl SegmentView {
    /// Whether each offset from the first to the last has a message.
    const fn is_dense(&self) -> bool {
        self.last_offset - self.entry.base_offset + 1 == self.messages
    }

    /// The base offset of its first batch, where that is known: a compaction may have left nothing of the first ones.
    pub(super) const fn begins(&self) -> Option<u64> {
        if self.entry.generation == 0 { Some(self.entry.base_offset) } else { None }
    }

    pub(super) const fn key(&self, group: u64) -> IndexKey {
        IndexKey { group, base_offset: self.entry.base_offset, generation: self.entry.generation }
    }
}

impl Group {
    /// Whether what the list names belongs to a generation that was purged.
    pub(super) fn is_purging(&self) -> bool {
        self.listed.purge_generation < self.generation
    }

    /// The segments of the present generation, oldest first.
    fn readable(&self) -> &[SegmentEntry] {
        if self.phase != Phase::Open || self.is_purging() { &[] } else { &self.listed.segments }
    }

    fn view(&self, entry: &SegmentEntry) -> Option<SegmentView> {
        if entry.is_sealed() {
            return Some(SegmentView {
                entry: *entry,
                last_offset: entry.last_offset,
                max_timestamp: entry.max_timestamp,
                bytes: entry.bytes,
                messages: entry.messages.into(),
            });
        }
        self.tail.as_ref().map(|tail| SegmentView {
            entry: *entry,
            last_offset: tail.last_offset,
            max_timestamp: tail.max_timestamp(),
            bytes: tail.bytes,
            messages: tail.messages,
        })
    }

    /// The segment in which something is to be looked for.
    pub(super) fn segment_with(&self, sought: Sought) -> Option<SegmentView> {
        let segments = self.readable();
        let behind = |lies_before: &dyn Fn(&SegmentView) -> bool| {
            let before = |entry: &SegmentEntry| self.view(entry).is_some_and(|view| lies_before(&view));
            self.view(segments.get(segments.partition_point(before))?)
        };
        match sought {
            Sought::Opened => None,
            Sought::Offset(offset) => behind(&|view| view.last_offset < offset),
            // Those of clocks that ran apart need not ascend.
            Sought::Time(time) => {
                segments.iter().filter_map(|entry| self.view(entry)).find(|view| view.max_timestamp >= time)
            }
            Sought::Behind { segment, generation, .. } => behind(&|view| view.entry.base_offset < segment)
                .filter(|view| (view.entry.base_offset, view.entry.generation) == (segment, generation)),
        }
    }

    /// Whether the index leads to what is looked for: not to what a start trusted, before that is verified.
    pub(super) fn is_indexed(&self, sought: Sought) -> bool {
        let Some(tail) = self.tail.as_ref().filter(|tail| !tail.surveyed) else { return true };
        match (self.segment_with(sought), sought) {
            (Some(view), Sought::Offset(offset)) => view.entry.is_sealed() || tail.indexes(offset),
            (Some(view), _) => view.entry.is_sealed(),
            (None, _) => true,
        }
    }

    /// The last offset that is on the disk, of the present generation.
    pub(super) fn last_on_disk(&self) -> Option<u64> {
        self.view(self.readable().last()?).map(|view| view.last_offset)
    }

    /// The batches of the present generation that are on no disk yet, oldest first.
    pub(super) fn in_memory(&self) -> impl DoubleEndedIterator<Item = &CommittedBatch> {
        self.pending.iter().filter(|batch| batch.generation == self.generation)
    }

    /// Where the last `count` messages up to offset `until` begin.
    pub(super) fn last_begin(&self, until: u64, count: u32) -> LastBegin {
        let mut left = u64::from(count);
        let mut begin = until;
        for batch in self.in_memory().rev().filter(|batch| batch.base_offset <= until) {
            match counted_back(batch.base_offset, batch.last_offset, batch.messages.into(), left) {
                Some(offset) => return LastBegin::At(offset),
                None if left <= batch.messages.into() => {
                    return LastBegin::At(batch.offset_from_end(left));
                }
                None => left -= u64::from(batch.messages),
            }
            begin = batch.base_offset;
        }
        for view in self.readable().iter().rev().filter_map(|entry| self.view(entry)) {
            if view.entry.base_offset > until {
                continue;
            }
            let dense = view.is_dense();
            let last = if dense { view.last_offset.min(until) } else { view.last_offset };
            if last > until {
                return LastBegin::Unsettled;
            }
            let messages = if dense { last - view.entry.base_offset + 1 } else { view.messages };
            match counted_back(view.entry.base_offset, last, messages, left) {
                Some(offset) => return LastBegin::At(offset),
                None if left <= messages => {
                    let SegmentEntry { base_offset: segment, generation, .. } = view.entry;
                    return LastBegin::Behind { segment, generation, messages: messages - left };
                }
                None => left -= messages,
            }
            begin = view.entry.base_offset;
        }
        LastBegin::At(begin)
    }

    /// Whether a reader may begin now: nothing removes files, nor is about to.
    pub(super) fn lets_read(&self) -> bool {
        let removing = self.running.as_ref().is_some_and(Running::removes);
        let about_to = self.schedule.lack.is_none() && self.orders.front().is_some_and(Order::removes);
        self.phase == Phase::Open && !removing && !about_to
    }
}

/// The offset of the message that is number `left` from the end of `messages` ones, if no offset among them is missing
/// and there are so many.
fn counted_back(base_offset: u64, last_offset: u64, messages: u64, left: u64) -> Option<u64> {
    let dense = last_offset - base_offset + 1 == messages;
    (dense && left <= messages).then(|| last_offset + 1 - left)
}

impl CommittedBatch {
    /// The offset of its message number `left` from the end.
    fn offset_from_end(&self, left: u64) -> u64 {
        use ng_wire::batch::{BATCH_HEADER_BYTES, Messages};
        let skipped = usize::try_from(u64::from(self.messages) - left).unwrap_or(0);
        let frames = self.bytes.get(BATCH_HEADER_BYTES..).unwrap_or_default();
        let found = Messages::new(frames, self.messages).nth(skipped).and_then(Result::ok);
        found.map_or(self.base_offset, |message| self.base_offset + u64::from(message.offset_delta))
    }
}
