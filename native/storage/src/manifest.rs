//! Manifests: where each group's segments and offsets stood.

use ng_wire::primitive::{put_u8, put_u32, put_u64, put_u128};

use crate::bytes::{Fields, count32, put_zero};
use crate::checksum::checksum;
use crate::envelope::Kind;
use crate::record::{RECORD_HEADER, RecordHeader};
use crate::refusal::{Reason, Refusal};

const ENTRY: usize = 64 + RECORD_HEADER;
const STORED_OFFSET: usize = 24;
const GAP: usize = 16;
const UNSEALED: usize = 72;
const SIZE: usize = 128;

/// The structure's marks and bounds.
pub const KIND: Kind = Kind { name: "manifest", magic: *b"NGMANIFS", version: 2, size: (SIZE, SIZE) };

/// Where the groups of a shard stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Identity of the node.
    pub node: u128,
    /// The superblock names it.
    pub sequence: u64,
    /// Which shard.
    pub shard: u32,
    /// Ascending by group.
    pub groups: Vec<GroupEntry>,
}

/// Where one group stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupEntry {
    /// Which group.
    pub group: u64,
    /// `u64::MAX` for none.
    pub last_offset: u64,
    /// The purge generation.
    pub purge_generation: u64,
    /// Messages below it were dropped.
    pub first_offset: u64,
    /// Whether the partition takes no messages.
    pub fenced: bool,
    /// Offsets below it are given to no further message, whatever the last one is: a loss was accepted. Else 0. Of the
    /// metadata: by how much the numbers of sessions are higher than the ops of their logins.
    pub skipped_to: u64,
    /// The prepare of the checkpointed op: everything up to it is in segments or in this entry.
    pub anchor: RecordHeader,
    /// Ascending by consumer.
    pub offsets: Vec<StoredOffset>,
    /// First and last of the offsets that were given to no message, between others that were; ascending and apart.
    pub gaps: Vec<(u64, u64)>,
    /// Sequence of the list of segments that was in force, or 0.
    pub list_sequence: u64,
    /// The unsealed segment, as far as it was synced.
    pub unsealed: Option<UnsealedSegment>,
}

/// A prefix of an unsealed segment that a manifest vouches for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsealedSegment {
    /// The first offset, which names the file.
    pub base_offset: u64,
    /// The last offset of the prefix.
    pub last_offset: u64,
    /// Bytes of its batches.
    pub bytes: u64,
    /// How many messages.
    pub messages: u64,
    /// Smallest timestamp of its batches.
    pub min_timestamp: u64,
    /// Greatest timestamp of its batches.
    pub max_timestamp: u64,
    /// Checksum in the header of its first batch: batches do not name their group.
    pub first_checksum: u64,
    /// Position of its last batch.
    pub last_batch: u64,
    /// Checksum in the header of that batch.
    pub last_checksum: u64,
}

/// How far one consumer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredOffset {
    /// 1 for a consumer, 2 for a group of them.
    pub kind: u8,
    /// Its id.
    pub id: u64,
    /// What it stored.
    pub offset: u64,
}

impl Manifest {
    /// The file's bytes and the checksum by which the superblock names it.
    #[must_use]
    pub fn encode(&self) -> (Vec<u8>, u128) {
        let mut entries = Vec::new();
        for entry in &self.groups {
            entry.encode(&mut entries);
        }
        let mut bytes = Vec::with_capacity(SIZE + entries.len());
        let sum = KIND.seal(&mut bytes, |into| {
            put_u128(into, self.node);
            put_u128(into, checksum(&entries));
            put_u64(into, self.sequence);
            put_u64(into, entries.len() as u64);
            put_u32(into, self.shard);
            put_u32(into, count32(self.groups.len()));
            put_zero(into, 40);
        });
        bytes.extend_from_slice(&entries);
        (bytes, sum)
    }

    /// Reads a whole file.
    pub fn decode(bytes: &[u8]) -> Result<Self, Refusal> {
        let opened = KIND.open(bytes)?;
        let mut fields = Fields::new(KIND.name, opened.content);
        let node = fields.u128("node")?;
        let entries_checksum = fields.u128("entries checksum")?;
        let sequence = fields.u64("sequence")?;
        let entry_bytes = fields.u64("entry bytes")?;
        let shard = fields.u32("shard")?;
        let count = fields.u32("entries")?;
        fields.zero("reserved", 40)?;
        if entry_bytes != opened.rest.len() as u64 {
            return Err(fields.refuse("entry bytes", Reason::Value(entry_bytes)));
        }
        if checksum(opened.rest) != entries_checksum {
            return Err(fields.refuse("entries checksum", Reason::Checksum));
        }
        let mut fields = Fields::new(KIND.name, opened.rest);
        let mut groups: Vec<GroupEntry> = Vec::new();
        for number in 0..count {
            let entry = GroupEntry::decode(&mut fields)?;
            if groups.last().is_some_and(|last| last.group >= entry.group) {
                return Err(fields.refuse("group", Reason::Order(u64::from(number))));
            }
            groups.push(entry);
        }
        fields.finish()?;
        Ok(Self { node, sequence, shard, groups })
    }
}

