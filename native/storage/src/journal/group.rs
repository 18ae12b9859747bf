//! What counts of one group.

use std::collections::VecDeque;

use super::slots::{NO_SLOT, Slot, SlotId, SlotState, Slots};
use crate::record::{RecordHeader, RecordKind};
use crate::record_body::ViewBody;

/// The slots of one group. With nothing in its window it takes no memory but this.
#[derive(Debug)]
pub(super) struct Group {
    /// Op of the first place of the window.
    first: u64,
    /// A slot for each op, none for a hole.
    window: VecDeque<SlotId>,
    /// Ops up to here are safe elsewhere.
    released: u64,
    open: SlotId,
    install: SlotId,
    /// The newest view record that takes a log over.
    log: SlotId,
    /// The newest view record, if it is newer and takes none over.
    vote: SlotId,
    /// A view record newer than the log, of which only the header is known: which of the two it was is not.
    unread: SlotId,
}

const _: () = assert!(size_of::<Group>() <= 80, "an idle group has one of these");

/// Views that the records of a group name.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Views {
    pub(super) log: Option<u64>,
    pub(super) unread: Option<u64>,
    pub(super) highest: Option<u64>,
}

impl Default for Group {
    fn default() -> Self {
        Self {
            first: 0,
            window: VecDeque::new(),
            released: 0,
            open: NO_SLOT,
            install: NO_SLOT,
            log: NO_SLOT,
            vote: NO_SLOT,
            unread: NO_SLOT,
        }
    }
}

impl Group {
    pub(super) fn released(&self) -> u64 {
        self.released
    }

    pub(super) fn op(&self, op: u64) -> SlotId {
        let index = op.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| self.window.get(index)).copied().unwrap_or(NO_SLOT)
    }

    /// The ops that are there, ascending.
    pub(super) fn ops(&self) -> impl Iterator<Item = (u64, SlotId)> + '_ {
        (self.first..).zip(&self.window).map(|(op, id)| (op, *id)).filter(|(_, id)| *id != NO_SLOT)
    }

    /// Everything that is there, with its op, or 0.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, SlotId)> + '_ {
        let other = [self.open, self.install, self.log, self.vote, self.unread];
        other.into_iter().filter(|id| *id != NO_SLOT).map(|id| (0, id)).chain(self.ops())
    }

    /// How many ops the window would span with this one.
    pub(super) fn span_with(&self, op: u64) -> u64 {
        if self.window.is_empty() {
            return 1;
        }
        let last = self.first + self.window.len() as u64 - 1;
        (last.max(op) - self.first.min(op)).saturating_add(1)
    }

    /// The slots that a record of this header can be in.
    pub(super) fn places(&self, header: &RecordHeader) -> [SlotId; 3] {
        match header.kind {
            RecordKind::Prepare => [self.op(header.op), NO_SLOT, NO_SLOT],
            RecordKind::View => [self.log, self.vote, self.unread],
            RecordKind::Open => [self.open, NO_SLOT, NO_SLOT],
            RecordKind::Install => [self.install, NO_SLOT, NO_SLOT],
            RecordKind::Close | RecordKind::Mark | RecordKind::Damaged => [NO_SLOT; 3],
        }
    }

    /// The view of the log, of a view record of which only the header is known, and the highest that any names.
    pub(super) fn views(&self, slots: &Slots) -> Views {
        let view = |id| slots.get(id).map(|slot| slot.view);
        let (log, unread) = (view(self.log), view(self.unread));
        Views { log, unread, highest: log.max(unread).max(view(self.vote)) }
    }

    /// Which view record this is: `None` for one of which only the header is known.
    pub(super) fn is_log(&self, id: SlotId) -> Option<bool> {
        (id != self.unread).then_some(id == self.log)
    }

    pub(super) fn put_open(&mut self, slot: Slot, slots: &mut Slots) -> SlotId {
        replace(&mut self.open, slot, slots)
    }

    /// Prepares up to the op are released.
    pub(super) fn put_install(&mut self, op: u64, slot: Slot, slots: &mut Slots) -> SlotId {
        self.release(op, slots);
        replace(&mut self.install, slot, slots)
    }

    /// A view record whose body is known.
    pub(super) fn put_view(&mut self, body: &ViewBody, slot: Slot, slots: &mut Slots) -> SlotId {
        let is_log = body.log_view == body.view;
        let superseded = |id: SlotId, slots: &Slots| slots.get(id).is_some_and(|old| old.view <= slot.view);
        let same = slots.get(self.unread).is_some_and(|old| old.checksum == slot.checksum);
        if same || is_log && superseded(self.unread, slots) {
            slots.drop(&mut self.unread);
        }
        if is_log && superseded(self.vote, slots) {
            slots.drop(&mut self.vote);
        }
        let id = replace(if is_log { &mut self.log } else { &mut self.vote }, slot, slots);
        self.enter(body, slots);
        id
    }

    /// A view record whose body is not.
    pub(super) fn put_unread(&mut self, slot: Slot, slots: &mut Slots) -> SlotId {
        for id in [&mut self.log, &mut self.vote] {
            if slots.get(*id).is_some_and(|old| old.checksum == slot.checksum) {
                slots.drop(id);
            }
        }
        replace(&mut self.unread, slot, slots)
    }

    /// Puts a prepare in its place, growing the window in either direction.
    pub(super) fn put_op(&mut self, op: u64, slot: Slot, slots: &mut Slots) -> SlotId {
        if self.window.is_empty() {
            self.first = op;
        }
        while op < self.first {
            self.window.push_front(NO_SLOT);
            self.first -= 1;
        }
        let index = usize::try_from(op - self.first).expect("a window fits memory");
        while self.window.len() <= index {
            self.window.push_back(NO_SLOT);
        }
        replace(&mut self.window[index], slot, slots)
    }

    pub(super) fn release(&mut self, op: u64, slots: &mut Slots) {
        self.released = self.released.max(op);
        while self.first <= op {
            let Some(mut id) = self.window.pop_front() else { break };
            self.first += 1;
            slots.drop(&mut id);
        }
        self.trim();
    }

    pub(super) fn clear(&mut self, slots: &mut Slots) {
        let other = [&mut self.open, &mut self.install, &mut self.log, &mut self.vote, &mut self.unread];
        for id in other.into_iter().chain(&mut self.window) {
            slots.drop(id);
        }
        self.window = VecDeque::new();
    }

    /// Drops what a view leaves out: see FORMAT.md, section 6.
    fn enter(&mut self, view: &ViewBody, slots: &mut Slots) {
        for (op, id) in (self.first..).zip(&mut self.window) {
            let Some(slot) = slots.get(*id) else { continue };
            let listed = view.headers.binary_search_by(|header| op.cmp(&header.op)).ok();
            let other = listed.is_some_and(|listed| view.headers[listed].checksum() != slot.checksum);
            if slot.view < view.view && (op > view.head || other) {
                slots.drop(id);
            }
        }
        while self.window.back() == Some(&NO_SLOT) {
            self.window.pop_back();
        }
        self.trim();
    }

    /// Gives back the memory of a window that has become much smaller.
    fn trim(&mut self) {
        if self.window.capacity() > 4 * self.window.len().max(4) {
            self.window.shrink_to(2 * self.window.len());
        }
    }
}

fn replace(place: &mut SlotId, slot: Slot, slots: &mut Slots) -> SlotId {
    slots.drop(place);
    *place = slots.take(slot);
    *place
}

impl Slot {
    pub(super) fn is_present(&self, checksum: u128) -> bool {
        self.checksum == checksum && self.state == SlotState::Present
    }
}
