//! SEGMENTS: the segments of a group, in order.

use ng_wire::primitive::{put_u32, put_u64, put_u128};

use crate::bytes::{Fields, count32};
use crate::envelope::Kind;
use crate::refusal::{Reason, Refusal};

const SIZE: usize = 104;
const ENTRY: usize = 64;
const SEGMENTS_MAX: u32 = 65_536;
const LOOSE_MAX: u32 = 4096;
const FENCE: usize = 32;

/// Fences that a list names. More are merged with their neighbours.
pub const FENCES_MAX: u32 = 4096;
const ENTRIES_MAX: usize = SEGMENTS_MAX as usize + LOOSE_MAX as usize;

/// The structure's marks and bounds.
pub const KIND: Kind = Kind {
    name: "segments",
    magic: *b"NGSEGMTS",
    version: 2,
    size: (SIZE, SIZE + ENTRY * ENTRIES_MAX + FENCE * FENCES_MAX as usize),
};

/// The segments of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentsFile {
    /// Identity of the node.
    pub node: u128,
    /// Which group.
    pub group: u64,
    /// The purge generation.
    pub purge_generation: u64,
    /// Of this file, from 1.
    pub sequence: u64,
    /// Op of the first batch of the unsealed segment, 0 if there is none or nobody knows.
    pub first_op: u64,
    /// Where nothing is left of a generation that had messages: offsets below it were given to them. Else 0.
    pub next_offset: u64,
    /// Ascending and apart; only the last may be unsealed.
    pub segments: Vec<SegmentEntry>,
    /// Files that may lie beside the segments and do not count: they are not in force yet, or not any more.
    pub loose: Vec<SegmentEntry>,
    /// Ranges of lost messages, ascending and apart.
    pub fences: Vec<Fence>,
}

/// A range of offsets whose messages are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The first lost offset.
    pub first_offset: u64,
    /// The last lost offset.
    pub last_offset: u64,
    /// Base offset of the segment that held them.
    pub base_offset: u64,
    /// Generation of that segment.
    pub generation: u32,
}

/// One segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentEntry {
    /// The first offset, which names the file.
    pub base_offset: u64,
    /// `u64::MAX` until sealed.
    pub last_offset: u64,
    /// Smallest timestamp of its batches.
    pub min_timestamp: u64,
    /// Greatest timestamp of its batches.
    pub max_timestamp: u64,
    /// Bytes of the batches, 0 until sealed.
    pub bytes: u64,
    /// How many messages, 0 until sealed.
    pub messages: u32,
    /// 0, or which compaction made it.
    pub generation: u32,
    /// Checksum of the footer, 0 until sealed.
    pub footer: u128,
}

impl SegmentEntry {
    /// The name of its file.
    #[must_use]
    pub fn file_name(&self) -> String {
        file_name(self.base_offset, self.generation)
    }

    /// Whether nothing is appended to it any more.
    #[must_use]
    pub const fn is_sealed(&self) -> bool {
        self.last_offset != u64::MAX
    }

    /// Whether damage ended the segment before it was sealed. It has no footer.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.is_sealed() && self.footer == 0
    }
}

/// The name of the file of a segment.
#[must_use]
pub fn file_name(base_offset: u64, generation: u32) -> String {
    match generation {
        0 => format!("{base_offset:020}.log"),
        generation => format!("{base_offset:020}.{generation}.log"),
    }
}

/// Base offset and generation of a segment, by the name of its file.
#[must_use]
pub fn parse_file_name(name: &str) -> Option<(u64, u32)> {
    let stem = name.strip_suffix(".log")?;
    let (base, generation) = stem.split_once('.').unwrap_or((stem, "0"));
    let (base_offset, generation) = (base.parse().ok()?, generation.parse().ok()?);
    (file_name(base_offset, generation) == name).then_some((base_offset, generation))
}

/// Brings fences into the order of a list: ascending, apart, and no more than it can name. Of more the oldest are
/// merged, with the messages between them.
pub fn merge_fences(fences: &mut Vec<Fence>) {
    fences.sort_unstable_by_key(|fence| (fence.first_offset, fence.last_offset));
    let mut merged: Vec<Fence> = Vec::with_capacity(fences.len());
    for fence in fences.drain(..) {
        match merged.last_mut().filter(|before| before.last_offset >= fence.first_offset) {
            Some(before) => before.last_offset = before.last_offset.max(fence.last_offset),
            None => merged.push(fence),
        }
    }
    let surplus = merged.len().saturating_sub(FENCES_MAX as usize);
    if surplus > 0 {
        let last_offset = merged[surplus].last_offset;
        merged.drain(1..=surplus);
        merged[0].last_offset = last_offset;
    }
    *fences = merged;
}

