//! Performing what a replica asks for.

use ng_io::Environment;
use ng_vsr::{Answer, Effect, Effects, Event, Record};
use ng_wire::replica::{LogOperation, Message, PrepareHeader};

use crate::durability::read_back::Purpose;
use crate::group::{Body, Ticket, Turn};
use crate::host::{ShardLog, Waits, Work};
use crate::machine::{Machine, MetadataMachine};
use crate::outbox::{Fatal, LogAnswer, Outgoing};

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Gives a replica an event and does what follows.
    pub(crate) fn step(&mut self, work: Work) {
        let Work { group: id, event, body, ticket } = work;
        if self.failed {
            return;
        }
        let Some(group) = self.groups.get_mut(&id) else { return };
        let mut effects = std::mem::take(&mut self.effects);
        group.replica.step(event, self.now, &mut effects);
        self.perform(id, &mut effects, body.as_ref(), ticket);
        self.effects = effects;
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
                        group.waiting.insert(header.op, ticket);
                    }
                    self.append(id, position, &record, body);
                }
                Effect::Send { after, to, message } => {
                    let block = self.groups.get(&id).map_or(u64::MAX, |group| group.block_of(after));
                    self.send_after(id, block, to, message);
                }
                Effect::Apply(header) => {
                    if let Some(group) = self.groups.get_mut(&id) {
                        group.applying.push_back(header);
                        self.executable.insert(id);
                    }
                }
                Effect::Reply { answer, .. } => self.answer(id, ticket, answer),
                Effect::Evicted(client) => self.outgoing.push_back(Outgoing::Evicted(client)),
                Effect::Fetch { from, anchor } => self.fetch_state(id, from, &anchor),
                Effect::Install { anchor, .. } => self.install_state(id, &anchor),
                Effect::Dropped(_) => self.counts.dropped += 1,
                Effect::Undecidable { op, all_voted, .. } => match all_voted {
                    true if self.identity.nodes == 1 => self.fail(Fatal::Lost { group: id, op }),
                    true => self.outgoing.push_back(Outgoing::Undecidable { group: id, op }),
                    false => {}
                },
                Effect::Diverged(op) => self.fail(Fatal::Diverged { group: id, op }),
            }
        }
    }

    /// Sends a message once a block is synced. The body of a prepare may have to be read first.
    fn send_after(&mut self, id: u64, block: u64, to: u8, message: Message) {
        let body = match &message {
            Message::Prepare(prepare) => {
                let header = prepare.header;
                let known = self.groups.get(&id).and_then(|group| group.body(header.op, header.checksum));
                if known.is_none() {
                    let purpose = Purpose::Send { to, block, message: Box::new(message) };
                    let taken = self.reads.want(id, header, purpose);
                    self.counts.dropped_reads += u64::from(!taken);
                    return;
                }
                known.cloned()
            }
            _ => None,
        };
        self.hold_message(block, Waits::Message { group: id, to, message: Box::new(message), body });
    }

    /// Executes what was handed out, as far as the bodies are here.
    pub(crate) fn execute(&mut self) {
        while let Some(id) = self.executable.pop_first() {
            let Some(group) = self.groups.get_mut(&id) else { continue };
            let Some(header) = group.applying.get(group.executing).copied() else { continue };
            let Some(body) = group.body(header.op, header.checksum).cloned() else {
                let taken = self.reads.want(id, header, Purpose::Execute);
                assert!(taken, "what is to be executed finds room at any time");
                continue;
            };
            match &mut group.machine {
                Machine::Metadata if !self.metadata.has_room() => {}
                Machine::Metadata => {
                    group.executing += 1;
                    self.metadata.execute(&header, &body);
                    self.executable.insert(id);
                }
                Machine::Partition(partition, _) => {
                    group.applying.pop_front();
                    let Some(operation) = LogOperation::from_code(header.operation) else { continue };
                    let applied = partition.apply(header.op.0, operation, &body);
                    let generation = partition.state().purge_generation;
                    self.follow_change(id, header.op, generation, &applied, &body);
                    if operation == LogOperation::Swap {
                        self.swap_executed(id, header.op, &applied, &body);
                    }
                    self.executed(id, header, applied.reply(), body);
                    self.executable.insert(id);
                }
            }
        }
        self.collect_metadata();
    }

    fn collect_metadata(&mut self) {
        while let Some(executed) = self.metadata.executed() {
            let id = executed.header.group;
            let Some(group) = self.groups.get_mut(&id) else { continue };
            group.executing = group.executing.saturating_sub(1);
            let Some(header) = group.applying.pop_front() else { continue };
            self.executable.insert(id);
            debug_assert!(header == executed.header, "results come in the order of the operations");
            let Some(body) = group.body(header.op, header.checksum).cloned() else { continue };
            self.executed(id, header, executed.reply, body);
        }
    }

    fn executed(&mut self, id: u64, header: PrepareHeader, reply: Vec<u8>, body: Body) {
        let Some(group) = self.groups.get_mut(&id) else { return };
        group.bodies = group.bodies.split_off(&header.op.next());
        group.executed = header.op;
        self.checkpoint.dirty = true;
        if self.watched {
            let told = Outgoing::Executed { group: id, header: Box::new(header), body, reply: reply.clone() };
            self.outgoing.push_back(told);
        }
        let event = Event::Applied { header, reply };
        self.work.push_back(Work { group: id, event, body: None, ticket: None });
    }

    fn answer(&mut self, id: u64, ticket: Option<Ticket>, answer: Answer) {
        let answer = match answer {
            Answer::Done { op, reply } => LogAnswer::Done { op, reply },
            // The first one is on its way; asked again it will be answered.
            Answer::Pending | Answer::Busy => {
                self.counts.busy += 1;
                LogAnswer::Busy
            }
            Answer::Superseded => LogAnswer::Superseded,
            Answer::NoSession => LogAnswer::NoSession,
            Answer::NotPrimary => LogAnswer::NotPrimary,
            Answer::Unsupported => LogAnswer::Unsupported,
        };
        let waiting = match (&answer, ticket) {
            (LogAnswer::Done { op, .. }, None) => {
                self.groups.get_mut(&id).and_then(|group| group.waiting.remove(op))
            }
            (_, ticket) => ticket,
        };
        if let Some(ticket) = waiting {
            self.outgoing.push_back(Outgoing::Answer { ticket, answer });
        }
    }

    /// Looks at what a step changed: the view, the commit to tell, the deadline.
    pub(crate) fn settle(&mut self, id: u64) {
        let Some(group) = self.groups.get_mut(&id) else { return };
        let mut turned = Turn::Same;
        match group.turn() {
            Turn::Same => {}
            turn => {
                turned = turn;
                group.watch = match turn {
                    Turn::Follows(_) => Some(self.now + self.identity.timing.suspicion),
                    _ => None,
                };
                for (_, ticket) in std::mem::take(&mut group.waiting) {
                    let answer = LogAnswer::Uncertain;
                    self.outgoing.push_back(Outgoing::Answer { ticket, answer });
                }
                if let Machine::Partition(_, stamper) = &mut group.machine {
                    *stamper = None;
                }
            }
        }
        if self.identity.nodes > 1
            && group.replica.is_primary()
            && group.replica.commit_max() > group.told
            && !group.is_news
        {
            group.is_news = true;
            self.news.push_back(id);
        }
        if let Some(deadline) = group.deadline()
            && group.armed.is_none_or(|armed| deadline < armed)
        {
            group.armed = Some(deadline.max(self.now));
            self.wheel.wake(id, deadline.max(self.now));
        }
        self.offsets_turn(id, turned);
    }
}
