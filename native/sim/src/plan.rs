//! What a world is like: drawn from the seed, and what shrinking takes away from.

use ng_io::simulated::Random;

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
}

impl Fault {
    /// Every kind.
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

/// Everything that is decided before a world begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Where it comes from; also the source of every choice that the world makes as it goes.
    pub seed: u64,
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
    /// Faults of which one hits a file between two lives of a node alone; none in other worlds, and none that is drawn.
    pub damage: Vec<Damage>,
    /// A known bug; only a build with the feature `plants` has it.
    pub plant: Option<Plant>,
}

/// How long a world lives, in milliseconds, and when its faults have healed.
pub const LIFE: u64 = 30_000;
const HEALED: u64 = 20_000;

/// Requests of all clients in a second.
const RATE: u64 = 50;

impl Plan {
    /// The plan of a seed; `nodes` if the world shall have this many.
    #[must_use]
    pub fn draw(seed: u64, nodes: Option<u8>) -> Self {
        let mut random = Random::new(seed ^ 0x7069_616e);
        let drawn = [1, 3, 3, 3, 3, 5][usize::try_from(random.below(6)).unwrap_or(0)];
        let nodes = nodes.unwrap_or(drawn);
        let shards = (0..nodes).map(|_| u16::try_from(1 + random.below(4)).unwrap_or(1)).collect();
        let mut faults: Vec<Fault> = Fault::ALL.into_iter().filter(|_| random.below(3) > 0).collect();
        if random.below(8) == 0 {
            faults.clear();
        }
        // A torn tail on one node and an empty disk on another may leave a group undecidable, and rightly so.
        let destroys = |fault: &Fault| fault.needs_bad_disk(nodes.into());
        if nodes < 3 {
            faults.retain(|fault| !destroys(fault));
        }
        let bad_disk = (nodes > 2 && faults.iter().any(destroys))
            .then(|| u8::try_from(random.below(nodes.into())).unwrap_or(0));
        Self {
            seed,
            shards,
            partitions: 1 + random.below(6),
            registrants: usize::try_from(1 + random.below(4)).unwrap_or(1),
            producers: usize::try_from(2 + random.below(6)).unwrap_or(2),
            rate: RATE,
            faults,
            between_faults: 200 + random.below(2_000),
            healed: HEALED,
            end: LIFE,
            bad_disk,
            requests_max: u64::MAX,
            drops: Random::new(seed ^ 0x6472_6f70).flip(),
            damage: Vec::new(),
            plant: None,
        }
    }

    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u8 {
        u8::try_from(self.shards.len()).unwrap_or(u8::MAX)
    }

    /// Whether faults of this kind happen.
    #[must_use]
    pub fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }
}
