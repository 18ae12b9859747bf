//! Nodes, links, clients and faults under one clock.

mod ending;
mod faults;
mod serving;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ng_wire::replica::{Message, PrepareHeader};

pub(crate) use ending::Ending;

use super::disk::Snapshot;
use super::judge::Judge;
use super::node::{Asks, Beat, Node};
use super::seed::Seed;
use super::weather::{self, Weather};
use super::workload::Client;
use crate::plant::Plant;
use crate::{Answer, Event, Position, Setup, Ticks};

/// When the last fault has healed.
const HEALED: Ticks = 5_000;
/// When everything must have come to rest.
const PATIENCE: Ticks = 25_000;

#[derive(Debug)]
enum Happening {
    Message {
        from: u8,
        to: u8,
        message: Message,
    },
    Beat {
        from: u8,
        to: u8,
        beat: Beat,
    },
    Tick {
        to: u8,
    },
    /// Every node beats, and looks for those that fell silent.
    Round,
    Synced {
        to: u8,
        life: u64,
        mark: (Position, usize),
    },
    Executed {
        to: u8,
        life: u64,
        header: PrepareHeader,
        reply: Vec<u8>,
    },
    FetchFailed {
        to: u8,
        life: u64,
    },
    Fetched {
        to: u8,
        life: u64,
        snapshot: Box<Snapshot>,
    },
    Ask {
        client: usize,
    },
    Request {
        client: usize,
        to: u8,
    },
    Answer {
        client: usize,
        request: u64,
        answer: Answer,
    },
    Fault,
    Restart {
        node: u8,
    },
}

pub(crate) struct World {
    seed: Seed,
    now: Ticks,
    sequence: u64,
    happenings: BinaryHeap<Reverse<(Ticks, u64)>>,
    content: std::collections::BTreeMap<u64, Happening>,
    nodes: Vec<Node>,
    ticks: Vec<Option<Ticks>>,
    paused: Vec<Ticks>,
    executed_at: Vec<Ticks>,
    /// Until when nothing passes from one to another.
    cut: Vec<Vec<Ticks>>,
    clients: Vec<Client>,
    weather: Weather,
    /// Disks that lost something torn, and those that lost more.
    torn: u64,
    spoiled: u64,
    /// Whether the clients were served well and ask no more.
    silent: bool,
    pub(crate) judge: Judge,
}

impl World {
    pub(crate) fn new(number: u64, replicas: u8, planted: Option<Plant>) -> Self {
        let mut seed = Seed::new(number);
        let metadata = seed.chance(70);
        let client_count = seed.between(2, 5);
        let crowded = metadata && seed.chance(30);
        let setup = weather::setup(
            replicas,
            metadata,
            if crowded { client_count - 1 } else { client_count },
            &mut seed,
        );
        let checkpoint_every = seed.between(1, 40);
        let nodes = (0..replicas)
            .map(|replica| Node::new(Setup { replica, ..setup }, planted, checkpoint_every))
            .collect();
        let weather = Weather::draw(replicas, &mut seed);
        let count = usize::from(replicas);
        let mut world = Self {
            seed,
            now: 0,
            sequence: 0,
            happenings: BinaryHeap::new(),
            content: std::collections::BTreeMap::new(),
            nodes,
            ticks: vec![None; count],
            paused: vec![0; count],
            executed_at: vec![0; count],
            cut: vec![vec![0; count]; count],
            clients: (1..=client_count).map(|id| Client::new(id.into(), metadata)).collect(),
            weather,
            torn: 0,
            spoiled: 0,
            silent: false,
            judge: Judge::new(metadata),
        };
        (0..replicas).for_each(|node| world.at(0, Happening::Restart { node }));
        (0..world.clients.len()).for_each(|client| world.at(0, Happening::Ask { client }));
        world.at(weather.between_faults, Happening::Fault);
        world.at(1, Happening::Round);
        world
    }

    /// Runs to the end; what the judges found, or how it ended.
    pub(crate) fn run(&mut self) -> Result<Ending, String> {
        let mut healed = false;
        let mut goal = 0;
        while let Some(Reverse((time, key))) = self.happenings.pop() {
            if !healed && time >= HEALED {
                healed = true;
                self.heal();
                goal = self.judge.acknowledged() + 2 * self.clients.len();
            }
            self.now = time.max(self.now);
            let happening = self.content.remove(&key).expect("each happening has its content");
            self.happen(happening);
            if let Some(fault) = self.judge.faults.first() {
                return Err(format!("at {}: {fault}", self.now));
            }
            self.silent = healed && self.judge.acknowledged() >= goal;
            if self.silent && self.agrees() {
                return Ok(Ending::Rest);
            }
            if self.now > PATIENCE && self.has_halted() {
                return Ok(Ending::Halt);
            }
            if self.now > PATIENCE {
                return Err(format!("no rest: {}", self.story()));
            }
        }
        Err("nothing happens any more".into())
    }

