//! A data directory from a start's view: what it is founded with, and one shard of it opened.
//!
//! Everything here waits for the disk. `founding` makes a directory; this opens what is there.

use std::collections::BTreeMap;

use ng_io::{Environment, Handle};

use crate::accepted_loss::{self, JournalPlace, losses_of};
use crate::boot::{BootError, Hands};
use crate::home::{Home, ShardHome};
use crate::journal::Limits;
use crate::journal::recovery::Recovered;
use crate::journal::shell::JournalShell;
use crate::layout::{JournalName, Layout, Member};
use crate::manifest::{GroupEntry, Manifest};
use crate::metadata_state::MetadataState;
use crate::refusal::{Reason, Refusal};
use crate::store::plan::Step;
use crate::superblock::{Genesis, Superblock};
use crate::superblock_writer::SuperblockWriter;
use crate::sweep::sweep_shard;

/// Who a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Of the cluster.
    pub cluster: u128,
    /// Of the node's disk.
    pub node: u128,
    /// Which of how many nodes.
    pub member: Member,
}

/// What the configuration says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Constants that must not differ from those the directory was founded with.
    pub genesis: Genesis,
    /// Sizes of the journals; the bytes of a file must not differ either.
    pub journal: Limits,
    /// Whether the file system lets files bypass the page cache.
    pub direct: bool,
    /// The first token that a start may use with a driver: as many as a journal uses.
    pub first_token: u64,
}

/// A data directory.
#[derive(Clone, Debug)]
pub struct DataDirectory<E: Environment> {
    pub(crate) environment: E,
    pub(crate) home: Home,
    pub(crate) settings: Settings,
}

/// One shard, ready to go on.
#[derive(Debug)]
pub struct OpenedShard<E: Environment> {
    /// Where its files are.
    pub environment: E,
    /// Where it is.
    pub home: ShardHome,
    /// The superblock in force, of this incarnation.
    pub superblock: Superblock,
    /// Whether the last stop was orderly.
    pub was_clean: bool,
    /// What the manifest in force says.
    pub entries: Vec<GroupEntry>,
    /// The open files of the journal.
    pub shell: JournalShell<E>,
    /// What they hold, without what an operator has accepted as lost.
    pub recovered: Recovered,
    /// How many offsets each partition skips because of that. A node that has others cannot go on so.
    pub offsets_skipped: u64,
    /// Writes the next superblock.
    pub superblocks: SuperblockWriter,
    /// The superblock's file, which is held against other processes.
    pub superblock_file: Handle,
}

impl<E: Environment> DataDirectory<E> {
    /// The directory at `home`.
    #[must_use]
    pub const fn new(environment: E, home: Home, settings: Settings) -> Self {
        Self { environment, home, settings }
    }

    /// Where everything lies.
    #[must_use]
    pub const fn home(&self) -> &Home {
        &self.home
    }

    /// Opens one shard of the layout in force with the driver of its thread.
    ///
    /// Everything is read and judged before anything is written: a start that is refused leaves the shard as it found it. Then
    /// the incarnation is raised, before the first block of it.
    pub fn open_shard(
        &self,
        driver: &mut E::Driver,
        layout: &Layout,
        shard: u32,
    ) -> Result<OpenedShard<E>, BootError> {
        let name = JournalName { epoch: layout.epoch, shard };
        let home = self.home.shard(name);
        let mut hands = Hands::new(&self.environment, driver, self.settings.first_token);
        let (superblock_file, mut superblocks) = self.read_superblock(&mut hands, &home, layout, name)?;
        let was_clean = superblocks.current().clean;
        let entries = read_manifest(&mut hands, &home, superblocks.current())?;
        let (mut shell, mut recovered) =
            self.read_journal(&mut hands, &home, superblocks.current(), &entries)?;
        let offsets_skipped =
            self.judge_losses(&mut hands, &home, superblocks.current(), &entries, &mut recovered)?;
        shell
            .complete(hands.driver, &recovered)
            .map_err(|fault| BootError::journal(home.directory(), fault))?;
        let begun = superblocks.begin(|next| {
            next.incarnation += 1;
            next.clean = false;
            next.ring.synced = recovered.synced_block();
        });
        hands.write_superblock(&home.superblock(), &mut superblocks, begun)?;
        let superblock = *superblocks.current();
        remove_other_manifests(&mut hands, &home, &superblock)?;
        sweep_shard(&mut hands, &self.home, superblock.node, &entries, &recovered);
        Ok(OpenedShard {
            environment: self.environment.clone(),
            home,
            superblock,
            was_clean,
            entries: recovered.live(entries),
            shell,
            recovered,
            offsets_skipped,
            superblocks,
            superblock_file,
        })
    }

    /// Reads the journal of a shard. Changes nothing.
    pub(crate) fn read_journal(
        &self,
        hands: &mut Hands<'_, E>,
        home: &ShardHome,
        superblock: &Superblock,
        entries: &[GroupEntry],
    ) -> Result<(JournalShell<E>, Recovered), BootError> {
        let floors: BTreeMap<u64, u64> = entries.iter().map(|entry| (entry.group, entry.anchor.op)).collect();
        let place = self.journal_home(home, superblock.journal);
        let limits = Limits { file_bytes: superblock.journal_file_bytes, ..self.settings.journal };
        let vouched = (superblock.ring, superblock.incarnation);
        JournalShell::recover(self.environment.clone(), hands.driver, place, limits, vouched, &floors)
            .map_err(|fault| BootError::start(&self.home, home, fault))
    }

