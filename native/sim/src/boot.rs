//! The start of a process on a simulated machine.

use std::fmt;

use ng_io::simulated::Random;
use ng_io::{DriverLimits, Environment, SimulatedEnvironment};
use ng_partition::PartitionLimits;
use ng_replication::owner::{METADATA, owner};
use ng_replication::{GroupLimits, LogIdentity, LogParts, LogRefusal, ShardLog};
use ng_storage::boot::BootError;
use ng_storage::data_directory::{DataDirectory, Identity, Settings};
use ng_storage::founding::LayoutState;
use ng_storage::home::Home;
use ng_storage::layout::{Layout, Member};
use ng_storage::resharding::Resharding;
use ng_storage::store::plan::PlanFault;
use ng_storage::superblock::Genesis;
use ng_vsr::ClientLimits;

use crate::conditions::FRAME_BYTES_MAX;
use crate::node::{Node, Shard};
use crate::plan::Plan;
use crate::rows::Rows;

/// Sessions for which the client table has slots.
const CLIENT_SLOTS: u32 = 16;

const DRIVER: DriverLimits = DriverLimits { operations_max: 256, handles_max: 256 };

/// Tokens of a shard's driver: those of the journal come first.
const JOURNAL_TOKEN: u64 = 1;
const LOG_TOKEN: u64 = 100;

/// Why a process did not start.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Its directory was refused.
    Directory(BootError),
    /// Its log was refused.
    Log(LogRefusal),
}

impl Refused {
    /// Whether the disk failed, and may not the next time.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Directory(BootError::Io(_) | BootError::Lost { .. }))
    }

    /// Whether there was no space for what a start has to write.
    pub(crate) fn is_for_space(&self) -> bool {
        matches!(self, Self::Directory(BootError::Io(fault)) if fault.heals())
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(error) => error.fmt(out),
            Self::Log(refusal) => refusal.fmt(out),
        }
    }
}

/// Where a process keeps its files.
pub(crate) fn home() -> Home {
    Home::new("data")
}

/// All groups of a world, with the epochs of their configurations.
#[must_use]
pub(crate) fn groups(plan: &Plan) -> Vec<(u64, u32)> {
    let partitions = (0..plan.partitions).map(|number| (1 << 12 | number, 1));
    partitions.chain([(METADATA, 1)]).collect()
}

/// Opens every shard of a node, and founds its directory first if there is none.
pub(crate) fn boot(node: &Node, plan: &Plan, founding: bool) -> Result<Vec<Shard>, Refused> {
    node.environment.boot(|| open_node(node, plan, founding))
}

fn open_node(node: &Node, plan: &Plan, founding: bool) -> Result<Vec<Shard>, Refused> {
    let directory = DataDirectory::new(node.environment.clone(), home(), settings(plan));
    let mut chance = Random::new(plan.seed ^ u64::from(node.number) << 48 ^ node.lives << 32);
    let layout = match directory.layout().map_err(Refused::Directory)? {
        LayoutState::Complete(layout) => layout,
        _ => {
            let member = Member { number: node.number, count: plan.nodes() };
            let identity = Identity { cluster: plan.seed.into(), node: u128::from(node.number) + 1, member };
            let mut random = || u128::from(chance.next()) << 64 | u128::from(chance.next());
            let founded = directory.found(identity, node.shard_count.into(), &mut random);
            founded.map_err(Refused::Directory)?
        }
    };
    let layout = reshard(node, plan, &directory, layout, &mut chance)?;
    let shards = u16::try_from(layout.shard_count).unwrap_or(1);
    (0..shards).map(|shard| open_shard(node, plan, &directory, &layout, shard, founding)).collect()
}