    fn at(&mut self, time: Ticks, happening: Happening) {
        self.sequence += 1;
        self.happenings.push(Reverse((time, self.sequence)));
        self.content.insert(self.sequence, happening);
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Message { from, to, message } => {
                if self.postponed(to, |to| Happening::Message { from, to, message: message.clone() }) {
                    return;
                }
                let mut asks = Vec::new();
                self.nodes[usize::from(to)].hear(from, message, self.now, &mut asks);
                self.serve(to, asks);
            }
            Happening::Beat { from, to, beat } => {
                if !self.postponed(to, |to| Happening::Beat { from, to, beat }) {
                    let mut asks = Vec::new();
                    self.nodes[usize::from(to)].hear_beat(from, beat, self.now, &mut asks);
                    self.serve(to, asks);
                }
            }
            Happening::Round => self.round(),
            Happening::Tick { to } => {
                self.ticks[usize::from(to)] = None;
                if !self.postponed(to, |to| Happening::Tick { to }) {
                    self.step(to, Event::Tick);
                }
            }
            Happening::Synced { to, life, mark } => {
                if self.alive(to, life) {
                    let mut asks = Vec::new();
                    self.nodes[usize::from(to)].synced(mark, &mut asks);
                    self.serve(to, asks);
                }
            }
            Happening::Executed { to, life, header, reply } => {
                if self.alive(to, life) {
                    self.step(to, Event::Applied { header, reply });
                    if let Some(op) = self.nodes[usize::from(to)].checkpoint() {
                        self.step(to, Event::Checkpointed(op));
                    }
                }
            }
            Happening::FetchFailed { to, life } => {
                if self.alive(to, life) {
                    self.step(to, Event::FetchFailed);
                }
            }
            Happening::Fetched { to, life, snapshot } => {
                if self.alive(to, life) {
                    let event = self.nodes[usize::from(to)].fetched(*snapshot);
                    self.step(to, event);
                }
            }
            Happening::Ask { client } => self.ask(client),
            Happening::Request { client, to } => {
                let request = self.clients[client].request();
                self.step(to, Event::Request(request));
            }
            Happening::Answer { client, request, answer } => self.answered(client, request, &answer),
            Happening::Fault => self.fault(),
            Happening::Restart { node } => self.restart(node),
        }
    }

    fn alive(&self, node: u8, life: u64) -> bool {
        let node = &self.nodes[usize::from(node)];
        node.replica.is_some() && node.life == life
    }

    fn postponed(&mut self, to: u8, again: impl Fn(u8) -> Happening) -> bool {
        let until = self.paused[usize::from(to)];
        let waits = until > self.now;
        if waits {
            self.at(until, again(to));
        }
        waits
    }

    fn step(&mut self, to: u8, event: Event) {
        let mut asks = Vec::new();
        self.nodes[usize::from(to)].step(event, self.now, &mut asks);
        self.serve(to, asks);
    }

    fn restart(&mut self, node: u8) {
        if self.nodes[usize::from(node)].replica.is_none() {
            let mut asks = Vec::new();
            self.nodes[usize::from(node)].start(self.now, &mut asks);
            self.serve(node, asks);
        }
    }

    fn serve(&mut self, node: u8, asks: Vec<Asks>) {
        for ask in asks {
            self.serve_one(node, ask);
        }
        let deadline = self.nodes[usize::from(node)].replica.as_ref().and_then(|replica| replica.deadline());
        let known = &mut self.ticks[usize::from(node)];
        if let Some(deadline) = deadline
            && known.is_none_or(|known| deadline < known)
        {
            *known = Some(deadline);
            self.at(deadline.max(self.now + 1), Happening::Tick { to: node });
        }
    }

    fn serve_one(&mut self, node: u8, ask: Asks) {
        let life = self.nodes[usize::from(node)].life;
        match ask {
            Asks::Deliver { to, message } if to == node => {
                self.at(self.now, Happening::Message { from: node, to, message })
            }
            Asks::Deliver { to, message } => self.send(node, to, &message),
            Asks::Sync => {
                let mark = self.nodes[usize::from(node)].sync_mark();
                self.nodes[usize::from(node)].syncing = true;
                let time = self.now + self.seed.between(1, self.weather.sync);
                self.at(time, Happening::Synced { to: node, life, mark });
            }
            Asks::Executed { header, reply } => {
                self.judge.executes(node, &header);
                let delay = self.seed.below(self.weather.execution + 1);
                let before = self.executed_at[usize::from(node)];
                let time = before.max(self.now + delay);
                self.executed_at[usize::from(node)] = time;
                self.at(time, Happening::Executed { to: node, life, header, reply });
            }
            Asks::Answer { client, request, answer } => self.answer(client, request, answer),
            Asks::Fetch { from } => {
                let time = self.now + self.seed.between(5, 60);
                let end = match self.nodes[usize::from(from)].snapshot() {
                    Some(snapshot) => Happening::Fetched { to: node, life, snapshot: Box::new(snapshot) },
                    None => Happening::FetchFailed { to: node, life },
                };
                self.at(time, end);
            }
            Asks::Stuck(story) => self.judge.faults.push(format!("replica {node} {story}")),
        }
    }

    fn round(&mut self) {
        for node in 0..u8::try_from(self.nodes.len()).expect("few nodes") {
            if self.paused[usize::from(node)] > self.now {
                continue;
            }
            let mut asks = Vec::new();
            self.nodes[usize::from(node)].look_around(self.now, &mut asks);
            self.serve(node, asks);
            let Some(beat) = self.nodes[usize::from(node)].beat() else { continue };
            for to in (0..u8::try_from(self.nodes.len()).expect("few nodes")).filter(|to| *to != node) {
                self.deliver(node, to, Happening::Beat { from: node, to, beat });
            }
        }
        let period = self.nodes[0].setup.timing.heartbeat;
        self.at(self.now + period, Happening::Round);
    }

    fn send(&mut self, from: u8, to: u8, message: &Message) {
        let copies = 1 + u64::from(self.seed.chance(self.weather.duplication));
        for _ in 0..copies {
            self.deliver(from, to, Happening::Message { from, to, message: message.clone() });
        }
    }

    fn deliver(&mut self, from: u8, to: u8, happening: Happening) {
        let lost = self.seed.chance(self.weather.loss);
        let delay = self.seed.between(1, self.weather.delay);
        if !lost && self.cut[usize::from(from)][usize::from(to)] <= self.now {
            self.at(self.now + delay, happening);
        }
    }
}
