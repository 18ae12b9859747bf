//! Receives a state from another replica, piece by piece.
//!
//! The head is the state without its messages and arrives first. The messages that this node lacks follow and
//! are appended to its segments at once; this is safe before the journal has a record of them, because they
//! are committed. When all are synced, the replica installs the state and the journal gets its record.

use std::collections::{BTreeMap, VecDeque};

use ng_io::Environment;
use ng_storage::manifest::GroupEntry;
use ng_storage::record_body::InstallBody;
use ng_storage::store::{ReceivedBatches, Whole};
use ng_vsr::{ClientTable, Event, Ticks};
use ng_wire::replica::{Content, FetchState, PrepareHeader, StateChunk, xxh3_128};

use crate::group_state::{metadata_at, partition_at};
use crate::host::ShardLog;
use crate::machine::{Machine, MetadataMachine};
use crate::outbox::Outgoing;
use crate::owner::METADATA;
use crate::replicate::agenda::Work;
use crate::transfer::head::TransferHead;
use crate::transfer::send::Exports;

/// Maximum concurrent transfers; others wait in a queue.
const INCOMING_MAX: usize = 4;

/// Resend periods without progress after which a transfer is abandoned.
const PATIENCE: Ticks = 20;

/// A state that this node is fetching.
#[derive(Debug)]
struct Incoming {
    from: u8,
    question: FetchState,
    asked: Ticks,
    /// Time of the last progress.
    moved: Ticks,
    stage: FetchStage,
    /// The next request is deferred until the disk has taken some of the received messages, because they
    /// occupy memory.
    crowded: bool,
    /// The state without its messages, once it is complete.
    whole: Option<InstallBody>,
}

#[derive(Debug)]
enum FetchStage {
    /// The segments are still being opened, so the first missing offset is unknown.
    Opening,
    Head(Vec<u8>),
    Messages(Box<ReceivedBatches>),
    /// All messages have arrived and are being written to the disk.
    Settling,
}

/// States on their way to this node, by group.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    incoming: BTreeMap<u64, Incoming>,
    /// Group, offering node, and checksum of the operation up to which it offers the state.
    queued: VecDeque<(u64, u8, u128)>,
    questions: u64,
    /// States on their way to other nodes.
    pub(crate) exports: Exports,
}

impl Transfers {
    /// The received state of a group without its messages.
    pub(crate) fn whole(&self, group: u64) -> Option<&InstallBody> {
        self.incoming.get(&group)?.whole.as_ref()
    }
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    pub(crate) fn fetch_state(&mut self, id: u64, from: u8, anchor: &PrepareHeader) {
        debug_assert!(!self.transfers.incoming.contains_key(&id), "a replica fetches one state at a time");
        self.transfers.queued.push_back((id, from, anchor.checksum));
        self.begin_transfers();
    }

    fn begin_transfers(&mut self) {
        while self.transfers.incoming.len() < INCOMING_MAX {
            let Some((id, from, anchor)) = self.transfers.queued.pop_front() else { return };
            self.transfers.questions += 1;
            let nonce = self.life.identity.incarnation << 32 | self.transfers.questions;
            let question = FetchState { nonce, anchor, position: 0, generation: 0, offset: 0 };
            let incoming = Incoming {
                from,
                question,
                asked: self.clock.ticks(),
                moved: self.clock.ticks(),
                stage: FetchStage::Opening,
                crowded: false,
                whole: None,
            };
            self.transfers.incoming.insert(id, incoming);
            self.begin_transfer(id);
        }
    }

    /// Requests the state after the local messages, once the segments are open and the first missing offset
    /// is known.
    fn begin_transfer(&mut self, id: u64) {
        self.open_segments(id);
        let Some(incoming) = self.transfers.incoming.get_mut(&id) else { return };
        if id != METADATA {
            let Some(held) = self.segments.core().held(id) else {
                self.segments.order(|store, effects| store.open(id, None, effects));
                return;
            };
            incoming.question.generation = held.generation;
            incoming.question.offset = self.segments.core().lacks_from(id);
        }
        incoming.stage = FetchStage::Head(Vec::new());
        incoming.moved = self.clock.ticks();
        self.ask_for_piece(id);
    }

