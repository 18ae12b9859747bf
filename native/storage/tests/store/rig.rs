//! A store with its shell, driven step by step.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ng_io::{Driver, DriverLimits, Environment, IoError, Wait};
use ng_storage::home::Home;
use ng_storage::segments_file::Fence;
use ng_storage::store::plan::{Plan, PlanFault, Step};
use ng_storage::store::shell::PlanShell;
use ng_storage::store::{
    CommittedBatch, Effect, Event, Held, READERS, SegmentStore, StoreDamage, StoreLimits, StoreOwner,
    Vouched, list_files,
};
use ng_wire::batch::{build, stamp, verify};

pub(crate) const LIMITS: StoreLimits = StoreLimits {
    segment_bytes: 16 * 1024,
    flush_bytes: 4 * 1024,
    flush_delay: Duration::from_secs(1),
    plan_bytes_max: 6 * 1024,
    buffered_bytes_max: 64 * 1024,
    batch_bytes_max: 64 * 1024,
    lanes: 2,
    retry_delay: Duration::from_millis(500),
};

pub(crate) const NODE: u128 = 0xd2;

const FILES_MAX: usize = 3;
const FIRST_TOKEN: u64 = 40;

const EMFILE: i32 = 24;

pub(crate) struct Rig<E: Environment> {
    pub(crate) environment: E,
    pub(crate) home: Home,
    driver: E::Driver,
    shell: PlanShell,
    pub(crate) store: SegmentStore,
    pub(crate) effects: Vec<Effect>,
    pub(crate) opened: BTreeMap<u64, Held>,
    pub(crate) damaged: BTreeMap<u64, StoreDamage>,
    pub(crate) synced: BTreeMap<u64, u64>,
    pub(crate) fenced: BTreeMap<u64, Vec<Fence>>,
    /// Effects that only some tests look at.
    pub(crate) said: Vec<Effect>,
    pub(crate) pressure: u64,
    /// Bytes of segments that plans asked for.
    pub(crate) bytes_asked: u64,
    pub(crate) fault: Option<PlanFault>,
    /// Whether the last step of the next plan finds no descriptor left.
    pub(crate) lacks_a_descriptor: bool,
    /// The same of plans under way, by lane.
    lacking: BTreeMap<u32, PlanFault>,
    dead: bool,
}

/// A batch of one message.
pub(crate) fn batch(op: u64, generation: u64, offset: u64, payload: &[u8]) -> CommittedBatch {
    let mut bytes = build(1, &[payload]);
    stamp(&mut bytes, 0, offset, 1_000_000 + op).expect("a batch that was just built");
    let last_offset = verify(&bytes).expect("a batch that was just stamped").last_offset;
    CommittedBatch {
        op,
        generation,
        base_offset: offset,
        last_offset,
        timestamp: 1_000_000 + op,
        messages: 1,
        bytes: Arc::new(bytes.into()),
    }
}

impl<E: Environment> Rig<E> {
    /// A store on a node of a cluster.
    pub(crate) fn with_peers(environment: &E, home: Home, incarnation: u64) -> Self {
        Self::start_with(environment, home, incarnation, LIMITS, true)
    }

    /// A store whose segments have 64 MiB.
    pub(crate) fn large(environment: &E, home: Home, incarnation: u64) -> Self {
        let (plan_bytes_max, buffered_bytes_max) = (1 << 20, 64 << 20);
        let limits = StoreLimits { segment_bytes: 64 << 20, plan_bytes_max, buffered_bytes_max, ..LIMITS };
        Self::start_with(environment, home, incarnation, limits, false)
    }

    pub(crate) fn new(environment: &E, home: Home, incarnation: u64) -> Self {
        Self::start_with(environment, home, incarnation, LIMITS, false)
    }

    fn start_with(
        environment: &E,
        home: Home,
        incarnation: u64,
        limits: StoreLimits,
        has_peers: bool,
    ) -> Self {
        environment.make_directories(&home.groups()).expect("a healthy disk");
        environment.make_directories(&home.trash()).expect("a healthy disk");
        environment.sync_directory(home.root()).expect("a healthy disk");
        let driver_limits = DriverLimits { operations_max: 16, handles_max: FILES_MAX + 16 };
        let owner = StoreOwner { node: NODE, shard: 0, incarnation, has_peers };
        Self {
            environment: environment.clone(),
            driver: environment.driver(driver_limits).expect("a driver"),
            shell: PlanShell::new(FIRST_TOKEN, (LIMITS.lanes + READERS) as usize, FILES_MAX, true),
            store: SegmentStore::new(owner, home.clone(), limits),
            home,
            effects: Vec::new(),
            opened: BTreeMap::new(),
            damaged: BTreeMap::new(),
            synced: BTreeMap::new(),
            fenced: BTreeMap::new(),
            said: Vec::new(),
            pressure: 0,
            bytes_asked: 0,
            fault: None,
            lacks_a_descriptor: false,
            lacking: BTreeMap::new(),
            dead: false,
        }
    }

