//! Recovery: opens the groups of a shard from its manifest and its journal.

use std::collections::BTreeMap;

use ng_io::{Driver, Environment, Handle};
use ng_partition::{Partition, PartitionLimits};
use ng_storage::data_directory::OpenedShard;
use ng_storage::home::{Home, ShardHome};
use ng_storage::journal::recovery::{Loss, RecoveredGroup, RecoveredPrepare};
use ng_storage::journal::{Limits as JournalLimits, PrepareJournal, SlotState};
use ng_storage::manifest::GroupEntry;
use ng_storage::manifest_writer::ManifestWriter;
use ng_storage::metadata_state::MetadataState;
use ng_storage::record::{RecordHeader, RecordKind};
use ng_storage::record_body::{InstallBody, OpenBody, ViewBody};
use ng_storage::store::shell::PlanShell;
use ng_storage::store::{READERS, SegmentStore, StoreLimits, StoreOwner, Vouched};
use ng_storage::superblock_writer::SuperblockWriter;
use ng_vsr::{
    ClientLimits, ClientTable, Directory, Effects, Limits, Record, Recovery, Setup, Ticks, ViewRecord,
};
use ng_wire::replica::{Op, Standing, Tail, View};
use thiserror::Error;

use crate::clock::{self, Clock};
use crate::durability::checkpoint::Checkpoint;
use crate::durability::journal::ShardJournal;
use crate::durability::read_back::{READ_TOKENS, Reads};
use crate::durability::refused_prepares::RefusedPrepares;
use crate::group::{Body, Group, GroupFiles};
use crate::group_state::{metadata_at, partition_at};
use crate::host::{Life, LogIdentity, Peers, ShardLog};
use crate::machine::{Machine, MetadataMachine};
use crate::offsets::UnloggedOffsets;
use crate::outbox::Outbox;
use crate::owner::METADATA;
use crate::plant::Planted;
use crate::poll::execute::Polls;
use crate::replicate::agenda::Agenda;
use crate::replicate::heartbeat::Heartbeat;
use crate::replicate::liveness::Liveness;
use crate::segments::adopt::Adoptions;
use crate::segments::retention::Retention;
use crate::segments::store::ShardSegments;
use crate::transfer::receive::Transfers;

/// Epoch of the configuration with which every group begins.
pub const FIRST_EPOCH: u32 = 1;

/// Limits of all groups of a shard.
#[derive(Clone, Copy, Debug)]
pub struct GroupLimits {
    /// Limits of each log.
    pub log: Limits,
    /// Limits of the metadata group's client table.
    pub clients: ClientLimits,
    /// Limits of each partition.
    pub partition: PartitionLimits,
}

/// Parts from which a shard's log is made.
#[derive(Debug)]
pub struct LogParts<E: Environment, M> {
    /// Identity of the shard.
    pub identity: LogIdentity,
    /// Limits of the groups.
    pub limits: GroupLimits,
    /// The shard's directory, opened and recovered.
    pub shard: OpenedShard<E>,
    /// Paths of the data directory.
    pub home: Home,
    /// Limits of the journal.
    pub journal_limits: JournalLimits,
    /// Limits of the segments.
    pub store_limits: StoreLimits,
    /// Maximum open segment files.
    pub files_max: usize,
    /// The file system supports direct I/O, which bypasses the page cache.
    pub direct: bool,
    /// Milliseconds between two manifests.
    pub checkpoint_period: Ticks,
    /// The state of the metadata to which the manifest's entry refers.
    pub metadata_state: Option<MetadataState>,
    /// Groups that this shard must have, with the epoch of their configuration.
    pub expected: Vec<(u64, u32)>,
    /// Missing expected groups are founded now. If false, they are missing because their directory was lost.
    pub founding: bool,
    /// Differs in each run of the node, even after its disk was wiped; never zero.
    pub nonce: u64,
    /// The metadata machine, empty.
    pub metadata: M,
    /// First of the [`LogParts::tokens`] driver tokens that are reserved for this log. They follow those of
    /// the journal.
    pub first_token: u64,
}

