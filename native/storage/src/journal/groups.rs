//! Which records of each group count, and where their newest copies are.
//!
//! The same code follows appends and replay, so that a restart comes to the same state by construction.

use std::collections::BTreeMap;

use super::Position;
use super::group::{Group, Views};
use super::slots::{NO_FILE, NO_SLOT, Slot, SlotId, SlotState, Slots};
use crate::record::{RECORD_HEADER, RecordHeader, RecordKind};
use crate::record_body::{InstallBody, OpenBody, ViewBody};

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

/// One copy of a record, appended now or found in the journal.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordCopy<'a> {
    pub(super) header: RecordHeader,
    pub(super) checksum: u128,
    /// Needed of every record but prepares.
    pub(super) body: &'a [u8],
    /// Whether the body is whole.
    pub(super) whole: bool,
    pub(super) position: Position,
}

/// A record that is taken: what its body says where the journal must know.
#[derive(Debug)]
pub(super) struct Fitting(Option<ViewBody>);

/// Why a record changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    Settled,
    Malformed,
}

/// All groups of a journal.
#[derive(Debug)]
pub(super) struct Groups {
    groups: BTreeMap<u64, Group>,
    slots: Slots,
    /// The mark that lists what is lost for good, if anything is.
    mark: SlotId,
    /// The close records of groups that a manifest may still name: each counts until none does.
    closed: BTreeMap<u64, SlotId>,
}

impl Default for Groups {
    fn default() -> Self {
        let (groups, closed) = (BTreeMap::new(), BTreeMap::new());
        Self { groups, slots: Slots::default(), mark: NO_SLOT, closed }
    }
}

impl Groups {
    pub(super) fn slots(&self) -> &Slots {
        &self.slots
    }

    /// The window that a group would span with this op.
    pub(super) fn span_with(&self, group: u64, op: u64) -> u64 {
        self.groups.get(&group).map_or(1, |group| group.span_with(op))
    }

    /// Whether a new record would be taken; asked before anything is written.
    pub(super) fn admit(&self, copy: &RecordCopy<'_>) -> Result<Fitting, Unfit> {
        let header = &copy.header;
        if header.kind == RecordKind::View && self.views(header.group).highest > Some(header.view) {
            return Err(Unfit::Settled);
        }
        self.fit(copy)
    }

    /// Whether a copy changes anything. A damaged one does not while an older whole one is known.
    fn fit(&self, copy: &RecordCopy<'_>) -> Result<Fitting, Unfit> {
        let RecordHeader { kind, group, .. } = copy.header;
        let places = self.groups.get(&group).map_or([NO_SLOT; 3], |group| group.places(&copy.header));
        let known = |id: &SlotId| self.slots.get(*id).is_some_and(|slot| slot.is_present(copy.checksum));
        if !copy.whole && places.iter().any(known) {
            return Err(Unfit::Settled);
        }
        let malformed = |is_right: bool| if is_right { Ok(Fitting(None)) } else { Err(Unfit::Malformed) };
        match kind {
            RecordKind::Prepare => self.fit_prepare(copy),
            RecordKind::View => self.fit_view(copy),
            RecordKind::Open => malformed(!copy.whole || OpenBody::decode(copy.body).is_ok()),
            RecordKind::Install => malformed(!copy.whole || InstallBody::decode(copy.body).is_ok()),
            RecordKind::Close => Ok(Fitting(None)),
            RecordKind::Mark | RecordKind::Damaged => Err(Unfit::Malformed),
        }
    }

    fn fit_prepare(&self, copy: &RecordCopy<'_>) -> Result<Fitting, Unfit> {
        let header = &copy.header;
        if header.op == 0 || header.op == u64::MAX {
            return Err(Unfit::Malformed);
        }
        let Some(group) = self.groups.get(&header.group) else { return Ok(Fitting(None)) };
        if header.op <= group.released() { Err(Unfit::Settled) } else { Ok(Fitting(None)) }
    }

