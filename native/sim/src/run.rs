//! Many worlds, on all CPUs, and what they came to.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::aims::Tally;
use crate::damage::{Cell, DamageWorld};
use crate::judges::Verdict;
use crate::panics::caught;
use crate::plan::{Draw, Fault, Plan};
use crate::whole::{Reached, WholeWorld};
use crate::world::{Outcome, World};

/// A world that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What it was like.
    pub plan: Box<Plan>,
    /// What the judge said.
    pub verdict: String,
}

/// What many worlds came to.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Worlds that were lived to the end.
    pub worlds: u64,
    /// Virtual milliseconds of those that held.
    pub lived: u64,
    /// Requests that were acknowledged in them.
    pub acknowledged: u64,
    /// Processes that were started again.
    pub restarts: u64,
    /// Operations executed.
    pub operations: u64,
    /// In how many worlds each kind of fault was possible.
    pub faults: BTreeMap<Fault, u64>,
    /// How often each damage ended in which way.
    pub damage: BTreeMap<Cell, u64>,
    /// Worlds with aims.
    pub aimed: u64,
    /// What came of their aims.
    pub tally: Tally,
    /// Worlds of whole nodes.
    pub whole: u64,
    /// What those reached.
    pub reached: Reached,
    /// Worlds that failed, by seed.
    pub failures: Vec<Failure>,
}

/// Lives one world to its end. A panic anywhere in it is a failure like any other.
pub fn live(plan: &Plan) -> Result<Outcome, Failure> {
    let mut world = Lived::new(plan, false);
    world.live(plan)
}

/// The story of a world, line by line, and what it came to.
pub fn tell(plan: &Plan) -> (Vec<String>, Result<Outcome, Failure>) {
    let mut world = Lived::new(plan, true);
    let ended = world.live(plan);
    (world.story(), ended)
}

/// A world of either kind.
enum Lived {
    Cluster(Box<World>),
    Damage(Box<DamageWorld>),
    Whole(Box<WholeWorld>),
}

impl Lived {
    fn new(plan: &Plan, told: bool) -> Self {
        if plan.draw == Draw::Whole {
            Self::Whole(Box::new(WholeWorld::new(plan.clone(), told)))
        } else if plan.damage.is_empty() {
            Self::Cluster(Box::new(World::new(plan.clone(), told)))
        } else {
            Self::Damage(Box::new(DamageWorld::new(plan.clone(), told)))
        }
    }

    fn run(&mut self) -> Result<Outcome, Verdict> {
        match self {
            Self::Cluster(world) => world.run(),
            Self::Damage(world) => world.run(),
            Self::Whole(world) => world.run(),
        }
    }

    fn live(&mut self, plan: &Plan) -> Result<Outcome, Failure> {
        let lived = caught(|| self.run());
        let ended = lived.and_then(|lived| lived.map_err(|verdict| verdict.0));
        ended.map_err(|verdict| Failure { plan: Box::new(plan.clone()), verdict })
    }

    fn tally(&self, failed: bool) -> Tally {
        match self {
            Self::Cluster(world) => world.tally(failed),
            Self::Damage(_) | Self::Whole(_) => Tally::default(),
        }
    }

    fn reached(&self) -> Option<&Reached> {
        match self {
            Self::Whole(world) => Some(world.reached()),
            Self::Cluster(_) | Self::Damage(_) => None,
        }
    }

    fn story(&self) -> Vec<String> {
        match self {
            Self::Cluster(world) => world.story().map(str::to_owned).collect(),
            Self::Damage(world) => world.story().map(str::to_owned).collect(),
            Self::Whole(world) => world.story().map(str::to_owned).collect(),
        }
    }
}

/// Looks on while worlds are lived.
pub trait Watcher {
    /// Asked before each world: whether it shall be lived.
    fn goes_on(&mut self, so_far: &Summary) -> bool;

    /// A world has failed just now.
    fn failed(&mut self, failure: &Failure);
}

/// Nobody looks on: all worlds are lived.
impl Watcher for () {
    fn goes_on(&mut self, _: &Summary) -> bool {
        true
    }

    fn failed(&mut self, _: &Failure) {}
}

/// Lives the worlds of `seeds`, as `draw` draws them, on `threads` threads.
pub fn live_many(
    seeds: Range<u64>,
    threads: usize,
    draw: impl Fn(u64) -> Plan + Sync,
    watcher: impl Watcher + Send,
) -> Summary {
    let next = AtomicU64::new(seeds.start);
    let shared = Mutex::new((Summary::default(), watcher));
    let live_on = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            {
                let (summary, watcher) = &mut *shared.lock().expect("no world panics here");
                if !watcher.goes_on(summary) {
                    return;
                }
            }
            let plan = draw(seed);
            let mut world = Lived::new(&plan, false);
            let lived = world.live(&plan);
            let tally = world.tally(lived.is_err());
            let (summary, watcher) = &mut *shared.lock().expect("no world panics here");
            if let Err(failure) = &lived {
                watcher.failed(failure);
            }
            if let Some(reached) = world.reached() {
                summary.whole += 1;
                summary.reached.add(reached);
            }
            summary.add(&plan, lived, &tally);
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(live_on);
        }
    });
    let (mut summary, _) = shared.into_inner().expect("no world panics here");
    summary.failures.sort_by_key(|failure| failure.plan.seed);
    summary
}

impl Summary {
    fn add(&mut self, plan: &Plan, lived: Result<Outcome, Failure>, tally: &Tally) {
        self.worlds += 1;
        self.aimed += u64::from(!tally.taken.is_empty());
        self.tally.add(tally);
        let has_faults = plan.damage.is_empty() || plan.draw == Draw::Whole;
        for fault in plan.faults.iter().filter(|_| has_faults) {
            *self.faults.entry(*fault).or_default() += 1;
        }
        match lived {
            Ok(outcome) => {
                self.lived += outcome.lived;
                self.acknowledged += outcome.acknowledged as u64;
                self.restarts += outcome.restarts;
                self.operations += outcome.operations;
                if let Some(cell) = outcome.damage {
                    *self.damage.entry(cell).or_default() += 1;
                }
            }
            Err(failure) => self.failures.push(failure),
        }
    }
}
