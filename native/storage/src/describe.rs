//! Files in words: one line of JSON per structure, for `server-ng inspect`.
//!
//! A file is described piece by piece, so that memory stays bounded whatever its size: each answer says where to go on
//! and how many bytes are wanted from there.

use std::fmt::{Display, Write as _};

use ng_wire::batch::survey;
use ng_wire::replica::BodyCheck;

use crate::PAGE;
use crate::block::{self, BlockHeader, BlockRecord};
use crate::footer::{self, Footer};
use crate::index::Index;
use crate::layout::Layout;
use crate::manifest::{Manifest, UnsealedSegment};
use crate::metadata_state::MetadataState;
use crate::record::RecordHeader;
use crate::refusal::{Reason, Refusal};
use crate::segment::{self, Found};
use crate::segments_file::{SegmentsFile, file_name};
use crate::superblock::Superblock;

/// Which file the bytes are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// LAYOUT.
    Layout,
    /// A shard's superblock.
    Superblock,
    /// A file of a journal.
    Journal,
    /// A manifest.
    Manifest,
    /// A segment.
    Segment,
    /// SEGMENTS.
    Segments,
    /// An index.
    Index,
    /// A state of the metadata.
    State,
}

/// A piece of a file in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Lines of JSON, each an object with a `structure`; one that could not be read has `refused`.
    pub lines: String,
    /// Where to go on.
    pub next: u64,
    /// How many bytes to bring from there, if the file has them; 0 at the end.
    pub wanted: u64,
}

/// Bytes of a file asked for at a time, where no structure needs more.
const PIECE: u64 = 1 << 20;

impl FileKind {
    /// The kind of a name on a command line.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "layout" => Self::Layout,
            "superblock" => Self::Superblock,
            "journal" => Self::Journal,
            "manifest" => Self::Manifest,
            "segment" => Self::Segment,
            "segments" => Self::Segments,
            "index" => Self::Index,
            "state" => Self::State,
            _ => return None,
        })
    }
}

/// Describes the piece that begins at `position` of a file of `length` bytes.
#[must_use]
pub fn describe(kind: FileKind, position: u64, length: u64, piece: &[u8]) -> Described {
    match kind {
        FileKind::Journal => journal(position, length, piece),
        FileKind::Segment => batches(position, length, piece),
        _ if (piece.len() as u64) < length && position == 0 => {
            Described { lines: String::new(), next: 0, wanted: length }
        }
        FileKind::Layout => whole(length, |lines| layout(lines, piece)),
        FileKind::Superblock => whole(length, |lines| superblock(lines, piece)),
        FileKind::Manifest => whole(length, |lines| manifest(lines, piece)),
        FileKind::Segments => whole(length, |lines| segments(lines, piece)),
        FileKind::Index => whole(length, |lines| index(lines, piece)),
        FileKind::State => whole(length, |lines| state(lines, piece)),
    }
}

/// One object of JSON, written field by field.
struct Line<'a> {
    lines: &'a mut String,
}

impl<'a> Line<'a> {
    fn new(lines: &'a mut String, structure: &str) -> Self {
        let line = Self { lines };
        line.lines.push_str("{\"structure\":\"");
        line.lines.push_str(structure);
        line.lines.push('"');
        line
    }

    fn number(self, key: &str, value: impl Into<u64>) -> Self {
        self.raw(key, value.into())
    }

    fn flag(self, key: &str, value: bool) -> Self {
        self.raw(key, value)
    }

    /// 128 bits, in hexadecimal: JSON's numbers have no room for them.
    fn mark(self, key: &str, value: u128) -> Self {
        self.raw(key, format_args!("\"{value:032x}\""))
    }

    /// Words of ours: no quotes or controls in them.
    fn words(self, key: &str, value: impl Display) -> Self {
        self.raw(key, format_args!("\"{value}\""))
    }

    fn raw(self, key: &str, value: impl Display) -> Self {
        write!(self.lines, ",\"{key}\":{value}").expect("a String takes everything");
        self
    }

    fn end(self) {
        self.lines.push_str("}\n");
    }

    fn refused(self, refusal: Refusal) {
        self.words("refused", refusal.field).words("reason", refusal.reason).end();
    }
}

fn whole(length: u64, write: impl FnOnce(&mut String)) -> Described {
    let mut lines = String::new();
    write(&mut lines);
    Described { lines, next: length, wanted: 0 }
}

