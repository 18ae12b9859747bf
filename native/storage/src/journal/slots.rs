//! Where the newest copy of each record that counts is: one slot each, in one slab for all groups of a shard.

use super::Position;
use crate::record::{RECORD_HEADER, RecordKind};

/// What is known of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SlotState {
    /// Nothing: the slot is of no record.
    Empty,
    /// Header and body are there.
    Present,
    /// The header is known, the body cannot be read.
    Damaged,
}

/// Names a slot.
pub(super) type SlotId = u32;

/// Names no slot.
pub(super) const NO_SLOT: SlotId = u32::MAX;

/// The file of a block that has not been written, and of a record that lies in none any more.
pub(super) const NO_FILE: u32 = u32::MAX;

/// The newest copy of a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) checksum: u128,
    pub(super) view: u64,
    block: u64,
    /// Of the body in the file.
    pub(super) offset: u64,
    /// Place in the directory; of a slot that is of no record: the next such slot.
    index: u32,
    pub(super) file: u32,
    pub(super) length: u32,
    pub(super) kind: RecordKind,
    pub(super) state: SlotState,
}

const _: () = assert!(size_of::<Slot>() == 64, "a window has one of these for each op");

impl Slot {
    pub(super) const fn new(
        kind: RecordKind,
        checksum: u128,
        view: u64,
        position: Position,
        length: u32,
    ) -> Self {
        let Position { block, index } = position;
        Self {
            checksum,
            view,
            block,
            offset: 0,
            index,
            file: NO_FILE,
            length,
            kind,
            state: SlotState::Present,
        }
    }

    pub(super) const fn position(&self) -> Position {
        Position { block: self.block, index: self.index }
    }

    fn bytes(&self) -> u64 {
        RECORD_HEADER as u64 + u64::from(self.length)
    }

    fn standing_bytes(&self) -> u64 {
        if self.kind == RecordKind::Prepare { 0 } else { self.bytes() }
    }
}

/// Slots made at a time: what exists never moves, so that growing costs no second copy of all of them.
const CHUNK: usize = 256;

/// All slots of a journal, and what the records they are of add up to.
#[derive(Debug)]
pub(super) struct Slots {
    chunks: Vec<Box<[Slot]>>,
    /// The first slot of no record; each names the next.
    free: SlotId,
    /// Records in each file.
    live: Vec<u64>,
    live_bytes: u64,
    /// Of them, of records that are no prepares.
    standing_bytes: u64,
    prepares: usize,
}

impl Default for Slots {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            free: NO_SLOT,
            live: Vec::new(),
            live_bytes: 0,
            standing_bytes: 0,
            prepares: 0,
        }
    }
}

impl Slots {
    pub(super) fn live_bytes(&self) -> u64 {
        self.live_bytes
    }

    /// Bytes of what counts of each group for as long as there is the group: it is not released, only replaced.
    pub(super) fn standing_bytes(&self) -> u64 {
        self.standing_bytes
    }

    /// Prepares that count.
    pub(super) fn prepares(&self) -> usize {
        self.prepares
    }

    /// Records in a file that count.
    pub(super) fn live_in(&self, file: u32) -> u64 {
        self.live.get(file as usize).copied().unwrap_or(0)
    }

    pub(super) fn get(&self, id: SlotId) -> Option<&Slot> {
        let slot = self.chunks.get(id as usize / CHUNK)?.get(id as usize % CHUNK)?;
        (slot.state != SlotState::Empty).then_some(slot)
    }

    /// The slot, if it is of the copy at this position.
    pub(super) fn at(&self, id: SlotId, position: Position) -> Option<SlotId> {
        self.get(id).is_some_and(|slot| slot.position() == position).then_some(id)
    }

    pub(super) fn take(&mut self, slot: Slot) -> SlotId {
        if self.free == NO_SLOT {
            self.grow();
        }
        let id = self.free;
        self.free = self.slot(id).index;
        *self.slot(id) = slot;
        self.count(slot.file, true);
        self.live_bytes += slot.bytes();
        self.standing_bytes += slot.standing_bytes();
        self.prepares += usize::from(slot.kind == RecordKind::Prepare);
        id
    }

    /// Gives a slot back, if it is one; what it names is [`NO_SLOT`] from then on.
    pub(super) fn drop(&mut self, id: &mut SlotId) {
        let Some(slot) = self.get(*id).copied() else { return };
        assert!(
            self.live_bytes >= slot.bytes() && self.standing_bytes >= slot.standing_bytes(),
            "it was counted"
        );
        self.count(slot.file, false);
        self.live_bytes -= slot.bytes();
        self.standing_bytes -= slot.standing_bytes();
        self.prepares -= usize::from(slot.kind == RecordKind::Prepare);
        let free = self.free;
        let freed = self.slot(*id);
        freed.state = SlotState::Empty;
        freed.index = free;
        self.free = std::mem::replace(id, NO_SLOT);
    }

