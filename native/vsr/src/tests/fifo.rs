//! Three replicas, links and disks that answer in order, and one fault at every step of a short run.

use std::collections::VecDeque;

use ng_wire::replica::{Message, PrepareHeader};

use super::disk::{Disk, Snapshot};
use super::judge::Judge;
use super::node::{Asks, Beat, Node};
use super::workload::Client;
use crate::{Answer, ClientLimits, Event, Limits, Position, Setup, Status, Ticks, Timing};

/// Requests of the one client, its registration among them.
const REQUESTS: usize = 6;
/// When a run that has not come to rest has failed.
const PATIENCE: Ticks = 20_000;

/// What befalls one replica; it starts again some time later.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// It stops; what it had not synced is gone, or there.
    Crash { synced_only: bool },
    /// It stops, and one of its synced prepares is damaged, counted from the oldest.
    Damage { pick: u64, nameless: bool },
    /// It stops, and its disk is blank.
    Wipe,
}

impl Fault {
    fn each() -> Vec<Self> {
        let damages = (0..4).flat_map(|pick| [false, true].map(|nameless| Self::Damage { pick, nameless }));
        let crashes = [true, false].map(|synced_only| Self::Crash { synced_only });
        crashes.into_iter().chain(damages).chain([Self::Wipe]).collect()
    }
}

#[derive(Clone, Copy, Debug)]
struct Plan {
    step: u64,
    victim: u8,
    fault: Fault,
    /// How long it is down.
    down: Ticks,
}

#[derive(Debug)]
enum Happening {
    Message { from: u8, to: u8, message: Message },
    Beat { from: u8, to: u8, beat: Beat },
    Synced { to: u8, life: u64, mark: (Position, usize) },
    Executed { to: u8, life: u64, header: PrepareHeader, reply: Vec<u8> },
    Fetched { to: u8, life: u64, snapshot: Box<Snapshot> },
    FetchFailed { to: u8, life: u64 },
    Answer { request: u64, answer: Answer },
}

struct Line {
    now: Ticks,
    steps: u64,
    queue: VecDeque<Happening>,
    nodes: Vec<Node>,
    restart_at: Option<(u8, Ticks)>,
    beat_at: Ticks,
    client: Client,
    judge: Judge,
}

impl Line {
    fn new() -> Self {
        let limits =
            Limits { pipeline: 2, backlog: 4, retained: 2, applying: 2, repair: 2, ..Limits::default() };
        let timing = Timing { heartbeat: 50, suspicion: 200, resend: 50 };
        let clients = Some(ClientLimits { clients: 2, replies: 5, reply_bytes: 64 });
        let setup = Setup { group: 7, epoch: 1, replica: 0, replicas: 3, limits, timing, clients };
        let nodes = (0..3).map(|replica| Node::new(Setup { replica, ..setup }, None, 3)).collect();
        let (queue, judge) = (VecDeque::new(), Judge::new(true));
        let client = Client::new(1, true);
        let mut line = Self { now: 0, steps: 0, queue, nodes, restart_at: None, beat_at: 0, client, judge };
        (0..3).for_each(|node| line.start(node));
        line
    }

    /// Runs to rest; how many steps it took.
    fn run(&mut self, plan: Option<Plan>) -> Result<u64, String> {
        while self.judge.acknowledged() < REQUESTS || !self.agrees() {
            if let Some(plan) = plan.filter(|plan| plan.step == self.steps) {
                self.strike(&plan);
            }
            self.steps += 1;
            match self.queue.pop_front() {
                Some(happening) => self.happen(happening),
                None => self.wait(),
            }
            if let Some(fault) = self.judge.faults.first() {
                return Err(fault.clone());
            }
            if self.now > PATIENCE {
                return Err(format!("no rest after {} requests", self.judge.acknowledged()));
            }
        }
        Ok(self.steps)
    }

    fn agrees(&self) -> bool {
        self.nodes.iter().all(|node| {
            node.digests == self.nodes[0].digests
                && node.replica.as_ref().is_some_and(|replica| {
                    replica.status() == Status::Normal
                        && replica.commit_min().0 == self.judge.committed() as u64
                })
        })
    }

    fn start(&mut self, node: u8) {
        let mut asks = Vec::new();
        self.nodes[usize::from(node)].start(self.now, &mut asks);
        self.serve(node, asks);
    }

    fn strike(&mut self, plan: &Plan) {
        let node = &mut self.nodes[usize::from(plan.victim)];
        node.crash();
        match plan.fault {
            Fault::Crash { synced_only } => node.disk.stop(synced_only),
            Fault::Damage { pick, nameless } => {
                node.disk.stop(true);
                node.disk.damage(pick, nameless);
            }
            Fault::Wipe => node.disk = Disk::blank(),
        }
        self.restart_at = Some((plan.victim, self.now + plan.down));
    }