impl SegmentsFile {
    /// The file's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.size());
        KIND.seal(&mut bytes, |into| {
            put_u128(into, self.node);
            put_u64(into, self.group);
            put_u64(into, self.purge_generation);
            put_u64(into, self.sequence);
            put_u32(into, count32(self.segments.len()));
            put_u32(into, count32(self.loose.len()));
            put_u64(into, self.first_op);
            put_u64(into, self.next_offset);
            put_u32(into, count32(self.fences.len()));
            put_u32(into, 0);
            for entry in self.segments.iter().chain(&self.loose) {
                for field in [
                    entry.base_offset,
                    entry.last_offset,
                    entry.min_timestamp,
                    entry.max_timestamp,
                    entry.bytes,
                ] {
                    put_u64(into, field);
                }
                put_u32(into, entry.generation);
                put_u32(into, entry.messages);
                put_u128(into, entry.footer);
            }
            for fence in &self.fences {
                put_u64(into, fence.first_offset);
                put_u64(into, fence.last_offset);
                put_u64(into, fence.base_offset);
                put_u32(into, fence.generation);
                put_u32(into, 0);
            }
        });
        bytes
    }

    const fn size(&self) -> usize {
        SIZE + ENTRY * (self.segments.len() + self.loose.len()) + FENCE * self.fences.len()
    }

    /// Reads a whole file.
    pub fn decode(bytes: &[u8]) -> Result<Self, Refusal> {
        let mut fields = Fields::new(KIND.name, KIND.open_all(bytes)?.content);
        let node = fields.u128("node")?;
        let group = fields.u64("group")?;
        let purge_generation = fields.u64("purge generation")?;
        let sequence = fields.u64("sequence")?;
        let count = fields.count("segments", 0, SEGMENTS_MAX)?;
        let loose = fields.count("loose", 0, LOOSE_MAX)?;
        let first_op = fields.u64("first op")?;
        let next_offset = fields.u64("next offset")?;
        let fences = fields.count("fences", 0, FENCES_MAX)?;
        fields.zero("reserved", 4)?;
        if next_offset > 0 && count > 0 {
            return Err(fields.refuse("next offset", Reason::Value(next_offset)));
        }
        let mut segments: Vec<SegmentEntry> = Vec::new();
        for number in 0..count {
            let entry = decode_entry(&mut fields)?;
            let after_last =
                segments.last().is_none_or(|last| last.is_sealed() && last.last_offset < entry.base_offset);
            if !after_last || entry.last_offset < entry.base_offset {
                return Err(fields.refuse("segment", Reason::Order(number as u64)));
            }
            segments.push(entry);
        }
        let loose = (0..loose).map(|_| decode_entry(&mut fields)).collect::<Result<_, _>>()?;
        let fences = decode_fences(&mut fields, fences)?;
        fields.finish()?;
        Ok(Self { node, group, purge_generation, sequence, first_op, next_offset, segments, loose, fences })
    }
}

fn decode_fences(fields: &mut Fields<'_>, count: usize) -> Result<Vec<Fence>, Refusal> {
    let mut fences: Vec<Fence> = Vec::new();
    for number in 0..count {
        let (first_offset, last_offset) = (fields.u64("fence")?, fields.u64("fence")?);
        let (base_offset, generation) = (fields.u64("base offset")?, fields.u32("generation")?);
        fields.zero("reserved", 4)?;
        let after_last = fences.last().is_none_or(|before| before.last_offset < first_offset);
        if !after_last || last_offset < first_offset {
            return Err(fields.refuse("fence", Reason::Order(number as u64)));
        }
        fences.push(Fence { first_offset, last_offset, base_offset, generation });
    }
    Ok(fences)
}

fn decode_entry(fields: &mut Fields<'_>) -> Result<SegmentEntry, Refusal> {
    let base_offset = fields.u64("base offset")?;
    let last_offset = fields.u64("last offset")?;
    let min_timestamp = fields.u64("min timestamp")?;
    let max_timestamp = fields.u64("max timestamp")?;
    let bytes = fields.u64("bytes")?;
    let generation = fields.u32("generation")?;
    let messages = fields.u32("messages")?;
    let footer = fields.u128("footer")?;
    Ok(SegmentEntry {
        base_offset,
        last_offset,
        min_timestamp,
        max_timestamp,
        bytes,
        messages,
        generation,
        footer,
    })
}