    /// A log that was written again may come behind a vote for a later view, which stays.
    fn fit_view(&self, copy: &RecordCopy<'_>) -> Result<Fitting, Unfit> {
        let Views { log, unread, highest } = self.views(copy.header.group);
        if !copy.whole {
            return if log.max(unread) > Some(copy.header.view) {
                Err(Unfit::Settled)
            } else {
                Ok(Fitting(None))
            };
        }
        let body = ViewBody::decode(copy.body, copy.header.group).map_err(|_| Unfit::Malformed)?;
        if body.view != copy.header.view || body.log_view > body.view {
            return Err(Unfit::Malformed);
        }
        let settled = if body.log_view == body.view { log } else { highest } > Some(body.view);
        if settled { Err(Unfit::Settled) } else { Ok(Fitting(Some(body))) }
    }

    /// Follows a record that lies in the journal; names the slot it is in now.
    pub(super) fn follow(&mut self, copy: &RecordCopy<'_>) -> Result<SlotId, Unfit> {
        let fitting = self.fit(copy)?;
        Ok(self.follow_fitting(copy, &fitting, copy.header.body_length))
    }

    /// Follows a note that a record cannot be read.
    pub(super) fn follow_note(&mut self, lost: &RecordCopy<'_>) -> Result<SlotId, Unfit> {
        let fitting = self.fit(lost)?;
        Ok(self.follow_fitting(lost, &fitting, NOTE_BYTES))
    }

    /// Follows a record that was admitted, or fits; its copy takes `length` bytes behind its header.
    pub(super) fn follow_fitting(&mut self, copy: &RecordCopy<'_>, fitting: &Fitting, length: u32) -> SlotId {
        let RecordHeader { kind, group: id, op, view, .. } = copy.header;
        let mut slot = Slot::new(kind, copy.checksum, view, copy.position, length);
        if kind == RecordKind::Close {
            return self.close(id, slot);
        }
        if kind == RecordKind::Open {
            self.forget_end(id);
        }
        let slots = &mut self.slots;
        let group = self.groups.entry(id).or_default();
        if !copy.whole {
            slot.state = SlotState::Damaged;
        }
        match (kind, &fitting.0) {
            (RecordKind::Prepare, _) => group.put_op(op, slot, slots),
            (RecordKind::View, Some(body)) => group.put_view(body, slot, slots),
            (RecordKind::View, None) => group.put_unread(slot, slots),
            (RecordKind::Open, _) => group.put_open(slot, slots),
            // Prepares up to its op count no more; where it cannot be read they are all there is.
            (RecordKind::Install, _) => group.put_install(if copy.whole { op } else { 0 }, slot, slots),
            (RecordKind::Close | RecordKind::Mark | RecordKind::Damaged, _) => NO_SLOT,
        }
    }

    fn close(&mut self, id: u64, slot: Slot) -> SlotId {
        if let Some(mut group) = self.groups.remove(&id) {
            group.clear(&mut self.slots);
        }
        self.forget_end(id);
        let closed = self.slots.take(slot);
        self.closed.insert(id, closed);
        closed
    }

    /// No manifest names this group any more, or it begins again: that it ended need not be kept.
    pub(super) fn forget_end(&mut self, group: u64) {
        if let Some(mut closed) = self.closed.remove(&group) {
            self.slots.drop(&mut closed);
        }
    }