    fn ask_for_piece(&mut self, id: u64) {
        let Some(incoming) = self.transfers.incoming.get_mut(&id) else { return };
        incoming.asked = self.clock.ticks();
        let (from, question) = (incoming.from, incoming.question);
        let Some(group) = self.groups.get(&id) else { return };
        self.send_content(from, id, group.epoch, Content::FetchState(question), None);
    }

    /// Requests late pieces again, and abandons transfers without progress in both directions.
    pub(crate) fn tend_transfers(&mut self) {
        let (now, resend) = (self.clock.ticks(), self.life.identity.timing.resend);
        let late = |incoming: &Incoming| now >= incoming.asked + resend;
        let waiting = self.transfers.incoming.iter().filter(|(_, incoming)| late(incoming));
        for (id, moved) in waiting.map(|(id, incoming)| (*id, incoming.moved)).collect::<Vec<_>>() {
            let opening =
                matches!(self.transfers.incoming.get(&id).map(|one| &one.stage), Some(FetchStage::Opening));
            if !opening && now >= moved + PATIENCE * resend {
                self.give_up_transfer(id);
            } else {
                self.go_on(id);
            }
        }
        self.tend_exports();
    }

    /// Takes a piece of a state.
    pub(crate) fn take_state(&mut self, from: u8, id: u64, chunk: &StateChunk, bytes: &[u8]) {
        let Some(incoming) = self.transfers.incoming.get_mut(&id) else { return };
        let known = incoming.from == from && incoming.question.nonce == chunk.nonce;
        if known && chunk.total == 0 {
            self.give_up_transfer(id);
            return;
        }
        let expected = known && chunk.position == incoming.question.position && !bytes.is_empty();
        if !expected || xxh3_128(bytes) != chunk.checksum {
            self.outbox.counts.dropped += 1;
            return;
        }
        let taken = match &mut incoming.stage {
            FetchStage::Head(head) => {
                head.extend_from_slice(bytes);
                self.take_head(id, chunk)
            }
            FetchStage::Messages(_) => self.take_messages(id, bytes),
            FetchStage::Opening | FetchStage::Settling => return,
        };
        if taken.is_none() {
            self.outbox.counts.dropped += 1;
            self.give_up_transfer(id);
        }
    }

    fn moved(&mut self, id: u64, bytes: usize) {
        if let Some(incoming) = self.transfers.incoming.get_mut(&id) {
            incoming.question.position += bytes as u64;
            incoming.moved = self.clock.ticks();
        }
    }

    /// Verifies the head as far as it has arrived. Returns `None` if it is unusable.
    fn take_head(&mut self, id: u64, chunk: &StateChunk) -> Option<()> {
        let max = self.journal.core().body_bytes_max() as u64;
        self.moved(id, chunk.bytes as usize);
        let FetchStage::Head(bytes) = &self.transfers.incoming.get(&id)?.stage else { return None };
        let wanted = TransferHead::length(bytes);
        if wanted.is_some_and(|wanted| wanted > max || wanted < bytes.len() as u64) {
            return None;
        }
        if wanted.is_none_or(|wanted| (bytes.len() as u64) < wanted) {
            self.ask_for_piece(id);
            return Some(());
        }
        let head = TransferHead::decode(bytes).ok().flatten()?;
        let messages = chunk.total.checked_sub(bytes.len() as u64)?;
        head.install.anchor.prepare()?;
        let entry = match self.reads(id, &head.install)? {
            State::Metadata(..) if messages > 0 => return None,
            State::Metadata(..) => {
                self.transfers.incoming.get_mut(&id)?.whole = Some(head.install);
                self.fetched(id);
                return Some(());
            }
            State::Partition(entry) => entry,
        };
        let kept_from = Some(head.kept_from).filter(|from| *from >= entry.first_offset)?;
        self.begin_messages(id, &entry, (head.first, kept_from), messages)?;
        self.transfers.incoming.get_mut(&id)?.whole = Some(head.install);
        self.go_on(id);
        Some(())
    }

