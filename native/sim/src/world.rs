//! Nodes, links and clients under one clock, and what goes wrong among them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::path::Path;

use ng_io::Environment as _;
use ng_io::simulated::{Faults, NetworkFaults, Random, SimulatedClock, SimulatedNetwork};
use ng_replication::owner::METADATA;
use ng_replication::{Fatal, LogAnswer, LogRequest, Outgoing, Ticket};
use ng_wire::replica::Op;

use crate::aims::{Aiming, Step};
use crate::boot::{self, Refused};
use crate::client::{Client, Role};
use crate::damage::Cell;
use crate::dropping::begin_dropping;
use crate::judges::{History, Messages, Promises, Standstill, Verdict};
use crate::node::{MILLI, Node, Shard};
use crate::plan::{Draw, Fault, Plan};
use crate::story::Story;

/// When clients ask nothing new any more, and no more messages go, before the end, in milliseconds.
pub(crate) const SILENCE: u64 = 4_000;

/// Milliseconds after which a client of a storm that waits for an answer looks whether to ask again. Where clients are many and
/// requests few, it would otherwise have no time to find the primary.
const RETRY: u64 = 50;

/// Milliseconds within which a request is answered once everything has healed: to the node and back, to the other nodes and
/// back, on the disks, and until its client looks.
const ANSWER: u64 = 20 + RETRY;

/// Rounds at one moment after which something is done over and over.
const STILL_MAX: u64 = 100_000;

/// Steps that may pass in one moment.
const STEPS_MAX: u64 = 100_000;

/// Of a thousand directories so many lose names at a power cut, in worlds with aims: others would not be what they were when
/// they were recorded.
const LOST_NAMES: u32 = 500;

/// Something that the world brings about.
#[derive(Debug)]
pub(crate) enum Happening {
    Ask { client: usize },
    Request { node: u8, ticket: Ticket, request: Box<LogRequest> },
    Answer { ticket: Ticket, answer: LogAnswer },
    Fault,
    Ambush,
    Drop,
    Silence,
    Start { node: u8 },
    Heal { node: u8 },
    Look,
}

/// What a world came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Virtual milliseconds.
    pub lived: u64,
    /// Requests that were acknowledged.
    pub acknowledged: usize,
    /// Processes that were started, beyond the first of each node.
    pub restarts: u64,
    /// Operations that were executed first, over all groups.
    pub operations: u64,
    /// A digest of everything that the disks did, in order.
    pub trace: u64,
    /// The damage of a file, where the world had one.
    pub damage: Option<Cell>,
}

/// A cluster and its clients.
pub struct World {
    pub(crate) plan: Plan,
    clock: SimulatedClock,
    pub(crate) now: u64,
    /// The millisecond at which everything must have come to rest.
    pub(crate) end: u64,
    /// Since when everything has been at rest, in milliseconds.
    pub(crate) resting_since: Option<u64>,
    pub(crate) random: Random,
    pub(crate) nodes: Vec<Node>,
    pub(crate) network: SimulatedNetwork,
    pub(crate) clients: Vec<Client>,
    tickets: BTreeMap<Ticket, usize>,
    pub(crate) next_ticket: u64,
    /// How often somebody asked for a purge, by group.
    pub(crate) purges: BTreeMap<u64, u64>,
    happenings: BinaryHeap<Reverse<(u64, u64)>>,
    content: BTreeMap<u64, Happening>,
    sequence: u64,
    asked: u64,
    pub(crate) history: History,
    promises: Promises,
    messages: Messages,
    pub(crate) standstill: Standstill,
    pub(crate) story: Story,
    /// Groups that cannot be decided, and when that was said last.
    undecidable: BTreeMap<u64, u64>,
    pub(crate) healed: bool,
    /// Whether a fault waits for the next request.
    pub(crate) ambush: bool,
    pub(crate) aiming: Aiming,
    /// What the node that has its turn lets out.
    pub(crate) outgoing: VecDeque<Outgoing>,
}

