//! Founding a data directory, and which of its steps a crash may have left undone.
//!
//! The shards are made under `shards.new`; then `LAYOUT.new` is written; then both get their names, `shards` first. Whoever
//! finds a good `LAYOUT.new` and no `LAYOUT` goes on from there; whoever finds neither begins anew.

use std::path::Path;

use ng_io::{Buffer, Driver, Environment, Instant, Wait};

use crate::boot::{BootError, DRIVER, Hands};
use crate::data_directory::{DataDirectory, Identity};
use crate::home::{ShardHome, replacement};
use crate::journal::shell::{JournalHome, JournalShell};
use crate::journal::{Effect, Event, PrepareJournal};
use crate::layout::{JournalName, Layout};
use crate::store::plan::Step;
use crate::superblock::{ManifestPointer, Ring, Superblock, SyncedBlock};
use crate::superblock_writer::SuperblockWriter;

/// What a data directory holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayoutState {
    /// Nothing yet, or a founding that must begin anew.
    Nothing,
    /// A founded directory.
    Complete(Layout),
}

impl<E: Environment> DataDirectory<E> {
    /// Founds the directory with `shard_count` shards. `random` marks the journals.
    pub fn found(
        &self,
        identity: Identity,
        shard_count: u32,
        random: &mut dyn FnMut() -> u128,
    ) -> Result<Layout, BootError> {
        if let LayoutState::Complete(_) = self.layout()? {
            return Err(BootError::Founded(self.home.layout()));
        }
        let (root, fresh) = (self.home.root().to_owned(), self.home.shards_being_founded());
        self.environment.make_directories(&root).map_err(BootError::io(&root))?;
        self.sync_above(&root)?;
        let mut driver = self.environment.driver(DRIVER).map_err(BootError::io(&root))?;
        let mut hands = Hands::new(&self.environment, &mut driver, self.settings.first_token);
        hands.run(vec![Step::Remove(replacement(&self.home.layout())), Step::SyncDirectory(root)])?;
        hands.discard(&fresh)?;
        hands.run(vec![
            Step::MakeDirectory(self.home.groups()),
            Step::MakeDirectory(self.home.trash()),
            Step::MakeDirectory(fresh.clone()),
        ])?;
        let journals: Vec<_> = (0..shard_count).map(|shard| JournalName { epoch: 1, shard }).collect();
        for name in &journals {
            let superblock = self.first_superblock(identity, *name, shard_count, random());
            self.found_shard(&ShardHome::below(&fresh, *name), superblock)?;
        }
        let Identity { cluster, node, member } = identity;
        let layout = Layout { cluster, node, member, epoch: 1, shard_count, journals };
        hands.run(vec![Step::SyncDirectory(fresh)])?;
        self.finish_founding(&mut hands, &layout)?;
        Ok(layout)
    }

    /// Syncs the directories above the data directory, of which this life or an earlier one may have made any: otherwise a
    /// power cut could lose the name of the data directory, and everything with it. A directory that this process may not
    /// read, or of a file system that syncs none, was not made by it.
    fn sync_above(&self, root: &Path) -> Result<(), BootError> {
        for above in root.ancestors().skip(1) {
            let path = if above == Path::new("") { Path::new(".") } else { above };
            match self.environment.sync_directory(path) {
                Err(error) if error.is_permission() || error.cannot_sync() => {}
                synced => synced.map_err(BootError::io(path))?,
            }
        }
        Ok(())
    }

    /// What the directory holds. A founding that had come far enough is finished.
    pub fn layout(&self) -> Result<LayoutState, BootError> {
        let root = self.home.root();
        let mut driver = self.environment.driver(DRIVER).map_err(BootError::io(root))?;
        let mut hands = Hands::new(&self.environment, &mut driver, self.settings.first_token);
        let path = self.home.layout();
        if let Some(bytes) = hands.read(path.clone())? {
            // What a change that was cut short left must never pass for the end of a founding.
            hands.run(vec![Step::Remove(replacement(&path))])?;
            let layout = Layout::decode(&bytes).map_err(BootError::refused(&path))?;
            self.finish_change(&mut hands, &layout)?;
            return Ok(LayoutState::Complete(layout));
        }
        let names = hands.names(root)?;
        let is_there = |name: &str| names.iter().any(|found| found == name);
        let next = hands.read(replacement(&path))?.map(|bytes| Layout::decode(&bytes));
        match next {
            Some(Ok(layout)) if is_there("shards") || is_there("shards.new") => {
                self.finish_founding(&mut hands, &layout)?;
                Ok(LayoutState::Complete(layout))
            }
            Some(Err(refusal)) if refusal.is_newer() || refusal.is_older() => {
                Err(BootError::refused(&replacement(&path))(refusal))
            }
            _ if is_there("shards") => Err(BootError::NoLayout { layout: path, beside: self.home.shards() }),
            _ if !hands.names(&self.home.groups())?.is_empty() => {
                Err(BootError::NoLayout { layout: path, beside: self.home.groups() })
            }
            _ => Ok(LayoutState::Nothing),
        }
    }

