//! Committed batches of one group that are in no segment yet. The journal is their durable copy until then.

use std::collections::VecDeque;

use super::CommittedBatch;

/// Batches in the order of their offsets, and how much they are together.
#[derive(Debug, Default)]
pub(super) struct Pending {
    batches: VecDeque<CommittedBatch>,
    bytes: usize,
    messages: u64,
    /// Batches up to this op are to be written now. Later ones wait until there are enough of them, or until their time has come,
    /// because under a steady stream something is always pending.
    asked_to: u64,
}

impl Pending {
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) const fn messages(&self) -> u64 {
        self.messages
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    pub(super) fn front(&self) -> Option<&CommittedBatch> {
        self.batches.front()
    }

    pub(super) fn back(&self) -> Option<&CommittedBatch> {
        self.batches.back()
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &CommittedBatch> {
        self.batches.iter()
    }

    pub(super) fn push(&mut self, batch: CommittedBatch) {
        self.bytes += batch.bytes.len();
        self.messages += u64::from(batch.messages);
        self.batches.push_back(batch);
    }

    /// Takes the first batch.
    pub(super) fn pop(&mut self) -> Option<CommittedBatch> {
        let batch = self.batches.pop_front()?;
        self.bytes -= batch.bytes.len();
        self.messages -= u64::from(batch.messages);
        Some(batch)
    }

    /// Takes every batch.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = CommittedBatch> + use<> {
        let batches = std::mem::take(&mut self.batches);
        self.count();
        batches.into_iter()
    }

    /// Drops all batches but the first `count`, and forgets which were to be written now.
    pub(super) fn truncate(&mut self, count: usize) {
        self.batches.truncate(count);
        self.asked_to = 0;
        self.count();
    }

    /// Drops the batches of earlier purge generations.
    pub(super) fn drop_before(&mut self, generation: u64) {
        self.batches.retain(|batch| batch.generation >= generation);
        self.count();
    }

    /// Every batch is to be written now.
    pub(super) fn ask(&mut self) {
        self.asked_to = self.batches.back().map_or(0, |last| last.op);
    }

    /// The batches up to an op are to be written now.
    pub(super) fn ask_to(&mut self, op: u64) {
        self.asked_to = self.asked_to.max(op);
    }

    /// Whether some of it is to be written now: it was asked for, or there are `enough` bytes.
    pub(super) fn is_due(&self, enough: usize) -> bool {
        self.front().is_some_and(|front| self.bytes >= enough || front.op <= self.asked_to)
    }

    fn count(&mut self) {
        self.bytes = self.batches.iter().map(|batch| batch.bytes.len()).sum();
        self.messages = self.batches.iter().map(|batch| u64::from(batch.messages)).sum();
    }
}
