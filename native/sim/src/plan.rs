//! What a world is like: drawn from the seed, and what shrinking takes away from.

use ng_io::simulated::Random;

use crate::aims::{self, Aim, Strike};
use crate::conditions::{Conditions, log_uniform};
use crate::damage::Damage;
use crate::plants::Plant;

/// A kind of fault that a plan may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Fault {
    /// Frames are lost.
    Loss,
    /// Frames come twice.
    Duplication,
    /// Frames overtake each other.
    Reordering,
    /// Nothing passes from one node to another, or to and from one node.
    Cut,
    /// A process is killed.
    Kill,
    /// The power of a node, or of all, goes.
    PowerCut,
    /// A node stands still for a while.
    Pause,
    /// The wall clock of a node jumps.
    ClockJump,
    /// Bits rot, or sectors become unreadable, on the one bad disk.
    Rot,
    /// The one bad disk is replaced by an empty one.
    Wipe,
    /// A write goes to the wrong place of its file, on the one bad disk.
    Misdirected,
    /// A write or a sync fails: the process ends, and starts again.
    WriteError,
    /// A read fails once.
    ReadError,
    /// A disk is full for a while.
    FullDisk,
    /// The metadata machine executes nothing for a while.
    StalledApply,
    /// A node starts again with another number of shards.
    ShardCount,
    /// A node stops in order and starts again.
    Stop,
    /// A client's connection is broken off, or half closed.
    Reset,
    /// A client sends what is no request.
    Garbage,
    /// A client reads nothing for a while.
    SlowReader,
    /// The disk is slow, and stands still for a while.
    SlowDisk,
}

impl Fault {
    /// Every kind that a whole node has.
    pub const OF_WHOLE: [Self; 14] = [
        Self::Kill,
        Self::PowerCut,
        Self::Pause,
        Self::ClockJump,
        Self::WriteError,
        Self::ReadError,
        Self::FullDisk,
        Self::StalledApply,
        Self::ShardCount,
        Self::Stop,
        Self::Reset,
        Self::Garbage,
        Self::SlowReader,
        Self::SlowDisk,
    ];

    /// Every kind that the logs of nodes have.
    pub const ALL: [Self; 16] = [
        Self::Loss,
        Self::Duplication,
        Self::Reordering,
        Self::Cut,
        Self::Kill,
        Self::PowerCut,
        Self::Pause,
        Self::ClockJump,
        Self::Rot,
        Self::Wipe,
        Self::Misdirected,
        Self::WriteError,
        Self::ReadError,
        Self::FullDisk,
        Self::StalledApply,
        Self::ShardCount,
    ];
}

impl Fault {
    /// Whether it may take away what was synced. Only the one bad disk of a world has such faults: another copy is always
    /// left then. A node of its own has no other copy, and may have a read that fails once, which takes nothing.
    #[must_use]
    pub const fn needs_bad_disk(self, nodes: usize) -> bool {
        match self {
            Self::Wipe | Self::Rot | Self::Misdirected => true,
            Self::ReadError => nodes > 2,
            _ => false,
        }
    }
}

/// How the world of a seed is drawn. A recorded seed names its draw, so that another draw never changes its world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// 50 requests a second for 20 s, a fault each second.
    Calm,
    /// A calm world with up to 3,000 requests a second and faults as often as every 20 ms.
    Dense,
    /// Rates, sizes, bounds and times drawn independently; most worlds are short.
    Storm,
    /// One node with all that its process has, drawn as a storm is.
    Whole,
}

impl Draw {
    /// Every draw.
    pub const ALL: [Self; 4] = [Self::Calm, Self::Dense, Self::Storm, Self::Whole];

    /// The kinds of faults that its worlds may have.
    #[must_use]
    pub const fn faults(self) -> &'static [Fault] {
        match self {
            Self::Calm | Self::Dense | Self::Storm => &Fault::ALL,
            Self::Whole => &Fault::OF_WHOLE,
        }
    }

    /// The draw of this name on a command line.
    pub fn named(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|draw| draw.name() == name);
        found.ok_or_else(|| format!("a world is drawn calm, dense, storm or whole, not {name:?}"))
    }

    /// Its name on a command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::Dense => "dense",
            Self::Storm => "storm",
            Self::Whole => "whole",
        }
    }
}

