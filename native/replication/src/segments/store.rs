//! The segments of all groups of a shard: the core that plans, the shell that works on files, and notes about
//! groups.

use std::collections::BTreeSet;
use std::path::Path;

use ng_io::{Buffer, Completion, Environment, Instant, Token};
use ng_storage::store::plan::Plan;
use ng_storage::store::shell::PlanShell;
use ng_storage::store::{self, Effect, SegmentStore, list_files};

/// The store of a shard with its files.
#[derive(Debug)]
pub(crate) struct ShardSegments<E> {
    core: SegmentStore,
    shell: PlanShell,
    effects: Vec<Effect>,
    /// Lists the directory of a damaged group.
    environment: E,
    /// Groups whose figures changed since the last look.
    changed: BTreeSet<u64>,
    /// Ended groups whose files are not deleted yet.
    ending: BTreeSet<u64>,
}

impl<E: Environment> ShardSegments<E> {
    pub(crate) fn new(core: SegmentStore, shell: PlanShell, environment: E) -> Self {
        let (changed, ending) = (BTreeSet::new(), BTreeSet::new());
        Self { core, shell, effects: Vec::new(), environment, changed, ending }
    }

    /// The core, read-only.
    pub(crate) const fn core(&self) -> &SegmentStore {
        &self.core
    }

    /// Calls the core. Its effects are performed later in the turn.
    pub(crate) fn order<T>(&mut self, act: impl FnOnce(&mut SegmentStore, &mut Vec<Effect>) -> T) -> T {
        act(&mut self.core, &mut self.effects)
    }

    /// No effect waits to be performed.
    pub(crate) const fn is_performed(&self) -> bool {
        self.effects.is_empty()
    }

    /// Takes the effects to perform.
    pub(crate) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    pub(crate) fn owns(&self, token: Token) -> bool {
        self.shell.owns(token)
    }

    /// Takes the completion of a step of a plan. Returns true if a plan has ended.
    pub(crate) fn complete(&mut self, driver: &mut E::Driver, completion: Completion, now: Instant) -> bool {
        let ended = self.shell.completed(driver, completion);
        let has_ended = ended.is_some();
        if let Some((lane, result)) = ended {
            self.core.step(store::Event::Ended { lane, result }, now, &mut self.effects);
        }
        has_ended
    }

    /// Handles a deadline of the core, if one has passed.
    pub(crate) fn tend(&mut self, now: Instant) {
        if self.core.next_deadline().is_some_and(|due| due <= now) {
            self.core.step(store::Event::Due, now, &mut self.effects);
        }
    }

    pub(crate) fn start(&mut self, driver: &mut E::Driver, lane: u32, plan: Plan) {
        self.shell.start(driver, lane, plan);
    }

    /// Lists a directory. This blocks the shard, but only a damaged group needs it, once.
    pub(crate) fn list(&mut self, lane: u32, directory: &Path, now: Instant) {
        let files = list_files(&self.environment, directory);
        self.core.step(store::Event::Named { lane, files }, now, &mut self.effects);
    }

    /// Segments replaced since effects were last performed: group, first and last offset.
    pub(crate) fn replaced(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.effects.iter().filter_map(|effect| match effect {
            Effect::Swapped { group, replaced: Some((first, last)), .. } => Some((*group, *first, *last)),
            _ => None,
        })
    }

    /// Takes back a buffer without readers.
    pub(crate) fn recycle(&mut self, buffer: Buffer) {
        self.shell.use_again(buffer);
    }

    pub(crate) const fn spare_bytes(&self) -> usize {
        self.shell.spare_bytes()
    }

    /// Frees buffers without recent use; returns their bytes.
    pub(crate) fn age_spares(&mut self) -> usize {
        self.shell.age_spares()
    }

    pub(crate) fn set_spare_bytes_max(&mut self, bytes_max: usize) {
        self.shell.set_spare_bytes_max(bytes_max);
    }

    /// Notes that the figures of a group changed.
    pub(crate) fn note_change(&mut self, group: u64) {
        self.changed.insert(group);
    }

    pub(crate) fn next_changed(&mut self) -> Option<u64> {
        self.changed.pop_first()
    }

    /// A group has ended; its files remain until [`ShardSegments::remove`].
    pub(crate) fn end(&mut self, group: u64) {
        self.changed.remove(&group);
        self.ending.insert(group);
    }

    /// Moves the files of an ended group to the trash.
    pub(crate) fn remove(&mut self, group: u64) {
        self.end(group);
        self.core.remove(group, &mut self.effects);
    }

    /// All files of a group are deleted.
    pub(crate) fn removed(&mut self, group: u64) {
        self.ending.remove(&group);
    }

    /// Ended groups whose files are not deleted yet.
    pub(crate) const fn ending(&self) -> &BTreeSet<u64> {
        &self.ending
    }
}