fn layout(lines: &mut String, bytes: &[u8]) {
    match Layout::decode(bytes) {
        Err(refusal) => Line::new(lines, "layout").refused(refusal),
        Ok(layout) => {
            Line::new(lines, "layout")
                .mark("cluster", layout.cluster)
                .mark("node", layout.node)
                .number("node_number", layout.member.number)
                .number("node_count", layout.member.count)
                .number("epoch", layout.epoch)
                .number("shard_count", layout.shard_count)
                .end();
            for journal in layout.journals {
                Line::new(lines, "journal")
                    .number("epoch", journal.epoch)
                    .number("shard", journal.shard)
                    .end();
            }
        }
    }
}

fn superblock(lines: &mut String, bytes: &[u8]) {
    for (copy, read) in (0_u64..).zip(Superblock::decode_copies(bytes)) {
        let line = Line::new(lines, "superblock_copy").number("copy", copy);
        match read {
            Err(refusal) => line.refused(refusal),
            Ok(read) => superblock_fields(line, &read),
        }
    }
    match Superblock::elect(bytes) {
        Err(refusal) => Line::new(lines, "superblock").refused(refusal),
        Ok(elected) => {
            let line = Line::new(lines, "superblock").number("agreeing", elected.agreeing as u64);
            superblock_fields(line, &elected.superblock);
        }
    }
}

fn superblock_fields(line: Line<'_>, read: &Superblock) {
    line.mark("cluster", read.cluster)
        .mark("node", read.node)
        .number("node_number", read.member.number)
        .number("node_count", read.member.count)
        .mark("journal", read.journal)
        .number("epoch", read.epoch)
        .number("shard", read.shard)
        .number("shard_count", read.shard_count)
        .flag("clean", read.clean)
        .number("sequence", read.sequence)
        .mark("parent", read.parent)
        .number("incarnation", read.incarnation)
        .number("manifest_sequence", read.manifest.sequence)
        .mark("manifest_checksum", read.manifest.checksum)
        .number("journal_file_bytes", read.journal_file_bytes)
        .number("journal_files", read.ring.files)
        .number("synced_file", read.ring.synced.file)
        .number("synced_sequence", read.ring.synced.sequence)
        .mark("synced_checksum", read.ring.synced.checksum)
        .number("frame_bytes_max", read.genesis.frame_bytes_max)
        .number("pipeline_depth", read.genesis.pipeline_depth)
        .number("client_table_slots", read.genesis.client_table_slots)
        .number("consumer_offsets_max", read.genesis.consumer_offsets_max)
        .end();
}

fn manifest(lines: &mut String, bytes: &[u8]) {
    match Manifest::decode(bytes) {
        Err(refusal) => Line::new(lines, "manifest").refused(refusal),
        Ok(manifest) => {
            Line::new(lines, "manifest")
                .mark("node", manifest.node)
                .number("sequence", manifest.sequence)
                .number("shard", manifest.shard)
                .number("groups", manifest.groups.len() as u64)
                .end();
            for entry in manifest.groups {
                Line::new(lines, "group")
                    .number("group", entry.group)
                    .number("checkpointed_op", entry.anchor.op)
                    .number("last_offset", entry.last_offset)
                    .number("purge_generation", entry.purge_generation)
                    .number("first_offset", entry.first_offset)
                    .flag("fenced", entry.fenced)
                    .number("skipped_to", entry.skipped_to)
                    .mark("anchor", entry.anchor.checksum())
                    .number("offsets", entry.offsets.len() as u64)
                    .number("gaps", entry.gaps.len() as u64)
                    .number("list_sequence", entry.list_sequence)
                    .end();
                if let Some(unsealed) = entry.unsealed {
                    unsealed_segment(lines, entry.group, &unsealed);
                }
            }
        }
    }
}

fn segments(lines: &mut String, bytes: &[u8]) {
    match SegmentsFile::decode(bytes) {
        Err(refusal) => Line::new(lines, "segments").refused(refusal),
        Ok(file) => {
            Line::new(lines, "segments")
                .mark("node", file.node)
                .number("group", file.group)
                .number("purge_generation", file.purge_generation)
                .number("sequence", file.sequence)
                .number("next_offset", file.next_offset)
                .end();
            let segments = file.segments.iter().map(|entry| ("segment", entry));
            for (structure, entry) in segments.chain(file.loose.iter().map(|entry| ("loose", entry))) {
                Line::new(lines, structure)
                    .words("file", entry.file_name())
                    .flag("sealed", entry.is_sealed())
                    .number("base_offset", entry.base_offset)
                    .number("last_offset", entry.last_offset)
                    .number("min_timestamp", entry.min_timestamp)
                    .number("max_timestamp", entry.max_timestamp)
                    .number("bytes", entry.bytes)
                    .number("messages", entry.messages)
                    .number("generation", entry.generation)
                    .mark("footer", entry.footer)
                    .end();
            }
            for fence in &file.fences {
                Line::new(lines, "fence")
                    .words("file", file_name(fence.base_offset, fence.generation))
                    .number("first_offset", fence.first_offset)
                    .number("last_offset", fence.last_offset)
                    .end();
            }
        }
    }
}

