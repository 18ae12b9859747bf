//! From what lies on the disk to groups that speak.

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

/// The epoch of the configuration that every group begins with.
pub const FIRST_EPOCH: u32 = 1;

/// What all groups of a shard are held to.
#[derive(Clone, Copy, Debug)]
pub struct GroupLimits {
    /// Of each log.
    pub log: Limits,
    /// Of the metadata group's client table.
    pub clients: ClientLimits,
    /// Of each partition.
    pub partition: PartitionLimits,
}

/// What a shard's log is made from.
#[derive(Debug)]
pub struct LogParts<E: Environment, M> {
    /// Who it is.
    pub identity: LogIdentity,
    /// Bounds.
    pub limits: GroupLimits,
    /// The shard's directory, opened.
    pub shard: OpenedShard<E>,
    /// Where everything lies.
    pub home: Home,
    /// Bounds of the journal.
    pub journal_limits: JournalLimits,
    /// Bounds of the segments.
    pub store_limits: StoreLimits,
    /// Segments that stay open.
    pub files_max: usize,
    /// Whether the file system lets files bypass the page cache.
    pub direct: bool,
    /// Milliseconds between two manifests.
    pub checkpoint_period: Ticks,
    /// The state that the metadata group's entry speaks of.
    pub metadata_state: Option<MetadataState>,
    /// Groups that this shard must have, with the epoch of their configuration.
    pub expected: Vec<(u64, u32)>,
    /// Whether the groups that must be there and are not are founded now. Else their directory was lost.
    pub founding: bool,
    /// Never zero, and another in each life of the node, also after its disk was wiped.
    pub nonce: u64,
    /// The metadata machine, empty.
    pub metadata: M,
    /// The first of [`LogParts::tokens`] tokens that nobody else uses with the driver, behind those of the
    /// journal.
    pub first_token: u64,
}

/// Why a shard's log does not start.
#[derive(Debug, Error)]
pub enum LogRefusal {
    /// The state that the manifest speaks of is not one.
    #[error("the state of group {0:016x} cannot be read")]
    State(u64),
    /// Numbers of the configuration contradict each other.
    #[error("the limits of the groups contradict each other")]
    Limits,
}

impl<E: Environment, M> LogParts<E, M> {
    /// How many tokens a log uses besides those of its journal.
    #[must_use]
    pub const fn tokens(store_limits: &StoreLimits) -> u64 {
        1 + store_lanes(store_limits) as u64 + READ_TOKENS
    }
}

/// What writes the manifests of a journal whose superblock is open already.
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
    /// Goes on where the files end.
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
        // A node of its own drops what was never proven, and has refused anything worse.
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
            // What was promised in the lives before may lie in blocks that nothing vouches for yet.
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

    /// A log that has no group yet; its journal goes on where it ended.
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
        // The open record may be among what was lost, or be one that cannot be read.
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

    /// The machine of a group with what was kept of it, and the client table of the metadata group.
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

    /// Writes that a group begins here; returns the block it is in.
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

/// Lanes of the store's shell: those that write, then those that read.
const fn store_lanes(limits: &StoreLimits) -> usize {
    limits.lanes as usize + READERS as usize
}

/// What a log works with on the disk, besides its journal.
struct LogFiles<E> {
    nonce: u64,
    journal_limits: JournalLimits,
    reads: Reads,
    segments: ShardSegments<E>,
    manifest_token: u64,
    checkpoint_period: Ticks,
    /// The operation of the metadata's state that the manifest in force speaks of.
    state: Option<Op>,
}

fn owner_of<E: Environment>(shard: &OpenedShard<E>, has_peers: bool) -> StoreOwner {
    let superblock = &shard.superblock;
    // What goes to the trash is named by it: incarnations begin anew with each epoch.
    let incarnation = u64::from(superblock.epoch) << 32 | superblock.incarnation;
    StoreOwner { node: superblock.node, shard: superblock.shard, incarnation, has_peers }
}

/// How the groups of this start come to be.
pub(crate) struct Birth {
    pub(crate) founding: bool,
    pub(crate) nonce: u64,
    /// By each partition, for a loss that was accepted.
    pub(crate) offsets_skipped: u64,
}

/// What is known of a group.
pub(crate) struct Sources<'a> {
    found: Option<RecoveredGroup>,
    /// The newest state that was kept, by the manifest or by an install record.
    state: Option<InstallBody>,
    losses: &'a [Loss],
}

/// The newer of what the manifest and the last install record say.
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
    /// Nothing: the group begins now.
    pub(crate) const NOTHING: Self = Sources { found: None, state: None, losses: &[] };

    /// What the segments of a partition must hold.
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

    /// Reads the records to the replica, in an order that means the same as that in which they were written:
    /// of all view records the last that took a log over counts, and the last of all.
    fn directory(&self, setup: &Setup, founding: bool, clients: Option<ClientTable>) -> Directory {
        let open = self.found.as_ref().and_then(|found| found.open.as_ref());
        let founded = match open {
            Some(open) => !open.blank,
            None => founding || self.state.is_some(),
        };
        // A node of its own promised nothing to anybody.
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

    /// Whether a view that this replica promised to take no part below may be lost: then it promises nothing
    /// until others told it the view. What was never proven was never promised, and what was lost before the
    /// last log was taken over was no later promise.
    fn may_have_lost_a_promise(&self) -> bool {
        let found = self.found.as_ref();
        let log_time = found.and_then(|found| found.log.as_ref()).map_or(0, |(header, _)| header.request);
        let named = found.is_some_and(|found| !found.damaged.is_empty());
        let vote = found.and_then(|found| found.vote.as_ref()).map_or(0, |(_, vote)| vote.log_view);
        let log = found.and_then(|found| found.log.as_ref()).map_or(0, |(_, log)| log.view);
        named || vote > log || self.losses.iter().any(|loss| loss.proven && loss.last > log_time)
    }

    /// Reports what is lost among these blocks. A node of its own has accepted what was not proven, and
    /// refused the rest.
    fn report_losses(&self, recovery: &mut Recovery, from: u64, through: u64) {
        for loss in self.losses.iter().filter(|loss| (from..=through).contains(&loss.last)) {
            recovery.lost(if loss.proven { Tail::Damaged } else { Tail::Unproven });
        }
    }
}

/// The last view that a replica may have promised to take no part below, if it is later than that of its log.
/// A crash can lose the record of a view and leave prepares of it.
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
