//! Sparse indexes: derived from a segment, made anew whenever they do not fit it.

use ng_wire::primitive::{put_u32, put_u64};

use crate::bytes::{Fields, count32};
use crate::envelope::Kind;
use crate::refusal::{Reason, Refusal};
use crate::segments_file::SegmentEntry;

const SIZE: usize = 72;
const ENTRY: usize = 24;
const ENTRIES_MAX: u32 = 1 << 22;

/// The structure's marks and bounds.
pub const KIND: Kind = Kind {
    name: "index",
    magic: *b"NGINDEX\0",
    version: 2,
    size: (SIZE, SIZE + ENTRY * ENTRIES_MAX as usize),
};

/// A sparse index of one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Which group.
    pub group: u64,
    /// Base offset of the segment.
    pub base_offset: u64,
    /// Bytes of the segment that it was made from.
    pub segment_bytes: u64,
    /// Generation of the segment.
    pub generation: u32,
    /// Checksum in the header of the segment's first batch, or 0 if damage has taken that batch.
    pub first_checksum: u64,
    /// Ascending.
    pub entries: Vec<IndexEntry>,
}

/// Where one batch lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// Base offset of the batch.
    pub offset: u64,
    /// Base timestamp of the batch.
    pub timestamp: u64,
    /// Position of the batch in the segment.
    pub position: u64,
}

/// The place from which on an offset is to be looked for.
#[must_use]
pub fn place_of_offset(places: &[IndexEntry], offset: u64) -> Option<&IndexEntry> {
    places.partition_point(|place| place.offset <= offset).checked_sub(1).and_then(|last| places.get(last))
}

/// The place from which on the first batch of that time or later is to be looked for.
#[must_use]
pub fn place_of_time(places: &[IndexEntry], time: u64) -> Option<&IndexEntry> {
    let before = places.partition_point(|place| place.timestamp < time);
    places.get(before.saturating_sub(1))
}

/// The first place that is so far into the segment.
#[must_use]
pub fn place_from(places: &[IndexEntry], position: u64) -> Option<&IndexEntry> {
    places.get(places.partition_point(|place| place.position < position))
}

impl Index {
    /// Whether it was made from a segment of a group.
    #[must_use]
    pub fn is_of(&self, group: u64, segment: &SegmentEntry) -> bool {
        self.group == group
            && self.base_offset == segment.base_offset
            && self.segment_bytes == segment.bytes
            && self.generation == segment.generation
    }

    /// The file's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SIZE + ENTRY * self.entries.len());
        KIND.seal(&mut bytes, |into| {
            put_u64(into, self.group);
            put_u64(into, self.base_offset);
            put_u64(into, self.segment_bytes);
            put_u32(into, count32(self.entries.len()));
            put_u32(into, self.generation);
            put_u64(into, self.first_checksum);
            for entry in &self.entries {
                put_u64(into, entry.offset);
                put_u64(into, entry.timestamp);
                put_u64(into, entry.position);
            }
        });
        bytes
    }

    /// Reads a whole file.
    pub fn decode(bytes: &[u8]) -> Result<Self, Refusal> {
        let mut fields = Fields::new(KIND.name, KIND.open_all(bytes)?.content);
        let group = fields.u64("group")?;
        let base_offset = fields.u64("base offset")?;
        let segment_bytes = fields.u64("segment bytes")?;
        let count = fields.count("entries", 0, ENTRIES_MAX)?;
        let generation = fields.u32("generation")?;
        let first_checksum = fields.u64("first checksum")?;
        let mut entries: Vec<IndexEntry> = Vec::new();
        for number in 0..count {
            let entry = IndexEntry {
                offset: fields.u64("offset")?,
                timestamp: fields.u64("timestamp")?,
                position: fields.u64("position")?,
            };
            let ascends = entries.last().is_none_or(|last| {
                last.offset < entry.offset
                    && last.timestamp <= entry.timestamp
                    && last.position < entry.position
            });
            if !ascends || entry.position >= segment_bytes {
                return Err(fields.refuse("entry", Reason::Order(number as u64)));
            }
            entries.push(entry);
        }
        fields.finish()?;
        Ok(Self { group, base_offset, segment_bytes, generation, first_checksum, entries })
    }
}