/// Everything that is decided before a world begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Where it comes from; also the source of every choice that the world makes as it goes.
    pub seed: u64,
    /// How it was drawn.
    pub draw: Draw,
    /// The shards of each node.
    pub shards: Vec<u16>,
    /// Partition groups.
    pub partitions: u64,
    /// Clients that register and change metadata.
    pub registrants: usize,
    /// Clients that send messages.
    pub producers: usize,
    /// Requests of all clients in a second.
    pub rate: u64,
    /// Kinds of faults.
    pub faults: Vec<Fault>,
    /// Milliseconds between two faults, on average.
    pub between_faults: u64,
    /// Milliseconds until the last fault heals.
    pub healed: u64,
    /// Milliseconds until everything must have come to rest.
    pub end: u64,
    /// The node whose disk may lose what was synced; one at most, so that another copy is always left.
    pub bad_disk: Option<u8>,
    /// Requests after which the clients fall silent.
    pub requests_max: u64,
    /// Whether messages go: by age, by size, because somebody says so.
    pub drops: bool,
    /// Whether partitions are cut for jobs, which offer rewritten segments; only a whole node has such jobs.
    pub leases: bool,
    /// Faults at chosen steps, beside those at random times.
    pub aims: Vec<Aim>,
    /// Faults of which one hits a file between two lives of a node alone; none in other worlds.
    pub damage: Vec<Damage>,
    /// Sizes and times.
    pub conditions: Conditions,
    /// A known bug; only a build with the feature `plants` has it.
    pub plant: Option<Plant>,
}

/// How long a calm world lives, in milliseconds, and when its faults have healed.
const LIFE: u64 = 30_000;
const HEALED: u64 = 20_000;

/// Milliseconds that a storm has after its faults have healed: clients go on for a third of them.
const STORM_REST: u64 = 6_000;

/// One of so many storms is long.
const LONG_STORMS: u64 = 16;

/// Bytes that clients may send in a storm while there are faults.
const STORM_BYTES: u64 = 8 << 20;

/// Requests of all clients in a second.
const RATE: u64 = 50;

impl Plan {
    /// The plan of a seed; `nodes` if the world shall have this many.
    #[must_use]
    pub fn draw(draw: Draw, seed: u64, nodes: Option<u8>) -> Self {
        let calm = Self::calm(seed, nodes);
        match draw {
            Draw::Calm => calm,
            Draw::Dense => calm.made_dense(),
            Draw::Storm => calm.made_stormy(),
            Draw::Whole => Self::calm(seed, Some(1)).made_whole(),
        }
    }

    fn made_dense(self) -> Self {
        let pick =
            |of: [u64; 4], tag: u64| of[usize::try_from(Random::new(self.seed ^ tag).below(4)).unwrap_or(0)];
        let rate = pick([50, 200, 1_000, 3_000], 0x7261_7465);
        let base = pick([20, 60, 200, 800], 0x6265_7477);
        let between_faults = base + (self.between_faults - 200) % (2 * base);
        Self { draw: Draw::Dense, rate, between_faults, ..self }
    }

    /// Only what a world has of everything bounds it: as many requests as fit a budget, of operations and of bytes.
    fn made_stormy(self) -> Self {
        let mut random = Random::new(self.seed ^ 0x7374_6f72_6d21);
        let conditions = Conditions::stormy(self.seed);
        let rate = log_uniform(&mut random, 20, 5_000);
        let between_faults = log_uniform(&mut random, 10, 2_000);
        let is_long = random.below(LONG_STORMS) == 0;
        let requests = if is_long {
            log_uniform(&mut random, 2_000, 16_000)
        } else {
            log_uniform(&mut random, 100, 2_000)
        };
        let affordable = STORM_BYTES / (conditions.payload_bytes.1 + 512);
        let lasts = requests.min(affordable) * 1_000 / rate;
        let healed = lasts.max(2 * between_faults).clamp(300, HEALED);
        let likelihood = 1 + random.below(7);
        let mut faults: Vec<Fault> =
            Fault::ALL.into_iter().filter(|_| random.below(8) < likelihood).collect();
        if random.below(16) == 0 {
            faults.clear();
        }
        let mut plan = Self {
            draw: Draw::Storm,
            rate,
            between_faults,
            partitions: log_uniform(&mut random, 1, 8),
            registrants: usize::try_from(log_uniform(&mut random, 1, 16.min(rate))).unwrap_or(1),
            producers: usize::try_from(log_uniform(&mut random, 1, 256.min(rate))).unwrap_or(1),
            healed,
            end: healed + STORM_REST,
            faults,
            damage: self.drawn_damage(),
            conditions,
            ..self
        };
        plan.choose_bad_disk(&mut random);
        plan.aims = aims::draw(&plan);
        plan
    }