impl World {
    /// A world about to begin. `told`: its story is written down.
    #[must_use]
    pub fn new(plan: Plan, told: bool) -> Self {
        let mut random = Random::new(plan.seed ^ 0x776f_726c_6421);
        let clock = SimulatedClock::default();
        let nodes = (0..plan.nodes()).map(|number| Node::new(number, &clock, &plan)).collect();
        let network = SimulatedNetwork::new(random.next());
        let mut world = Self {
            clock,
            now: 0,
            end: plan.end,
            resting_since: None,
            random,
            nodes,
            network,
            clients: clients(&plan),
            tickets: BTreeMap::new(),
            next_ticket: 1,
            purges: BTreeMap::new(),
            happenings: BinaryHeap::new(),
            content: BTreeMap::new(),
            sequence: 0,
            asked: 0,
            history: History::default(),
            promises: Promises::default(),
            messages: Messages::default(),
            standstill: Standstill::default(),
            story: Story::new(told),
            undecidable: BTreeMap::new(),
            healed: false,
            ambush: false,
            aiming: Aiming::new(plan.seed),
            outgoing: VecDeque::new(),
            plan,
        };
        let weather = world.weather();
        world.network.set_weather(weather);
        for node in 0..world.plan.nodes() {
            if !world.plan.aims.is_empty() {
                world.nodes[usize::from(node)].environment.watch();
            }
            world.at(0, Happening::Start { node });
        }
        for client in 0..world.clients.len() {
            world.at(100 * MILLI, Happening::Ask { client });
        }
        world.at(world.plan.between_faults * MILLI, Happening::Fault);
        if world.plan.drops {
            world.at(500 * MILLI, Happening::Drop);
        }
        world.at(world.plan.end.saturating_sub(SILENCE) * MILLI, Happening::Silence);
        world
    }

    fn weather(&mut self) -> NetworkFaults {
        let (plan, random) = (&self.plan, &mut self.random);
        let mut rate =
            |fault, most| if plan.has(fault) { u32::try_from(random.below(most)).unwrap_or(0) } else { 0 };
        NetworkFaults {
            loss: rate(Fault::Loss, 100),
            duplication: rate(Fault::Duplication, 100),
            reorder: plan.has(Fault::Reordering),
            delay_min: MILLI / 10,
            delay_max: MILLI * (1 + random.below(20)),
        }
    }

    /// Lives to the end.
    pub fn run(&mut self) -> Result<Outcome, Verdict> {
        let mut steps = 0;
        let mut still = 0;
        while let Some(next) = self.next().filter(|next| *next <= self.end * MILLI) {
            steps = if next > self.now { 0 } else { steps + 1 };
            if steps > STEPS_MAX {
                return Err(Verdict(format!("time stands still; {}", self.sketch())));
            }
            still = if next > self.now { 0 } else { still + 1 };
            if still > STILL_MAX {
                return Err(Verdict(format!("time stands still at {} ns; {}", self.now, self.sketch())));
            }
            self.now = next.max(self.now);
            self.clock.advance_to(self.now);
            if !self.healed && self.now >= self.plan.healed * MILLI {
                self.heal_everything();
            }
            self.advance()?;
        }
        self.judge_rest()?;
        Ok(Outcome {
            lived: self.end,
            acknowledged: self.promises.count(),
            restarts: self.nodes.iter().map(|node| node.lives.saturating_sub(1)).sum(),
            operations: self.history.groups().map(|group| self.history.last(group).0).sum(),
            trace: self.nodes.iter().fold(0, |trace, node| trace.rotate_left(9) ^ node.environment.trace()),
            damage: None,
        })
    }

    /// What happened, if it was written down, line by line.
    pub fn story(&self) -> impl Iterator<Item = &str> {
        self.story.lines()
    }

    fn next(&self) -> Option<u64> {
        let happening = self.happenings.peek().map(|Reverse((time, _))| *time);
        let nodes = self.nodes.iter().filter_map(Node::next).min();
        [happening, nodes, self.network.next_arrival()].into_iter().flatten().min()
    }