fn unsealed_segment(lines: &mut String, group: u64, unsealed: &UnsealedSegment) {
    Line::new(lines, "unsealed")
        .number("group", group)
        .words("file", file_name(unsealed.base_offset, 0))
        .number("last_offset", unsealed.last_offset)
        .number("bytes", unsealed.bytes)
        .number("messages", unsealed.messages)
        .number("min_timestamp", unsealed.min_timestamp)
        .number("max_timestamp", unsealed.max_timestamp)
        .number("first_checksum", unsealed.first_checksum)
        .number("last_batch", unsealed.last_batch)
        .number("last_checksum", unsealed.last_checksum)
        .end();
}

fn state(lines: &mut String, bytes: &[u8]) {
    match MetadataState::decode(bytes) {
        Err(refusal) => Line::new(lines, "state").refused(refusal),
        Ok(state) => Line::new(lines, "state")
            .number("group", state.group)
            .number("op", state.op)
            .mark("chain", state.chain)
            .number("clients", state.clients.len() as u64)
            .number("machine", state.machine.len() as u64)
            .end(),
    }
}

fn index(lines: &mut String, bytes: &[u8]) {
    match Index::decode(bytes) {
        Err(refusal) => Line::new(lines, "index").refused(refusal),
        Ok(index) => {
            Line::new(lines, "index")
                .number("group", index.group)
                .number("base_offset", index.base_offset)
                .number("segment_bytes", index.segment_bytes)
                .number("generation", index.generation)
                .number("first_checksum", index.first_checksum)
                .number("entries", index.entries.len() as u64)
                .end();
        }
    }
}

/// A cursor over one piece of a file.
struct Piece<'a> {
    bytes: &'a [u8],
    start: u64,
    length: u64,
    at: usize,
}

impl<'a> Piece<'a> {
    fn position(&self) -> u64 {
        self.start + self.at as u64
    }

    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Whether the piece ends where the file does.
    fn is_last(&self) -> bool {
        self.start + self.bytes.len() as u64 >= self.length
    }

    fn skip(&mut self, count: usize) {
        self.at = self.at.saturating_add(count).min(self.bytes.len());
    }

    /// What to say when the piece is used up, or when `wanted` bytes from here on are needed at once.
    fn described(&self, lines: String, wanted: u64) -> Described {
        let left = self.length.saturating_sub(self.position());
        Described { lines, next: self.position(), wanted: wanted.max(PIECE).min(left) }
    }
}

fn journal(position: u64, length: u64, bytes: &[u8]) -> Described {
    let mut piece = Piece { bytes, start: position, length, at: 0 };
    let mut lines = String::new();
    while piece.rest().len() >= PAGE || (piece.is_last() && !piece.rest().is_empty()) {
        let rest = piece.rest();
        if rest.get(16..24) != Some(block::KIND.magic.as_slice()) {
            piece.skip(PAGE);
            continue;
        }
        match BlockHeader::decode(rest) {
            Err(refusal) => {
                Line::new(&mut lines, "block").number("position", piece.position()).refused(refusal);
                piece.skip(PAGE);
            }
            Ok((header, checksum)) => {
                if rest.len() < header.bytes as usize && !piece.is_last() {
                    return piece.described(lines, u64::from(header.bytes));
                }
                describe_block(&mut lines, piece.position(), &header, checksum, rest);
                piece.skip(header.bytes as usize);
            }
        }
    }
    piece.described(lines, 0)
}

fn describe_block(lines: &mut String, position: u64, header: &BlockHeader, checksum: u128, rest: &[u8]) {
    let line = Line::new(lines, "block")
        .number("position", position)
        .number("sequence", header.sequence)
        .number("incarnation", header.incarnation)
        .number("synced_through", header.synced_through)
        .number("oldest", header.oldest)
        .number("file", header.file)
        .number("previous_file", header.previous_file)
        .number("bytes", header.bytes)
        .number("records", header.records)
        .mark("journal", header.journal)
        .mark("checksum", checksum)
        .mark("previous", header.previous);
    if header.offset != position {
        line.refused(Refusal::new("block", "offset", Reason::Value(header.offset)));
        return;
    }
    let block = &rest[..rest.len().min(header.bytes as usize)];
    match header.records(block) {
        Err(refusal) => line.refused(refusal),
        Ok(records) => {
            line.end();
            for record in records {
                let body = block.get(record.body_start..).unwrap_or_default();
                describe_record(lines, &record, body);
            }
        }
    }
}

