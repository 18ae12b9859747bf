//! A view that has begun: the primary prepares, the others acknowledge, a quorum commits.

use ng_wire::replica::{Commit, LogOperation, Message, Op, Prepare, PrepareHeader, PrepareOk};

use crate::client_table::Lookup;
use crate::effect::{Answer, Drop, Effect, Effects, Position, Record};
use crate::event::Request;
use crate::plant::Plant;
use crate::replica::{Replica, Status};
use crate::setup::Ticks;

impl Replica {
    pub(crate) fn on_request(&mut self, request: &Request, now: Ticks, effects: &mut Effects) {
        let refusal = if !self.is_primary() {
            Some(Answer::NotPrimary)
        } else if !self.setup.takes(request.operation) {
            Some(Answer::Unsupported)
        } else if !self.admits() {
            Some(Answer::Busy)
        } else {
            self.known_answer(request)
        };
        match refusal {
            Some(answer) => {
                let Request { client, request, .. } = *request;
                effects.push(Effect::Reply { client, request, answer });
            }
            None => self.prepare(request, now, effects),
        }
    }

    /// Whether one more operation may be prepared. Not before everything inherited is here: until then the
    /// pipeline could hide a request that would be taken for a new one.
    #[must_use]
    pub fn admits(&self) -> bool {
        let head = self.window.head();
        self.window.missing() == 0
            && head.since(self.commit_max) < self.setup.limits.pipeline
            && head.since(self.commit_min) < self.setup.limits.backlog
    }

    /// The answer to a request that was seen before, or cannot be taken; only the metadata group knows.
    fn known_answer(&self, request: &Request) -> Option<Answer> {
        let table = self.clients.as_ref().filter(|_| request.client != 0)?;
        if self.planted.has(Plant::LostDuplicate) {
            return None;
        }
        let registers = request.operation == LogOperation::Register.code();
        if !registers {
            let Request { client, session, request, body_checksum, .. } = *request;
            if let Some(known) = answer_of(table.look_up(client, session, request, body_checksum)) {
                return Some(known);
            }
        }
        let before = if registers { None } else { Some(request.request) };
        self.is_pending(request.client, before).then_some(Answer::Pending)
    }

    /// The answer to a request of the metadata group by its number alone, whatever its body; nothing if it can
    /// be asked for. For requests whose bodies differ from one attempt to the next.
    #[must_use]
    pub fn recall(&self, client: u128, session: u64, request: u64) -> Option<Answer> {
        if !self.is_primary() {
            return Some(Answer::NotPrimary);
        }
        let table = self.clients.as_ref()?;
        let known = answer_of(table.recall(client, session, request));
        known.or_else(|| self.is_pending(client, Some(request)).then_some(Answer::Pending))
    }

    /// Whether the log holds a login or a logout of a client that was not executed yet, or a request at or beyond a number.
    fn is_pending(&self, client: u128, request: Option<u64>) -> bool {
        let mut waiting = self
            .window
            .after(self.commit_min)
            .filter_map(|(_, slot)| slot.header)
            .filter(|header| header.client == client);
        waiting.any(|header| {
            let opens_or_closes = header.operation == LogOperation::Register.code()
                || header.operation == LogOperation::Logout.code();
            opens_or_closes || request.is_some_and(|request| header.request >= request)
        })
    }

    fn prepare(&mut self, request: &Request, now: Ticks, effects: &mut Effects) {
        let head = self.window.head();
        let Some(last) = self.window.header(head).copied() else { return };
        let header = PrepareHeader {
            checksum: 0,
            body_checksum: request.body_checksum,
            parent: last.checksum,
            client: request.client,
            group: self.setup.group,
            op: head.next(),
            view: self.view,
            request: request.request,
            timestamp: request.timestamp.max(last.timestamp),
            commit: self.commit_max,
            level: request.level,
            operation: request.operation,
            body_bytes: request.body_bytes,
            epoch: self.setup.epoch,
            body_check: request.body_check,
        }
        .sealed();
        self.store(header, effects);
        self.send_prepare(header, 0, now, effects);
    }

    /// Sends a prepare to all that do not hold it and have the group.
    fn send_prepare(&self, header: PrepareHeader, holders: u32, now: Ticks, effects: &mut Effects) {
        let prepare = Prepare { view: self.view, commit_max: self.commit_max, header };
        let lacks = |to: &u8| *to != self.me() && holders & 1 << *to == 0 && !self.absent.contains(*to, now);
        for to in (0..self.setup.replicas).filter(lacks) {
            self.say(to, Message::Prepare(prepare), effects);
        }
    }

    pub(crate) fn on_prepare(&mut self, from: u8, prepare: &Prepare, effects: &mut Effects) {
        let header = prepare.header;
        if prepare.view < self.view {
            effects.dropped(Drop::OlderView);
            return;
        }
        if prepare.view > self.view || self.status != Status::Normal {
            effects.dropped(Drop::Status);
            return;
        }
        if header.group != self.setup.group || header.epoch != self.setup.epoch {
            effects.dropped(Drop::Foreign);
            return;
        }
        if !self.setup.takes(header.operation) {
            effects.dropped(Drop::UnknownOperation);
            return;
        }
        if from == self.setup.primary(self.view) {
            self.learn(prepare.commit_max, header.op);
        }
        match self.judge(&header) {
            Ok(true) => {
                self.store(header, effects);
                self.repaired(from, header.op, effects);
            }
            Ok(false) => self.acknowledge(&header, effects),
            Err(reason) => effects.dropped(reason),
        }
    }