    pub(crate) fn at(&mut self, time: u64, happening: Happening) {
        self.sequence += 1;
        self.happenings.push(Reverse((time, self.sequence)));
        self.content.insert(self.sequence, happening);
    }

    fn advance(&mut self) -> Result<(), Verdict> {
        while let Some(Reverse((time, key))) = self.happenings.peek().copied() {
            if time > self.now {
                break;
            }
            self.happenings.pop();
            if let Some(happening) = self.content.remove(&key) {
                self.happen(happening)?;
            }
        }
        while let Some((from, to, frame)) = self.network.arrive(self.now) {
            let node = &mut self.nodes[usize::from(to)];
            // A node that stands still loses what its buffers do not hold; nothing promises a frame.
            if node.paused_until <= self.now {
                node.receive(from, &frame, self.now, &mut self.outgoing);
                self.see_received(to, &frame);
            }
            self.leave(to)?;
        }
        for number in 0..self.plan.nodes() {
            let node = &mut self.nodes[usize::from(number)];
            if node.paused_until <= self.now {
                node.turn(self.now, &mut self.outgoing);
                self.leave(number)?;
            }
        }
        Ok(())
    }

    fn happen(&mut self, happening: Happening) -> Result<(), Verdict> {
        match happening {
            Happening::Ask { client } => self.ask(client),
            Happening::Request { node: number, ticket, request } => {
                let node = &mut self.nodes[usize::from(number)];
                if node.is_up() && node.paused_until <= self.now {
                    node.request(ticket, *request, self.now, &mut self.outgoing);
                }
                self.leave(number)?;
                self.spring_ambush();
            }
            Happening::Answer { ticket, answer } => self.answered(ticket, &answer)?,
            Happening::Fault => self.strike(),
            Happening::Ambush => self.strike_now(),
            Happening::Drop => self.order_to_drop(),
            Happening::Silence => self.fall_silent(),
            Happening::Start { node } => self.start(node)?,
            Happening::Heal { node } => self.heal(node),
            Happening::Look => self.look_for_standstill()?,
        }
        Ok(())
    }

    fn ask(&mut self, client: usize) {
        let now = self.now / MILLI;
        if self.clients[client].due > now && !self.clients[client].is_waiting() {
            self.at(self.clients[client].due * MILLI, Happening::Ask { client });
            return;
        }
        let nodes = self.plan.nodes();
        let spare = self.asked < self.plan.requests_max && now + SILENCE < self.plan.end;
        let asking = &mut self.clients[client];
        let begins = !asking.is_waiting() && spare;
        if begins {
            self.asked += 1;
            asking.begin(self.plan.conditions.payload_bytes, &mut self.random);
        }
        let ticket = Ticket(self.next_ticket);
        if let Some(request) = asking.attempt(ticket, now, nodes) {
            self.next_ticket += 1;
            self.tickets.insert(ticket, client);
            let node = asking.target;
            self.story.tell(self.now, || {
                format!("client {client} asks node {node} for {:?} of {:x}", request.operation, request.group)
            });
            let arrives = self.now + MILLI * (1 + self.random.below(5));
            if !self.lost() {
                self.at(arrives, Happening::Request { node, ticket, request: Box::new(request) });
            }
        }
        // All clients together ask as often as the plan says; each waits for its answer first.
        let pause = 1_000 * self.clients.len() as u64 / self.plan.rate;
        let mut pause = pause / 2 + self.random.below(pause.max(1)) + 1;
        if self.plan.draw == Draw::Storm {
            let asking = &mut self.clients[client];
            asking.due = asking.due.max(now + if begins { pause } else { 0 });
            pause = pause.min(RETRY);
        }
        self.at(self.now + MILLI * pause, Happening::Ask { client });
    }

    fn lost(&mut self) -> bool {
        !self.healed && self.plan.has(Fault::Loss) && self.random.below(100) < 3
    }