impl GroupEntry {
    /// The entry's bytes by themselves.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encode(&mut bytes);
        bytes
    }

    /// Reads an entry that stands by itself.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Refusal> {
        let mut fields = Fields::new(KIND.name, bytes);
        let entry = Self::decode(&mut fields)?;
        fields.finish()?;
        Ok(entry)
    }

    fn encode(&self, into: &mut Vec<u8>) {
        into.reserve(ENTRY + UNSEALED + STORED_OFFSET * self.offsets.len() + GAP * self.gaps.len());
        for field in [self.group, self.last_offset, self.purge_generation, self.first_offset] {
            put_u64(into, field);
        }
        put_u32(into, count32(self.offsets.len()));
        put_u8(into, u8::from(self.fenced));
        put_zero(into, 3);
        put_u64(into, self.skipped_to);
        put_u32(into, count32(self.gaps.len()));
        put_u32(into, u32::from(self.unsealed.is_some()));
        put_u64(into, self.list_sequence);
        self.anchor.encode(into);
        if let Some(unsealed) = &self.unsealed {
            unsealed.encode(into);
        }
        for stored in &self.offsets {
            put_u8(into, stored.kind);
            put_zero(into, 7);
            put_u64(into, stored.id);
            put_u64(into, stored.offset);
        }
        for (first, last) in &self.gaps {
            put_u64(into, *first);
            put_u64(into, *last);
        }
    }

    fn decode(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        let group = fields.u64("group")?;
        let last_offset = fields.u64("last offset")?;
        let purge_generation = fields.u64("purge generation")?;
        let first_offset = fields.u64("first offset")?;
        let count = fields.u32("offsets")?;
        let fenced = match fields.u8("fenced")? {
            0 => false,
            1 => true,
            other => return Err(fields.refuse("fenced", Reason::Value(u64::from(other)))),
        };
        fields.zero("reserved", 3)?;
        let skipped_to = fields.u64("skipped to")?;
        let gap_count = fields.u32("gaps")?;
        let has_unsealed = match fields.u32("unsealed")? {
            0 => false,
            1 => true,
            other => return Err(fields.refuse("unsealed", Reason::Value(u64::from(other)))),
        };
        let list_sequence = fields.u64("list sequence")?;
        let (anchor, _) = RecordHeader::decode(fields.bytes("anchor", RECORD_HEADER)?)?;
        if anchor.group != group {
            return Err(fields.refuse("anchor", Reason::Value(anchor.group)));
        }
        let unsealed = if has_unsealed { Some(UnsealedSegment::decode(fields)?) } else { None };
        let offsets = decode_offsets(fields, count)?;
        let gaps = decode_gaps(fields, gap_count)?;
        Ok(Self {
            group,
            last_offset,
            purge_generation,
            first_offset,
            fenced,
            skipped_to,
            anchor,
            offsets,
            gaps,
            list_sequence,
            unsealed,
        })
    }
}

impl UnsealedSegment {
    fn encode(&self, into: &mut Vec<u8>) {
        for field in [
            self.base_offset,
            self.last_offset,
            self.bytes,
            self.messages,
            self.min_timestamp,
            self.max_timestamp,
            self.first_checksum,
            self.last_batch,
            self.last_checksum,
        ] {
            put_u64(into, field);
        }
    }

    fn decode(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        let unsealed = Self {
            base_offset: fields.u64("base offset")?,
            last_offset: fields.u64("last offset")?,
            bytes: fields.u64("bytes")?,
            messages: fields.u64("messages")?,
            min_timestamp: fields.u64("min timestamp")?,
            max_timestamp: fields.u64("max timestamp")?,
            first_checksum: fields.u64("first checksum")?,
            last_batch: fields.u64("last batch")?,
            last_checksum: fields.u64("last checksum")?,
        };
        if unsealed.last_offset < unsealed.base_offset || unsealed.last_batch >= unsealed.bytes {
            return Err(fields.refuse("unsealed", Reason::Order(unsealed.base_offset)));
        }
        Ok(unsealed)
    }
}

fn decode_offsets(fields: &mut Fields<'_>, count: u32) -> Result<Vec<StoredOffset>, Refusal> {
    let mut offsets: Vec<StoredOffset> = Vec::new();
    for number in 0..count {
        let kind = fields.u8("kind")?;
        fields.zero("reserved", 7)?;
        let stored = StoredOffset { kind, id: fields.u64("id")?, offset: fields.u64("offset")? };
        if !(1..=2).contains(&kind) {
            return Err(fields.refuse("kind", Reason::Value(u64::from(kind))));
        }
        if offsets.last().is_some_and(|last| (last.kind, last.id) >= (stored.kind, stored.id)) {
            return Err(fields.refuse("stored offset", Reason::Order(u64::from(number))));
        }
        offsets.push(stored);
    }
    Ok(offsets)
}

fn decode_gaps(fields: &mut Fields<'_>, count: u32) -> Result<Vec<(u64, u64)>, Refusal> {
    let mut gaps: Vec<(u64, u64)> = Vec::new();
    for number in 0..count {
        let (first, last) = (fields.u64("gap")?, fields.u64("gap")?);
        if first > last || gaps.last().is_some_and(|(_, before)| *before >= first) {
            return Err(fields.refuse("gap", Reason::Order(u64::from(number))));
        }
        gaps.push((first, last));
    }
    Ok(gaps)
}