    pub(crate) fn open(&mut self, group: u64, vouched: Option<Vouched>) {
        self.store.open(group, vouched, &mut self.effects);
        self.perform();
    }

    pub(crate) fn append(&mut self, group: u64, batch: CommittedBatch) {
        self.store.append(group, batch, self.environment.now(), &mut self.effects);
        self.perform();
    }

    pub(crate) fn act(&mut self, act: impl FnOnce(&mut SegmentStore, &mut Vec<Effect>)) {
        act(&mut self.store, &mut self.effects);
        self.perform();
    }

    /// Whether the power has gone.
    pub(crate) const fn is_dead(&self) -> bool {
        self.dead
    }

    pub(crate) fn flush(&mut self, group: u64) {
        self.act(|store, effects| store.flush(group, effects));
    }

    /// Lets the disk work until something was said.
    pub(crate) fn hear(&mut self, what: &str, is_it: impl Fn(&Effect) -> bool) {
        for _ in 0..10_000 {
            if let Some(place) = self.said.iter().position(&is_it) {
                self.said.remove(place);
                return;
            }
            self.work(Duration::from_millis(5));
        }
        panic!("it is never said: {what}");
    }

    /// Lets the disk work for a while; false if it has nothing to do.
    pub(crate) fn work(&mut self, time: Duration) -> bool {
        let now = self.environment.now();
        if self.store.next_deadline().is_some_and(|at| at <= now) {
            self.store.step(Event::Due, now, &mut self.effects);
            self.perform();
        }
        let mut completions = Vec::new();
        self.dead |= self.driver.complete(Wait::Until(now + time), &mut completions).is_err();
        let worked = !completions.is_empty();
        for completion in completions {
            assert!(self.shell.owns(completion.token), "nobody else uses the driver");
            if let Some((lane, result)) = self.shell.completed(&mut self.driver, completion) {
                let result = self.lacking.remove(&lane).map_or(result, Err);
                self.store.step(Event::Ended { lane, result }, self.environment.now(), &mut self.effects);
                self.perform();
            }
        }
        worked
    }

    /// Lets the disk work until nothing of a group is on its way. False if the power has gone.
    pub(crate) fn settle(&mut self, group: u64) -> bool {
        for _ in 0..10_000 {
            if self.dead || self.fault.is_some() || self.damaged.contains_key(&group) {
                return !self.dead;
            }
            let idle = !self.work(Duration::from_millis(5));
            if idle && self.store.synced(group) == u64::MAX {
                return !self.dead;
            }
        }
        panic!("group {group} never becomes quiet");
    }

    /// Writes all that waits in some groups, and waits for it.
    pub(crate) fn settle_all(&mut self, groups: impl Iterator<Item = u64>) -> bool {
        let groups: Vec<u64> = groups.collect();
        for group in &groups {
            self.flush(*group);
        }
        groups.into_iter().all(|group| self.settle(group))
    }

    /// Works until something is so.
    pub(crate) fn until(&mut self, what: &str, look: impl Fn(&Self) -> bool) {
        for _ in 0..20_000 {
            if look(self) {
                return;
            }
            self.work(Duration::from_millis(5));
        }
        panic!("it never comes to this: {what}");
    }

    /// Closes the files that are open: the next plan opens them again.
    pub(crate) fn forget_files(&mut self) {
        self.shell = PlanShell::new(FIRST_TOKEN, (LIMITS.lanes + READERS) as usize, FILES_MAX, true);
    }

    fn start_plan(&mut self, lane: u32, mut plan: Plan) {
        if std::mem::take(&mut self.lacks_a_descriptor)
            && let Some(last) = plan.pop()
        {
            let error = IoError::new("open", EMFILE);
            self.lacking.insert(lane, last.fault(error));
        }
        let asked = |step: &Step| match step {
            Step::Read { length, .. } => *length as u64,
            // Lists are small.
            _ => 0,
        };
        self.bytes_asked += plan.iter().map(asked).sum::<u64>();
        self.shell.start(&mut self.driver, lane, plan);
    }

    fn perform(&mut self) {
        for effect in std::mem::take(&mut self.effects) {
            match effect {
                Effect::Run { lane, plan } => self.start_plan(lane, plan),
                Effect::Opened { group, held } => {
                    self.opened.insert(group, held);
                }
                Effect::List { lane, directory } => {
                    let event = Event::Named { lane, files: list_files(&self.environment, &directory) };
                    self.store.step(event, self.environment.now(), &mut self.effects);
                    self.perform();
                }
                Effect::Fenced { group, fences } => {
                    self.fenced.insert(group, fences);
                }
                Effect::Damaged { group, damage } => {
                    self.damaged.insert(group, damage);
                }
                Effect::Synced { group, op } => {
                    let before = self.synced.insert(group, op);
                    assert!(before.is_none_or(|before| before <= op), "what is safe goes forward");
                }
                Effect::Pressure { .. } => self.pressure += 1,
                Effect::Fatal(fault) => self.fault = Some(fault),
                other => self.said.push(other),
            }
        }
    }
}