    fn answered(&mut self, ticket: Ticket, answer: &LogAnswer) -> Result<(), Verdict> {
        let Some(client) = self.tickets.remove(&ticket) else { return Ok(()) };
        let now = self.now / MILLI;
        let answered = self.clients[client].answered(ticket, answer, now, self.plan.nodes());
        self.story.tell(self.now, || format!("client {client} is told {answer:?}"));
        if let (Some((group, request, once)), LogAnswer::Done { op, reply }) = (answered, answer) {
            self.promises.tells(&self.history, (group, request), (*op, reply), once)?;
        }
        Ok(())
    }

    /// Takes what a node lets out.
    fn leave(&mut self, number: u8) -> Result<(), Verdict> {
        let node = &mut self.nodes[usize::from(number)];
        if node.paused_until <= self.now {
            node.held.drain(..).rev().for_each(|held| self.outgoing.push_front(held));
        }
        self.see_disk(number);
        while let Some(outgoing) = self.outgoing.pop_front() {
            match outgoing {
                Outgoing::Frame { to, mut head, body } => {
                    if let Some(body) = body {
                        head.extend_from_slice(&body);
                    }
                    let step = self.step_of_sent(&head);
                    self.network.send(self.now, number, to, head);
                    self.take_step(number, step);
                }
                Outgoing::Answer { ticket, answer } => {
                    let step = matches!(answer, LogAnswer::Done { .. }).then_some(Step::Acknowledged);
                    let arrives = self.now + MILLI * (1 + self.random.below(5));
                    if !self.lost() {
                        self.at(arrives, Happening::Answer { ticket, answer });
                    }
                    self.take_step(number, step);
                }
                Outgoing::Executed { group, header, body, reply } => {
                    self.story
                        .tell(self.now, || format!("node {number} executes op {} of {group:x}", header.op));
                    self.history.executes(number, &header, &body, &reply)?;
                    self.messages.executes(&header, &body, &reply);
                }
                Outgoing::Installed { group, op } => {
                    self.story.tell(self.now, || {
                        format!("node {number} takes over the state of {group:x} at op {op}")
                    });
                    self.history.begins(number, group, op);
                    self.take_step(number, Some(Step::StateInstalled));
                }
                // Worlds have the groups that they began with, and nobody cuts them.
                Outgoing::Evicted(_)
                | Outgoing::Polled { .. }
                | Outgoing::Damaged { .. }
                | Outgoing::Removed { .. }
                | Outgoing::RemovalFailed { .. }
                | Outgoing::Cut { .. }
                | Outgoing::Adopted { .. } => {}
                Outgoing::Fenced { group, fences } => {
                    return Err(Verdict(format!(
                        "node {number} lost {fences:?} of {group:x}, and no disk is damaged"
                    )));
                }
                Outgoing::Undecidable { group, op } => {
                    self.story.tell(self.now, || {
                        format!("node {number} says that op {op} of {group:x} is undecidable")
                    });
                    self.undecidable.insert(group, self.now);
                }
                Outgoing::Fatal(fatal) => {
                    self.ended(number, &fatal)?;
                    self.outgoing.clear();
                }
            }
        }
        Ok(())
    }

    /// A process ended by itself.
    fn ended(&mut self, number: u8, fatal: &Fatal) -> Result<(), Verdict> {
        self.story.tell(self.now, || format!("node {number} ends: {fatal:?}"));
        match fatal {
            Fatal::Lost { .. } | Fatal::Segments(_) if self.plan.bad_disk == Some(number) => {
                // The operator puts another disk in.
                self.stop(number, false);
                self.replace_disk(number);
                self.at(self.now + MILLI * 200, Happening::Start { node: number });
                Ok(())
            }
            Fatal::Write { .. } | Fatal::Lost { .. } | Fatal::Segments(_)
                if self.plan.has(Fault::WriteError) || self.plan.has(Fault::ReadError) =>
            {
                self.stop(number, false);
                let again = self.now + MILLI * 200;
                self.nodes[usize::from(number)].environment.set_faults(Faults::default());
                self.at(again, Happening::Start { node: number });
                Ok(())
            }
            Fatal::Write { .. } if self.plan.aims_at_writes() => {
                self.stop(number, false);
                self.at(self.now + MILLI * 200, Happening::Start { node: number });
                Ok(())
            }
            other => Err(Verdict(format!("node {number} ends: {other:?}"))),
        }
    }

