//! Opens the data directory at a start: founds it if there is none, then opens it shard by shard.
//!
//! These functions wait for the disk. That is allowed because no shard turns yet.

use std::time::Duration;

use ng_control::log_pace::LogPace;
use ng_control::memory_parts::MemoryParts;
use ng_control::settings::Settings;
use ng_control::shard_id::ShardId;
use ng_io::{DriverLimits, Environment, IoError};
use ng_partition::PartitionLimits;
use ng_replication::owner::{METADATA, owner};
use ng_replication::{
    FIRST_EPOCH, GroupLimits, LogIdentity, LogParts, PollLimits, RetentionLimits, ShardLog,
};
use ng_storage::PAGE;
use ng_storage::data_directory::{self, DataDirectory, Identity};
use ng_storage::founding::LayoutState;
use ng_storage::home::Home;
use ng_storage::journal::Limits as JournalLimits;
use ng_storage::journal::shell::TOKENS as JOURNAL_TOKENS;
use ng_storage::layout::{Layout, Member};
use ng_storage::resharding::Resharding;
use ng_storage::store::StoreLimits;
use ng_storage::superblock::{Genesis, JOURNAL_FILES_MAX};
use ng_vsr::{ClientLimits, Limits, Timing};
use ng_wire::table::exit_status::ExitStatus;

use crate::ending::Ending;
use crate::metadata::MetadataPlane;

/// The log of a shard of this process.
pub type NodeLog<E> = ShardLog<E, MetadataPlane>;

/// First token of the log's operations. No connection has such a token, because their generations are far
/// lower.
const JOURNAL_TOKEN: u64 = u64::MAX - 4096;
const LOG_TOKEN: u64 = JOURNAL_TOKEN + JOURNAL_TOKENS;

/// Bytes of a journal file in addition to two of the largest bodies: headers, directories, padding to pages.
const JOURNAL_FILE_ROOM: u64 = 64 * 1024;

/// Maximum open segment files per shard.
const SEGMENTS_OPEN: usize = 64;

/// Maximum concurrent plans of a shard's store.
const STORE_LANES: u32 = 4;

/// Descriptors and operations for short-lived files, in addition to those of files that stay open.
const PASSING: usize = 32;

/// A founded data directory, before its shards are opened.
#[derive(Clone, Debug)]
pub struct Directory<E: Environment> {
    storage: DataDirectory<E>,
    layout: Layout,
    settings: data_directory::Settings,
    retention: RetentionLimits,
    memory: MemoryParts,
    pace: LogPace,
    #[cfg(feature = "plants")]
    plant: Option<ng_control::plant::Plant>,
    /// One nonce per shard; never zero, and different in each run of the node.
    nonces: Vec<u64>,
}

impl<E: Environment> Directory<E> {
    /// Finds the directory in the settings, and founds it if there is none.
    pub fn find(environment: &E, settings: &Settings, tell: impl Fn(&str)) -> Result<Self, Ending> {
        let kept = storage_settings(settings);
        let storage =
            DataDirectory::new(environment.clone(), Home::new(&settings.engine.data_directory), kept);
        let shards = u32::from(settings.shards());
        let layout = match storage.layout()? {
            LayoutState::Complete(layout) if layout.shard_count != shards => {
                tell(&format!("moving {} shards into {shards}", layout.shard_count));
                change_shard_count(environment, &storage, &layout, shards)?
            }
            LayoutState::Complete(layout) => layout,
            LayoutState::Nothing => {
                tell("founding the data directory");
                found(environment, &storage, shards)?
            }
        };
        let nonces = random_numbers(environment, shards as usize)?
            .into_iter()
            .map(|number| low_half(number) | 1)
            .collect();
        Ok(Self {
            storage,
            layout,
            settings: kept,
            retention: settings.retention(),
            memory: settings.memory(),
            pace: settings.pace,
            #[cfg(feature = "plants")]
            plant: settings.plant,
            nonces,
        })
    }

