//! Nothing pins the ring: what still counts in the oldest file is appended again, then the file is free.
//!
//! Of a live record whose body cannot be read a note is appended that carries its header. Where not even that can be read,
//! the blocks are listed as lost. Either says at every later start what is missing, and the file is free all the same.

use std::sync::Arc;

use ng_io::IoError;

use super::plant::Plant;
use super::scan::FileScan;
use super::{Effect, Position, PrepareJournal, notes};
use crate::block::BlockHeader;
use crate::record::{RecordHeader, RecordKind, body_is_whole};

/// What a disk says that loses what it was given.
const EIO: i32 = 5;

/// How far the oldest file has come.
#[derive(Debug, Default)]
pub(super) enum Reclaim {
    /// It is not needed yet.
    #[default]
    Idle,
    /// It is being read.
    Reading { file: u32, scan: Box<FileScan> },
    /// All copies are appended; the last is in this block.
    Copied { through: u64 },
    /// No recovery needs it once this block, which says so, is synced.
    Cooling { file: u32, through: u64 },
}

impl PrepareJournal {
    /// Begins to free the oldest file when fewer than three others would be left besides those kept for what stands, or when
    /// nothing in it counts: a ring grows only for what it must keep.
    pub(super) fn drive_reclaim(&mut self, effects: &mut Vec<Effect>) {
        if !matches!(self.reclaim, Reclaim::Idle) {
            return;
        }
        let Some(file) = self.space.oldest_to_free(self.synced_through) else { return };
        let kept = self.files_for_standing();
        let is_empty = self.groups.slots().live_in(file) == 0 && self.space.free.len() < 3 + kept as usize;
        if !is_empty && !self.space.is_short(&self.limits, kept) {
            return;
        }
        let scan = Box::new(FileScan::new(self.journal, file, self.limits.file_bytes));
        self.read_on(file, scan, effects);
    }

    /// A piece of the oldest file came in, or cannot be read.
    pub(super) fn reclaim_read(&mut self, bytes: Option<&[u8]>, effects: &mut Vec<Effect>) {
        let Reclaim::Reading { file, mut scan } = std::mem::take(&mut self.reclaim) else { return };
        scan.feed(bytes, &mut |header, _, block| self.relocate_block(header, block, effects));
        self.read_on(file, scan, effects);
    }

    /// Reads on while something in the file counts.
    fn read_on(&mut self, file: u32, scan: Box<FileScan>, effects: &mut Vec<Effect>) {
        let reused = self.planted.has(Plant::RingReusedEarly);
        let counts = self.groups.slots().live_in(file) > 0 && !reused;
        if let Some((offset, length)) = scan.wants().filter(|_| counts) {
            self.reclaim = Reclaim::Reading { file, scan };
            effects.push(Effect::Read { file, offset, length });
            return;
        }
        if !reused {
            self.lose_nameless(file, effects);
        }
        // Whatever counted in it has newer copies, of which the last is at most the newest block there is.
        self.reclaim = Reclaim::Copied { through: self.next_sequence() + self.queue.len() - 1 };
        self.reclaim_synced();
    }

    fn relocate_block(&mut self, found: &BlockHeader, block: &[u8], effects: &mut Vec<Effect>) {
        let directory = found.directory(block).unwrap_or_default();
        for (index, (header, _, start)) in (0_u32..).zip(directory) {
            let from = Position { block: found.sequence, index };
            let body = &block[start..start + header.body_length as usize];
            self.relocate(&header, body, from, effects);
        }
    }

    fn relocate(&mut self, header: &RecordHeader, body: &[u8], from: Position, effects: &mut Vec<Effect>) {
        let subject = notes::lost(header, body).map_or(*header, |(lost, _)| lost);
        let Some(slot) = self.groups.live(&subject, from) else { return };
        if body_is_whole(header, body) {
            let to = self.enqueue(header, slot, Arc::new(body.to_vec().into()));
            self.groups.relocate(slot, to);
        } else if header.kind == RecordKind::Mark {
            self.enqueue_mark(None);
        } else {
            let (note, body) = notes::of(header);
            let to = self.enqueue(&note, slot, Arc::new(body.into()));
            self.groups.note(slot, to);
            effects.push(Effect::Damaged { group: header.group, op: prepare_op(header) });
        }
    }

    /// What still counts in a file that was read through has neither body nor header: its blocks are lost.
    fn lose_nameless(&mut self, file: u32, effects: &mut Vec<Effect>) {
        if self.groups.slots().live_in(file) == 0 {
            return;
        }
        let nameless = self.groups.in_file(file);
        self.losses.add(nameless.iter().map(|(.., block)| *block), self.oldest);
        if !self.losses.fit(self.limits.body_bytes_max()) {
            // Never more than is lost, and never less: what cannot be listed must not be gone on over.
            return self.fail(file, IoError::new("list lost blocks", EIO), effects);
        }
        for (group, op, slot, _) in nameless {
            self.groups.lose(slot);
            effects.push(Effect::Damaged { group, op });
        }
        self.enqueue_mark(None);
    }

    /// Something was synced: the oldest file may have become superfluous, or free.
    pub(super) fn reclaim_synced(&mut self) {
        match self.reclaim {
            Reclaim::Copied { through } if through <= self.synced_through => {
                let Some((file, oldest)) = self.space.pop_oldest() else { return };
                self.oldest = oldest;
                self.queue.want_block();
                self.reclaim = Reclaim::Cooling { file, through: self.next_sequence() };
            }
            Reclaim::Cooling { file, through } if through <= self.synced_through => {
                assert!(!self.space.free.contains(&file), "a file is freed once");
                self.space.free.push_back(file);
                self.reclaim = Reclaim::Idle;
            }
            _ => {}
        }
    }
}

fn prepare_op(header: &RecordHeader) -> u64 {
    if header.kind == RecordKind::Prepare { header.op } else { 0 }
}
