//! The files of the ring: which is written, which hold what a recovery needs, which are free.

use std::collections::VecDeque;

use ng_io::IoError;

use super::{Limits, pages};

/// Whether a further file is being made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growing {
    No,
    Asked,
    /// It is whole, and the superblock does not count it yet.
    Made,
    /// There was no space; asked again when idle.
    Refused,
}

/// The files of a journal.
#[derive(Clone, Debug)]
pub(super) struct Space {
    /// Where the next block goes.
    pub(super) file: u32,
    pub(super) offset: u64,
    /// Files with blocks a recovery needs, oldest first, each with the first sequence in it; the last is `file`.
    pub(super) order: VecDeque<(u32, u64)>,
    pub(super) free: VecDeque<u32>,
    pub(super) files: u32,
    pub(super) growing: Growing,
    /// A prepare was refused in this life: one free file may be too few for the next one.
    pub(super) is_cramped: bool,
    /// Why the last further file could not be made, until one is.
    pub(super) lack: Option<IoError>,
}

impl Space {
    /// Of a journal that has not been written yet.
    pub(super) fn new(files: u32) -> Self {
        let free = (1..files).collect();
        Self {
            file: 0,
            offset: 0,
            order: VecDeque::new(),
            free,
            files,
            growing: Growing::No,
            is_cramped: false,
            lack: None,
        }
    }

    /// Bytes that can be written before a file must be freed or made.
    pub(super) fn room(&self, limits: &Limits) -> u64 {
        let rest = limits.file_bytes - self.offset;
        rest + self.free.len() as u64 * limits.file_bytes
    }

    /// The same, if all files come that can still be made.
    pub(super) fn hoped_for(&self, limits: &Limits) -> u64 {
        self.room(limits) + u64::from(self.growable(limits)) * limits.file_bytes
    }

    /// Whether the ring has four files besides `kept`, or will.
    pub(super) fn is_ample(&self, limits: &Limits, kept: u32) -> bool {
        self.files + self.growable(limits) >= 4 + kept
    }

    /// Whether the oldest file must be freed: fewer than three others and `kept` could be written.
    pub(super) fn is_short(&self, limits: &Limits, kept: u32) -> bool {
        self.free.len() + (self.growable(limits) as usize) < 3 + kept as usize
    }

    /// How many files the ring must be allowed to have for so many bytes to be written before one is freed.
    pub(super) fn files_for(&self, bytes: u64, limits: &Limits) -> u32 {
        let missing = bytes.saturating_sub(self.room(limits)).div_ceil(limits.file_bytes);
        // No block but the last of a file leaves half of it unused.
        u32::try_from(2 * missing).unwrap_or(u32::MAX).saturating_add(self.files)
    }

    /// The number of a file to be made now: one is always free, and three once there is much to be kept, or a prepare was
    /// refused.
    pub(super) fn grow(&mut self, live_bytes: u64, limits: &Limits) -> Option<u32> {
        let wanted = if self.is_cramped || live_bytes > limits.file_bytes / 4 { 3 } else { 1 };
        let grows = self.growing == Growing::No && self.free.len() < wanted && self.files < limits.files_max;
        grows.then(|| {
            self.growing = Growing::Asked;
            self.files
        })
    }

    fn growable(&self, limits: &Limits) -> u32 {
        if self.growing == Growing::Refused { 0 } else { limits.files_max.saturating_sub(self.files) }
    }

    /// A further file is whole, or could not be made. Returns how many files the superblock must count before it is used.
    pub(super) fn grown(&mut self, result: Result<(), IoError>) -> Option<u32> {
        assert_eq!(self.growing, Growing::Asked, "a file is made because it was asked for");
        self.lack = result.err();
        self.growing = if self.lack.is_none() { Growing::Made } else { Growing::Refused };
        result.is_ok().then_some(self.files + 1)
    }

    /// The superblock counts the further file: blocks may be written to it.
    pub(super) fn enlisted(&mut self) {
        if self.growing == Growing::Made {
            self.growing = Growing::No;
            self.free.push_back(self.files);
            self.files += 1;
        }
    }

    /// Whether a further file will come without anything else being done.
    pub(super) fn is_growing(&self) -> bool {
        matches!(self.growing, Growing::Asked | Growing::Made)
    }

    /// Whether there was no space for a further file.
    pub(super) fn is_refused(&self) -> bool {
        self.growing == Growing::Refused
    }

    /// What was refused may be asked for again.
    pub(super) fn retry_growing(&mut self) {
        if self.growing == Growing::Refused {
            self.growing = Growing::No;
        }
    }

    /// Whether a block fits into the rest of this file, or a file is free.
    pub(super) fn has_place(&self, bytes: u64, limits: &Limits) -> bool {
        self.offset + bytes <= limits.file_bytes || !self.free.is_empty()
    }

    /// Moves on to a free file if the block does not fit the rest of this one. False if there is none.
    pub(super) fn make_place(&mut self, bytes: u64, sequence: u64, limits: &Limits) -> bool {
        debug_assert_eq!(pages(usize::try_from(bytes).unwrap_or(0)) as u64, bytes);
        if self.offset + bytes <= limits.file_bytes {
            return true;
        }
        let Some(file) = self.free.front().copied() else { return false };
        self.move_to(file, sequence);
        true
    }

    /// The next block, of this number, goes to the front of a free file.
    pub(super) fn move_to(&mut self, file: u32, sequence: u64) {
        self.free.retain(|free| *free != file);
        assert!(
            self.order.iter().all(|(used, _)| *used != file),
            "a file that a recovery needs is not reused"
        );
        assert!(file < self.files, "the superblock counts the file");
        self.order.push_back((file, sequence));
        self.file = file;
        self.offset = 0;
    }

    /// The oldest file, if it is not the one that is written and all of it is synced.
    pub(super) fn oldest_to_free(&self, synced_through: u64) -> Option<u32> {
        let (file, _) = self.order.front()?;
        let (_, next_first) = self.order.get(1)?;
        (*next_first <= synced_through + 1).then_some(*file)
    }

    /// No recovery needs the oldest file any more; returns it, and the oldest block that one needs.
    pub(super) fn pop_oldest(&mut self) -> Option<(u32, u64)> {
        let (_, oldest) = *self.order.get(1)?;
        self.order.pop_front().map(|(file, _)| (file, oldest))
    }
}
