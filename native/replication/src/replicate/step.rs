//! Steps replicas and performs their effects.

use ng_io::Environment;
use ng_vsr::{Answer, Effect, Effects, Event, Record};
use ng_wire::replica::{LogOperation, Message, PrepareHeader};

use crate::durability::journal::Waits;
use crate::durability::read_back::Purpose;
use crate::group::{Body, RoleChange, Ticket};
use crate::host::ShardLog;
use crate::machine::{Machine, MetadataMachine};
use crate::outbox::{Fatal, LogAnswer, Outgoing};
use crate::replicate::agenda::Work;

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Passes an event to a replica and performs the effects.
    pub(crate) fn step(&mut self, work: Work) {
        let Work { group: id, event, body, ticket } = work;
        if self.outbox.has_failed() {
            return;
        }
        let Some(group) = self.groups.get_mut(&id) else { return };
        let mut effects = self.agenda.take_effects();
        group.replica.step(event, self.clock.ticks(), &mut effects);
        self.perform(id, &mut effects, body.as_ref(), ticket);
        self.agenda.keep_effects(effects);
        self.settle(id);
    }

    pub(crate) fn perform(
        &mut self,
        id: u64,
        effects: &mut Effects,
        body: Option<&Body>,
        ticket: Option<Ticket>,
    ) {
        for effect in effects.drain() {
            match effect {
                Effect::Append { position, record } => {
                    if let (Record::Prepare(header), Some(ticket)) = (&record, ticket)
                        && let Some(group) = self.groups.get_mut(&id)
                    {
                        group.wait(header.op, ticket);
                    }
                    self.append(id, position, &record, body);
                }
                Effect::Send { after, to, message } => {
                    let block = self.groups.get(&id).map_or(u64::MAX, |group| group.records.block_of(after));
                    self.send_after(id, block, to, message);
                }
                Effect::Apply(header) => {
                    if let Some(group) = self.groups.get_mut(&id) {
                        group.execution.hand_out(header);
                        self.agenda.execute(id);
                    }
                }
                Effect::Reply { answer, .. } => self.answer(id, ticket, answer),
                Effect::Evicted(client) => self.outbox.push(Outgoing::Evicted(client)),
                Effect::Fetch { from, anchor } => self.fetch_state(id, from, &anchor),
                Effect::Install { anchor, .. } => self.install_state(id, &anchor),
                Effect::Dropped(_) => self.outbox.counts.dropped += 1,
                Effect::Undecidable { op, all_voted, .. } => match all_voted {
                    true if self.life.identity.nodes == 1 => self.outbox.fail(Fatal::Lost { group: id, op }),
                    true => self.outbox.push(Outgoing::Undecidable { group: id, op }),
                    false => {}
                },
                Effect::Diverged(op) => self.outbox.fail(Fatal::Diverged { group: id, op }),
            }
        }
    }

    /// Sends a message once a block is synced. The body of a prepare may have to be read first.
    fn send_after(&mut self, id: u64, block: u64, to: u8, message: Message) {
        let body = match &message {
            Message::Prepare(prepare) => {
                let header = prepare.header;
                let known =
                    self.groups.get(&id).and_then(|group| group.execution.body(header.op, header.checksum));
                if known.is_none() {
                    let purpose = Purpose::Send { to, block, message: Box::new(message) };
                    let taken = self.reads.want(id, header, purpose);
                    self.outbox.counts.dropped_reads += u64::from(!taken);
                    return;
                }
                known.cloned()
            }
            _ => None,
        };
        self.hold_message(block, Waits::Message { group: id, to, message: Box::new(message), body });
    }

    /// Executes committed operations whose bodies are in memory.
    pub(crate) fn execute(&mut self) {
        while let Some(id) = self.agenda.next_executable() {
            let Some(group) = self.groups.get_mut(&id) else { continue };
            let Some(header) = group.execution.next() else { continue };
            let Some(body) = group.execution.body(header.op, header.checksum).cloned() else {
                let taken = self.reads.want(id, header, Purpose::Execute);
                assert!(taken, "reads for execution are never dropped");
                continue;
            };
            match &mut group.machine {
                Machine::Metadata if !self.metadata.has_room() => {}
                Machine::Metadata => {
                    group.execution.begin();
                    self.metadata.execute(&header, &body);
                    self.agenda.execute(id);
                }
                Machine::Partition(partition, _) => {
                    group.execution.take();
                    let Some(operation) = LogOperation::from_code(header.operation) else { continue };
                    let applied = partition.apply(header.op.0, operation, &body);
                    let generation = partition.state().purge_generation;
                    self.follow_change(id, header.op, generation, &applied, &body);
                    if operation == LogOperation::Swap {
                        self.swap_executed(id, header.op, &applied, &body);
                    }
                    self.executed(id, header, applied.reply(), body);
                    self.agenda.execute(id);
                }
            }
        }
        self.collect_metadata();
    }

    fn collect_metadata(&mut self) {
        while let Some(executed) = self.metadata.executed() {
            let id = executed.header.group;
            let Some(group) = self.groups.get_mut(&id) else { continue };
            let Some(header) = group.execution.end() else { continue };
            self.agenda.execute(id);
            debug_assert!(header == executed.header, "results arrive in the order of the operations");
            let Some(body) = group.execution.body(header.op, header.checksum).cloned() else { continue };
            self.executed(id, header, executed.reply, body);
        }
    }

    fn executed(&mut self, id: u64, header: PrepareHeader, reply: Vec<u8>, body: Body) {
        let Some(group) = self.groups.get_mut(&id) else { return };
        group.execution.advance(header.op);
        self.checkpoint.dirty = true;
        if self.outbox.is_watched() {
            let report =
                Outgoing::Executed { group: id, header: Box::new(header), body, reply: reply.clone() };
            self.outbox.push(report);
        }
        let event = Event::Applied { header, reply };
        self.agenda.event(id, event);
    }

    fn answer(&mut self, id: u64, ticket: Option<Ticket>, answer: Answer) {
        let answer = LogAnswer::from(answer);
        self.outbox.counts.busy += u64::from(answer == LogAnswer::Busy);
        let waiting = match (&answer, ticket) {
            (LogAnswer::Done { op, .. }, None) => {
                self.groups.get_mut(&id).and_then(|group| group.take_waiting(*op))
            }
            (_, ticket) => ticket,
        };
        if let Some(ticket) = waiting {
            self.outbox.answer(ticket, answer);
        }
    }

    /// Handles the changes of a step: role, commits for the next heartbeat, deadline.
    pub(crate) fn settle(&mut self, id: u64) {
        let Some(group) = self.groups.get_mut(&id) else { return };
        let (identity, now) = (&self.life.identity, self.clock.ticks());
        let change = group.role_change();
        if change != RoleChange::Same {
            let follows = matches!(change, RoleChange::Follows(_));
            group.wake_up.set_watch(follows.then_some(now + identity.timing.suspicion));
            for ticket in group.take_all_waiting() {
                self.outbox.answer(ticket, LogAnswer::Uncertain);
            }
            if let Machine::Partition(_, stamper) = &mut group.machine {
                *stamper = None;
            }
        }
        if identity.nodes > 1 && group.becomes_news() {
            self.peers.heartbeat.add_news(id);
        }
        if let Some(at) = group.wake_up.arm(group.replica.deadline(), now) {
            self.agenda.wake(id, at);
        }
        self.offsets_turn(id, change);
    }
}