/// `body` begins where the record's does.
fn describe_record(lines: &mut String, record: &BlockRecord, body: &[u8]) {
    let RecordHeader { kind, level, .. } = record.header;
    let line = Line::new(lines, "record")
        .words("kind", format!("{kind:?}").to_lowercase())
        .words("level", format!("{level:?}").to_lowercase())
        .number("group", record.header.group)
        .number("op", record.header.op)
        .number("view", record.header.view)
        .number("operation", record.header.operation)
        .number("timestamp", record.header.timestamp)
        .number("commit", record.header.commit)
        .number("request", record.header.request)
        .number("body_length", record.header.body_length)
        .number("epoch", record.header.epoch)
        .mark("client", record.header.client)
        .mark("parent", record.header.parent)
        .mark("checksum", record.checksum);
    if !record.whole {
        line.refused(Refusal::new("record", "body", Reason::Checksum));
        return;
    }
    let body = body.get(..record.header.body_length as usize).unwrap_or_default();
    match (record.header.body_check, survey(body)) {
        (BodyCheck::Batch, Ok(batch)) => line
            .number("base_offset", batch.header.base_offset)
            .number("last_offset", batch.last_offset)
            .number("count", batch.messages)
            .end(),
        _ => line.end(),
    }
}

fn batches(position: u64, length: u64, bytes: &[u8]) -> Described {
    let mut piece = Piece { bytes, start: position, length, at: 0 };
    let mut lines = String::new();
    while !piece.rest().is_empty() {
        let rest = piece.rest();
        // Fewer bytes cannot tell padding from a batch that begins with zero bytes.
        if !piece.is_last() && rest.len() < 2 * PAGE {
            break;
        }
        let in_page = usize::try_from(piece.position() % PAGE as u64).expect("less than a page");
        if in_page == 0 && rest.get(16..24) == Some(footer::KIND.magic.as_slice()) {
            return describe_footer(lines, &piece);
        }
        match segment::look(rest, in_page) {
            Ok(Found::Batch(batch)) => {
                Line::new(&mut lines, "batch")
                    .number("position", piece.position())
                    .number("base_offset", batch.header.base_offset)
                    .number("last_offset", batch.last_offset)
                    .number("count", batch.header.count)
                    .number("bytes", batch.header.length)
                    .number("base_timestamp", batch.header.base_timestamp)
                    .number("origin_timestamp", batch.header.origin_timestamp)
                    .number("partition", batch.header.partition)
                    .end();
                piece.skip(usize::try_from(batch.header.length).unwrap_or(usize::MAX));
            }
            Ok(Found::End) => piece.skip(PAGE - in_page),
            Err(Refusal { reason: Reason::Short { needed, .. }, .. }) if !piece.is_last() => {
                return piece.described(lines, needed.max(2 * rest.len() as u64));
            }
            Err(refusal) => {
                Line::new(&mut lines, "batch").number("position", piece.position()).refused(refusal);
                return Described { lines, next: length, wanted: 0 };
            }
        }
    }
    piece.described(lines, 0)
}

fn describe_footer(mut lines: String, piece: &Piece<'_>) -> Described {
    if !piece.is_last() {
        return piece.described(lines, piece.length - piece.position());
    }
    let line = Line::new(&mut lines, "footer").number("position", piece.position());
    match Footer::decode(piece.rest()) {
        Err(refusal) => line.refused(refusal),
        Ok((footer, checksum)) => line
            .number("group", footer.group)
            .number("base_offset", footer.base_offset)
            .number("last_offset", footer.last_offset)
            .number("messages", footer.messages)
            .number("first_op", footer.first_op)
            .number("last_op", footer.last_op)
            .number("bytes", footer.bytes)
            .number("min_timestamp", footer.min_timestamp)
            .number("max_timestamp", footer.max_timestamp)
            .number("generation", footer.generation)
            .number("digests", footer.digests.len() as u64)
            .mark("checksum", checksum)
            .end(),
    }
    Described { lines, next: piece.length, wanted: 0 }
}
