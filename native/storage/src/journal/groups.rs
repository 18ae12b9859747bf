//! Which records of each group count, and where their newest copies are.
//!
//! The same code follows appends and replay, so that a restart comes to the same state by construction.

use std::collections::{BTreeMap, VecDeque};

use super::Position;
use crate::record::{RECORD_HEADER, RecordHeader, RecordKind};
use crate::record_body::ViewBody;

/// What is known of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SlotState {
    /// Nothing: a hole between ops that are there.
    Empty,
    /// Header and body are there.
    Present,
    /// The header is known, the body cannot be read.
    Damaged,
}

/// Where the newest copy of a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) position: Position,
    /// `u32::MAX` until its block has a file.
    pub(super) file: u32,
    /// Of the body in the file.
    pub(super) offset: u64,
    pub(super) length: u32,
}

/// One op of a group's window.
#[derive(Clone, Copy, Debug)]
struct Slot {
    checksum: u128,
    view: u64,
    place: Place,
    state: SlotState,
}

const _: () = assert!(size_of::<Slot>() <= 64, "a window has one of these for each op");

/// Where the body of a prepare can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located {
    /// The prepare's identity.
    pub checksum: u128,
    /// The view it was prepared in.
    pub view: u64,
    /// Where the newest copy is in the order of the journal.
    pub position: Position,
    /// Number of the file, unless the block has not been written yet.
    pub file: Option<u32>,
    /// Where the body begins in the file.
    pub offset: u64,
    /// Bytes of the body.
    pub length: u32,
    /// Whether the body can be read.
    pub state: SlotState,
}

#[derive(Debug, Default)]
struct Group {
    /// Op of the first slot.
    first: u64,
    slots: VecDeque<Slot>,
    /// Ops up to here are safe elsewhere.
    released: u64,
    view: Option<(u64, Place)>,
    open: Option<Place>,
    install: Option<Place>,
}

/// All groups of a journal.
#[derive(Debug, Default)]
pub(super) struct Groups {
    groups: BTreeMap<u64, Group>,
    /// Live records of each file, and of none yet.
    live: BTreeMap<u32, u64>,
    live_bytes: u64,
    slots: usize,
}

/// Why a record changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    Settled,
    Malformed,
}

impl Groups {
    pub(super) fn live_bytes(&self) -> u64 {
        self.live_bytes
    }

    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    pub(super) fn live_in(&self, file: u32) -> u64 {
        self.live.get(&file).copied().unwrap_or(0)
    }

    /// The window that a group would span with this op.
    pub(super) fn span_with(&self, group: u64, op: u64) -> u64 {
        let Some(group) = self.groups.get(&group).filter(|group| !group.slots.is_empty()) else { return 1 };
        let last = group.first + group.slots.len() as u64 - 1;
        (last.max(op) - group.first.min(op)).saturating_add(1)
    }

    /// Whether a record would be taken; asked before anything is written.
    pub(super) fn check(&self, header: &RecordHeader, checksum: u128, body: &[u8]) -> Result<(), Unfit> {
        let group = self.groups.get(&header.group);
        match header.kind {
            RecordKind::Prepare => {
                if header.op == 0 || header.op == u64::MAX {
                    return Err(Unfit::Malformed);
                }
                let Some(group) = group else { return Ok(()) };
                let slot = group.slot(header.op);
                let older = slot.is_some_and(|slot| slot.checksum != checksum && slot.view >= header.view);
                if header.op <= group.released || older { Err(Unfit::Settled) } else { Ok(()) }
            }
            RecordKind::View => {
                let fits = ViewBody::decode(body, header.group).is_ok_and(|view| view.view == header.view);
                let newer = group.and_then(|group| group.view).is_some_and(|(view, _)| view > header.view);
                match (fits, newer) {
                    (false, _) => Err(Unfit::Malformed),
                    (true, true) => Err(Unfit::Settled),
                    (true, false) => Ok(()),
                }
            }
            RecordKind::Open | RecordKind::Close | RecordKind::Install | RecordKind::Mark => Ok(()),
        }
    }