    /// Nothing is under way: the client asks, or the next timer is due.
    fn wait(&mut self) {
        if let Some((node, _)) = self.restart_at.filter(|(_, time)| *time <= self.now) {
            self.restart_at = None;
            self.start(node);
            return;
        }
        if self.client.retry_at <= self.now && self.judge.acknowledged() < REQUESTS {
            let (to, request) = (self.client.target, self.client.request());
            self.client.retry_at = self.now + 300;
            if self.nodes[usize::from(to)].replica.is_none() {
                self.client.target = (to + 1) % 3;
            }
            self.step(to, Event::Request(request));
            return;
        }
        if self.beat_at <= self.now {
            self.beat_at = self.now + self.nodes[0].setup.timing.heartbeat;
            (0..3).for_each(|node| self.beat(node));
            return;
        }
        let deadlines = self.nodes.iter().filter_map(|node| node.replica.as_ref()?.deadline());
        let restart = self.restart_at.map(|(_, time)| time);
        let retry = Some(self.client.retry_at).filter(|_| self.judge.acknowledged() < REQUESTS);
        let next =
            deadlines.chain(restart).chain(retry).min().map_or(self.beat_at, |next| next.min(self.beat_at));
        self.now = self.now.max(next);
        for node in 0..3 {
            self.step(node, Event::Tick);
        }
    }

    fn beat(&mut self, node: u8) {
        let mut asks = Vec::new();
        self.nodes[usize::from(node)].look_around(self.now, &mut asks);
        self.serve(node, asks);
        if let Some(beat) = self.nodes[usize::from(node)].beat() {
            let others = (0..3).filter(|to| *to != node);
            self.queue.extend(others.map(|to| Happening::Beat { from: node, to, beat }));
        }
    }

    fn step(&mut self, to: u8, event: Event) {
        let mut asks = Vec::new();
        self.nodes[usize::from(to)].step(event, self.now, &mut asks);
        self.serve(to, asks);
    }

    fn lives(&self, node: u8, life: u64) -> bool {
        let node = &self.nodes[usize::from(node)];
        node.replica.is_some() && node.life == life
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Message { from, to, message } => {
                let mut asks = Vec::new();
                self.nodes[usize::from(to)].hear(from, message, self.now, &mut asks);
                self.serve(to, asks);
            }
            Happening::Beat { from, to, beat } => {
                let mut asks = Vec::new();
                self.nodes[usize::from(to)].hear_beat(from, beat, self.now, &mut asks);
                self.serve(to, asks);
            }
            Happening::Synced { to, life, mark } if self.lives(to, life) => {
                let mut asks = Vec::new();
                self.nodes[usize::from(to)].synced(mark, &mut asks);
                self.serve(to, asks);
            }
            Happening::Executed { to, life, header, reply } if self.lives(to, life) => {
                self.step(to, Event::Applied { header, reply });
                if let Some(op) = self.nodes[usize::from(to)].checkpoint() {
                    self.step(to, Event::Checkpointed(op));
                }
            }
            Happening::Fetched { to, life, snapshot } if self.lives(to, life) => {
                let event = self.nodes[usize::from(to)].fetched(*snapshot);
                self.step(to, event);
            }
            Happening::Answer { request, answer } => {
                if let Some(body) = self.client.answered(request, &answer, self.now, 3)
                    && let Answer::Done { op, reply } = &answer
                {
                    self.judge.tells(body, *op, reply);
                }
            }
            Happening::FetchFailed { to, life } if self.lives(to, life) => self.step(to, Event::FetchFailed),
            Happening::Synced { .. }
            | Happening::Executed { .. }
            | Happening::Fetched { .. }
            | Happening::FetchFailed { .. } => {}
        }
    }

    fn serve(&mut self, node: u8, asks: Vec<Asks>) {
        let life = self.nodes[usize::from(node)].life;
        for ask in asks {
            let happening = match ask {
                Asks::Deliver { to, message } => Happening::Message { from: node, to, message },
                Asks::Sync => {
                    self.nodes[usize::from(node)].syncing = true;
                    let mark = self.nodes[usize::from(node)].sync_mark();
                    Happening::Synced { to: node, life, mark }
                }
                Asks::Executed { header, reply } => {
                    self.judge.executes(node, &header);
                    Happening::Executed { to: node, life, header, reply }
                }
                Asks::Answer { request, answer, .. } => Happening::Answer { request, answer },
                Asks::Fetch { from } => match self.nodes[usize::from(from)].snapshot() {
                    Some(snapshot) => Happening::Fetched { to: node, life, snapshot: Box::new(snapshot) },
                    None => Happening::FetchFailed { to: node, life },
                },
                Asks::Stuck(story) => {
                    self.judge.faults.push(story);
                    continue;
                }
            };
            self.queue.push_back(happening);
        }
    }
}

#[test]
fn one_fault_at_every_step() {
    let steps = Line::new().run(None).expect("a run without a fault comes to rest");
    let mut runs = 0;
    let mut failures = Vec::new();
    for step in 0..steps {
        for fault in Fault::each() {
            for (victim, down) in (0..3).flat_map(|victim| [0, 30, 700].map(|down| (victim, down))) {
                let plan = Plan { step, victim, fault, down };
                runs += 1;
                if let Err(story) = Line::new().run(Some(plan)) {
                    failures.push(format!("{plan:?}: {story}"));
                }
            }
        }
    }
    println!("{steps} steps, {runs} runs");
    assert!(failures.is_empty(), "{} of {runs} fail: {:#?}", failures.len(), failures.first());
}
