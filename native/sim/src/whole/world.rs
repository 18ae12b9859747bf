//! A world of one whole node and its clients: load among faults, then rest, then everything is read back, twice.

use std::collections::{BTreeMap, BTreeSet};

use ng_io::simulated::{Faults, Random, SimulatedClock};
use ng_io::{Environment as _, SimulatedEnvironment};
use ng_shard::ending::Ending;

use super::asked::Asked;
use super::audit;
use super::client::Client;
use super::leases::Leases;
use super::load::{Load, wall};
use super::model::Model;
use super::process::{Fault as End, Process, stop_bound};
use super::reach::Reached;
use super::sizes::{Sizes, server};
use crate::conditions::log_uniform;
use crate::damage::{Damage, Files, files_of};
use crate::judges::Verdict;
use crate::node::MILLI;
use crate::plan::{Fault, Plan};
use crate::story::Story;
use crate::world::Outcome;

/// Rounds at one moment after which something is done over and over.
const STILL_MAX: u64 = 100_000;

/// Milliseconds after which every request is answered, or its connection has ended, once all faults have healed.
const PATIENCE: u64 = 20_000;

/// Nanoseconds between a connection's end and the next one of a client, on average.
const RECONNECT: u64 = 10 * MILLI;

/// In a world with leases, thousandths of the directories that lose names at a power cut.
const LOST_NAMES: u32 = 500;

/// What happens at a moment.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happening {
    /// A fault is drawn.
    Fault,
    /// The node starts.
    Start,
    /// The disk has room again.
    Room,
    /// The disk fails no more.
    SoundDisk,
    /// An orderly stop that has not ended by now takes too long.
    StopBound(u64),
    /// An order about a lease is due.
    Lease,
}

pub(crate) struct WholeWorld {
    pub(super) plan: Plan,
    pub(super) sizes: Sizes,
    clock: SimulatedClock,
    pub(super) now: u64,
    pub(super) random: Random,
    /// What is to go, in a world where something goes.
    drops: Option<Random>,
    pub(super) leases: Option<Leases>,
    /// The files when the life before the last one ended, where one of them may be put in the place of a later one.
    pub(super) older: Files,
    pub(super) environment: SimulatedEnvironment,
    pub(super) process: Option<Process>,
    pub(super) clients: Vec<Client>,
    pub(super) model: Model,
    happenings: BTreeMap<(u64, u64), Happening>,
    sequence: u64,
    pub(super) shards: u16,
    /// Processes that were started.
    pub(super) lives: u64,
    acknowledged: usize,
    asked: u64,
    /// The disk may fail: a process or a start may end for that.
    pub(super) disk_fails: bool,
    pub(super) disk_is_full: bool,
    pub(super) stopping: bool,
    /// Groups whose files were said to be gone.
    removed: BTreeSet<u64>,
    pub(super) silent: bool,
    /// The last orderly stop is under way: nothing starts by itself.
    ending: bool,
    pub(super) story: Story,
}

impl WholeWorld {
    pub(crate) fn new(plan: Plan, told: bool) -> Self {
        let mut random = Random::new(plan.seed ^ 0x7768_6f6c_6521);
        let sizes = Sizes::draw(plan.seed, plan.drops);
        let model = Model::with_segments(sizes.surroundings.segment_bytes);
        let clock = SimulatedClock::default();
        let environment = SimulatedEnvironment::on(&clock, random.next());
        environment.set_stream_weather(sizes.weather);
        if plan.has(Fault::SlowDisk) {
            let latency = log_uniform(&mut Random::new(plan.seed ^ 0x6c61_7465), 100_000, 5_000_000);
            environment.set_latency_max(latency);
        }
        let count = plan.registrants + plan.producers;
        let clients = (0..count)
            .map(|number| Client::new(number, usize::try_from(1 + random.below(8)).unwrap_or(1)))
            .collect();
        Self {
            shards: plan.shards.first().copied().unwrap_or(1),
            drops: plan.drops.then(|| Random::new(plan.seed ^ 0x6c65_7420_676f)),
            older: Files::new(),
            leases: plan.leases.then(|| Leases::new(plan.seed)),
            plan,
            sizes,
            clock,
            now: 0,
            random,
            environment,
            process: None,
            clients,
            model,
            happenings: BTreeMap::new(),
            sequence: 0,
            lives: 0,
            acknowledged: 0,
            asked: 0,
            disk_fails: false,
            disk_is_full: false,
            stopping: false,
            removed: BTreeSet::new(),
            silent: false,
            ending: false,
            story: Story::new(told),
        }
    }

    pub(crate) fn story(&self) -> impl Iterator<Item = &str> {
        self.story.lines()
    }