    /// Prepares to receive messages from `first` on; the sender still has those from `kept_from` on. They
    /// must continue the local messages. If the sender has a later purge generation, or has truncated all
    /// messages, the local ones are deleted first.
    fn begin_messages(
        &mut self,
        id: u64,
        entry: &GroupEntry,
        (first, kept_from): (u64, u64),
        bytes: u64,
    ) -> Option<()> {
        let max = self.journal.core().body_bytes_max() as u64;
        let op = self.groups.get(&id)?.execution.executed().next();
        let incoming = self.transfers.incoming.get_mut(&id)?;
        let held = self.segments.core().held(id)?.generation;
        if entry.purge_generation < held || held != incoming.question.generation {
            return None;
        }
        let leads_on = entry.purge_generation == held && first == incoming.question.offset;
        if first != 0 && !leads_on {
            return None;
        }
        let has = if entry.purge_generation > held { 0 } else { incoming.question.offset };
        let next_offset = entry.last_offset.wrapping_add(1);
        if bytes == 0 && has < next_offset {
            if kept_from != next_offset {
                return None;
            }
            self.segments.order(|store, effects| {
                store.empty(id, entry.purge_generation, next_offset, op.0, effects);
            });
        } else if entry.purge_generation > held {
            self.segments.order(|store, effects| store.purge(id, entry.purge_generation, op.0, effects));
        }
        let whole =
            Whole { first, kept_from, last_offset: next_offset.checked_sub(1), gaps: entry.gaps.clone() };
        let batches = ReceivedBatches::new(entry.purge_generation, whole, bytes, max);
        incoming.stage = FetchStage::Messages(Box::new(batches));
        Some(())
    }

    /// Appends received messages. They get the op after the last executed one, because the sender does not
    /// transfer their own ops.
    fn take_messages(&mut self, id: u64, bytes: &[u8]) -> Option<()> {
        let op = self.groups.get(&id)?.execution.executed().next();
        let FetchStage::Messages(messages) = &mut self.transfers.incoming.get_mut(&id)?.stage else {
            return None;
        };
        let batches = messages.feed(bytes, op.0).ok()?;
        // After a purge in the meantime, appending these would revive purged messages.
        if self.segments.core().held(id).is_none_or(|held| held.generation != messages.generation()) {
            return None;
        }
        for batch in batches {
            let now = self.clock.instant();
            self.segments.order(|store, effects| store.append(id, batch, now, effects));
        }
        self.segments.note_change(id);
        self.messages_came(id);
        self.moved(id, bytes.len());
        self.go_on(id);
        Some(())
    }

    /// Takes the next step of a transfer, if it is possible now.
    pub(crate) fn go_on(&mut self, id: u64) {
        let executed = self.groups.get(&id).map(|group| group.execution.executed().0);
        let Some(incoming) = self.transfers.incoming.get_mut(&id) else { return };
        match &incoming.stage {
            FetchStage::Opening => return self.begin_transfer(id),
            FetchStage::Head(_) => return self.ask_for_piece(id),
            FetchStage::Messages(_) | FetchStage::Settling => {}
        }
        let anchor = incoming.whole.as_ref().map(|whole| whole.anchor.op);
        if executed >= anchor {
            self.give_up_transfer(id);
            return;
        }
        let whole = matches!(&incoming.stage, FetchStage::Messages(messages) if messages.is_whole());
        if whole {
            incoming.stage = FetchStage::Settling;
        }
        incoming.crowded =
            matches!(incoming.stage, FetchStage::Messages(_)) && !self.segments.core().has_room();
        if matches!(incoming.stage, FetchStage::Messages(_)) && !incoming.crowded {
            self.ask_for_piece(id);
            return;
        }
        incoming.asked = self.clock.ticks();
        self.segments.order(|store, effects| store.flush(id, effects));
        self.settle_messages(id);
    }

    /// All messages have arrived: the replica is notified once they are on the disk.
    fn settle_messages(&mut self, id: u64) {
        let Some(Incoming { stage: FetchStage::Settling, whole: Some(whole), .. }) =
            self.transfers.incoming.get(&id)
        else {
            return;
        };
        let Some(State::Partition(entry)) = self.reads(id, whole) else { return };
        let last_offset = (entry.last_offset != u64::MAX).then_some(entry.last_offset);
        if self.segments.core().holds(id, entry.purge_generation, last_offset) {
            self.fetched(id);
        }
    }