    /// Follows a record that [`Groups::check`] has taken, or that lies in the journal. The body is needed of view records.
    pub(super) fn follow(
        &mut self,
        header: &RecordHeader,
        checksum: u128,
        body: &[u8],
        place: Place,
        whole: bool,
    ) -> Result<(), Unfit> {
        if header.kind == RecordKind::Mark {
            return Ok(());
        }
        if whole {
            self.check(header, checksum, body)?;
        }
        let group = self.groups.entry(header.group).or_default();
        let slots_before = group.slots.len();
        let dropped = group.follow(header, checksum, body, place, whole);
        self.slots = self.slots + group.slots.len() - slots_before;
        if header.kind == RecordKind::Close {
            self.groups.remove(&header.group);
        } else {
            self.add_place(place);
        }
        for old in dropped {
            self.drop_place(old);
        }
        Ok(())
    }

    /// Tells where a block's record has come to lie.
    pub(super) fn settle(&mut self, header: &RecordHeader, position: Position, file: u32, offset: u64) {
        let Some(found) = self.place_at(header, position) else { return };
        found.file = file;
        found.offset = offset;
        self.count(u32::MAX, false);
        self.count(file, true);
    }

    /// Whether this copy of a record is the newest of one that counts.
    pub(super) fn is_live(&mut self, header: &RecordHeader, position: Position) -> bool {
        self.place_at(header, position).is_some()
    }

    /// Moves a live record to a new place.
    pub(super) fn relocate(&mut self, header: &RecordHeader, from: Position, to: Position) {
        let Some(found) = self.place_at(header, from) else { return };
        let old = found.file;
        found.position = to;
        found.file = u32::MAX;
        self.count(old, false);
        self.count(u32::MAX, true);
    }

    /// Forgets what is safe elsewhere; also how a replay learns of it, before the first record.
    pub(super) fn release(&mut self, group: u64, op: u64) {
        let found = self.groups.entry(group).or_default();
        found.released = found.released.max(op);
        let slots_before = found.slots.len();
        let dropped = found.drop_through(op);
        self.slots = self.slots + found.slots.len() - slots_before;
        for place in dropped {
            self.drop_place(place);
        }
    }

    fn place_at(&mut self, header: &RecordHeader, position: Position) -> Option<&mut Place> {
        self.groups.get_mut(&header.group)?.place_of(header)?.filter_position(position)
    }

    pub(super) fn locate(&self, group: u64, op: u64) -> Option<Located> {
        let slot = self.groups.get(&group)?.slot(op)?;
        Some(Located {
            checksum: slot.checksum,
            view: slot.view,
            position: slot.place.position,
            file: (slot.place.file != u32::MAX).then_some(slot.place.file),
            offset: slot.place.offset,
            length: slot.place.length,
            state: slot.state,
        })
    }

    /// Every op that is there, with its group.
    pub(super) fn ops(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.groups.iter().flat_map(|(id, group)| {
            (group.first..)
                .zip(&group.slots)
                .filter(|(_, slot)| slot.state != SlotState::Empty)
                .map(|(op, _)| (*id, op))
        })
    }

    /// The highest view that a group's records name. A crash can lose a view record and keep prepares of that view, both
    /// unproven: whoever starts the next view must go beyond these, too.
    pub(super) fn view(&self, group: u64) -> Option<u64> {
        let group = self.groups.get(&group)?;
        let entered = group.view.map(|(view, _)| view);
        let there = group.slots.iter().filter(|slot| slot.state != SlotState::Empty);
        entered.into_iter().chain(there.map(|slot| slot.view)).max()
    }

    /// The records of a file that count: group, and op or 0.
    pub(super) fn in_file(&self, file: u32) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        for (id, group) in &self.groups {
            let other = [group.view.map(|(_, place)| place), group.open, group.install];
            found.extend(other.iter().flatten().filter(|place| place.file == file).map(|_| (*id, 0)));
            let slots = (group.first..).zip(&group.slots);
            let here = slots.filter(|(_, slot)| slot.state != SlotState::Empty && slot.place.file == file);
            found.extend(here.map(|(op, _)| (*id, op)));
        }
        found
    }

    fn add_place(&mut self, place: Place) {
        self.count(place.file, true);
        self.live_bytes += bytes_of(&place);
    }

    fn drop_place(&mut self, place: Place) {
        self.count(place.file, false);
        self.live_bytes -= bytes_of(&place);
    }

    fn count(&mut self, file: u32, more: bool) {
        let count = self.live.entry(file).or_default();
        if more {
            *count += 1;
        } else {
            *count -= 1;
        }
        if *count == 0 {
            self.live.remove(&file);
        }
    }
}