    pub(crate) fn run(&mut self) -> Result<Outcome, Verdict> {
        self.start()?;
        if !self.plan.faults.is_empty() {
            let first = self.between_faults();
            self.at(first, Happening::Fault);
        }
        self.next_lease();
        let healed = self.plan.healed * MILLI;
        self.until(healed, |_| false)?;
        self.heal();
        let quiet = self.now + (self.plan.end - self.plan.healed) * MILLI / 3;
        self.until(quiet, |_| false)?;
        self.silent = true;
        let bound = self.now + PATIENCE * MILLI;
        self.until(bound, Self::is_owed_nothing)?;
        let owed = self.owed_orders();
        if !owed.is_empty() {
            return Err(Verdict(format!("orders about leases have no end: {owed:?}")));
        }
        if let Some(client) = self.clients.iter().find(|client| !client.pending.is_empty()) {
            return Err(Verdict(format!("client {} is owed replies: {:?}", client.number, client.pending)));
        }
        audit::run(self)?;
        audit::age(self)?;
        self.ending = true;
        self.check_leases()?;
        let damage = if self.plan.damage.is_empty() {
            self.stop_in_order()?;
            self.start()?;
            audit::run(self)?;
            self.check_leases()?;
            None
        } else {
            self.damage_and_read()?
        };
        Ok(Outcome {
            lived: self.now / MILLI,
            acknowledged: self.acknowledged,
            restarts: self.lives.saturating_sub(1),
            operations: self.acknowledged as u64,
            trace: self.environment.trace(),
            damage,
        })
    }

    pub(crate) const fn reached(&self) -> &Reached {
        &self.model.reached
    }

    fn owed_orders(&self) -> Vec<u64> {
        self.leases.as_ref().map(Leases::owed).unwrap_or_default()
    }

    fn is_owed_nothing(&self) -> bool {
        self.clients.iter().all(|client| client.pending.is_empty()) && self.owed_orders().is_empty()
    }

    pub(super) fn tell(&mut self, line: impl FnOnce() -> String) {
        self.story.tell(self.now, line);
    }

    pub(super) fn at(&mut self, time: u64, happening: Happening) {
        self.sequence += 1;
        self.happenings.insert((time, self.sequence), happening);
    }

    /// Starts the process. One that the disk refuses starts again later.
    pub(super) fn start(&mut self) -> Result<(), Verdict> {
        let Err(ending) = self.launch() else { return self.check_leases() };
        self.environment.kill();
        self.tell(|| format!("it does not start: {ending}"));
        if !self.disk_fails && !self.disk_is_full {
            return Err(Verdict(format!("the node does not start: {ending}")));
        }
        let again = self.now + 100 * MILLI;
        self.at(again, Happening::Start);
        Ok(())
    }

    pub(super) fn launch(&mut self) -> Result<(), Ending> {
        self.lives += 1;
        self.model.lives = self.lives;
        let mut settings = self.sizes.settings.clone();
        settings.engine.shard_cpus = vec![None; self.shards.into()];
        #[cfg(feature = "plants")]
        {
            settings.plant = self.plan.plant.map(crate::plants::Plant::place);
        }
        let shards = self.shards;
        self.tell(|| format!("the node starts with {shards} shards"));
        let random = Random::new(self.random.next());
        let mut process = Process::start(&self.environment, &settings, self.sizes.surroundings, random)?;
        process.python.know_removed(std::mem::take(&mut self.removed));
        self.process = Some(process);
        Ok(())
    }

    /// Ends the process.
    pub(super) fn end(&mut self, power: bool) {
        if power {
            if self.plan.leases {
                let faults = self.environment.faults();
                self.environment.set_faults(Faults { lost_names: LOST_NAMES, ..faults });
            }
            self.environment.cut_power();
        } else {
            self.environment.kill();
        }
        self.leave_process();
        self.model.crashed();
        for client in &mut self.clients {
            for (_, asked) in &mut client.pending {
                asked.outlive(&mut self.model);
            }
        }
    }

    fn leave_process(&mut self) {
        self.stopping = false;
        if let Some(leases) = &mut self.leases {
            leases.forget_orders();
        }
        if !self.ending && self.plan.damage.contains(&Damage::Older) {
            self.older = files_of(&self.environment);
        }
        if let Some(process) = self.process.take() {
            self.removed = process.python.removed();
        }
    }

    /// Stops it in order, starts nothing afterwards.
    pub(super) fn stop_in_order(&mut self) -> Result<(), Verdict> {
        self.begin_stop();
        let bound = self.stop_bound();
        self.until(bound, |world| world.process.is_none())?;
        if self.process.is_some() {
            return Err(Verdict("an orderly stop does not end".to_owned()));
        }
        Ok(())
    }

    /// When a stop that begins now must have ended.
    pub(super) fn stop_bound(&self) -> u64 {
        self.now + u64::try_from(stop_bound(&self.sizes.settings).as_nanos()).unwrap_or(0)
    }

    pub(super) fn begin_stop(&mut self) {
        self.tell(|| "the node stops in order".to_owned());
        self.stopping = true;
        if let Some(process) = &self.process {
            process.stop();
        }
    }

