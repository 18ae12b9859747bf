//! A small metadata machine: rows that requests change, and a delay before each is executed.

use std::collections::{BTreeMap, VecDeque};

use ng_replication::{Executed, MetadataMachine};
use ng_wire::replica::{LogOperation, PrepareHeader};

/// Rows by key, each with how often it was changed.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    rows: BTreeMap<u64, u64>,
    /// A digest of everything executed, in order.
    digest: u64,
    waiting: VecDeque<(u64, PrepareHeader, Vec<u8>)>,
    now: u64,
    delay: u64,
    /// Nothing is executed before this moment.
    stalled_until: u64,
}

impl Rows {
    /// Rows whose changes take `delay` milliseconds.
    #[must_use]
    pub(crate) fn new(delay: u64) -> Self {
        Self { delay, ..Self::default() }
    }

    /// Milliseconds have passed.
    pub(crate) fn advance(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    /// Executes nothing before a moment.
    pub(crate) fn stall(&mut self, until: u64) {
        self.stalled_until = until;
    }

    /// Milliseconds for which so many changes keep it busy.
    #[must_use]
    pub(crate) const fn time_for(&self, changes: u64) -> u64 {
        changes * self.delay
    }

    /// When the next result will be there.
    #[must_use]
    pub(crate) fn due(&self) -> Option<u64> {
        self.waiting.front().map(|(due, ..)| (*due).max(self.stalled_until))
    }

    fn apply(&mut self, header: &PrepareHeader, body: &[u8]) -> Vec<u8> {
        let low = header.checksum.to_le_bytes();
        let identity = u64::from_le_bytes(*low.first_chunk().unwrap_or(&[0; 8]));
        self.digest = self.digest.rotate_left(7) ^ identity;
        let changes = LogOperation::from_code(header.operation) == Some(LogOperation::Metadata);
        let key = body.first_chunk().map_or(0, |key| u64::from_le_bytes(*key)) % 64;
        let changed = self.rows.entry(key).or_default();
        *changed += u64::from(changes);
        [changed.to_le_bytes(), self.digest.to_le_bytes()].concat()
    }
}

impl MetadataMachine for Rows {
    fn execute(&mut self, header: &PrepareHeader, body: &[u8]) {
        let after = self.waiting.back().map_or(0, |(due, ..)| *due);
        self.waiting.push_back((after.max(self.now + self.delay), *header, body.to_vec()));
    }

    fn executed(&mut self) -> Option<Executed> {
        let due = self.due().filter(|due| *due <= self.now)?;
        debug_assert!(due <= self.now, "results come in time");
        let (_, header, body) = self.waiting.pop_front()?;
        let reply = self.apply(&header, &body);
        Some(Executed { header, reply })
    }

    fn snapshot(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.digest.to_le_bytes());
        for (key, changed) in &self.rows {
            into.extend_from_slice(&key.to_le_bytes());
            into.extend_from_slice(&changed.to_le_bytes());
        }
    }

    fn install(&mut self, bytes: &[u8]) -> bool {
        let (words, []) = bytes.as_chunks::<8>() else { return false };
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let Some((digest, rows)) = words.split_first() else { return false };
        let (pairs, []) = rows.as_chunks::<2>() else { return false };
        self.waiting.clear();
        self.digest = *digest;
        self.rows = pairs.iter().map(|[key, changed]| (*key, *changed)).collect();
        true
    }
}
