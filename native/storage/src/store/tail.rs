//! The segment that a group appends to: what its footer and its index will say, gathered as the batches pass.

use std::fmt;

use ng_wire::batch::BatchHeader;
use ng_wire::hashed::count;
use twox_hash::XxHash3_128;

use super::CommittedBatch;
use crate::PAGE;
use crate::footer::{DIGEST_SPAN, Footer};
use crate::index::{Index, IndexEntry};
use crate::manifest::UnsealedSegment;
use crate::segments_file::SegmentEntry;

/// Bytes of a segment that one entry of its index stands for.
pub(super) const INDEX_SPAN: u64 = 64 * 1024;

/// The unsealed segment of a group.
#[derive(Debug)]
pub(super) struct Tail {
    pub(super) base_offset: u64,
    pub(super) last_offset: u64,
    pub(super) bytes: u64,
    pub(super) messages: u64,
    /// No batch has a lower op, and none a higher: exact unless the segment was begun before this start.
    pub(super) first_op: u64,
    pub(super) last_op: u64,
    timestamps: (u64, u64),
    /// What the last page holds, if it is not full: written again with what comes next.
    pub(super) partial: Vec<u8>,
    /// Bytes up to here may be left from a write that was cut short, and are made zero by the next one.
    pub(super) stale_to: u64,
    /// Whether digests and index cover the batches from the first one on. A start trusts the prefix that the manifest
    /// describes, and surveys it later.
    pub(super) surveyed: bool,
    digests: Digests,
    index: Vec<IndexEntry>,
    /// The checksum in the header of the batch that stands at the front, if it is whole.
    first_checksum: Option<u64>,
    /// Position of the last batch, and the checksum in its header.
    last_batch: (u64, u64),
    /// The next batch follows damage, so the index needs its place.
    follows_damage: bool,
}

/// The checksum of each MiB, made as the bytes pass.
#[derive(Default)]
struct Digests {
    whole: Vec<u128>,
    hash: XxHash3_128,
    hashed: usize,
}

/// One batch, as far as a tail looks at it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passing<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) base_offset: u64,
    pub(super) last_offset: u64,
    pub(super) timestamp: u64,
    pub(super) messages: u32,
}

impl<'a> From<&'a CommittedBatch> for Passing<'a> {
    fn from(batch: &'a CommittedBatch) -> Self {
        Self {
            bytes: &batch.bytes,
            base_offset: batch.base_offset,
            last_offset: batch.last_offset,
            timestamp: batch.timestamp,
            messages: batch.messages,
        }
    }
}

impl Tail {
    pub(super) fn new(base_offset: u64, first_op: u64) -> Self {
        Self {
            base_offset,
            last_offset: base_offset,
            bytes: 0,
            messages: 0,
            first_op,
            last_op: first_op,
            timestamps: (u64::MAX, 0),
            partial: Vec::new(),
            stale_to: 0,
            surveyed: true,
            digests: Digests::default(),
            index: Vec::new(),
            first_checksum: None,
            last_batch: (0, 0),
            follows_damage: false,
        }
    }

    /// The prefix that a manifest describes, with what its last page holds.
    pub(super) fn resume(unsealed: &UnsealedSegment, first_op: u64, partial: Vec<u8>) -> Self {
        Self {
            last_offset: unsealed.last_offset,
            bytes: unsealed.bytes,
            messages: unsealed.messages,
            timestamps: (unsealed.min_timestamp, unsealed.max_timestamp),
            partial,
            surveyed: false,
            first_checksum: Some(unsealed.first_checksum),
            last_batch: (unsealed.last_batch, unsealed.last_checksum),
            ..Self::new(unsealed.base_offset, first_op)
        }
    }

    /// What a manifest says of it; nothing if the batch at its front is not whole, by which a start knows the file.
    pub(super) fn unsealed(&self) -> Option<UnsealedSegment> {
        Some(UnsealedSegment {
            base_offset: self.base_offset,
            last_offset: self.last_offset,
            bytes: self.bytes,
            messages: self.messages,
            min_timestamp: self.timestamps.0,
            max_timestamp: self.timestamps.1,
            first_checksum: self.first_checksum?,
            last_batch: self.last_batch.0,
            last_checksum: self.last_batch.1,
        })
    }

    /// The checksum of the first batch for an index: 0 if that batch is damaged.
    pub(super) fn first_checksum(&self) -> u64 {
        self.first_checksum.unwrap_or(0)
    }

    /// Takes over digests and index of a survey of all its batches.
    pub(super) fn take_survey(&mut self, survey: Self) {
        debug_assert_eq!(self.bytes, survey.bytes, "a survey ends where the segment does");
        (self.digests, self.index, self.surveyed) = (survey.digests, survey.index, true);
    }

    /// Whether the batch with an offset, or the place before it, is in the index.
    pub(super) fn indexes(&self, offset: u64) -> bool {
        self.surveyed || self.index.first().is_some_and(|first| first.offset <= offset)
    }