    /// Whether a prepare of this view is to be stored; `false` if it is here already. Prepares may overtake each other: who
    /// sends one has taken over the log of the view, so one that nothing contradicts belongs there.
    fn judge(&self, header: &PrepareHeader) -> Result<bool, Drop> {
        if header.op <= self.commit_min {
            // Below the window it was executed, and so is what the primary's log holds there.
            let same = self.window.header(header.op).is_none_or(|own| own.checksum == header.checksum);
            return if same { Ok(false) } else { Err(Drop::Window) };
        }
        if header.op.since(self.commit_min) > self.setup.limits.backlog {
            return Err(Drop::Window);
        }
        let slot = self.window.get(header.op);
        let fits = match slot.and_then(|slot| slot.header) {
            Some(own) => own.checksum == header.checksum,
            None => self.window.fits_between(header),
        };
        if fits { Ok(!slot.is_some_and(|slot| slot.is_present())) } else { Err(Drop::Parent) }
    }

    fn store(&mut self, header: PrepareHeader, effects: &mut Effects) {
        let position = self.journal.append(Record::Prepare(header), effects);
        self.window.place(header, position);
        if self.planted.has(Plant::ApplyOnPrepare) {
            self.commit_max = self.commit_max.max(header.op);
        }
        self.acknowledge(&header, effects);
    }

    /// Tells the primary that an operation is here; leaves once it is synced, and the view with it.
    pub(crate) fn acknowledge(&self, header: &PrepareHeader, effects: &mut Effects) {
        let PrepareHeader { op, checksum, .. } = *header;
        let position = self.window.get(op).map_or(Position::RECOVERED, |slot| slot.position);
        let mut after = position.max(self.view_position);
        if self.planted.has(Plant::AckBeforeDurable) {
            after = Position::RECOVERED;
        }
        let ok = PrepareOk { view: self.view, op, checksum };
        effects.push(Effect::Send {
            after,
            to: self.setup.primary(self.view),
            message: Message::PrepareOk(ok),
        });
    }

    /// Acknowledges what is here and not known to be committed.
    pub(crate) fn acknowledge_uncommitted(&self, effects: &mut Effects) {
        let present = self.window.after(self.commit_max).filter(|(_, slot)| slot.is_present());
        for header in present.filter_map(|(_, slot)| slot.header) {
            self.acknowledge(&header, effects);
        }
    }

    pub(crate) fn on_prepare_ok(&mut self, from: u8, ok: &PrepareOk, effects: &mut Effects) {
        if !self.is_primary() || ok.view != self.view {
            effects.dropped(if ok.view < self.view { Drop::OlderView } else { Drop::Status });
            return;
        }
        let same = |header: PrepareHeader| header.checksum == ok.checksum;
        if let Some(slot) = self.window.get_mut(ok.op)
            && slot.header.is_some_and(same)
        {
            slot.acks |= 1 << from;
        }
        self.commit_acknowledged();
    }

    /// Commits what a quorum acknowledged and nothing is missing in front of.
    pub(crate) fn commit_acknowledged(&mut self) {
        let quorum = u32::from(self.quorums.replication)
            - u32::from(self.planted.has(Plant::SmallQuorum) && self.quorums.replication > 1);
        while self.window.get(self.commit_max.next()).is_some_and(|slot| slot.acks.count_ones() >= quorum) {
            self.commit_max = self.commit_max.next();
        }
    }

    pub(crate) fn on_commit(&mut self, from: u8, commit: &Commit, effects: &mut Effects) {
        if commit.view < self.view {
            // A deposed primary that speaks for its view does not know of this one.
            self.help(from, 0, effects);
            effects.dropped(Drop::OlderView);
            return;
        }
        if from != self.setup.primary(commit.view) {
            effects.dropped(Drop::Foreign);
            return;
        }
        let begun_without_me = commit.view > self.view || self.status == Status::ViewChange;
        match self.status {
            Status::Normal if commit.view == self.view => self.learn(commit.commit_max, commit.head),
            Status::Blank | Status::Diverged => effects.dropped(Drop::Status),
            _ if begun_without_me => self.ask_for_view(from, effects),
            _ => {}
        }
    }

    /// The primary of the view said how far it is.
    fn learn(&mut self, commit_max: Op, head: Op) {
        self.commit_max = self.commit_max.max(commit_max);
        self.known_head = self.known_head.max(head);
    }

    /// Sends again what stands after `from` and some replica has not acknowledged, oldest first.
    pub(crate) fn resend_prepares(&self, from: Op, now: Ticks, effects: &mut Effects) {
        let round = usize::try_from(self.setup.limits.repair).unwrap_or(usize::MAX);
        for (_, slot) in self.window.after(from).take(round) {
            let (Some(header), true) = (slot.header, slot.is_present()) else { continue };
            if slot.acks & 1 << self.me() == 0 {
                self.acknowledge(&header, effects);
            }
            self.send_prepare(header, slot.acks, now, effects);
        }
    }
}

fn answer_of(known: Lookup<'_>) -> Option<Answer> {
    match known {
        Lookup::New => None,
        Lookup::Replay(cached) => {
            Some(Answer::Done { op: cached.op, reply: cached.bytes.clone().unwrap_or_default() })
        }
        Lookup::Superseded => Some(Answer::Superseded),
        Lookup::NoSession => Some(Answer::NoSession),
    }
}
