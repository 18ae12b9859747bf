//! Putting a new manifest in force: a file, synced and named, then a superblock that names it.
//!
//! Entries are captured a few per turn, each at its own op. Until the superblock is in force the manifest before counts;
//! one that could not be written for lack of space is forgotten, and the next attempt begins anew.

use std::collections::BTreeMap;

use crate::boot::superblock_plan;
use crate::home::{ShardHome, replacement};
use crate::manifest::{GroupEntry, Manifest};
use crate::store::plan::{Plan, PlanFault, PlanResult, Step, replace};
use crate::superblock::{ManifestPointer, Superblock, SyncedBlock};
use crate::superblock_writer::{SuperblockFault, SuperblockStep, SuperblockWriter};

/// Writes the manifests of one shard and its superblock, one after the other.
#[derive(Debug)]
pub struct ManifestWriter {
    home: ShardHome,
    superblocks: SuperblockWriter,
    /// The newest block of the journal that is on the disk for good: each superblock names it.
    synced: SyncedBlock,
    collecting: Option<BTreeMap<u64, GroupEntry>>,
    phase: Phase,
    /// What waits for the plan under way.
    wanted: Wanted,
}

/// What the writer wants done, or says.
#[derive(Debug)]
pub enum ManifestEffect {
    /// Perform a plan; answer with [`ManifestWriter::step`].
    Run(Plan),
    /// The manifest of this sequence is in force: the journal may release what it covers.
    InForce {
        /// Its sequence.
        sequence: u64,
    },
    /// The superblock counts the files of the journal that it was asked to: blocks may be written to all of them.
    Enlisted,
    /// There was no space. The manifest before stays in force.
    GivenUp,
    /// The superblock says that the stop was orderly.
    Clean,
    /// The process must end: what is on the disk is unknown now.
    Fatal(PlanFault),
}

/// What is to be written next, in this order.
#[derive(Debug, Default)]
struct Wanted {
    /// So many files of the journal are to be counted.
    files: Option<u32>,
    /// The entries of a manifest.
    manifest: Option<BTreeMap<u64, GroupEntry>>,
    /// Whether the superblock is to say that the stop was orderly.
    clean: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    /// The superblock that counts a further file of the journal is being written.
    Enlisting,
    /// The file is being written; it will be named like this.
    Writing(ManifestPointer),
    /// The superblock is being written, and the manifest before this sequence was in force until now.
    Naming {
        before: u64,
    },
    Tidying,
    Cleaning,
}

impl ManifestWriter {
    /// A writer for an opened shard.
    #[must_use]
    pub fn new(home: ShardHome, superblocks: SuperblockWriter) -> Self {
        let synced = superblocks.current().ring.synced;
        let (phase, wanted) = (Phase::Idle, Wanted::default());
        Self { home, superblocks, synced, collecting: None, phase, wanted }
    }

    /// The superblock in force.
    #[must_use]
    pub const fn superblock(&self) -> &Superblock {
        self.superblocks.current()
    }

    /// Takes note of the newest block of the journal that is on the disk for good.
    pub const fn set_synced(&mut self, block: SyncedBlock) {
        self.synced = block;
    }