    /// Paths of the data directory.
    pub const fn home(&self) -> &Home {
        self.storage.home()
    }

    /// Opens one shard and recovers its log. The driver must have no other operation in progress.
    pub fn open_log(&self, driver: &mut E::Driver, shard: ShardId) -> Result<NodeLog<E>, Ending> {
        let opened = self.storage.open_shard(driver, &self.layout, u32::from(shard.0))?;
        let metadata =
            opened.entries.iter().find(|entry| entry.group == METADATA).map(|entry| entry.anchor.op);
        let metadata_state =
            metadata.map(|op| self.storage.metadata_state(driver, METADATA, op)).transpose()?;
        let state = self.storage.home().group(METADATA).state(metadata.unwrap_or(0));
        let shards = u16::try_from(self.layout.shard_count).unwrap_or(u16::MAX);
        let slots = self.settings.genesis.client_table_slots;
        let parts = LogParts {
            identity: LogIdentity {
                cluster: self.layout.cluster,
                node: self.layout.member.number,
                nodes: self.layout.member.count,
                shard: shard.0,
                shards,
                incarnation: opened.superblock.incarnation,
                timing: Timing::default(),
            },
            limits: GroupLimits {
                log: Limits::default(),
                clients: ClientLimits { clients: slots, ..ClientLimits::default() },
                partition: PartitionLimits {
                    batch_bytes_max: self.settings.genesis.frame_bytes_max,
                    consumer_offsets_max: self.settings.genesis.consumer_offsets_max,
                    ..PartitionLimits::default()
                },
            },
            shard: opened,
            home: self.storage.home().clone(),
            journal_limits: self.settings.journal,
            store_limits: StoreLimits {
                buffered_bytes_max: self.memory.unflushed,
                ..store_limits(self.settings.genesis.frame_bytes_max, &self.pace)
            },
            files_max: SEGMENTS_OPEN,
            direct: self.settings.direct,
            checkpoint_period: self.pace.checkpoint_period,
            metadata_state,
            expected: (owner(METADATA, shards) == shard.0)
                .then_some((METADATA, FIRST_EPOCH))
                .into_iter()
                .collect(),
            // A node without others refuses to start after any journal loss, so a missing group never
            // existed.
            founding: true,
            nonce: self.nonces[shard.index()],
            metadata: MetadataPlane::new(slots as usize),
            first_token: LOG_TOKEN,
        };
        #[cfg(feature = "plants")]
        let started =
            ShardLog::start_planted(parts, driver, self.plant.and_then(ng_control::plant::Plant::in_log));
        #[cfg(not(feature = "plants"))]
        let started = ShardLog::start(parts, driver);
        let mut log = started.map_err(|refusal| Ending::of_log(&refusal, &state))?;
        log.set_retention_limits(self.retention);
        log.set_poll_limits(PollLimits {
            cache_bytes: self.memory.poll_cache,
            ..PollLimits::reading(self.memory.poll_reads)
        });
        log.set_spare_bytes_max(self.memory.spares / 2);
        Ok(log)
    }
}

/// Limits that the log adds to those of the connections.
pub fn driver_limits(settings: &Settings) -> DriverLimits {
    // After a change of the shard count there may be more files than the settings allow.
    let files = settings.engine.journal_files_max.max(JOURNAL_FILES_MAX) as usize + SEGMENTS_OPEN;
    DriverLimits { operations_max: 2 * PASSING, handles_max: files + PASSING }
}

fn storage_settings(settings: &Settings) -> data_directory::Settings {
    let frame_bytes_max = settings.engine.frame_bytes_max;
    let slots = u32::try_from(settings.engine.sessions_max).unwrap_or(u32::MAX);
    let pipeline_depth = u32::try_from(Limits::default().pipeline).unwrap_or(u32::MAX);
    data_directory::Settings {
        genesis: Genesis {
            frame_bytes_max,
            pipeline_depth,
            client_table_slots: slots,
            consumer_offsets_max: settings.engine.consumer_offsets_max,
        },
        journal: journal_limits(frame_bytes_max, settings.engine.journal_files_max, &settings.pace),
        direct: settings.engine.direct_io,
        first_token: JOURNAL_TOKEN,
    }
}

