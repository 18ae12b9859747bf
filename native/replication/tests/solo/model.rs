//! A model of a partition that keeps every message in a list and computes the expected answers of polls.

use ng_replication::{Poll, PollStrategy};

use crate::rig::{Message, messages};

const HEADER: usize = 256;

/// All messages of the current generation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    /// Each message with the number of its batch.
    all: Vec<(usize, Message)>,
    batches: usize,
    next: u64,
    pub(crate) first: u64,
    pub(crate) generation: u64,
}

impl Model {
    pub(crate) fn add(&mut self, stamped: &[u8]) {
        self.batches += 1;
        self.all.extend(messages(stamped).into_iter().map(|message| (self.batches, message)));
        self.next = self.all.last().map_or(0, |(_, (offset, ..))| offset + 1);
    }

    pub(crate) fn purge(&mut self) {
        *self = Self { generation: self.generation + 1, ..Self::default() };
    }

    pub(crate) fn next_offset(&self) -> u64 {
        self.next
    }

    /// Removes messages like a compaction.
    pub(crate) fn compact(&mut self, keeps: impl Fn(u64) -> bool) {
        self.all.retain(|(_, (offset, ..))| keeps(*offset));
    }

    /// Timestamp of a message.
    pub(crate) fn time(&self, number: usize) -> u64 {
        self.all.get(number).map_or(0, |(_, (_, time, _))| *time)
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// The expected answer to a poll.
    pub(crate) fn answer(&self, poll: &Poll, stored: Option<u64>) -> Vec<Message> {
        let there: Vec<_> = self.all.iter().filter(|(_, (offset, ..))| *offset >= self.first).collect();
        let count = poll.count as usize;
        let from = match poll.strategy {
            PollStrategy::Offset(from) => from,
            PollStrategy::Timestamp(time) => {
                let late = there.iter().find(|(_, (_, at, _))| *at >= time);
                late.map_or(u64::MAX, |(_, (offset, ..))| *offset)
            }
            PollStrategy::First => 0,
            PollStrategy::Last => {
                there.get(there.len().saturating_sub(count)).map_or(0, |(_, (offset, ..))| *offset)
            }
            PollStrategy::Next => stored.map_or(0, |stored| stored + 1),
        };
        let (mut answer, mut bytes, mut batch) = (Vec::new(), 0, 0);
        for (number, message) in there.into_iter().filter(|(_, (offset, ..))| *offset >= from).take(count) {
            let added = message.2.len() + if *number == batch { 0 } else { HEADER };
            if bytes + added > poll.reply_bytes_max && !answer.is_empty() {
                break;
            }
            (bytes, batch) = (bytes + added, *number);
            answer.push(message.clone());
        }
        answer
    }

    /// `chooses` holds for a message between two offsets.
    pub(crate) fn has_any(&self, (first, last): (u64, u64), chooses: impl Fn(u64) -> bool) -> bool {
        let mut offsets = self.all.iter().map(|(_, (offset, ..))| *offset);
        offsets.any(|offset| (first..=last).contains(&offset) && chooses(offset))
    }

    /// The model contains these messages consecutively.
    pub(crate) fn holds(&self, run: &[Message]) -> bool {
        let Some(first) = run.first() else { return true };
        let at = self.all.partition_point(|(_, (offset, ..))| *offset < first.0);
        let there = self.all[at..].iter().map(|(_, message)| message).take(run.len());
        there.eq(run.iter())
    }
}
