//! Nothing pins the ring: what still counts in the oldest file is appended again, then the file is free.

use ng_io::{Buffer, IoError};

use super::{Effect, Position, PrepareJournal};
use crate::PAGE;
use crate::block::BlockHeader;

/// How far the oldest file has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Reclaim {
    /// It is not needed yet.
    #[default]
    Idle,
    /// A read of it is under way: from this position, this many bytes.
    Reading { offset: u64, length: usize },
    /// All copies are appended; the last is in this block.
    Copied { through: u64 },
    /// A live record in it cannot be read. It waits until that was appended again or released.
    Blocked,
    /// No recovery needs it once this block, which says so, is synced.
    Cooling { file: u32, through: u64 },
}

impl PrepareJournal {
    /// Begins to free the oldest file when fewer than three would be left.
    pub(super) fn drive_reclaim(&mut self, effects: &mut Vec<Effect>) {
        let Some((file, _)) = self.order.front().copied() else { return };
        let Some((_, next_first)) = self.order.get(1).copied() else { return };
        let short = self.free.len() + (self.growable() as usize) < 3;
        let begins = self.reclaim == Reclaim::Idle && short && next_first <= self.synced_through + 1;
        if !begins && self.reclaim != Reclaim::Blocked {
            return;
        }
        if self.groups.live_in(file) == 0 {
            // Whatever counted in it has newer copies, of which the last is at most the newest block there is.
            self.reclaim = Reclaim::Copied { through: self.last_enqueued() };
            self.reclaim_synced();
        } else if begins {
            self.read(file, 0, PAGE, effects);
        }
    }

    fn read(&mut self, file: u32, offset: u64, length: usize, effects: &mut Vec<Effect>) {
        self.reclaim = Reclaim::Reading { offset, length };
        effects.push(Effect::Read { file, offset, length });
    }

    /// A piece of the oldest file came in: the header of a block, or a whole block.
    pub(super) fn reclaim_read(&mut self, result: &Result<Buffer, IoError>, effects: &mut Vec<Effect>) {
        let Reclaim::Reading { offset, length } = self.reclaim else { return };
        let Some((file, _)) = self.order.front().copied() else { return };
        let header = result.as_ref().ok().and_then(|bytes| BlockHeader::decode(bytes).ok());
        let here = header.filter(|(found, _)| found.file == file && found.offset == offset);
        let mut next = offset + PAGE as u64;
        if let (Some((found, _)), Ok(bytes)) = (here, result) {
            if (found.bytes as usize) > length && offset + u64::from(found.bytes) <= self.limits.file_bytes {
                self.read(file, offset, found.bytes as usize, effects);
                return;
            }
            next = offset + u64::from(found.bytes);
            self.relocate(&found, bytes);
        }
        if next < self.limits.file_bytes && self.groups.live_in(file) > 0 {
            self.read(file, next, PAGE, effects);
        } else if self.groups.live_in(file) == 0 {
            self.reclaim = Reclaim::Copied { through: self.last_enqueued() };
        } else {
            self.reclaim = Reclaim::Blocked;
            for (group, op) in self.groups.in_file(file) {
                effects.push(Effect::Damaged { group, op });
            }
        }
    }

    fn relocate(&mut self, found: &BlockHeader, bytes: &[u8]) {
        let records = found.records(bytes).unwrap_or_default();
        for (index, record) in (0_u32..).zip(records) {
            let from = Position { block: found.sequence, index };
            if !record.whole || !self.groups.is_live(&record.header, from) {
                continue;
            }
            let end = record.body_start + record.header.body_length as usize;
            let to = self.enqueue(record.header, bytes[record.body_start..end].to_vec());
            self.groups.relocate(&record.header, from, to);
        }
    }

    /// The sequence that the last block of the queue will have.
    fn last_enqueued(&self) -> u64 {
        self.next_sequence() + self.queued_blocks() - 1
    }

    /// Something was synced: the oldest file may have become superfluous, or free.
    pub(super) fn reclaim_synced(&mut self) {
        match self.reclaim {
            Reclaim::Copied { through } if through <= self.synced_through => {
                let Some((file, _)) = self.order.pop_front() else { return };
                self.oldest = self.order.front().map_or(self.oldest, |(_, first)| *first);
                self.want_block();
                self.reclaim = Reclaim::Cooling { file, through: self.next_sequence() };
            }
            Reclaim::Cooling { file, through } if through <= self.synced_through => {
                self.free.push_back(file);
                self.reclaim = Reclaim::Idle;
            }
            _ => {}
        }
    }
}