    /// Ends the process of a node; `power`: the power of the machine goes with it.
    pub(crate) fn stop(&mut self, number: u8, power: bool) {
        let node = &mut self.nodes[usize::from(number)];
        if power {
            if !self.plan.aims.is_empty() {
                let faults = node.environment.faults();
                node.environment.set_faults(Faults { lost_names: LOST_NAMES, ..faults });
            }
            node.environment.cut_power();
        } else {
            node.environment.kill();
        }
        node.shards.clear();
        node.held.clear();
        node.paused_until = 0;
    }

    fn start(&mut self, number: u8) -> Result<(), Verdict> {
        let node = &mut self.nodes[usize::from(number)];
        if node.is_up() {
            return Ok(());
        }
        // A process that was killed while it started had moved its machine's time ahead. Where faults come faster than starts
        // end, that time would run away from the world's, and the node would be down for the rest of it.
        let ready = node.environment.now().as_nanos();
        if self.plan.draw == Draw::Storm && ready > self.now {
            self.at(ready, Happening::Start { node: number });
            return Ok(());
        }
        self.story.tell(self.now, || format!("node {number} starts"));
        let aimed = self.aim_at_start(number);
        let started = self.nodes[usize::from(number)].start(&self.plan);
        if self.see_start(number, aimed) {
            self.story.tell(self.now, || format!("node {number} is struck while it starts"));
            return Ok(());
        }
        match started {
            Ok(()) => {}
            Err(refused) if self.is_passing(&refused) => {
                self.story.tell(self.now, || format!("node {number} does not start: {refused}"));
                self.nodes[usize::from(number)].environment.set_faults(Faults::default());
                self.stop(number, false);
                self.at(self.now + 100 * MILLI, Happening::Start { node: number });
                return Ok(());
            }
            Err(refused) if self.plan.bad_disk == Some(number) => {
                // The refusal is loud and names its remedy; the operator puts another disk in.
                self.story.tell(self.now, || format!("node {number} does not start: {refused}"));
                self.stop(number, false);
                self.replace_disk(number);
                self.at(self.now + 100 * MILLI, Happening::Start { node: number });
                return Ok(());
            }
            Err(refused) => return Err(Verdict(format!("node {number} does not start: {refused}"))),
        }
        let (groups, drops) = (self.groups(), self.drops());
        let node = &mut self.nodes[usize::from(number)];
        if drops {
            begin_dropping(&self.plan, &groups, node);
        }
        for group in groups {
            if let Some(log) = node.shard_of(group).map(Shard::log) {
                let begins = log.status(group).map_or(Op::ZERO, |status| status.commit_min);
                self.history.begins(number, group, begins);
            }
        }
        Ok(())
    }

    /// Whether a start may go better the next time.
    fn is_passing(&self, refused: &Refused) -> bool {
        let fails =
            self.plan.has(Fault::ReadError) || self.plan.has(Fault::WriteError) || self.plan.aims_at_writes();
        (fails && refused.is_passing()) || (self.plan.has(Fault::FullDisk) && refused.is_for_space())
    }

    pub(crate) fn groups(&self) -> Vec<u64> {
        crate::boot::groups(&self.plan).into_iter().map(|(group, _)| group).collect()
    }

    /// Whether a group halted loudly, and may: what one node tore apart and another lost with its disk no vote can tell.
    pub(crate) fn is_halted(&self, group: u64) -> bool {
        self.is_halted_at(group, self.end * MILLI)
    }

    /// Whether it has halted by this moment and says so again and again.
    pub(crate) fn is_halted_at(&self, group: u64, moment: u64) -> bool {
        let said = self.undecidable.get(&group).copied();
        self.plan.bad_disk.is_some() && said.is_some_and(|said| said + 1_500 * MILLI > moment)
    }