    /// Bytes up to this position are damaged.
    pub(super) const fn skip_to(&mut self, position: u64) {
        self.bytes = position;
        self.follows_damage = true;
    }

    /// Takes note of the batch that stands behind the last one.
    pub(super) fn absorb(&mut self, batch: Passing<'_>) {
        let indexed = self.index.last().map(|entry| (entry.position, entry.timestamp));
        let due = indexed.is_none_or(|(position, _)| self.bytes >= position + INDEX_SPAN);
        if due || std::mem::take(&mut self.follows_damage) {
            // A clock that went back must not make an index that no reader takes.
            let timestamp = indexed.map_or(batch.timestamp, |(_, before)| batch.timestamp.max(before));
            self.index.push(IndexEntry { offset: batch.base_offset, timestamp, position: self.bytes });
        }
        if self.surveyed {
            self.digests.add(batch.bytes);
        }
        let checksum = BatchHeader::decode(batch.bytes).map_or(0, |header| header.checksum);
        if self.bytes == 0 {
            self.first_checksum = Some(checksum);
        }
        self.last_batch = (self.bytes, checksum);
        let rest = (self.partial.len() + batch.bytes.len()) % PAGE;
        match batch.bytes.len().checked_sub(rest) {
            Some(start) => {
                self.partial.clear();
                self.partial.extend_from_slice(&batch.bytes[start..]);
            }
            None => self.partial.extend_from_slice(batch.bytes),
        }
        self.bytes += batch.bytes.len() as u64;
        self.messages += u64::from(batch.messages);
        self.last_offset = batch.last_offset;
        self.timestamps.0 = self.timestamps.0.min(batch.timestamp);
        self.timestamps.1 = self.timestamps.1.max(batch.timestamp);
    }

    /// Whether a batch that begins there can be the next one.
    pub(super) const fn is_followed_by(&self, base_offset: u64) -> bool {
        match self.bytes {
            0 => base_offset == self.base_offset,
            _ => base_offset > self.last_offset,
        }
    }

    /// Smallest timestamp of its batches.
    pub(super) const fn min_timestamp(&self) -> u64 {
        self.timestamps.0
    }

    /// Greatest timestamp of its batches.
    pub(super) const fn max_timestamp(&self) -> u64 {
        self.timestamps.1
    }

    /// Where some of its batches lie.
    pub(super) fn places(&self) -> &[IndexEntry] {
        &self.index
    }

    /// What SEGMENTS says of it while it is not sealed.
    pub(super) fn entry(&self) -> SegmentEntry {
        SegmentEntry {
            base_offset: self.base_offset,
            last_offset: u64::MAX,
            min_timestamp: 0,
            max_timestamp: 0,
            bytes: 0,
            messages: 0,
            generation: 0,
            footer: 0,
        }
    }

    /// What the list would say of the segment as it is now, but for the footer.
    pub(super) fn contents(&self) -> SegmentEntry {
        SegmentEntry {
            last_offset: self.last_offset,
            min_timestamp: self.timestamps.0,
            max_timestamp: self.timestamps.1,
            bytes: self.bytes,
            messages: u32::try_from(self.messages).unwrap_or(u32::MAX),
            ..self.entry()
        }
    }

    /// Footer, entry and index of the segment as it is now.
    pub(super) fn seal(&self, group: u64) -> (Vec<u8>, SegmentEntry, Index) {
        let footer = Footer {
            group,
            base_offset: self.base_offset,
            last_offset: self.last_offset,
            messages: self.messages,
            first_op: self.first_op,
            last_op: self.last_op,
            bytes: self.bytes,
            min_timestamp: self.timestamps.0,
            max_timestamp: self.timestamps.1,
            generation: 0,
            digests: self.digests.all(),
        };
        let (bytes, checksum) = footer.encode();
        let entry = SegmentEntry { footer: checksum, ..self.contents() };
        let index = Index {
            group,
            base_offset: self.base_offset,
            segment_bytes: self.bytes,
            generation: 0,
            first_checksum: self.first_checksum(),
            entries: self.index.clone(),
        };
        (bytes, entry, index)
    }
}

impl Digests {
    fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at((DIGEST_SPAN - self.hashed).min(bytes.len()));
            count(now);
            self.hash.write(now);
            self.hashed += now.len();
            if self.hashed == DIGEST_SPAN {
                self.whole.push(std::mem::take(&mut self.hash).finish_128());
                self.hashed = 0;
            }
            bytes = later;
        }
    }

    fn all(&self) -> Vec<u128> {
        let mut all = self.whole.clone();
        if self.hashed > 0 {
            all.push(self.hash.finish_128());
        }
        all
    }
}

impl fmt::Debug for Digests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Digests").field("whole", &self.whole.len()).field("hashed", &self.hashed).finish()
    }
}
