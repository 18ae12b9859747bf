//! State from another replica: asked for piece by piece. What the group is without its messages comes first; the segments
//! that follow are written beside its own as they come, and take their place when all are here. Only then does the replica
//! hear of it, and the journal get its record.

use std::collections::{BTreeMap, VecDeque};

use ng_io::Environment;
use ng_storage::manifest::GroupEntry;
use ng_storage::record_body::InstallBody;
use ng_vsr::{ClientTable, Event, Ticks};
use ng_wire::replica::{Content, FetchState, Op, PrepareHeader, StateChunk, xxh3_128};

use super::incoming::{IncomingMessages, Piece};
use super::machine::{Machine, MetadataMachine};
use super::outgoing::{Fatal, Outgoing};
use super::shard_log::{ShardLog, Work};
use super::state::{metadata_at, partition_at};
use super::transfer_head::TransferHead;

/// States that are fetched at a time; others wait for their turn.
const INCOMING_MAX: usize = 4;

/// Beats without a further piece after which a transfer is given up.
const PATIENCE: Ticks = 20;

/// The longest list of segments there can be.
const LIST_BYTES_MAX: u64 = 5 << 20;

/// A state that this node is fetching.
#[derive(Debug)]
struct Incoming {
    from: u8,
    question: FetchState,
    asked: Ticks,
    /// When it came further.
    moved: Ticks,
    stage: Stage,
    /// The state without its messages, once it is here.
    whole: Option<InstallBody>,
}

#[derive(Debug)]
enum Stage {
    Head(Vec<u8>),
    Messages(Box<IncomingMessages>),
    /// All of it is here; it is being put in place, and opened then.
    Installing {
        installed: bool,
    },
}

/// States on their way to this node, by group.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    incoming: BTreeMap<u64, Incoming>,
    /// Group, who offered, and the checksum of the operation that it offered.
    queued: VecDeque<(u64, u8, u128)>,
    questions: u64,
}

impl Transfers {
    /// The state that came for a group, but for its messages.
    pub(super) fn whole(&self, group: u64) -> Option<&InstallBody> {
        self.incoming.get(&group)?.whole.as_ref()
    }
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    pub(super) fn fetch_state(&mut self, id: u64, from: u8, anchor: &PrepareHeader) {
        debug_assert!(!self.transfers.incoming.contains_key(&id), "a replica fetches one state at a time");
        self.transfers.queued.push_back((id, from, anchor.checksum));
        self.begin_transfers();
    }

    fn begin_transfers(&mut self) {
        while self.transfers.incoming.len() < INCOMING_MAX {
            let Some((id, from, anchor)) = self.transfers.queued.pop_front() else { return };
            self.transfers.questions += 1;
            let nonce = self.identity.incarnation << 32 | self.transfers.questions;
            let question = FetchState { nonce, anchor, position: 0 };
            let stage = Stage::Head(Vec::new());
            let incoming = Incoming { from, question, asked: self.now, moved: self.now, stage, whole: None };
            self.transfers.incoming.insert(id, incoming);
            self.ask_for_piece(id);
        }
    }

    fn ask_for_piece(&mut self, id: u64) {
        let Some(incoming) = self.transfers.incoming.get_mut(&id) else { return };
        incoming.asked = self.now;
        let (from, question) = (incoming.from, incoming.question);
        let Some(group) = self.groups.get(&id) else { return };
        self.say(from, id, group.epoch, Content::FetchState(question), None);
    }

    /// Asks again for pieces that did not come, and drops states that come, or are fetched, no further.
    pub(super) fn tend_transfers(&mut self) {
        let (now, resend) = (self.now, self.identity.timing.resend);
        let waits = |incoming: &Incoming| match &incoming.stage {
            Stage::Head(_) => true,
            Stage::Messages(messages) => !messages.writing,
            Stage::Installing { .. } => false,
        };
        let late = |incoming: &Incoming| waits(incoming) && now >= incoming.asked + resend;
        let waiting: Vec<(u64, Ticks)> = self
            .transfers
            .incoming
            .iter()
            .filter(|(_, incoming)| late(incoming))
            .map(|(id, incoming)| (*id, incoming.moved))
            .collect();
        for (id, moved) in waiting {
            if now >= moved + PATIENCE * resend {
                self.give_up_transfer(id);
            } else {
                self.ask_for_piece(id);
            }
        }
        self.exports.drop_stale(now, resend);
    }