/// Reason why a shard's log does not start.
#[derive(Debug, Error)]
pub enum LogRefusal {
    /// The state to which the manifest refers is malformed.
    #[error("the state of group {0:016x} cannot be read")]
    State(u64),
    /// Limits contradict each other.
    #[error("the limits of the groups contradict each other")]
    Limits,
}

impl<E: Environment, M> LogParts<E, M> {
    /// Number of driver tokens that a log uses, in addition to those of its journal.
    #[must_use]
    pub const fn tokens(store_limits: &StoreLimits) -> u64 {
        1 + store_lanes(store_limits) as u64 + READ_TOKENS
    }
}

/// The manifest writer and its shell, with the superblock that is already open.
fn manifest_parts(
    first_token: u64,
    home: ShardHome,
    superblocks: SuperblockWriter,
    open: Handle,
) -> (ManifestWriter, PlanShell) {
    let mut shell = PlanShell::new(first_token, 1, 4, false);
    shell.keep(home.superblock(), open);
    (ManifestWriter::new(home, superblocks), shell)
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Continues at the end of the recovered files.
    pub fn start(parts: LogParts<E, M>, driver: &E::Driver) -> Result<Self, LogRefusal> {
        Self::start_with(parts, driver, Planted::default())
    }

    pub(crate) fn start_with(
        parts: LogParts<E, M>,
        driver: &E::Driver,
        planted: Planted,
    ) -> Result<Self, LogRefusal> {
        let LogParts { identity, limits, mut shard, store_limits, .. } = parts;
        let closed = shard.recovered.closed();
        let mut found = shard.recovered.take_groups();
        // Without other nodes, recovery drops unproven records, because they were never acknowledged, and
        // refuses to start for any other loss.
        let mut losses = if identity.nodes > 1 { shard.recovered.losses() } else { Vec::new() };
        planted.deny_damage(&mut found, &mut losses);
        let entries = std::mem::take(&mut shard.entries);
        let birth =
            Birth { founding: parts.founding, nonce: parts.nonce, offsets_skipped: shard.offsets_skipped };
        let lanes = store_lanes(&store_limits);
        let reads = parts.first_token + 1 + lanes as u64;
        let store_shell = PlanShell::new(parts.first_token + 1, lanes, parts.files_max, parts.direct);
        let files = LogFiles {
            nonce: parts.nonce,
            journal_limits: parts.journal_limits,
            reads: Reads::new(reads),
            segments: ShardSegments::new(
                SegmentStore::new(owner_of(&shard, identity.nodes > 1), parts.home, store_limits),
                store_shell,
                shard.environment.clone(),
            ),
            manifest_token: parts.first_token,
            checkpoint_period: parts.checkpoint_period,
            state: parts.metadata_state.as_ref().map(|state| Op(state.op)),
        };
        let mut log = Self::resting((identity, limits, parts.metadata), shard, files, driver, planted);
        if log.life.identity.nodes > 1 {
            // Blocks without a later block may contain promises of earlier runs. So a later block must prove
            // that they existed.
            log.journal.prove(log.journal.first_block());
        }
        let mut found: BTreeMap<u64, RecoveredGroup> =
            found.into_iter().map(|group| (group.group, group)).collect();
        let mut entries: BTreeMap<u64, GroupEntry> =
            entries.into_iter().map(|entry| (entry.group, entry)).collect();
        let passed_over = entries.get(&METADATA).map_or(0, |entry| entry.skipped_to);
        log.life.sessions_passed_over = passed_over.saturating_add(birth.offsets_skipped);
        let mut groups: BTreeMap<u64, u32> = parts.expected.into_iter().collect();
        let kept = entries.iter().map(|(id, entry)| (*id, entry.anchor.epoch));
        for (id, epoch) in kept.chain(found.iter().map(|(id, found)| (*id, found.epoch))) {
            groups.entry(id).or_insert(epoch.max(FIRST_EPOCH));
        }
        for (id, epoch) in groups {
            let found = found.remove(&id);
            let state = kept_state(found.as_ref(), entries.remove(&id), parts.metadata_state.as_ref());
            log.open_group(id, epoch, &birth, &Sources { found, state, losses: &losses })?;
        }
        for group in closed {
            log.checkpoint.end(group, planted);
            log.segments.remove(group);
        }
        Ok(log)
    }

    /// A log without groups; its journal continues where the last run ended.
    fn resting(
        (identity, limits, metadata): (LogIdentity, GroupLimits, M),
        shard: OpenedShard<E>,
        files: LogFiles<E>,
        driver: &E::Driver,
        planted: Planted,
    ) -> Self {
        let now = clock::ticks(driver.now());
        let first_block = shard.recovered.next_sequence();
        let (writer, manifest_shell) =
            manifest_parts(files.manifest_token, shard.home, shard.superblocks, shard.superblock_file);
        let mut journal_effects = Vec::new();
        let journal = PrepareJournal::resume(
            shard.superblock.journal,
            shard.superblock.incarnation,
            files.journal_limits,
            shard.recovered,
            &mut journal_effects,
        );
        let mut log = Self {
            peers: Peers {
                liveness: Liveness::new(identity.nodes, identity.timing.suspicion, now),
                heartbeat: Heartbeat::new(now),
                refused: RefusedPrepares::default(),
            },
            life: Life { identity, limits, nonce: files.nonce, planted, sessions_passed_over: 0 },
            journal: ShardJournal::new(journal, shard.shell, journal_effects, first_block),
            groups: BTreeMap::new(),
            metadata,
            agenda: Agenda::new(now),
            reads: files.reads,
            transfers: Transfers::default(),
            segments: files.segments,
            polls: Polls::default(),
            offsets: UnloggedOffsets::default(),
            retention: Retention::new(now),
            adoptions: Adoptions::default(),
            checkpoint: Checkpoint::new(writer, manifest_shell, files.checkpoint_period, now, files.state),
            outbox: Outbox::new(),
            clock: Clock::of(driver),
        };
        log.life.planted.in_journal(log.journal.core_mut());
        log.segments.order(|store, _| planted.in_store(store));
        log
    }

    pub(crate) fn open_group(
        &mut self,
        id: u64,
        epoch: u32,
        birth: &Birth,
        sources: &Sources<'_>,
    ) -> Result<(), LogRefusal> {
        let setup = Setup {
            group: id,
            epoch,
            replica: self.life.identity.node,
            replicas: self.life.identity.nodes,
            limits: Limits { listed: self.listed_max(), ..self.life.limits.log },
            timing: self.life.identity.timing,
            clients: (id == METADATA).then_some(self.life.limits.clients),
        };
        let skipped = birth.offsets_skipped;
        let (machine, clients) =
            self.machine(id, sources.state.as_ref(), skipped).ok_or(LogRefusal::State(id))?;
        // The open record may be lost or unreadable.
        let known = sources.is_known() && (skipped == 0 || sources.is_opened());
        let directory = sources.directory(&setup, birth.founding, clients);
        let mut effects = Effects::default();
        let nonce = birth.nonce ^ id | 1;
        let replica = self
            .life
            .planted
            .open_replica(setup, directory, nonce, self.clock.ticks(), &mut effects)
            .map_err(|_| LogRefusal::Limits)?;
        let mut group = Box::new(Group::new(replica, machine, epoch, self.journal.first_block()));
        if let Some(vouched) = sources.vouched().filter(|_| id != METADATA) {
            group.files = GroupFiles::Vouched(vouched);
        }
        if !known {
            group.records.set_recovered_block(self.append_open(id, epoch, !birth.founding));
        }
        self.groups.insert(id, group);
        self.perform(id, &mut effects, None, None);
        self.settle(id);
        Ok(())
    }

    /// The machine of a group with its retained state, and the client table of the metadata group.
    fn machine(
        &mut self,
        id: u64,
        state: Option<&InstallBody>,
        offsets_skipped: u64,
    ) -> Option<(Machine, Option<ClientTable>)> {
        if id != METADATA {
            let partition = match state {
                Some(kept) => {
                    partition_at(&GroupEntry::from_bytes(&kept.state).ok()?, self.life.limits.partition)
                }
                None => Partition::new(id, self.life.limits.partition),
            };
            let partition = partition.skipping(offsets_skipped);
            let partition = Box::new(self.life.planted.in_partition(partition));
            return Some((Machine::Partition(partition, None), None));
        }
        let Some(kept) = state else { return Some((Machine::Metadata, None)) };
        let (clients, machine) = metadata_at(&kept.state, &kept.anchor, self.life.limits.clients)?;
        self.metadata.install(&machine).then_some((Machine::Metadata, Some(clients)))
    }

    /// Appends the record that opens a group; returns its block.
    fn append_open(&mut self, id: u64, epoch: u32, blank: bool) -> u64 {
        let body =
            OpenBody { blank, replicas: (0..self.life.identity.nodes).map(u128::from).collect() }.encode();
        let header = RecordHeader { epoch, ..RecordHeader::of(RecordKind::Open, id, &body) };
        match self.journal.append(header, Body::new(body.into())) {
            Ok(position) => position.block,
            Err(refused) => {
                self.refused(id, RecordKind::Open, refused);
                u64::MAX
            }
        }
    }
}