    /// Tells where the body of the copy at a position has come to lie, if that copy still counts.
    pub(super) fn settle(&mut self, id: SlotId, position: Position, file: u32, offset: u64) {
        if self.at(id, position).is_some() {
            self.move_to_file(id, file);
            self.slot(id).offset = offset;
        }
    }

    /// The record was appended again: its newest copy is in a block that is not written yet.
    pub(super) fn relocate(&mut self, id: SlotId, to: Position) {
        assert!(self.get(id).is_some_and(|slot| slot.position() < to), "a newer copy is in a later place");
        self.move_to_file(id, NO_FILE);
        let slot = self.slot(id);
        slot.block = to.block;
        slot.index = to.index;
    }

    /// The body cannot be read; what stands for the record is `length` bytes long, and nowhere yet.
    pub(super) fn lose(&mut self, id: SlotId, length: u32) {
        assert!(self.get(id).is_some(), "a record that counts has a slot");
        self.move_to_file(id, NO_FILE);
        let slot = self.slot(id);
        let before = *slot;
        slot.length = length;
        slot.state = SlotState::Damaged;
        let after = *slot;
        self.live_bytes = self.live_bytes - before.bytes() + after.bytes();
        self.standing_bytes = self.standing_bytes - before.standing_bytes() + after.standing_bytes();
    }

    fn move_to_file(&mut self, id: SlotId, file: u32) {
        let before = std::mem::replace(&mut self.slot(id).file, file);
        self.count(before, false);
        self.count(file, true);
    }

    fn grow(&mut self) {
        let none = Position { block: 0, index: 0 };
        let empty = Slot { state: SlotState::Empty, ..Slot::new(RecordKind::Mark, 0, 0, none, 0) };
        let first = u32::try_from(self.chunks.len() * CHUNK).expect("slots are bounded far below 32 bits");
        let next = (first + 1..).take(CHUNK - 1).chain([NO_SLOT]);
        self.chunks.push(next.map(|index| Slot { index, ..empty }).collect());
        self.free = first;
    }

    fn slot(&mut self, id: SlotId) -> &mut Slot {
        &mut self.chunks[id as usize / CHUNK][id as usize % CHUNK]
    }

    fn count(&mut self, file: u32, more: bool) {
        if file == NO_FILE {
            return;
        }
        let file = file as usize;
        if self.live.len() <= file {
            self.live.resize(file + 1, 0);
        }
        if more {
            self.live[file] += 1;
        } else {
            assert!(self.live[file] > 0, "a record leaves the file in which it was counted");
            self.live[file] -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(block: u64) -> Slot {
        Slot::new(RecordKind::Prepare, u128::from(block), 1, Position { block, index: 0 }, 100)
    }

    #[test]
    fn a_slot_that_was_given_back_is_used_again() {
        let mut slots = Slots::default();
        let mut ids: Vec<_> = (0..1_000).map(|block| slots.take(slot(block))).collect();
        assert_eq!((slots.prepares(), slots.live_bytes()), (1_000, 260_000));
        let gone = ids[500];
        slots.drop(&mut ids[500]);
        assert_eq!(ids[500], NO_SLOT);
        slots.drop(&mut ids[500]);
        assert!(slots.get(gone).is_none());
        assert_eq!(slots.take(slot(5_000)), gone);
        assert_eq!((slots.prepares(), slots.chunks.len()), (1_000, 4));
    }

    #[test]
    fn what_stands_is_counted_for_itself() {
        let mut slots = Slots::default();
        slots.take(slot(1));
        let mut view = slots.take(Slot { kind: RecordKind::View, ..slot(2) });
        assert_eq!((slots.standing_bytes(), slots.live_bytes()), (260, 520));
        slots.lose(view, 160);
        assert_eq!(slots.standing_bytes(), 320);
        slots.drop(&mut view);
        assert_eq!((slots.standing_bytes(), slots.live_bytes()), (0, 260));
    }

    #[test]
    fn only_the_newest_copy_is_told_where_it_lies() {
        let mut slots = Slots::default();
        let id = slots.take(slot(7));
        slots.settle(id, Position { block: 7, index: 0 }, 2, 4_096);
        assert_eq!(slots.live_in(2), 1);
        slots.relocate(id, Position { block: 9, index: 3 });
        assert_eq!(slots.live_in(2), 0);
        slots.settle(id, Position { block: 7, index: 0 }, 2, 4_096);
        assert_eq!(slots.live_in(2), 0, "an older copy");
        slots.settle(id, Position { block: 9, index: 3 }, 4, 8_192);
        let found = slots.get(id).expect("it counts");
        assert_eq!((found.file, found.offset, slots.live_in(4)), (4, 8_192, 1));
        slots.lose(id, 160);
        assert_eq!((slots.live_in(4), slots.live_bytes()), (0, 320));
        assert_eq!(slots.standing_bytes(), 0);
    }
}