    /// Its storm without what only a cluster has.
    fn made_whole(self) -> Self {
        let mut random = Random::new(self.seed ^ 0x6f6e_6520_6e6f_6465);
        let likelihood = 1 + random.below(7);
        let others = Fault::OF_WHOLE.into_iter().filter(|fault| *fault != Fault::SlowDisk);
        let mut faults: Vec<Fault> = others.filter(|_| random.below(8) < likelihood).collect();
        if random.below(16) == 0 {
            faults.clear();
        }
        let stormy = self.made_stormy();
        // From a seed of its own: worlds with a quick disk are what they were.
        if Random::new(stormy.seed ^ 0x736c_6f77).below(3) == 0 {
            faults.push(Fault::SlowDisk);
        }
        let producers = usize::try_from(log_uniform(&mut random, 1, 16)).unwrap_or(1);
        let registrants = usize::try_from(log_uniform(&mut random, 1, 4)).unwrap_or(1);
        Self {
            draw: Draw::Whole,
            producers,
            registrants,
            partitions: stormy.partitions.min(4),
            healed: stormy.healed.min(3_000),
            end: stormy.healed.min(3_000) + 1_500,
            faults,
            leases: Random::new(stormy.seed ^ 0x6c65_6173_6573).flip(),
            damage: stormy.damage_of_whole(),
            bad_disk: None,
            ..stormy
        }
    }

    /// In every second world of one node a file is damaged; elsewhere another node would repair it.
    fn drawn_damage(&self) -> Vec<Damage> {
        let mut random = Random::new(self.seed ^ 0x6461_6d61_6765_7321);
        let is_damaged = self.nodes() == 1 && random.flip();
        let likelihood = 1 + random.below(8);
        Damage::ALL.into_iter().filter(|_| random.below(8) < likelihood && is_damaged).collect()
    }

    /// In every fourth whole node a file is damaged before the last start.
    fn damage_of_whole(&self) -> Vec<Damage> {
        let mut random = Random::new(self.seed ^ 0x7370_6f69_6c74);
        let is_damaged = random.below(4) == 0;
        let likelihood = 1 + random.below(8);
        Damage::ALL.into_iter().filter(|_| random.below(8) < likelihood && is_damaged).collect()
    }

    /// A torn tail on one node and an empty disk on another may leave a group undecidable, and rightly so.
    fn choose_bad_disk(&mut self, random: &mut Random) {
        let nodes = self.nodes();
        let destroys = |fault: &Fault| fault.needs_bad_disk(nodes.into());
        if nodes < 3 {
            self.faults.retain(|fault| !destroys(fault));
        }
        self.bad_disk = (nodes > 2 && self.faults.iter().any(destroys))
            .then(|| u8::try_from(random.below(nodes.into())).unwrap_or(0));
    }

    fn calm(seed: u64, nodes: Option<u8>) -> Self {
        let mut random = Random::new(seed ^ 0x7069_616e);
        let drawn = [1, 3, 3, 3, 3, 5][usize::try_from(random.below(6)).unwrap_or(0)];
        let nodes = nodes.unwrap_or(drawn);
        let shards = (0..nodes).map(|_| u16::try_from(1 + random.below(4)).unwrap_or(1)).collect();
        let mut faults: Vec<Fault> = Fault::ALL.into_iter().filter(|_| random.below(3) > 0).collect();
        if random.below(8) == 0 {
            faults.clear();
        }
        let mut plan = Self {
            seed,
            draw: Draw::Calm,
            shards,
            partitions: 1,
            registrants: 1,
            producers: 2,
            rate: RATE,
            faults,
            between_faults: 200,
            healed: HEALED,
            end: LIFE,
            bad_disk: None,
            requests_max: u64::MAX,
            drops: Random::new(seed ^ 0x6472_6f70).flip(),
            leases: false,
            aims: Vec::new(),
            damage: Vec::new(),
            conditions: Conditions::calm(seed),
            plant: None,
        };
        plan.choose_bad_disk(&mut random);
        plan.partitions += random.below(6);
        plan.registrants += usize::try_from(random.below(4)).unwrap_or(0);
        plan.producers += usize::try_from(random.below(6)).unwrap_or(0);
        plan.between_faults += random.below(2_000);
        plan
    }

    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u8 {
        u8::try_from(self.shards.len()).unwrap_or(u8::MAX)
    }

    /// How often a kind of fault is chosen, beside the others.
    #[must_use]
    pub fn weight(&self, fault: Fault) -> u64 {
        match self.draw {
            Draw::Calm | Draw::Dense => 1,
            Draw::Storm | Draw::Whole => {
                log_uniform(&mut Random::new(self.seed ^ (fault as u64 + 1) << 56), 1, 16)
            }
        }
    }

    /// Whether a write fails at a chosen step.
    #[must_use]
    pub fn aims_at_writes(&self) -> bool {
        self.aims.iter().any(|aim| aim.strike == Strike::WriteError)
    }

    /// Whether faults of this kind happen.
    #[must_use]
    pub fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }
}