/// Lanes of the store's shell: first those that write, then those that read.
const fn store_lanes(limits: &StoreLimits) -> usize {
    limits.lanes as usize + READERS as usize
}

/// Disk components of a log, except its journal.
struct LogFiles<E> {
    nonce: u64,
    journal_limits: JournalLimits,
    reads: Reads,
    segments: ShardSegments<E>,
    manifest_token: u64,
    checkpoint_period: Ticks,
    /// Op of the metadata state to which the current manifest refers.
    state: Option<Op>,
}

fn owner_of<E: Environment>(shard: &OpenedShard<E>, has_peers: bool) -> StoreOwner {
    let superblock = &shard.superblock;
    // Names in the trash contain this number. The epoch is part of it, because incarnations restart with each
    // epoch.
    let incarnation = u64::from(superblock.epoch) << 32 | superblock.incarnation;
    StoreOwner { node: superblock.node, shard: superblock.shard, incarnation, has_peers }
}

/// Values that all groups of this start share.
pub(crate) struct Birth {
    pub(crate) founding: bool,
    pub(crate) nonce: u64,
    /// Offsets that each partition skips, because an operator accepted a loss.
    pub(crate) offsets_skipped: u64,
}

/// Recovered data of a group.
pub(crate) struct Sources<'a> {
    found: Option<RecoveredGroup>,
    /// Newest retained state, from the manifest or an install record.
    state: Option<InstallBody>,
    losses: &'a [Loss],
}