    /// The groups that ended and have not begun again, ascending, as far as their end has not been forgotten.
    pub(super) fn ended(&self) -> impl Iterator<Item = u64> + '_ {
        self.closed.keys().copied()
    }

    /// The mark that lists what is lost is here now; without one, nothing is.
    pub(super) fn put_mark(&mut self, checksum: u128, position: Position, length: u32) -> SlotId {
        self.slots.drop(&mut self.mark);
        self.mark = self.slots.take(Slot::new(RecordKind::Mark, checksum, 0, position, length));
        self.mark
    }

    /// Tells where a block's record has come to lie.
    pub(super) fn settle(&mut self, slot: SlotId, position: Position, file: u32, offset: u64) {
        self.slots.settle(slot, position, file, offset);
    }

    /// The slot of this copy of a record, if it is the newest of one that counts.
    pub(super) fn live(&self, header: &RecordHeader, position: Position) -> Option<SlotId> {
        if header.kind == RecordKind::Mark {
            return self.slots.at(self.mark, position);
        }
        if header.kind == RecordKind::Close {
            return self.slots.at(*self.closed.get(&header.group)?, position);
        }
        let places = self.groups.get(&header.group)?.places(header);
        places.into_iter().find_map(|id| self.slots.at(id, position))
    }

    /// The record in a slot was appended again.
    pub(super) fn relocate(&mut self, slot: SlotId, to: Position) {
        self.slots.relocate(slot, to);
    }

    /// Instead of a record that cannot be read, a note that says so was appended.
    pub(super) fn note(&mut self, slot: SlotId, to: Position) {
        self.slots.lose(slot, NOTE_BYTES);
        self.slots.relocate(slot, to);
    }

    /// Nothing stands for the record in this slot any more but the list of lost blocks.
    pub(super) fn lose(&mut self, slot: SlotId) {
        self.slots.lose(slot, 0);
    }

    /// Forgets what is safe elsewhere.
    pub(super) fn release(&mut self, group: u64, op: u64) {
        if let Some(found) = self.groups.get_mut(&group) {
            found.release(op, &mut self.slots);
        }
    }

    /// Up to where a group was safe elsewhere before the first record is replayed.
    pub(super) fn begin_at(&mut self, group: u64, op: u64) {
        self.groups.entry(group).or_default().release(op, &mut self.slots);
    }

    pub(super) fn locate(&self, group: u64, op: u64) -> Option<Located> {
        let slot = self.slots.get(self.groups.get(&group)?.op(op))?;
        Some(Located {
            checksum: slot.checksum,
            view: slot.view,
            position: slot.position(),
            file: (slot.file != NO_FILE).then_some(slot.file),
            offset: slot.offset,
            length: slot.length,
            state: slot.state,
        })
    }

    /// Every op that is there, with its group.
    pub(super) fn ops(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.groups.iter().flat_map(|(id, group)| group.ops().map(|(op, _)| (*id, op)))
    }

    /// Which view record a slot of this group is of: the log, or else the vote; `None` where nobody knows.
    pub(super) fn is_log(&self, group: u64, slot: SlotId) -> Option<bool> {
        self.groups.get(&group)?.is_log(slot)
    }

    /// The highest view that a group's records name. A crash can lose a view record and keep prepares of that view, both
    /// unproven: whoever starts the next view must go beyond these, too.
    pub(super) fn view(&self, group: u64) -> Option<u64> {
        let there = self.groups.get(&group)?.ops();
        let prepared = there.filter_map(|(_, id)| self.slots.get(id)).map(|slot| slot.view).max();
        self.views(group).highest.max(prepared)
    }

    fn views(&self, group: u64) -> Views {
        self.groups.get(&group).map_or(Views::default(), |group| group.views(&self.slots))
    }

    /// What of the groups lies in a file: group, op or 0, slot and block.
    pub(super) fn in_file(&self, file: u32) -> Vec<(u64, u64, SlotId, u64)> {
        let all = self.groups.iter().flat_map(|(group, found)| {
            found.all().map(move |(op, id)| (*group, op, id)).filter(|(.., id)| *id != NO_SLOT)
        });
        let ended = self.closed.iter().map(|(group, id)| (*group, 0, *id));
        let of_file = |id| self.slots.get(id).filter(|slot| slot.file == file);
        all.chain(ended)
            .filter_map(|(group, op, id)| of_file(id).map(|slot| (group, op, id, slot.position().block)))
            .collect()
    }
}

/// Bytes of the body of a note about a damaged record: that record's header.
#[expect(clippy::cast_possible_truncation, reason = "160")]
const NOTE_BYTES: u32 = RECORD_HEADER as u32;