    /// `LAYOUT.new` is written here even if it was found: if the sync of the start before failed, what can be read is in
    /// the page cache alone, and another sync would say nothing of it.
    fn finish_founding(&self, hands: &mut Hands<'_, E>, found: &Layout) -> Result<(), BootError> {
        let (root, layout) = (self.home.root().to_owned(), self.home.layout());
        let path = replacement(&layout);
        let buffer = Buffer::from(found.encode());
        hands.run(vec![
            Step::SyncDirectory(root.clone()),
            Step::Write { path: path.clone(), offset: 0, buffer, batches: false },
            Step::Sync { path, batches: false },
            Step::SyncDirectory(root.clone()),
            Step::Retire { from: self.home.shards_being_founded(), to: self.home.shards() },
            Step::SyncDirectory(root.clone()),
            Step::Rename { from: replacement(&layout), to: layout },
            Step::SyncDirectory(root),
        ])?;
        Ok(())
    }

    pub(crate) fn first_superblock(
        &self,
        identity: Identity,
        name: JournalName,
        shard_count: u32,
        journal: u128,
    ) -> Superblock {
        Superblock {
            cluster: identity.cluster,
            node: identity.node,
            member: identity.member,
            journal,
            epoch: name.epoch,
            shard: name.shard,
            shard_count,
            clean: false,
            sequence: 0,
            parent: 0,
            incarnation: 1,
            manifest: ManifestPointer::default(),
            journal_file_bytes: self.settings.journal.file_bytes,
            ring: Ring { files: 1, synced: SyncedBlock::default() },
            genesis: self.settings.genesis,
        }
    }

    /// Makes a shard: a journal whose first block is synced, then a superblock that says so.
    fn found_shard(&self, home: &ShardHome, mut superblock: Superblock) -> Result<(), BootError> {
        let directory = home.directory();
        // A driver of its own: the files are let go with it.
        let mut driver = self.environment.driver(DRIVER).map_err(BootError::io(directory))?;
        let mut hands = Hands::new(&self.environment, &mut driver, self.settings.first_token);
        hands.run(vec![Step::MakeDirectory(directory.to_owned())])?;
        superblock.ring = self.write_journal(&mut hands, home, &superblock, Vec::new())?;
        self.write_first_superblock(&mut hands, home, superblock)
    }

    pub(crate) fn write_first_superblock(
        &self,
        hands: &mut Hands<'_, E>,
        home: &ShardHome,
        superblock: Superblock,
    ) -> Result<(), BootError> {
        let mut writer = SuperblockWriter::found(superblock);
        let begun = writer.begin(|_| ());
        hands.write_superblock(&home.superblock(), &mut writer, begun)?;
        hands.run(vec![Step::SyncDirectory(home.directory().to_owned())]).map(|_| ())
    }

    pub(crate) fn journal_home(&self, home: &ShardHome, journal: u128) -> JournalHome {
        let directory = home.directory().to_owned();
        JournalHome {
            directory,
            direct: self.settings.direct,
            journal,
            first_token: self.settings.first_token,
        }
    }
}

/// Takes what a journal says that no shard has yet: its superblock is written once the journal is whole, and counts its files
/// then.
pub(crate) fn heed(
    journal: &mut PrepareJournal,
    effects: &mut Vec<Effect>,
    home: &ShardHome,
) -> Result<(), BootError> {
    for effect in std::mem::take(effects) {
        match effect {
            Effect::Fatal(fault) => return Err(BootError::journal(home.directory(), fault)),
            Effect::Enlist { .. } => journal.step(Event::Enlisted, effects),
            _ => {}
        }
    }
    Ok(())
}

/// Lets a journal work until nothing of it waits. For a start, not for a shard's turn.
pub(crate) fn settle<E: Environment>(
    driver: &mut E::Driver,
    shell: &mut JournalShell<E>,
    journal: &mut PrepareJournal,
    effects: &mut Vec<Effect>,
    home: &ShardHome,
) -> Result<(), BootError> {
    let mut completions = Vec::new();
    loop {
        journal.start(effects);
        shell.perform(driver, effects);
        heed(journal, effects, home)?;
        if journal.is_quiet() {
            return Ok(());
        }
        let waited = driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut completions);
        waited.map_err(BootError::io(home.directory()))?;
        for completion in completions.drain(..) {
            if let Some(event) = shell.event(driver, completion) {
                journal.step(event, effects);
            }
        }
    }
}
