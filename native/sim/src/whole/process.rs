//! The process of a node: all of its shards, and Python behind them.

use std::time::Duration;

use ng_control::settings::Settings;
use ng_io::simulated::Random;
use ng_io::{Environment as _, SimulatedEnvironment, Wait};
use ng_shard::ending::Ending;
use ng_shard::node;
use ng_shard::unthreaded::Unthreaded;

use super::python::Python;

/// Nanoseconds that a turn of a shard takes at most.
const TURN: u64 = 20_000;

/// Nanoseconds between two looks at the trash.
const TRASH: u64 = 10_000_000;

/// One shard between two turns.
#[derive(Clone, Copy, Debug)]
struct Bed {
    /// How long it may sleep; none before its first turn, and when it has stopped.
    slept: Option<Wait>,
    /// Its thread is busy, or not scheduled, until then.
    busy_until: u64,
}

pub(super) struct Process {
    node: Unthreaded<SimulatedEnvironment>,
    environment: SimulatedEnvironment,
    pub(super) python: Python,
    beds: Vec<Bed>,
    next_trash: u64,
    random: Random,
}

/// Sizes and times of what is no setting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surroundings {
    pub(super) segment_bytes: u64,
    /// Nanoseconds that an operation of the metadata takes Python at most.
    pub(super) python_delay: u64,
}

impl Process {
    /// Starts all of it. The machine's own time is ahead of the world's afterwards.
    pub(super) fn start(
        environment: &SimulatedEnvironment,
        settings: &Settings,
        surroundings: Surroundings,
        mut random: Random,
    ) -> Result<Self, Ending> {
        let shards = settings.shards();
        let (node, port) = environment.boot(|| {
            let listener =
                environment.bind_stream(settings.engine.tcp_address, settings.engine.accept_backlog)?;
            let (node, port) = node::open(environment, settings.clone(), listener)?;
            Ok::<_, Ending>((Unthreaded::start(environment, node)?, port))
        })?;
        let Surroundings { segment_bytes, python_delay } = surroundings;
        let python = Python::new(port, shards, segment_bytes, python_delay, Random::new(random.next()));
        let began = environment.now().as_nanos();
        let bed = Bed { slept: None, busy_until: began };
        Ok(Self {
            beds: vec![bed; node.shards()],
            node,
            environment: environment.clone(),
            python,
            next_trash: began,
            random,
        })
    }

    /// Lets a shard stand still until then, or all of them.
    pub(super) fn pause(&mut self, shard: Option<usize>, until: u64) {
        for (number, bed) in self.beds.iter_mut().enumerate() {
            if shard.is_none_or(|shard| shard == number) {
                bed.busy_until = bed.busy_until.max(until);
            }
        }
    }

    /// Another process on the same machine does something. The shards go on when the machine has spent the time.
    pub(super) fn beside<T>(&mut self, does: impl FnOnce(&SimulatedEnvironment) -> T) -> T {
        let environment = self.environment.clone();
        let done = environment.boot(|| does(&environment));
        self.pause(None, environment.now().as_nanos());
        done
    }

    /// Begins an orderly stop.
    pub(super) fn stop(&self) {
        self.python.port.node.stop(self.environment.now());
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.node.is_stopped()
    }

    /// When something happens here that nobody from outside brings.
    pub(super) fn next(&self) -> u64 {
        let shards = (0..self.beds.len()).filter_map(|shard| self.due(shard));
        shards.chain([self.python.next(), self.next_trash]).min().unwrap_or(0)
    }

    /// When a shard is turned next, as things stand.
    fn due(&self, shard: usize) -> Option<u64> {
        let turned = self.node.shard(shard)?;
        let bed = self.beds[shard];
        let woken = match bed.slept {
            None | Some(Wait::Now) => 0,
            Some(Wait::Until(_)) if turned.driver().is_woken() => 0,
            Some(Wait::Until(at)) => {
                turned.driver().next_completion().map_or(at.as_nanos(), |next| next.min(at.as_nanos()))
            }
        };
        Some(woken.max(bed.busy_until))
    }

    /// Turns what is due.
    pub(super) fn turn(&mut self, now: u64) -> Result<(), Fault> {
        for shard in 0..self.beds.len() {
            if self.due(shard).is_some_and(|due| due <= now) {
                let slept = self.node.turn(shard, self.beds[shard].slept).map_err(Fault::Ended)?;
                let busy_until = now + 1 + self.random.below(TURN);
                self.beds[shard] = Bed { slept, busy_until };
            }
        }
        if self.python.next() <= now {
            self.python.turn(now, &self.environment).map_err(Fault::Python)?;
        }
        if self.next_trash <= now {
            self.next_trash = now + TRASH;
            let (node, environment) = (&mut self.node, &self.environment);
            environment.boot(|| node.tend_trash(environment));
            let behind = environment.now().as_nanos();
            if behind > now {
                self.pause(None, behind);
            }
        }
        Ok(())
    }
}

/// Why a process does not go on.
#[derive(Debug)]
pub(super) enum Fault {
    /// A shard ended it.
    Ended(Ending),
    /// It said something that Python does not understand.
    Python(String),
}

/// How long an orderly stop may take in all.
pub(super) fn stop_bound(settings: &Settings) -> Duration {
    settings.engine.drain_timeout + settings.engine.join_timeout
}