    /// Nothing new is asked from now on. A metadata machine takes a while for each operation, so the slowest one gets the time
    /// to execute everything that it has not executed yet, one operation for each registrant included. Clients that wait for the
    /// same group get the time to be answered one pipeline after the other, and all of them the time that the journals take for them.
    fn fall_silent(&mut self) {
        if self.plan.drops {
            self.end_dropping();
        }
        let last = self.history.last(METADATA).0 + self.plan.registrants as u64;
        let shards = self.nodes.iter().filter_map(|node| node.shard_of(METADATA));
        let backlogs = shards.map(|shard| {
            let executed = shard.log().status(METADATA).map_or(0, |status| status.commit_min.0);
            shard.log().metadata().time_for(last - executed)
        });
        let waiting = |group| self.clients.iter().filter(|it| it.group() == group && it.is_waiting()).count();
        let most = self.groups().into_iter().map(waiting).max().unwrap_or(0) as u64;
        let conditions = &self.plan.conditions;
        let answers = most.div_ceil(conditions.log.pipeline) * ANSWER;
        let all = self.clients.iter().filter(|client| client.is_waiting()).count() as u64;
        let answers = answers.max(conditions.time_in_journals(all));
        self.end = self.plan.end + backlogs.max().unwrap_or(0) + answers;
    }

    /// At the end all nodes have executed the same, everything, and every client was answered.
    fn judge_rest(&self) -> Result<(), Verdict> {
        for (number, client) in self.clients.iter().enumerate() {
            if self.is_halted(client.group()) {
                continue;
            }
            // A client that was due to ask after all fell silent never asked.
            let asked = client.due + SILENCE < self.plan.end && self.plan.requests_max == u64::MAX;
            if client.is_waiting() || (client.answered_at < self.plan.healed && asked) {
                return Err(Verdict(format!(
                    "client {number} still waits at the end: {client:?}; {}",
                    self.sketch()
                )));
            }
        }
        for group in self.groups() {
            let last = self.history.last(group);
            if self.is_halted(group) {
                continue;
            }
            for node in &self.nodes {
                let status = node.shard_of(group).and_then(|shard| shard.log().status(group));
                if status.is_none_or(|status| status.commit_min != last) {
                    return Err(Verdict(format!(
                        "node {} has not executed op {last} of group {group:x}: {status:?}; {}",
                        node.number,
                        self.sketch()
                    )));
                }
            }
        }
        self.judge_agreement()?;
        self.judge_segments()
    }

    /// At the end the segments of every node hold what was executed: the last batches have had time to get there.
    fn judge_segments(&self) -> Result<(), Verdict> {
        let home = boot::home();
        // What a write to a wrong place spoiled in a segment stays spoiled: nothing reads it before a consumer does.
        let spoiled = self.plan.bad_disk.filter(|_| self.plan.has(Fault::Misdirected));
        for node in self.nodes.iter().filter(|node| Some(node.number) != spoiled) {
            let partitions = self.groups().into_iter().filter(|group| *group != METADATA);
            for group in partitions.filter(|group| !self.is_halted(*group)) {
                let file = |path: &Path| node.environment.file_bytes(path);
                self.messages.judge(node.number, group, &home, file)?;
            }
        }
        Ok(())
    }

    /// Where every replica stands.
    pub(crate) fn sketch(&self) -> String {
        let mut lines = Vec::new();
        for group in self.groups() {
            for node in &self.nodes {
                let status = node.shard_of(group).and_then(|shard| shard.log().status(group));
                lines.push(format!("{group:x}@{}: {status:?}", node.number));
            }
        }
        lines.join("; ")
    }
}

fn clients(plan: &Plan) -> Vec<Client> {
    let groups: Vec<u64> = crate::boot::groups(plan).into_iter().map(|(group, _)| group).collect();
    let partitions: Vec<u64> = groups.into_iter().filter(|group| *group != METADATA).collect();
    let registrants = (0..plan.registrants).map(|_| Role::Registrant);
    let producers = (0..plan.producers).map(|number| Role::Producer(partitions[number % partitions.len()]));
    (1_u128..).zip(registrants.chain(producers)).map(|(id, role)| Client::new(id, role)).collect()
}