    /// A piece of a state came.
    pub(super) fn take_state(&mut self, from: u8, id: u64, chunk: &StateChunk, bytes: &[u8]) {
        let Some(incoming) = self.transfers.incoming.get_mut(&id) else { return };
        let known = incoming.from == from && incoming.question.nonce == chunk.nonce;
        if known && chunk.total == 0 && !matches!(incoming.stage, Stage::Installing { .. }) {
            self.give_up_transfer(id);
            return;
        }
        let expected = known && chunk.position == incoming.question.position && !bytes.is_empty();
        if !expected || xxh3_128(bytes) != chunk.checksum {
            self.counts.dropped += 1;
            return;
        }
        let taken = match &mut incoming.stage {
            Stage::Head(head) => {
                head.extend_from_slice(bytes);
                self.take_head(id, chunk)
            }
            Stage::Messages(messages) if !messages.writing => self.take_messages(id, bytes),
            // It came twice.
            _ => return,
        };
        if taken.is_none() {
            self.counts.dropped += 1;
            self.give_up_transfer(id);
        }
    }

    fn moved(&mut self, id: u64, bytes: usize) {
        if let Some(incoming) = self.transfers.incoming.get_mut(&id) {
            incoming.question.position += bytes as u64;
            incoming.moved = self.now;
        }
    }

    /// Looks at the head as far as it has come; `None` if it is of no use.
    fn take_head(&mut self, id: u64, chunk: &StateChunk) -> Option<()> {
        let max = self.journal.body_bytes_max() as u64 + LIST_BYTES_MAX;
        self.moved(id, chunk.bytes as usize);
        let Stage::Head(bytes) = &self.transfers.incoming.get(&id)?.stage else { return None };
        let wanted = TransferHead::length(bytes);
        if wanted.is_some_and(|wanted| wanted > max || wanted < bytes.len() as u64) {
            return None;
        }
        if wanted.is_none_or(|wanted| (bytes.len() as u64) < wanted) {
            self.ask_for_piece(id);
            return Some(());
        }
        let head = TransferHead::decode(bytes).ok().flatten()?;
        let length = bytes.len() as u64;
        let sum = head.segments().try_fold(length, |sum, (_, bytes, _)| sum.checked_add(bytes))?;
        if sum != chunk.total || head.install.encode().len() > self.journal.body_bytes_max() {
            return None;
        }
        head.install.anchor.prepare()?;
        let messages = match self.reads(id, &head.install)? {
            State::Metadata(..) => None,
            State::Partition(entry) => {
                let list = head.list.as_ref()?;
                if list.group != id || list.purge_generation != entry.purge_generation {
                    return None;
                }
                let (generation, last_offset) = (entry.purge_generation, entry.last_offset);
                let segments = head.segments().collect();
                Some(IncomingMessages::new(generation, last_offset, list.next_offset, segments))
            }
        };
        let incoming = self.transfers.incoming.get_mut(&id)?;
        incoming.whole = Some(head.install);
        match messages {
            None => self.fetched(id),
            Some(messages) => {
                incoming.stage = Stage::Messages(Box::new(messages));
                self.go_on(id);
            }
        }
        Some(())
    }

    fn take_messages(&mut self, id: u64, bytes: &[u8]) -> Option<()> {
        let max = self.journal.body_bytes_max() as u64;
        let Stage::Messages(messages) = &mut self.transfers.incoming.get_mut(&id)?.stage else { return None };
        let Piece { entry, offset } = messages.take(id, bytes, max)?;
        self.storing.store.import(id, entry, offset, bytes, &mut self.storing.effects);
        self.moved(id, bytes.len());
        Some(())
    }

    /// A piece of messages is written.
    pub(super) fn piece_written(&mut self, id: u64) {
        if let Some(Incoming { stage: Stage::Messages(messages), .. }) = self.transfers.incoming.get_mut(&id)
        {
            messages.writing = false;
            self.go_on(id);
        }
    }