/// The newer of the states in the manifest and in the last install record.
fn kept_state(
    found: Option<&RecoveredGroup>,
    entry: Option<GroupEntry>,
    metadata: Option<&MetadataState>,
) -> Option<InstallBody> {
    let installed = found.and_then(|found| found.install.as_ref()).map(|(_, install)| install);
    let kept = entry.map(|entry| {
        let state = match metadata {
            Some(metadata) if entry.group == METADATA => metadata.encode(),
            _ => entry.to_bytes(),
        };
        InstallBody { anchor: entry.anchor, state }
    });
    match (installed, kept) {
        (Some(installed), Some(kept)) if kept.anchor.op >= installed.anchor.op => Some(kept),
        (Some(installed), _) => Some(installed.clone()),
        (None, kept) => kept,
    }
}

impl Sources<'_> {
    /// No data: the group begins now.
    pub(crate) const NOTHING: Self = Sources { found: None, state: None, losses: &[] };

    /// Contents that the segments of a partition must have.
    fn vouched(&self) -> Option<Vouched> {
        let entry = GroupEntry::from_bytes(&self.state.as_ref()?.state).ok()?;
        Some(Vouched::of(entry))
    }

    fn is_known(&self) -> bool {
        self.state.is_some() || self.is_opened()
    }

    fn is_opened(&self) -> bool {
        self.found.as_ref().is_some_and(|found| found.open.is_some())
    }

    /// Replays the records to the replica. The order differs from that of writing but has the same result:
    /// among view records, only the last that replaced a log and the last of all count.
    fn directory(&self, setup: &Setup, founding: bool, clients: Option<ClientTable>) -> Directory {
        let open = self.found.as_ref().and_then(|found| found.open.as_ref());
        let founded = match open {
            Some(open) => !open.blank,
            None => founding || self.state.is_some(),
        };
        // A node without others has made no promise to another node.
        let unsworn = setup.replicas > 1 && self.may_have_lost_a_promise();
        let mut recovery = Recovery::new(setup, founded && !unsworn);
        recovery.names(View(self.found.as_ref().map_or(0, RecoveredGroup::highest_view)));
        if let Some(anchor) = self.state.as_ref().and_then(|state| state.anchor.prepare()) {
            recovery.checkpoint(anchor, clients);
        }
        if unsworn {
            return recovery.finish();
        }
        let Some(found) = &self.found else {
            self.report_losses(&mut recovery, 0, u64::MAX);
            return recovery.finish();
        };
        let (log_view, log_time) =
            found.log.as_ref().map_or((0, 0), |(header, body)| (body.view, header.request));
        let (before, since): (Vec<&RecoveredPrepare>, Vec<&RecoveredPrepare>) =
            found.prepares.iter().partition(|found| found.header.view < log_view);
        for found in before {
            replay_prepare(&mut recovery, found);
        }
        self.report_losses(&mut recovery, 0, log_time);
        if let Some((_, body)) = &found.log {
            recovery.replay(&Record::View(view(body)), Standing::Present);
        }
        for found in since {
            replay_prepare(&mut recovery, found);
        }
        self.report_losses(&mut recovery, log_time + 1, u64::MAX);
        if let Some(promise) = last_promise(found, log_view) {
            recovery.replay(&Record::View(promise), Standing::Present);
        }
        recovery.finish()
    }

    /// The replica may have lost its promise to ignore views below some number. It then makes no new promise
    /// until others report the view. Unproven records contained no promise, because a promise leaves only
    /// after its proof; and the last replacement of the log supersedes earlier promises.
    fn may_have_lost_a_promise(&self) -> bool {
        let found = self.found.as_ref();
        let log_time = found.and_then(|found| found.log.as_ref()).map_or(0, |(header, _)| header.request);
        let named = found.is_some_and(|found| !found.damaged.is_empty());
        let vote = found.and_then(|found| found.vote.as_ref()).map_or(0, |(_, vote)| vote.log_view);
        let log = found.and_then(|found| found.log.as_ref()).map_or(0, |(_, log)| log.view);
        named || vote > log || self.losses.iter().any(|loss| loss.proven && loss.last > log_time)
    }

    /// Reports the losses among these blocks. A node without others has dropped the unproven ones and refused
    /// to start with the rest.
    fn report_losses(&self, recovery: &mut Recovery, from: u64, through: u64) {
        for loss in self.losses.iter().filter(|loss| (from..=through).contains(&loss.last)) {
            recovery.lost(if loss.proven { Tail::Damaged } else { Tail::Unproven });
        }
    }
}

