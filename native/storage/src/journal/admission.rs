//! Which records are taken, and what is kept free so that the ring always goes on.

use super::groups::{Fitting, RecordCopy, Unfit};
use super::{Limits, PrepareJournal, Refused};
use crate::block::{block_bytes, body_bytes};
use crate::record::RecordKind;
use crate::superblock::JOURNAL_FILES_MAX;

impl PrepareJournal {
    /// Whether a prepare of this group with a body of so many bytes would find room now.
    #[must_use]
    pub fn has_room(&self, group: u64, op: u64, body_bytes: usize) -> bool {
        !self.poison.is_set()
            && body_bytes <= self.limits.body_bytes_max()
            && self.admit_op(group, op).is_ok()
            && self.admit_prepare_bytes(body_bytes).is_ok()
    }

    /// A prepare was refused: the ring grows, as far as its limits allow, until three files are free.
    pub const fn make_room(&mut self) {
        self.space.is_cramped = true;
    }

    /// The largest body that a record may have.
    #[must_use]
    pub const fn body_bytes_max(&self) -> usize {
        self.limits.body_bytes_max()
    }

    /// Bytes of each file.
    #[must_use]
    pub const fn file_bytes(&self) -> u64 {
        self.limits.file_bytes
    }

    /// Whether what counts fills half of what may: it is time that a manifest covers some of it.
    #[must_use]
    pub fn is_pressed(&self) -> bool {
        let slots = self.groups.slots();
        slots.live_bytes() > self.limits.live_bytes_max() / 2 || slots.prepares() > self.limits.slots_max / 2
    }

    /// Bytes of what counts, and how many there may be.
    #[must_use]
    pub fn live_bytes(&self) -> (u64, u64) {
        (self.groups.slots().live_bytes(), self.limits.live_bytes_max())
    }

    pub(super) fn admit(&self, copy: &RecordCopy<'_>) -> Result<Fitting, Refused> {
        let header = &copy.header;
        if self.poison.is_set() {
            return Err(Refused::Failed);
        }
        if copy.body.len() > self.limits.body_bytes_max() {
            return Err(Refused::TooLarge(copy.body.len()));
        }
        if !header.is_sealed_over(copy.body) {
            return Err(Refused::Malformed);
        }
        let fitting = self.groups.admit(copy)?;
        if header.kind == RecordKind::Prepare {
            self.admit_op(header.group, header.op)?;
            self.admit_prepare_bytes(copy.body.len())?;
        } else {
            self.admit_other_bytes(copy.body.len())?;
        }
        Ok(fitting)
    }

    fn admit_op(&self, group: u64, op: u64) -> Result<(), Refused> {
        let span = self.groups.span_with(group, op);
        let full = self.groups.slots().prepares() >= self.limits.slots_max;
        if span > self.limits.window_max as u64 || full { Err(Refused::Window) } else { Ok(()) }
    }

    /// Whatever happens to the files that are still to be made, there must be room to relocate the oldest file, or nothing
    /// would ever become free again; half a file more, for what blocks leave unused at the ends of files. A ring of four
    /// files and more keeps two of them, so that relocation is never in a hurry, and what a start writes again of each group.
    fn admit_prepare_bytes(&self, body: usize) -> Result<(), Refused> {
        let bytes = block_bytes(1, body_bytes(body)) as u64;
        let queued = self.queue.bytes() + bytes;
        let live = self.groups.slots().live_bytes() + bytes;
        let Limits { file_bytes, queued_bytes_max, .. } = self.limits;
        let room = self.space.room(&self.limits);
        let kept = self.files_for_standing();
        let full = queued > queued_bytes_max as u64
            || queued + live.min(file_bytes) + file_bytes / 2 > room
            || self.space.is_ample(&self.limits, kept)
                && queued + (2 + u64::from(kept)) * file_bytes > self.space.hoped_for(&self.limits)
            || live > self.limits.live_bytes_max();
        if full { Err(Refused::Busy) } else { Ok(()) }
    }

    /// Views, opens, closes and installs are small, and nobody can take them back: the ring grows for them where it must, and
    /// they wait where the disk has no room for that. What waits is never more than prepares may take twice over, and what every
    /// group has.
    fn admit_other_bytes(&self, body: usize) -> Result<(), Refused> {
        let queued = self.queue.bytes() + block_bytes(1, body_bytes(body)) as u64;
        let standing = self.groups.slots().standing_bytes();
        let is_bounded = queued <= 2 * (self.limits.queued_bytes_max as u64 + standing);
        if is_bounded && self.files_for_queue(queued) <= JOURNAL_FILES_MAX {
            Ok(())
        } else {
            Err(Refused::Busy)
        }
    }

    /// Files to keep free for what stands: a start appends a view of every group before any file can be freed for it.
    pub(super) fn files_for_standing(&self) -> u32 {
        u32::try_from(self.groups.slots().standing_bytes() / self.limits.file_bytes).unwrap_or(u32::MAX)
    }

    /// Lets the ring grow for what stands, however few files prepares may have: once for what it holds, once to append it
    /// again, and in any case for what waits.
    pub(super) fn make_way_for_standing(&mut self) {
        let standing = self.files_configured.saturating_add(self.files_for_standing().saturating_mul(2));
        let files_max = self.limits.files_max.max(standing).max(self.files_for_queue(self.queue.bytes()));
        self.limits.files_max = files_max.min(JOURNAL_FILES_MAX);
    }

    /// Files that the ring needs for so many bytes to be written, and a file to be relocated then.
    fn files_for_queue(&self, queued: u64) -> u32 {
        let live = self.groups.slots().live_bytes().min(self.limits.file_bytes);
        self.space.files_for(queued + live, &self.limits)
    }
}

impl From<Unfit> for Refused {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Settled => Self::Settled,
            Unfit::Malformed => Self::Malformed,
        }
    }
}