    /// Refuses over what is lost, unless that was accepted by name or others still have it. Returns how many offsets each
    /// partition has to skip.
    fn judge_losses(
        &self,
        hands: &mut Hands<'_, E>,
        home: &ShardHome,
        superblock: &Superblock,
        entries: &[GroupEntry],
        recovered: &mut Recovered,
    ) -> Result<u64, BootError> {
        if recovered.is_shattered(&self.settings.journal) {
            return Err(BootError::Shattered { path: home.directory().to_owned() });
        }
        let offsets_skipped =
            accepted_loss::take(hands, self.home.root(), home, superblock, entries, recovered)?;
        if !superblock.member.is_standalone() {
            let refused = (offsets_skipped > 0).then(|| BootError::NotAlone(home.accepted_loss()));
            return refused.map_or(Ok(0), Err);
        }
        if recovered.damage.is_empty() {
            return Ok(offsets_skipped);
        }
        let (path, data) = (home.directory().to_owned(), self.home.root().to_owned());
        let losses =
            losses_of(&JournalPlace { shard: superblock.shard, directory: &path }, entries, recovered);
        Err(BootError::Lost { path, data, losses })
    }

    /// The state of the metadata after `op`, which a manifest entry or an install record names.
    pub fn metadata_state(
        &self,
        driver: &mut E::Driver,
        group: u64,
        op: u64,
    ) -> Result<MetadataState, BootError> {
        let mut hands = Hands::new(&self.environment, driver, self.settings.first_token);
        let path = self.home.group(group).state(op);
        let Some(bytes) = hands.read(path.clone())? else {
            return Err(BootError::Missing { path, named_by: "the manifest".to_owned() });
        };
        let state = MetadataState::decode(&bytes).map_err(BootError::refused(&path))?;
        if (state.group, state.op) != (group, op) {
            let beside = self.home.group(group).directory();
            return Err(BootError::Foreign { path, what: "group or op", beside });
        }
        Ok(state)
    }

    pub(crate) fn read_superblock(
        &self,
        hands: &mut Hands<'_, E>,
        home: &ShardHome,
        layout: &Layout,
        name: JournalName,
    ) -> Result<(Handle, SuperblockWriter), BootError> {
        let path = home.superblock();
        let (file, superblocks) = self.identify(hands, home, layout, name)?;
        let found = superblocks.current();
        let (recorded, configured) = (found.genesis, self.settings.genesis);
        let constants = [
            ("frame bytes max", recorded.frame_bytes_max.into(), configured.frame_bytes_max.into()),
            ("pipeline depth", recorded.pipeline_depth.into(), configured.pipeline_depth.into()),
            ("client table slots", recorded.client_table_slots.into(), configured.client_table_slots.into()),
            (
                "consumer offsets max",
                recorded.consumer_offsets_max.into(),
                configured.consumer_offsets_max.into(),
            ),
            ("journal file bytes", found.journal_file_bytes, self.settings.journal.file_bytes),
        ];
        for (field, recorded, configured) in constants {
            if recorded != configured {
                return Err(BootError::Genesis { path, field, recorded, configured });
            }
        }
        Ok((file, superblocks))
    }

    /// The superblock of the shard that `name` says, whatever it was founded with.
    pub(crate) fn identify(
        &self,
        hands: &mut Hands<'_, E>,
        home: &ShardHome,
        layout: &Layout,
        name: JournalName,
    ) -> Result<(Handle, SuperblockWriter), BootError> {
        let path = home.superblock();
        let (file, elected) = hands.open_superblock(&path, &self.home.layout(), self.settings.direct)?;
        let found = &elected.superblock;
        let foreign = |what| Err(BootError::Foreign { path: path.clone(), what, beside: self.home.layout() });
        if (found.cluster, found.node, found.member) != (layout.cluster, layout.node, layout.member) {
            return foreign("cluster or node");
        }
        if (found.epoch, found.shard) != (name.epoch, name.shard) {
            return foreign("shard");
        }
        Ok((file, SuperblockWriter::resume(&elected)))
    }
}

/// The entries of the manifest that the superblock names.
pub(crate) fn read_manifest<E: Environment>(
    hands: &mut Hands<'_, E>,
    home: &ShardHome,
    superblock: &Superblock,
) -> Result<Vec<GroupEntry>, BootError> {
    let pointer = superblock.manifest;
    if pointer.sequence == 0 {
        return Ok(Vec::new());
    }
    let path = home.manifest(pointer.sequence);
    let Some(bytes) = hands.read(path.clone())? else {
        return Err(BootError::Missing { path, named_by: home.superblock().display().to_string() });
    };
    let manifest = Manifest::decode(&bytes).map_err(BootError::refused(&path))?;
    let own = u128::from_le_bytes(*bytes.first_chunk().unwrap_or(&[0; 16]));
    if own != pointer.checksum {
        let refusal = Refusal { structure: "manifest", field: "checksum", reason: Reason::Checksum };
        return Err(BootError::Refused { path, refusal });
    }
    if (manifest.node, manifest.shard, manifest.sequence)
        != (superblock.node, superblock.shard, pointer.sequence)
    {
        return Err(BootError::Foreign { path, what: "node or shard", beside: home.superblock() });
    }
    Ok(manifest.groups)
}

/// Removes the manifests before the one in force, and those that never came to be.
fn remove_other_manifests<E: Environment>(
    hands: &mut Hands<'_, E>,
    home: &ShardHome,
    superblock: &Superblock,
) -> Result<(), BootError> {
    let kept = home.manifest(superblock.manifest.sequence);
    for name in hands.names(home.directory())? {
        let path = home.directory().join(&name);
        if name.starts_with("manifest-") && path != kept {
            hands.run(vec![Step::Remove(path)])?;
        }
    }
    Ok(())
}
