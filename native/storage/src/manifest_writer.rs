//! Putting a new manifest in force: a file, synced and named, then a superblock that names it.
//!
//! Entries are captured a few per turn, each at its own op. Until the superblock is in force the manifest before counts;
//! one that could not be written for lack of space is forgotten, and the next attempt begins anew.

use std::collections::BTreeMap;

use crate::boot::superblock_plan;
use crate::home::{ShardHome, replacement};
use crate::manifest::{GroupEntry, Manifest};
use crate::store::plan::{Plan, PlanFault, PlanResult, Step, replace};
use crate::superblock::{ManifestPointer, Superblock};
use crate::superblock_writer::{SuperblockFault, SuperblockStep, SuperblockWriter};

/// Writes the manifests of one shard and its superblock, one after the other.
#[derive(Debug)]
pub struct ManifestWriter {
    home: ShardHome,
    superblocks: SuperblockWriter,
    entries: BTreeMap<u64, GroupEntry>,
    phase: Phase,
    /// Whether the superblock is to say that the stop was orderly, once nothing else is under way.
    clean_wanted: bool,
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
    /// There was no space. The manifest before stays in force.
    GivenUp,
    /// The superblock says that the stop was orderly.
    Clean,
    /// The process must end: what is on the disk is unknown now.
    Fatal(PlanFault),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Collecting,
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
    pub const fn new(home: ShardHome, superblocks: SuperblockWriter) -> Self {
        Self { home, superblocks, entries: BTreeMap::new(), phase: Phase::Idle, clean_wanted: false }
    }

    /// The superblock in force.
    #[must_use]
    pub const fn superblock(&self) -> &Superblock {
        self.superblocks.current()
    }

    /// Whether a manifest can be begun.
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle)
    }

    /// Begins to collect the entries of the next manifest; returns its sequence, or `None` while one is under way.
    pub fn begin(&mut self) -> Option<u64> {
        if !self.is_idle() {
            return None;
        }
        self.phase = Phase::Collecting;
        self.entries.clear();
        Some(self.superblock().manifest.sequence + 1)
    }

    /// Adds where a group stands; a later entry of the same group replaces it.
    pub fn add(&mut self, entry: GroupEntry) {
        if self.phase == Phase::Collecting {
            self.entries.insert(entry.group, entry);
        }
    }

    /// Leaves out a group that was removed meanwhile.
    pub fn leave_out(&mut self, group: u64) {
        self.entries.remove(&group);
    }

    /// Writes what was collected.
    pub fn finish(&mut self, effects: &mut Vec<ManifestEffect>) {
        if self.phase != Phase::Collecting {
            return;
        }
        let superblock = self.superblocks.current();
        let sequence = superblock.manifest.sequence + 1;
        let groups = std::mem::take(&mut self.entries).into_values().collect();
        let manifest = Manifest { node: superblock.node, sequence, shard: superblock.shard, groups };
        let (bytes, checksum) = manifest.encode();
        let mut plan = Plan::new();
        replace(&mut plan, self.home.manifest(sequence), bytes);
        plan.push(Step::SyncDirectory(self.home.directory().to_owned()));
        self.phase = Phase::Writing(ManifestPointer { sequence, checksum });
        effects.push(ManifestEffect::Run(plan));
    }

    /// Says on the disk that the stop is orderly, after whatever is under way. To be called last: nothing may be appended to
    /// the journal any more.
    pub fn mark_clean(&mut self, effects: &mut Vec<ManifestEffect>) {
        self.clean_wanted = true;
        if self.phase == Phase::Collecting {
            self.phase = Phase::Idle;
        }
        self.clean_if_idle(effects);
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
                let begun = self.superblocks.begin(|next| next.manifest = pointer);
                self.write_on(begun, effects);
            }
            (Phase::Naming { .. } | Phase::Cleaning, None) => {
                let next = self.superblocks.completed(Ok(()));
                self.write_on(next, effects);
            }
            (Phase::Tidying | Phase::Idle | Phase::Collecting, None) => self.phase = Phase::Idle,
        }
        self.clean_if_idle(effects);
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
            _ => {
                self.phase = Phase::Idle;
                effects.push(ManifestEffect::Clean);
            }
        }
    }

    fn clean_if_idle(&mut self, effects: &mut Vec<ManifestEffect>) {
        if self.clean_wanted && self.is_idle() {
            self.clean_wanted = false;
            self.phase = Phase::Cleaning;
            let begun = self.superblocks.begin(|next| next.clean = true);
            self.write_on(begun, effects);
        }
    }
}