fn journal_limits(frame_bytes_max: u32, files_max: u32, pace: &LogPace) -> JournalLimits {
    let file_bytes = (2 * u64::from(frame_bytes_max) + JOURNAL_FILE_ROOM).next_multiple_of(PAGE as u64);
    JournalLimits {
        file_bytes,
        files_max,
        block_bytes_target: pace.block_bytes_target,
        queued_bytes_max: frame_bytes_max as usize + pace.queued_bytes,
        window_max: 1 << 16,
        slots_max: 1 << 18,
    }
}

fn store_limits(frame_bytes_max: u32, pace: &LogPace) -> StoreLimits {
    StoreLimits {
        segment_bytes: 1 << 30,
        flush_bytes: pace.flush_bytes,
        flush_delay: pace.flush_delay,
        plan_bytes_max: 4 << 20,
        buffered_bytes_max: 64 << 20,
        batch_bytes_max: frame_bytes_max.into(),
        lanes: STORE_LANES,
        retry_delay: Duration::from_secs(1),
    }
}

fn found<E: Environment>(environment: &E, storage: &DataDirectory<E>, shards: u32) -> Result<Layout, Ending> {
    let mut numbers = random_numbers(environment, shards as usize + 2)?;
    let mut next = || numbers.pop().unwrap_or_default();
    let identity = Identity { cluster: next(), node: next(), member: Member::STANDALONE };
    Ok(storage.found(identity, shards, &mut next)?)
}

fn change_shard_count<E: Environment>(
    environment: &E,
    storage: &DataDirectory<E>,
    layout: &Layout,
    shards: u32,
) -> Result<Layout, Ending> {
    let mut numbers = random_numbers(environment, shards as usize)?;
    let change = Resharding {
        shard_count: shards,
        owner: &|group, shards| u32::from(owner(group, u16::try_from(shards).unwrap_or(u16::MAX))),
        random: &mut || numbers.pop().unwrap_or_default(),
        solo: true,
    };
    Ok(storage.change_shard_count(layout, change)?)
}

fn low_half(number: u128) -> u64 {
    u64::try_from(number & u128::from(u64::MAX)).unwrap_or_default()
}

/// Random numbers that differ from those of other nodes and of other runs of this one.
fn random_numbers<E: Environment>(environment: &E, count: usize) -> Result<Vec<u128>, Ending> {
    let mut bytes = vec![0; 16 * count];
    environment.random(&mut bytes).map_err(|error: IoError| {
        Ending::new(ExitStatus::Configuration, format!("no random numbers: {error}"))
    })?;
    let (numbers, _) = bytes.as_chunks::<16>();
    Ok(numbers.iter().map(|number| u128::from_le_bytes(*number)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_file_holds_two_of_the_largest_frames() {
        for frame_bytes_max in [1 << 20, (1 << 20) + 1, 64 << 20] {
            let limits = journal_limits(frame_bytes_max, 8, &LogPace::default());
            assert_eq!(limits.file_bytes % PAGE as u64, 0);
            assert!(limits.body_bytes_max() > frame_bytes_max as usize);
            assert!(limits.queued_bytes_max > limits.body_bytes_max());
        }
    }

    #[test]
    fn tokens_of_the_log_stay_below_that_of_the_door() {
        let tokens = LogParts::<ng_io::PosixEnvironment, MetadataPlane>::tokens(&store_limits(
            1 << 20,
            &LogPace::default(),
        ));
        assert!(LOG_TOKEN + tokens < crate::turn::ACCEPT_TOKEN.0);
    }
}
