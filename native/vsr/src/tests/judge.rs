//! What must never happen, watched from outside of the replicas.

use std::collections::BTreeMap;

use ng_wire::replica::{LogOperation, Op, PrepareHeader};

/// The history of the group as the first replica to execute each operation saw it.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    history: Vec<PrepareHeader>,
    /// What clients were told, by body checksum: each request has its own.
    told: BTreeMap<u128, (Op, Vec<u8>)>,
    /// Where each request of a session was executed.
    executed: BTreeMap<u128, Op>,
    /// Whether a request may be executed once only.
    deduplicates: bool,
    pub(crate) faults: Vec<String>,
}

impl Judge {
    pub(crate) fn new(deduplicates: bool) -> Self {
        Self { deduplicates, ..Self::default() }
    }

    /// A replica executes an operation, now or again after a restart.
    pub(crate) fn executes(&mut self, replica: u8, header: &PrepareHeader) {
        let index = usize::try_from(header.op.0 - 1).expect("a short history");
        match self.history.get(index) {
            Some(known) if known.checksum == header.checksum => {}
            Some(_) => self.faults.push(format!("replica {replica} executes another op {}", header.op)),
            None if index == self.history.len() => self.first(header),
            None => self.faults.push(format!("replica {replica} skips to op {}", header.op)),
        }
    }

    fn first(&mut self, header: &PrepareHeader) {
        self.history.push(*header);
        let once = self.deduplicates && header.operation == LogOperation::Metadata.code();
        if let Some(before) = self.executed.insert(header.body_checksum, header.op)
            && once
        {
            self.faults.push(format!("op {} repeats op {before}", header.op));
        }
    }

    /// A client is told that its request was executed.
    pub(crate) fn tells(&mut self, body_checksum: u128, op: Op, reply: &[u8]) {
        let stands = self.history.get(usize::try_from(op.0 - 1).expect("a short history"));
        if stands.is_none_or(|header| header.body_checksum != body_checksum) {
            self.faults.push(format!("op {op} was acknowledged and is another's"));
        }
        let told = self.told.entry(body_checksum).or_insert_with(|| (op, reply.to_vec()));
        if self.deduplicates && *told != (op, reply.to_vec()) {
            self.faults.push(format!("a retry of op {} got another answer, of op {op}", told.0));
        }
    }

    /// The body that stands at an op.
    pub(crate) fn body_at(&self, op: Op) -> Option<u128> {
        Some(self.history.get(usize::try_from(op.0).ok()?.checked_sub(1)?)?.body_checksum)
    }

    pub(crate) fn committed(&self) -> usize {
        self.history.len()
    }

    pub(crate) fn acknowledged(&self) -> usize {
        self.told.len()
    }
}