    /// Asks for the next piece, or puts what came in place of what the group has. Never what is older than that: the
    /// segments hold everything that was executed.
    fn go_on(&mut self, id: u64) {
        let executed = self.groups.get(&id).map(|group| group.executed.0);
        let Some(incoming) = self.transfers.incoming.get_mut(&id) else { return };
        let Stage::Messages(messages) = &incoming.stage else { return };
        let Some(op) = incoming.whole.as_ref().map(|whole| whole.anchor.op) else { return };
        if executed.is_none_or(|executed| executed >= op) {
            self.give_up_transfer(id);
        } else if !messages.is_whole() {
            self.ask_for_piece(id);
        } else if messages.suffice() {
            let (generation, next_offset) = (messages.generation, messages.next_offset);
            incoming.stage = Stage::Installing { installed: false };
            self.storing.store.install(id, generation, op, next_offset, &mut self.storing.effects);
        } else {
            self.give_up_transfer(id);
        }
    }

    /// The messages that came are in place of those that were there.
    pub(super) fn messages_installed(&mut self, id: u64) {
        if let Some(Incoming { stage: Stage::Installing { installed }, .. }) =
            self.transfers.incoming.get_mut(&id)
        {
            *installed = true;
        }
    }

    /// The segments of a group were opened: those that came, if any did.
    pub(super) fn messages_opened(&mut self, id: u64) {
        let whole = self.transfers.incoming.get(&id);
        if whole.is_some_and(|incoming| matches!(incoming.stage, Stage::Installing { installed: true })) {
            self.fetched(id);
        }
    }

    /// The segments of a group cannot be read. If they came just now, the next transfer brings others.
    pub(super) fn messages_damaged(&mut self, id: u64) {
        let whole = self.transfers.incoming.get(&id);
        if whole.is_some_and(|incoming| matches!(incoming.stage, Stage::Installing { installed: true })) {
            self.end_transfer(id, Event::FetchFailed);
            return;
        }
        // What was executed is not kept any more, and nothing else here has it: another disk, and the other nodes, do.
        let op = self.groups.get(&id).map_or(Op::ZERO, |group| group.executed);
        self.fail(Fatal::Lost { group: id, op });
    }

    /// Leaves nothing behind of a transfer, unless all of it came and is being put in place.
    pub(super) fn give_up_transfer(&mut self, id: u64) {
        let stage = self.transfers.incoming.get(&id).map(|incoming| &incoming.stage);
        match stage {
            None | Some(Stage::Installing { .. }) => return,
            Some(Stage::Head(_)) => {}
            Some(Stage::Messages(_)) => self.storing.store.give_up_import(id, &mut self.storing.effects),
        }
        self.transfers.incoming.remove(&id);
        self.work.push_back(Work { group: id, event: Event::FetchFailed, body: None, ticket: None });
        self.begin_transfers();
    }

    /// All of a state is here and synced: the replica takes it over, or has no use for it any more.
    fn fetched(&mut self, id: u64) {
        // What is being executed would end on a state that is not there any more; the next offer will do.
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
        self.step(Work { group: id, event, body: None, ticket: None });
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
                let (clients, machine) = metadata_at(&body.state, &body.anchor, self.limits.clients)?;
                Some(State::Metadata(clients, machine))
            }
        }
    }

    /// Puts the state that came in the place of the own one. Its record is in the journal; until that is synced nothing
    /// that follows from it leaves.
    pub(super) fn install_state(&mut self, id: u64, anchor: &PrepareHeader) {
        let state = self.transfers.whole(id).and_then(|whole| self.reads(id, whole));
        let (limits, planted) = (self.limits.partition, self.planted);
        let Some(group) = self.groups.get_mut(&id) else { return };
        group.executed = anchor.op;
        group.applying.clear();
        group.bodies = group.bodies.split_off(&anchor.op.next());
        match (state, &mut group.machine) {
            (Some(State::Partition(entry)), Machine::Partition(partition, stamper)) => {
                **partition = planted.in_partition(partition_at(&entry, limits));
                *stamper = None;
            }
            (Some(State::Metadata(_, machine)), Machine::Metadata) => {
                let taken = self.metadata.install(&machine);
                debug_assert!(taken, "a machine takes the state of another");
            }
            _ => debug_assert!(false, "a state is installed while it is here"),
        }
        self.outgoing.push_back(Outgoing::Installed { group: id, op: anchor.op });
    }
}

/// A state that can be taken over.
#[derive(Debug)]
enum State {
    Partition(GroupEntry),
    Metadata(ClientTable, Vec<u8>),
}