/// Gives the node the number of shards that it shall have. Where what counts cannot be moved the count stays as it was: that
/// changes nothing, and the next start tries again. A disk that fails meanwhile ends the start, whatever is in force by then.
fn reshard(
    node: &Node,
    plan: &Plan,
    directory: &DataDirectory<SimulatedEnvironment>,
    layout: Layout,
    chance: &mut Random,
) -> Result<Layout, Refused> {
    if layout.shard_count == u32::from(node.shard_count) {
        return Ok(layout);
    }
    let owner = |group, shards: u32| u32::from(owner(group, u16::try_from(shards).unwrap_or(1)));
    let mut random = || u128::from(chance.next()) << 64 | u128::from(chance.next());
    let change = Resharding {
        shard_count: node.shard_count.into(),
        owner: &owner,
        random: &mut random,
        solo: plan.nodes() == 1,
    };
    match directory.change_shard_count(&layout, change) {
        Err(BootError::NotMoved { .. }) => Ok(layout),
        changed => changed.map_err(Refused::Directory),
    }
}

fn settings(plan: &Plan) -> Settings {
    Settings {
        genesis: Genesis {
            frame_bytes_max: FRAME_BYTES_MAX,
            pipeline_depth: 16,
            client_table_slots: CLIENT_SLOTS,
            consumer_offsets_max: 16,
        },
        journal: plan.conditions.journal,
        direct: true,
        first_token: JOURNAL_TOKEN,
    }
}

fn open_shard(
    node: &Node,
    plan: &Plan,
    directory: &DataDirectory<SimulatedEnvironment>,
    layout: &Layout,
    shard: u16,
    founding: bool,
) -> Result<Shard, Refused> {
    let io = |error| {
        Refused::Directory(BootError::from(PlanFault {
            path: "data".into(),
            error,
            reading: false,
            removing: false,
        }))
    };
    let mut driver = node.environment.driver(DRIVER).map_err(io)?;
    let opened = directory.open_shard(&mut driver, layout, shard.into()).map_err(Refused::Directory)?;
    let metadata_entry = opened.entries.iter().find(|entry| entry.group == METADATA);
    let metadata_state = metadata_entry
        .map(|entry| directory.metadata_state(&mut driver, METADATA, entry.anchor.op))
        .transpose()
        .map_err(Refused::Directory)?;
    let shards = u16::try_from(layout.shard_count).unwrap_or(1);
    let mut chance =
        Random::new(plan.seed ^ u64::from(node.number) << 48 ^ node.lives << 32 ^ u64::from(shard) << 16);
    let conditions = &plan.conditions;
    let parts = LogParts {
        identity: LogIdentity {
            cluster: layout.cluster,
            node: node.number,
            nodes: plan.nodes(),
            shard,
            shards,
            // A disk that was replaced knows nothing of the lives before; the others still do.
            incarnation: node.lives,
            timing: conditions.timing,
        },
        limits: limits(plan),
        shard: opened,
        home: directory.home().clone(),
        journal_limits: conditions.journal,
        store_limits: conditions.store,
        files_max: 8,
        direct: true,
        checkpoint_period: conditions.checkpoints.0 + chance.below(conditions.checkpoints.1),
        metadata_state,
        expected: groups(plan).into_iter().filter(|(group, _)| owner(*group, shards) == shard).collect(),
        founding,
        nonce: chance.next() | 1,
        metadata: Rows::new(chance.below(conditions.metadata_delay)),
        first_token: LOG_TOKEN,
    };
    #[cfg(feature = "plants")]
    let log = ShardLog::start_planted(parts, &driver, plan.plant.and_then(|plant| plant.place().in_log()));
    #[cfg(not(feature = "plants"))]
    let log = ShardLog::start(parts, &driver);
    let mut log = log.map_err(Refused::Log)?;
    log.watch();
    log.set_poll_limits(conditions.polls);
    Ok(Shard::new(driver, log))
}

fn limits(plan: &Plan) -> GroupLimits {
    let conditions = &plan.conditions;
    // The table of the superblock's genesis has no more slots.
    let clients = 1 + conditions.sessions % (plan.registrants as u64 + 2).min(CLIENT_SLOTS.into());
    GroupLimits {
        log: conditions.log,
        clients: ClientLimits { clients: u32::try_from(clients).unwrap_or(1), replies: 5, reply_bytes: 256 },
        partition: PartitionLimits::default(),
    }
}