    /// Lets the world go on until something is so, or until a moment.
    pub(super) fn until(&mut self, end: u64, is_so: impl Fn(&Self) -> bool) -> Result<(), Verdict> {
        let mut still = 0;
        while !is_so(self) {
            let next = self.next().max(self.now);
            if next >= end {
                self.now = self.now.max(end);
                self.clock.advance_to(end);
                return Ok(());
            }
            still = if next > self.now { 0 } else { still + 1 };
            if still > STILL_MAX {
                return Err(Verdict(format!("time stands still at {} ns", self.now)));
            }
            self.now = next;
            self.clock.advance_to(next);
            self.advance()?;
        }
        Ok(())
    }

    fn next(&self) -> u64 {
        let clients =
            self.clients.iter().flat_map(|client| [Some(self.acts(client)), client.next()]).flatten();
        let happening = self.happenings.first_key_value().map(|((time, _), _)| *time);
        let process = self.process.as_ref().map(Process::next);
        clients.chain(happening).chain(process).min().unwrap_or(u64::MAX)
    }

    /// When a client does something of its own accord.
    fn acts(&self, client: &Client) -> u64 {
        if self.silent && client.is_connected() { u64::MAX } else { client.acts }
    }

    fn advance(&mut self) -> Result<(), Verdict> {
        self.model.now = self.now;
        self.model.machine_now = self.environment.now().as_nanos();
        while let Some(first) = self.happenings.first_entry()
            && first.key().0 <= self.now
        {
            let happening = first.remove();
            self.happen(happening)?;
        }
        self.turn_process()?;
        for number in 0..self.clients.len() {
            self.turn_client(number)?;
        }
        Ok(())
    }

    fn turn_process(&mut self) -> Result<(), Verdict> {
        let Some(process) = &mut self.process else { return Ok(()) };
        if process.next() > self.now {
            return Ok(());
        }
        match process.turn(self.now) {
            Ok(()) => {}
            Err(End::Python(what)) => return Err(Verdict(what)),
            Err(End::Ended(ending)) => {
                self.tell(|| format!("the process ends: {ending}"));
                if !self.disk_fails && !self.disk_is_full {
                    return Err(Verdict(format!("the process ends: {ending}")));
                }
                self.end(false);
                let again = self.now + 20 * MILLI;
                self.at(again, Happening::Start);
                return Ok(());
            }
        }
        if process.is_stopped() {
            if !self.stopping {
                return Err(Verdict("the process stops, and nobody asked it to".to_owned()));
            }
            self.tell(|| "the node has stopped".to_owned());
            self.environment.kill();
            self.leave_process();
            if !self.ending {
                let soon = self.now + MILLI;
                self.at(soon, Happening::Start);
            }
        }
        for client in &mut self.clients {
            client.push();
        }
        self.take_lease_records()
    }

    fn turn_client(&mut self, number: usize) -> Result<(), Verdict> {
        let client = &mut self.clients[number];
        if client.next().is_some_and(|next| next <= self.now) {
            let waiting = client.pending.len();
            self.acknowledged += client.receive(self.now, &mut self.model).map_err(Verdict)?;
            let left = client.pending.len();
            if !client.is_connected() {
                client.rest(self.now, RECONNECT, &mut self.random);
            }
            if left < waiting {
                self.tell(|| format!("client {number} has {left} requests under way, and had {waiting}"));
            }
        }
        let client = &self.clients[number];
        if self.acts(client) <= self.now {
            self.act(number);
        }
        Ok(())
    }

    fn act(&mut self, number: usize) {
        let clients = self.clients.len() as u64;
        let client = &mut self.clients[number];
        if !client.is_connected() {
            client.rest(self.now, RECONNECT, &mut self.random);
            if !self.silent {
                client.connect(&self.environment, server(), &mut self.model);
            }
            return;
        }
        let mean = (1_000 * MILLI * clients / self.plan.rate).max(1);
        client.rest(self.now, mean, &mut self.random);
        if !client.has_session()
            || client.pending.len() >= client.depth
            || self.asked >= self.plan.requests_max
        {
            return;
        }
        let mut load = Load {
            model: &mut self.model,
            random: &mut self.random,
            payload_bytes: self.plan.conditions.payload_bytes.1,
            wall: wall(&self.environment),
            registrants: self.plan.registrants.max(1),
            partitions: self.plan.partitions,
            drops: self.drops.as_mut(),
        };
        if let Some(asked) = load.next(client) {
            self.asked += 1;
            self.story.tell(self.now, || format!("client {number} asks for {asked:?}"));
            client.ask(asked, &mut self.model);
        }
    }

    /// A client asks, whatever it would do of its own accord.
    pub(super) fn ask(&mut self, number: usize, asked: Asked) {
        self.story.tell(self.now, || format!("client {number} asks for {asked:?}"));
        self.clients[number].ask(asked, &mut self.model);
    }
}
