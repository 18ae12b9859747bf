//! The messages themselves: at the end the segments of every node hold each batch that was executed, byte for byte, and
//! nothing else.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ng_io::Chunk;
use ng_storage::PAGE;
use ng_storage::footer::Footer;
use ng_storage::home::Home;
use ng_storage::segment::{Found, look};
use ng_storage::segments_file::{SegmentEntry, SegmentsFile};
use ng_wire::batch::{BatchHeader, verify};
use ng_wire::replica::{LogOperation, Op, PrepareHeader};

use super::Verdict;

/// Every batch of each partition group since its last purge.
#[derive(Debug, Default)]
pub struct Messages {
    groups: BTreeMap<u64, Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    last: u64,
    first_offset: u64,
    batches: Vec<(Op, Arc<Chunk>)>,
}

impl Messages {
    /// An operation was executed, now or again.
    pub fn executes(&mut self, header: &PrepareHeader, body: &Arc<Chunk>, reply: &[u8]) {
        let kept = self.groups.entry(header.group).or_default();
        if header.op.0 <= kept.last {
            return;
        }
        kept.last = header.op.0;
        let done = reply.first() == Some(&0);
        let value = reply
            .get(8..)
            .and_then(|value| value.first_chunk())
            .map_or(0, |value| u64::from_le_bytes(*value));
        match LogOperation::from_code(header.operation) {
            Some(LogOperation::Batch) if done => kept.batches.push((header.op, body.clone())),
            Some(LogOperation::Purge) if done => {
                kept.batches.clear();
                kept.first_offset = 0;
            }
            Some(LogOperation::TruncatePrefix) if done => kept.first_offset = value,
            _ => {}
        }
    }

    /// Holds what the files of a node say of a group against what was executed.
    pub fn judge(
        &self,
        node: u8,
        group: u64,
        home: &Home,
        file: impl Fn(&Path) -> Option<Vec<u8>>,
    ) -> Result<(), Verdict> {
        let wrong = |what: String| Verdict(format!("segments of group {group:x} at node {node}: {what}"));
        let found = stored(group, home, file).map_err(wrong)?;
        let Some(kept) = self.groups.get(&group) else { return Ok(()) };
        let mut found = found.iter().peekable();
        for (op, batch) in &kept.batches {
            if found.next_if(|found| found[..] == batch[..]).is_some() {
                continue;
            }
            // Segments go as a whole, and not at the same places everywhere: of what was dropped some may be left.
            if verify(batch).is_ok_and(|batch| batch.last_offset >= kept.first_offset) {
                let offset = |batch: &[u8]| BatchHeader::decode(batch).map(|header| header.base_offset);
                let (wanted, stands) = (offset(batch), found.peek().map(|found| offset(found)));
                return Err(wrong(format!(
                    "the batch of op {op}, {wanted:?}, should stand where {stands:?} does; messages from {} are kept",
                    kept.first_offset
                )));
            }
        }
        match found.count() {
            0 => Ok(()),
            more => Err(wrong(format!("{more} batches were never executed, or purged"))),
        }
    }
}

/// Every batch in the segments of a group, in order.
fn stored(group: u64, home: &Home, file: impl Fn(&Path) -> Option<Vec<u8>>) -> Result<Vec<Vec<u8>>, String> {
    let home = home.group(group);
    let Some(listed) = file(&home.segments()) else { return Ok(Vec::new()) };
    let listed = SegmentsFile::decode(&listed).map_err(|refusal| refusal.to_string())?;
    let mut batches = Vec::new();
    for entry in &listed.segments {
        let bytes = file(&home.segment(entry)).ok_or_else(|| format!("{} is missing", entry.file_name()))?;
        let read = batches_of(entry, &bytes, &mut batches)?;
        if entry.is_sealed() {
            let footer = bytes.get(read.next_multiple_of(PAGE)..).unwrap_or_default();
            let footer =
                Footer::decode(footer).map_err(|refusal| format!("{}: {refusal}", entry.file_name()))?;
            if footer.1 != entry.footer || footer.0.bytes != read as u64 {
                return Err(format!("{} has another footer", entry.file_name()));
            }
        }
    }
    Ok(batches)
}

/// Appends the batches of a segment; what a crash left behind those of an unsealed one counts for nothing.
fn batches_of(entry: &SegmentEntry, bytes: &[u8], into: &mut Vec<Vec<u8>>) -> Result<usize, String> {
    let mut position = 0;
    loop {
        match look(&bytes[position..], position) {
            Ok(Found::Batch(batch)) => {
                let length = usize::try_from(batch.header.length).unwrap_or(usize::MAX);
                into.push(bytes[position..position + length].to_vec());
                position += length;
            }
            Err(refusal) if entry.is_sealed() => {
                return Err(format!("{} at {position}: {refusal}", entry.file_name()));
            }
            Ok(Found::End) | Err(_) => return Ok(position),
        }
    }
}