    /// The segments of a group have made progress.
    pub(crate) fn transfer_follows(&mut self, id: u64) {
        match self.transfers.incoming.get(&id) {
            Some(Incoming { stage: FetchStage::Opening, .. }) => self.begin_transfer(id),
            Some(Incoming { stage: FetchStage::Settling, .. }) => self.settle_messages(id),
            Some(Incoming { crowded: true, .. }) => self.go_on(id),
            _ => {}
        }
    }

    /// Ends a transfer early. The received messages stay, because they are committed and this node lacked
    /// them.
    pub(crate) fn give_up_transfer(&mut self, id: u64) {
        if self.transfers.incoming.remove(&id).is_some() {
            self.agenda.event(id, Event::FetchFailed);
            self.begin_transfers();
        }
    }

    /// The whole state is here and synced: the replica installs it, or ignores it if it is obsolete.
    fn fetched(&mut self, id: u64) {
        // If an operation is being executed, its result would apply to a replaced state. So this state is
        // dropped, and the next offer starts a new transfer.
        let executing = self.groups.get(&id).is_none_or(|group| group.is_executing());
        let whole = self.transfers.whole(id).filter(|_| !executing);
        let read = whole.and_then(|whole| Some((whole.anchor.prepare()?, self.reads(id, whole)?)));
        let event = match read {
            Some((anchor, State::Metadata(clients, _))) => {
                Event::Fetched { anchor, clients: Some(Box::new(clients)) }
            }
            Some((anchor, State::Partition(_))) => Event::Fetched { anchor, clients: None },
            None => Event::FetchFailed,
        };
        self.end_transfer(id, event);
    }

    fn end_transfer(&mut self, id: u64, event: Event) {
        self.step(Work::new(id, event));
        self.transfers.incoming.remove(&id);
        self.begin_transfers();
    }

    fn reads(&self, id: u64, body: &InstallBody) -> Option<State> {
        let group = self.groups.get(&id)?;
        match &group.machine {
            Machine::Partition(..) => GroupEntry::from_bytes(&body.state)
                .ok()
                .filter(|entry| entry.anchor == body.anchor)
                .map(State::Partition),
            Machine::Metadata => {
                let (clients, machine) = metadata_at(&body.state, &body.anchor, self.life.limits.clients)?;
                Some(State::Metadata(clients, machine))
            }
        }
    }

    /// Replaces the local state by the received one. Its record is in the journal; until that is synced, no
    /// message that depends on it leaves.
    pub(crate) fn install_state(&mut self, id: u64, anchor: &PrepareHeader) {
        let state = self.transfers.whole(id).and_then(|whole| self.reads(id, whole));
        let (limits, planted) = (self.life.limits.partition, self.life.planted);
        let Some(group) = self.groups.get_mut(&id) else { return };
        group.execution.skip_to(anchor.op);
        group.records.install(anchor.op);
        self.checkpoint.dirty = true;
        match (state, &mut group.machine) {
            (Some(State::Partition(entry)), Machine::Partition(partition, stamper)) => {
                **partition = planted.in_partition(partition_at(&entry, limits));
                *stamper = None;
                if entry.first_offset > 0 {
                    self.segments.order(|store, effects| {
                        store.truncate_prefix(id, entry.purge_generation, entry.first_offset, effects);
                    });
                    self.segments_changed(id);
                }
            }
            (Some(State::Metadata(_, machine)), Machine::Metadata) => {
                let taken = self.metadata.install(&machine);
                debug_assert!(taken, "a machine takes the state of another");
            }
            _ => debug_assert!(false, "a state is installed while it is here"),
        }
        self.outbox.push(Outgoing::Installed { group: id, op: anchor.op });
    }
}

/// A state that can be installed.
#[derive(Debug)]
enum State {
    Partition(GroupEntry),
    Metadata(ClientTable, Vec<u8>),
}
