//! Which records are taken, and what is kept free so that the ring always goes on.

use super::groups::{Fitting, RecordCopy, Unfit};
use super::{Limits, PrepareJournal, Refused};
use crate::block::{block_bytes, body_bytes};
use crate::record::RecordKind;

impl PrepareJournal {
    /// Whether a prepare of this group with a body of so many bytes would find room now.
    #[must_use]
    pub fn has_room(&self, group: u64, op: u64, body_bytes: usize) -> bool {
        !self.failed
            && body_bytes <= self.limits.body_bytes_max()
            && self.admit_op(group, op).is_ok()
            && self.admit_prepare_bytes(body_bytes).is_ok()
    }

    /// The largest body that a record may have.
    #[must_use]
    pub const fn body_bytes_max(&self) -> usize {
        self.limits.body_bytes_max()
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
        if self.failed {
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
    /// files and more keeps two of them, so that relocation is never in a hurry.
    fn admit_prepare_bytes(&self, body: usize) -> Result<(), Refused> {
        let bytes = block_bytes(1, body_bytes(body)) as u64;
        let queued = self.queue.bytes() + bytes;
        let live = self.groups.slots().live_bytes() + bytes;
        let Limits { file_bytes, queued_bytes_max, .. } = self.limits;
        let room = self.space.room(&self.limits);
        let full = queued > queued_bytes_max as u64
            || queued + live.min(file_bytes) + file_bytes / 2 > room
            || self.space.is_ample(&self.limits)
                && queued + 2 * file_bytes > self.space.hoped_for(&self.limits)
            || live > self.limits.live_bytes_max();
        if full { Err(Refused::Busy) } else { Ok(()) }
    }

    /// Views, opens, closes and installs are few and small and nobody can take them back: they may use what prepares must
    /// leave, but for the room to relocate a file.
    fn admit_other_bytes(&self, body: usize) -> Result<(), Refused> {
        let queued = self.queue.bytes() + block_bytes(1, body_bytes(body)) as u64;
        let live = self.groups.slots().live_bytes().min(self.limits.file_bytes);
        if queued + live > self.space.hoped_for(&self.limits) { Err(Refused::Busy) } else { Ok(()) }
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