    /// Whether a manifest can be begun.
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        let is_wanted = self.collecting.is_some() || self.wanted.manifest.is_some() || self.wanted.clean;
        !is_wanted && matches!(self.phase, Phase::Idle | Phase::Enlisting)
    }

    /// Begins to collect the entries of the next manifest; returns its sequence, or `None` while one is under way.
    pub fn begin(&mut self) -> Option<u64> {
        if !self.is_idle() {
            return None;
        }
        self.collecting = Some(BTreeMap::new());
        Some(self.superblock().manifest.sequence + 1)
    }

    /// Adds where a group stands; a later entry of the same group replaces it.
    pub fn add(&mut self, entry: GroupEntry) {
        if let Some(entries) = &mut self.collecting {
            entries.insert(entry.group, entry);
        }
    }

    /// Completes the entries with what is known of their groups by now.
    pub fn complete(&mut self, complete: impl FnMut(&mut GroupEntry)) {
        self.collecting.iter_mut().flat_map(BTreeMap::values_mut).for_each(complete);
    }

    /// Leaves out a group that was removed meanwhile.
    pub fn leave_out(&mut self, group: u64) {
        if let Some(entries) = &mut self.collecting {
            entries.remove(&group);
        }
    }

    /// Writes what was collected.
    pub fn finish(&mut self, effects: &mut Vec<ManifestEffect>) {
        self.wanted.manifest = self.collecting.take().or_else(|| self.wanted.manifest.take());
        self.go_on(effects);
    }

    /// Has the superblock count so many files of the journal, each of which is whole and synced.
    pub fn enlist(&mut self, files: u32, effects: &mut Vec<ManifestEffect>) {
        self.wanted.files = Some(files);
        self.go_on(effects);
    }

    /// Says on the disk that the stop is orderly, after whatever is under way. To be called last: nothing may be appended to
    /// the journal any more.
    pub fn mark_clean(&mut self, effects: &mut Vec<ManifestEffect>) {
        self.collecting = None;
        self.wanted.clean = true;
        self.go_on(effects);
    }

    /// Takes the end of a plan.
    pub fn step(&mut self, result: PlanResult, effects: &mut Vec<ManifestEffect>) {
        let fault = result.err();
        match (self.phase, fault) {
            (Phase::Writing(pointer), Some(fault)) if fault.heals() => {
                self.phase = Phase::Tidying;
                let path = self.home.manifest(pointer.sequence);
                effects.push(ManifestEffect::GivenUp);
                effects.push(ManifestEffect::Run(vec![Step::Remove(replacement(&path)), Step::Remove(path)]));
            }
            // What is left over is removed by the next start.
            (Phase::Tidying, Some(fault)) if fault.heals() || fault.removing => self.phase = Phase::Idle,
            (_, Some(fault)) => effects.push(ManifestEffect::Fatal(fault)),
            (Phase::Writing(pointer), None) => {
                let before = self.superblock().manifest.sequence;
                self.phase = Phase::Naming { before };
                self.begin_superblock(|next| next.manifest = pointer, effects);
            }
            (Phase::Naming { .. } | Phase::Enlisting | Phase::Cleaning, None) => {
                let next = self.superblocks.completed(Ok(()));
                self.write_on(next, effects);
            }
            (Phase::Tidying | Phase::Idle, None) => self.phase = Phase::Idle,
        }
        self.go_on(effects);
    }

    /// Begins what is wanted, once nothing is under way.
    fn go_on(&mut self, effects: &mut Vec<ManifestEffect>) {
        if self.phase != Phase::Idle {
            return;
        }
        if let Some(files) = self.wanted.files.take() {
            self.phase = Phase::Enlisting;
            self.begin_superblock(|next| next.ring.files = files, effects);
        } else if let Some(entries) = self.wanted.manifest.take() {
            self.write_manifest(entries, effects);
        } else if std::mem::take(&mut self.wanted.clean) {
            self.phase = Phase::Cleaning;
            self.begin_superblock(|next| next.clean = true, effects);
        }
    }

    fn write_manifest(&mut self, entries: BTreeMap<u64, GroupEntry>, effects: &mut Vec<ManifestEffect>) {
        let superblock = self.superblocks.current();
        let sequence = superblock.manifest.sequence + 1;
        let groups = entries.into_values().collect();
        let manifest = Manifest { node: superblock.node, sequence, shard: superblock.shard, groups };
        let (bytes, checksum) = manifest.encode();
        let mut plan = Plan::new();
        replace(&mut plan, self.home.manifest(sequence), bytes);
        plan.push(Step::SyncDirectory(self.home.directory().to_owned()));
        self.phase = Phase::Writing(ManifestPointer { sequence, checksum });
        effects.push(ManifestEffect::Run(plan));
    }

    fn begin_superblock(&mut self, change: impl FnOnce(&mut Superblock), effects: &mut Vec<ManifestEffect>) {
        let synced = self.synced;
        let begun = self.superblocks.begin(|next| {
            next.ring.synced = synced;
            change(next);
        });
        self.write_on(begun, effects);
    }

    fn write_on(&mut self, step: Result<SuperblockStep, SuperblockFault>, effects: &mut Vec<ManifestEffect>) {
        let path = self.home.superblock();
        match step.map(|step| superblock_plan(&path, step)) {
            Ok(Some(plan)) => effects.push(ManifestEffect::Run(plan)),
            Ok(None) => self.in_force(effects),
            // Nothing else writes the superblock, and faults of the disk have ended the process before.
            Err(_) => self.phase = Phase::Idle,
        }
    }

    fn in_force(&mut self, effects: &mut Vec<ManifestEffect>) {
        match self.phase {
            Phase::Naming { before } => {
                effects.push(ManifestEffect::InForce { sequence: self.superblock().manifest.sequence });
                self.phase = Phase::Tidying;
                effects.push(ManifestEffect::Run(vec![Step::Remove(self.home.manifest(before))]));
            }
            phase => {
                self.phase = Phase::Idle;
                let is_enlisted = phase == Phase::Enlisting;
                effects.push(if is_enlisted { ManifestEffect::Enlisted } else { ManifestEffect::Clean });
            }
        }
    }
}