fn bytes_of(place: &Place) -> u64 {
    RECORD_HEADER as u64 + u64::from(place.length)
}

impl Place {
    fn filter_position(&mut self, position: Position) -> Option<&mut Self> {
        (self.position == position).then_some(self)
    }
}

impl Group {
    fn slot(&self, op: u64) -> Option<&Slot> {
        let index = usize::try_from(op.checked_sub(self.first)?).ok()?;
        self.slots.get(index).filter(|slot| slot.state != SlotState::Empty)
    }

    /// Follows a record; returns the places that count no more.
    fn follow(
        &mut self,
        header: &RecordHeader,
        checksum: u128,
        body: &[u8],
        place: Place,
        whole: bool,
    ) -> Vec<Place> {
        let mut places = Vec::new();
        match header.kind {
            RecordKind::Prepare => {
                let state = if whole { SlotState::Present } else { SlotState::Damaged };
                places.extend(self.put(header.op, Slot { checksum, view: header.view, place, state }));
            }
            RecordKind::View => {
                places.extend(self.view.replace((header.view, place)).map(|(_, old)| old));
                if let Ok(view) = ViewBody::decode(body, header.group) {
                    places.extend(self.enter(&view));
                }
            }
            RecordKind::Open => places.extend(self.open.replace(place)),
            RecordKind::Install => {
                places.extend(self.install.replace(place));
                self.released = self.released.max(header.op);
                places.extend(self.drop_through(header.op));
            }
            RecordKind::Close => places = self.places(),
            RecordKind::Mark => {}
        }
        places
    }

    /// Puts a slot in its place, growing the window in either direction; returns the place it frees.
    fn put(&mut self, op: u64, slot: Slot) -> Option<Place> {
        let empty = Slot { checksum: 0, view: 0, state: SlotState::Empty, ..slot };
        if self.slots.is_empty() {
            self.first = op;
        }
        while op < self.first {
            self.slots.push_front(empty);
            self.first -= 1;
        }
        let index = usize::try_from(op - self.first).expect("a window fits memory");
        while self.slots.len() <= index {
            self.slots.push_back(empty);
        }
        let old = std::mem::replace(&mut self.slots[index], slot);
        (old.state != SlotState::Empty).then_some(old.place)
    }

    /// Drops what a view leaves out: see FORMAT.md, section 6.
    fn enter(&mut self, view: &ViewBody) -> Vec<Place> {
        let mut places = Vec::new();
        for (op, slot) in (self.first..).zip(&mut self.slots) {
            let listed = view.headers.iter().find(|header| header.op == op);
            let other = listed.is_some_and(|header| header.checksum() != slot.checksum);
            if slot.state != SlotState::Empty && slot.view < view.view && (op > view.head || other) {
                slot.state = SlotState::Empty;
                places.push(slot.place);
            }
        }
        while self.slots.back().is_some_and(|slot| slot.state == SlotState::Empty) {
            self.slots.pop_back();
        }
        places
    }

    fn drop_through(&mut self, op: u64) -> Vec<Place> {
        let mut places = Vec::new();
        while self.first <= op {
            let Some(slot) = self.slots.pop_front() else { break };
            self.first += 1;
            if slot.state != SlotState::Empty {
                places.push(slot.place);
            }
        }
        places
    }

    fn places(&self) -> Vec<Place> {
        let slots = self.slots.iter().filter(|slot| slot.state != SlotState::Empty).map(|slot| slot.place);
        let other = [self.view.map(|(_, place)| place), self.open, self.install];
        slots.chain(other.into_iter().flatten()).collect()
    }

    /// The newest copy of a record, if the record counts.
    fn place_of(&mut self, header: &RecordHeader) -> Option<&mut Place> {
        match header.kind {
            RecordKind::Prepare => {
                let index = usize::try_from(header.op.checked_sub(self.first)?).ok()?;
                let slot = self.slots.get_mut(index).filter(|slot| slot.state != SlotState::Empty)?;
                Some(&mut slot.place)
            }
            RecordKind::View => self.view.as_mut().map(|(_, place)| place),
            RecordKind::Open => self.open.as_mut(),
            RecordKind::Install => self.install.as_mut(),
            RecordKind::Close | RecordKind::Mark => None,
        }
    }
}