/// The view below which a replica may have promised to take no part, if it is later than the view of its log.
/// A crash can lose the record of a view and keep prepares of that view.
fn last_promise(found: &RecoveredGroup, log_view: u64) -> Option<ViewRecord> {
    let prepared = found.prepares.iter().map(|found| found.header.view).max().unwrap_or(0);
    let vote = found.vote.as_ref().map(|(_, body)| view(body));
    match vote {
        Some(vote) if vote.view.0 >= prepared => Some(vote),
        _ if prepared > log_view => Some(ViewRecord {
            view: View(prepared),
            log_view: View(log_view),
            commit: Op::ZERO,
            head: Op::ZERO,
            headers: Vec::new(),
        }),
        _ => None,
    }
}

fn replay_prepare(recovery: &mut Recovery, found: &RecoveredPrepare) {
    let standing = match found.state {
        SlotState::Present => Standing::Present,
        SlotState::Empty | SlotState::Damaged => Standing::Damaged,
    };
    if let Some(header) = found.header.prepare() {
        recovery.replay(&Record::Prepare(header), standing);
    }
}

fn view(body: &ViewBody) -> ViewRecord {
    ViewRecord {
        view: View(body.view),
        log_view: View(body.log_view),
        commit: Op(body.commit),
        head: Op(body.head),
        headers: body.headers.iter().rev().filter_map(RecordHeader::prepare).collect(),
    }
}
