//! One history for all: every node executes the same operations of a group in the same order, and the offsets that they
//! give to messages are unique and without gaps.

use std::collections::BTreeMap;
use std::sync::Arc;

use ng_io::Chunk;
use ng_wire::batch::{BATCH_HEADER_BYTES, BatchHeader};
use ng_wire::replica::{LogOperation, Op, PrepareHeader};

use super::Verdict;

/// What the first node to execute an operation saw.
#[derive(Clone, Debug)]
struct Entry {
    header: PrepareHeader,
    identity: u128,
    body: Arc<Chunk>,
    reply: Vec<u8>,
}

/// Bytes of a batch and of its first message in front of that message's number.
const BEFORE_NUMBER: usize = BATCH_HEADER_BYTES + size_of::<u64>();

/// The number that a client of this world writes into each of its requests.
fn identity_of(header: &PrepareHeader, body: &[u8]) -> u128 {
    let batch = LogOperation::from_code(header.operation) == Some(LogOperation::Batch);
    let content = body.get(if batch { BEFORE_NUMBER } else { 0 }..).unwrap_or_default();
    content.first_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes))
}

/// What was executed of each group.
#[derive(Debug, Default)]
pub struct History {
    groups: BTreeMap<u64, Vec<Entry>>,
    /// The offset after the last message of each group.
    next_offset: BTreeMap<u64, u64>,
    /// Where a request that must be executed once was executed.
    once: BTreeMap<u128, Op>,
    /// The op after the last that a node executed, by node and group; less after a restart.
    next: BTreeMap<(u8, u64), u64>,
}

impl History {
    /// A node executes an operation, now or again.
    pub fn executes(
        &mut self,
        node: u8,
        header: &PrepareHeader,
        body: &Arc<Chunk>,
        reply: &[u8],
    ) -> Result<(), Verdict> {
        let group = header.group;
        let index = usize::try_from(header.op.0 - 1).unwrap_or(usize::MAX);
        let known = self.groups.get(&group).and_then(|history| history.get(index));
        // The same bytes as before need no checksum.
        let same = known.is_some_and(|known| known.header == *header && known.body == *body);
        if !same && !header.verifies(body) {
            return Err(Verdict(format!(
                "node {node} executes op {} of group {group} on other bytes",
                header.op
            )));
        }
        let expected = self.next.insert((node, group), header.op.0 + 1);
        if expected.is_some_and(|expected| expected != header.op.0) {
            return Err(Verdict(format!(
                "node {node} skips from op {expected:?} to op {} of group {group}",
                header.op
            )));
        }
        let history = self.groups.entry(group).or_default();
        match history.get(index) {
            Some(known) if known.header == *header && known.reply == reply => Ok(()),
            Some(known) => Err(Verdict(format!(
                "node {node} executes op {} of group {group} otherwise: {header:?} -> {reply:02x?}, before {known:?}",
                header.op
            ))),
            None if index == history.len() => {
                let identity = identity_of(header, body);
                history.push(Entry { header: *header, identity, body: body.clone(), reply: reply.to_vec() });
                self.executes_once(header, identity)?;
                self.count_offsets(header, body, reply)
            }
            None => Err(Verdict(format!(
                "node {node} executes op {} of group {group}, and nobody executed the one before",
                header.op
            ))),
        }
    }

    /// A node begins anew behind this operation: it was restarted, or took over a state.
    pub fn begins(&mut self, node: u8, group: u64, behind: Op) {
        self.next.insert((node, group), behind.0 + 1);
    }

    /// Which request stands at a place, and what it was answered.
    #[must_use]
    pub fn at(&self, group: u64, op: Op) -> Option<(u128, &[u8])> {
        let entry = self.groups.get(&group)?.get(usize::try_from(op.0.checked_sub(1)?).ok()?)?;
        Some((entry.identity, &entry.reply))
    }

    /// The last operation of a group that any node executed.
    #[must_use]
    pub fn last(&self, group: u64) -> Op {
        Op(self.groups.get(&group).map_or(0, |entries| entries.len() as u64))
    }

    /// Every group that executed something.
    pub fn groups(&self) -> impl Iterator<Item = u64> + '_ {
        self.groups.keys().copied()
    }

    /// A request of a session is executed once, however often it is sent. Registrations have no session yet.
    fn executes_once(&mut self, header: &PrepareHeader, identity: u128) -> Result<(), Verdict> {
        if LogOperation::from_code(header.operation) != Some(LogOperation::Metadata) {
            return Ok(());
        }
        match self.once.insert(identity, header.op) {
            None => Ok(()),
            Some(before) => {
                Err(Verdict(format!("op {} repeats op {before} of the metadata group", header.op)))
            }
        }
    }

    fn count_offsets(&mut self, header: &PrepareHeader, body: &[u8], reply: &[u8]) -> Result<(), Verdict> {
        let group = header.group;
        let next = self.next_offset.entry(group).or_default();
        match LogOperation::from_code(header.operation) {
            Some(LogOperation::Batch) => {
                let Ok(batch) = BatchHeader::decode(body) else {
                    return Err(Verdict(format!("op {} of group {group} is no batch", header.op)));
                };
                if batch.base_offset != *next {
                    return Err(Verdict(format!(
                        "op {} of group {group} begins at offset {}, not at {next}",
                        header.op, batch.base_offset
                    )));
                }
                *next += u64::from(batch.count);
            }
            Some(LogOperation::Purge) if reply.first() == Some(&0) => *next = 0,
            _ => {}
        }
        Ok(())
    }
}
