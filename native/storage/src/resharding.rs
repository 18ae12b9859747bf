//! Changing the number of shards: what counts of all journals and manifests is written into new ones, then LAYOUT names
//! those.
//!
//! The old shards are read and not touched until LAYOUT has changed; a crash before leaves the old ones in force, one after
//! it the new ones. Segments stay where they are: directories belong to groups, not to shards.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ng_io::{Chunk, Driver, Environment, Instant, Outcome, Token, Wait};

use crate::block::block_bytes;
use crate::boot::{BootError, DRIVER, Hands, READER};
use crate::data_directory::{DataDirectory, Identity, read_manifest};
use crate::founding::{heed, settle};
use crate::home::ShardHome;
use crate::journal::recovery::{Recovered, RecoveredGroup};
use crate::journal::shell::{JournalShell, body_in};
use crate::journal::{Effect, Limits, PrepareJournal, Refused};
use crate::layout::{JournalName, Layout};
use crate::manifest::{GroupEntry, Manifest};
use crate::record::{RecordHeader, RecordKind};
use crate::store::plan::{Plan, Step, replace};
use crate::superblock::{JOURNAL_FILES_MAX, ManifestPointer, Ring, Superblock};

/// How a change of the shard count goes about.
pub struct Resharding<'a> {
    /// How many shards there shall be.
    pub shard_count: u32,
    /// Which of so many shards a group belongs to.
    pub owner: &'a dyn Fn(u64, u32) -> u32,
    /// Marks the journals.
    pub random: &'a mut dyn FnMut() -> u128,
    /// Whether the node is alone. Then blocks that were never proven are dropped; else they are kept for its peers to
    /// judge, and the shard count stays.
    pub solo: bool,
}

/// How often a record waits for room. A ring keeps three files free, and each round makes one if the disk has space for it.
const ROUNDS: u32 = 8;

/// A record with its body.
type Record = (RecordHeader, Arc<Chunk>);

/// What counts of a node, by the shard it will belong to.
#[derive(Default)]
struct Share {
    records: Vec<Record>,
    entries: Vec<GroupEntry>,
}

impl<E: Environment> DataDirectory<E> {
    /// Moves everything that counts into `shard_count` new shards, and puts them in force.
    pub fn change_shard_count(&self, layout: &Layout, change: Resharding<'_>) -> Result<Layout, BootError> {
        let root = self.home.root().to_owned();
        let mut shares: Vec<Share> = (0..change.shard_count).map(|_| Share::default()).collect();
        for name in &layout.journals {
            // A driver for each: the files are let go with it.
            let mut driver = self.environment.driver(READER).map_err(BootError::io(&root))?;
            self.share_out(&mut driver, layout, *name, &change, &mut shares)?;
        }
        let mut driver = self.environment.driver(DRIVER).map_err(BootError::io(&root))?;
        let Resharding { shard_count, random, .. } = change;
        let epoch = layout.epoch + 1;
        let journals: Vec<_> = (0..shard_count).map(|shard| JournalName { epoch, shard }).collect();
        let identity = Identity { cluster: layout.cluster, node: layout.node, member: layout.member };
        let mut hands = Hands::new(&self.environment, &mut driver, self.settings.first_token);
        for (name, share) in journals.iter().zip(shares) {
            let home = self.home.shard(*name);
            hands.discard(home.directory())?;
            let first = self.first_superblock(identity, *name, shard_count, random());
            self.write_share(&home, first, share).map_err(|error| not_for_space(error, &home, layout))?;
        }
        let next = Layout { epoch, shard_count, journals, ..layout.clone() };
        hands.run(vec![Step::SyncDirectory(self.home.shards())])?;
        self.put_layout(&mut hands, &next)?;
        self.retire_shards(&mut hands, &layout.journals)?;
        Ok(next)
    }

    fn put_layout(&self, hands: &mut Hands<'_, E>, layout: &Layout) -> Result<(), BootError> {
        let mut plan = Plan::new();
        replace(&mut plan, self.home.layout(), layout.encode());
        plan.push(Step::SyncDirectory(self.home.root().to_owned()));
        hands.run(plan).map(|_| ())
    }

    /// Removes what a change that was cut short has left. Before shards of an earlier epoch go, LAYOUT is written again: if
    /// the sync behind it failed, what was read is in the page cache alone, and another sync would say nothing of it.
    pub(crate) fn finish_change(&self, hands: &mut Hands<'_, E>, layout: &Layout) -> Result<(), BootError> {
        let names = hands.names(&self.home.shards())?;
        let is_there = |name: &JournalName| names.contains(&ShardHome::name(*name));
        if let Some(missing) = layout.journals.iter().find(|name| !is_there(name)) {
            // An older copy of LAYOUT: the shards that it does not name are those in force.
            let named_by = self.home.layout().display().to_string();
            return Err(BootError::Missing { path: self.home.shard(*missing).superblock(), named_by });
        }
        let left = |name: &String| {
            let epoch = epoch_of(name)?;
            (epoch != layout.epoch).then(|| (epoch, self.home.shards().join(name)))
        };
        let left: Vec<(u32, PathBuf)> = names.iter().filter_map(left).collect();
        let (before, half_made): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|(epoch, _)| *epoch < layout.epoch);
        half_made.iter().try_for_each(|(_, path)| hands.discard(path))?;
        if !before.is_empty() {
            self.put_layout(hands, layout)?;
        }
        before.iter().try_for_each(|(_, path)| hands.discard(path))
    }

    /// Moves shards that no layout names any more into the trash.
    fn retire_shards(&self, hands: &mut Hands<'_, E>, names: &[JournalName]) -> Result<(), BootError> {
        let mut plan = Plan::new();
        for name in names {
            let to = self.home.trash().join(format!("shard-{}", ShardHome::name(*name)));
            plan.push(Step::Retire { from: self.home.shard(*name).directory().to_owned(), to });
        }
        plan.push(Step::SyncDirectory(self.home.shards()));
        plan.push(Step::SyncDirectory(self.home.trash()));
        hands.run(plan).map(|_| ())
    }

    /// Reads a shard and gives each of its groups to its new owner.
    fn share_out(
        &self,
        driver: &mut E::Driver,
        layout: &Layout,
        name: JournalName,
        change: &Resharding<'_>,
        shares: &mut [Share],
    ) -> Result<(), BootError> {
        let home = self.home.shard(name);
        let mut hands = Hands::new(&self.environment, driver, self.settings.first_token);
        let (_, superblocks) = self.read_superblock(&mut hands, &home, layout, name)?;
        let superblock = *superblocks.current();
        let entries = read_manifest(&mut hands, &home, &superblock)?;
        let (mut shell, mut recovered) = self.read_journal(&mut hands, &home, &superblock, &entries)?;
        let kept = |reason: &str| not_moved(home.directory(), layout, reason.to_owned());
        if hands.read(home.accepted_loss())?.is_some() {
            return Err(kept("a loss was accepted, which a start with the old count has to deal with first"));
        }
        if !recovered.damage.is_empty() {
            return Err(kept("something in it is damaged"));
        }
        if !change.solo && !recovered.losses().is_empty() {
            return Err(kept("blocks of it are lost, which the other nodes have to judge"));
        }
        let shard_of =
            |group: u64| (change.owner)(group, change.shard_count).min(change.shard_count - 1) as usize;
        for entry in recovered.live(entries) {
            shares[shard_of(entry.group)].entries.push(entry);
        }
        for group in recovered.take_groups() {
            let records = self.records_of(hands.driver, &mut shell, &recovered, &group, layout)?;
            shares[shard_of(group.group)].records.extend(records);
        }
        Ok(())
    }

    /// The records of a group in an order that replays to the same: views come before all prepares, of which they drop none.
    fn records_of(
        &self,
        driver: &mut E::Driver,
        shell: &mut JournalShell<E>,
        recovered: &Recovered,
        group: &RecoveredGroup,
        layout: &Layout,
    ) -> Result<Vec<Record>, BootError> {
        let mut records = Vec::new();
        if let Some(open) = &group.open {
            let body = open.encode();
            let header =
                RecordHeader { epoch: group.epoch, ..RecordHeader::of(RecordKind::Open, group.group, &body) };
            records.push((header, Arc::new(body.into())));
        }
        records
            .extend(group.install.as_ref().map(|(header, body)| (*header, Arc::new(body.encode().into()))));
        // Blocks of the old journal mean nothing in the new one, which begins without a loss.
        let views = group.log.iter().chain(&group.vote);
        records.extend(
            views.map(|(header, body)| {
                (RecordHeader { request: 0, ..*header }, Arc::new(body.encode().into()))
            }),
        );
        for prepare in &group.prepares {
            let read = self.read_body(driver, shell, recovered, &prepare.header)?;
            let body = read.ok_or_else(|| {
                let RecordHeader { op, group, .. } = prepare.header;
                let reason = format!("op {op} of group {group:016x} cannot be read");
                not_moved(&self.home.shards(), layout, reason)
            })?;
            records.push((prepare.header, Arc::new(body.into())));
        }
        Ok(records)
    }

    /// The body of a record, if it can be read.
    fn read_body(
        &self,
        driver: &mut E::Driver,
        shell: &mut JournalShell<E>,
        recovered: &Recovered,
        header: &RecordHeader,
    ) -> Result<Option<Vec<u8>>, BootError> {
        let Some(located) = recovered.locate(header.group, header.op) else { return Ok(None) };
        if !shell.read_body(driver, &located, Token(self.settings.first_token)) {
            return Ok(None);
        }
        let mut completions = Vec::new();
        while completions.is_empty() {
            let waited = driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut completions);
            waited.map_err(BootError::io(&self.home.shards()))?;
        }
        Ok(match completions.remove(0).outcome {
            Outcome::Read { buffer, result: Ok(_) } => {
                body_in(&located, &buffer).filter(|body| header.is_sealed_over(body))
            }
            _ => None,
        })
    }

    /// Makes a shard that holds a share from its first moment on.
    fn write_share(&self, home: &ShardHome, mut first: Superblock, share: Share) -> Result<(), BootError> {
        let directory = home.directory();
        let mut driver = self.environment.driver(READER).map_err(BootError::io(directory))?;
        let mut hands = Hands::new(&self.environment, &mut driver, self.settings.first_token);
        hands.run(vec![Step::MakeDirectory(directory.to_owned())])?;
        let Share { records, mut entries } = share;
        if !entries.is_empty() {
            entries.sort_by_key(|entry| entry.group);
            let manifest = Manifest { node: first.node, sequence: 1, shard: first.shard, groups: entries };
            let (bytes, checksum) = manifest.encode();
            let mut plan = Plan::new();
            replace(&mut plan, home.manifest(1), bytes);
            hands.run(plan)?;
            first.manifest = ManifestPointer { sequence: 1, checksum };
        }
        first.ring = self.write_journal(&mut hands, home, &first, records)?;
        self.write_first_superblock(&mut hands, home, first)
    }

    /// Makes a journal that holds these records, its first block synced last of all. It gets as many files as they need,
    /// whatever the settings say: what several shards had may be more than one may take on. Returns what a superblock is to
    /// vouch for.
    pub(crate) fn write_journal(
        &self,
        hands: &mut Hands<'_, E>,
        home: &ShardHome,
        superblock: &Superblock,
        records: Vec<Record>,
    ) -> Result<Ring, BootError> {
        let (mark, limits) = (superblock.journal, room_for(&records, self.settings.journal));
        let place = self.journal_home(home, mark);
        let (mut shell, recovered) =
            JournalShell::create(self.environment.clone(), hands.driver, place, limits)
                .map_err(|fault| BootError::journal(home.directory(), fault))?;
        let mut effects = Vec::new();
        let mut journal =
            PrepareJournal::resume(mark, superblock.incarnation, limits, recovered, &mut effects);
        settle(hands.driver, &mut shell, &mut journal, &mut effects, home)?;
        for (header, body) in records {
            let mut writing =
                Writing { home, shell: &mut shell, journal: &mut journal, effects: &mut effects };
            writing.append(hands.driver, header, &body)?;
        }
        settle(hands.driver, &mut shell, &mut journal, &mut effects, home)?;
        Ok(Ring { files: journal.files(), synced: journal.synced_block() })
    }
}

/// Limits of a journal that takes all these records at once and frees none of its files for them.
fn room_for(records: &[Record], limits: Limits) -> Limits {
    let bytes: u64 = records.iter().map(|(_, body)| block_bytes(1, body.len()) as u64).sum();
    // No block but the last of a file leaves half of it unused; three files are kept for relocation.
    let files = u32::try_from(2 * bytes.div_ceil(limits.file_bytes) + 5).unwrap_or(u32::MAX);
    let files_max = limits.files_max.max(files.min(JOURNAL_FILES_MAX));
    Limits { files_max, slots_max: limits.slots_max.max(2 * records.len()), window_max: usize::MAX, ..limits }
}

/// Why the shard count stays as it is.
fn not_moved(path: &Path, layout: &Layout, reason: String) -> BootError {
    BootError::NotMoved { path: path.to_owned(), shards: layout.shard_count, reason }
}

/// A disk without room for the new shards is no fault of it: the old ones are whole.
fn not_for_space(error: BootError, home: &ShardHome, layout: &Layout) -> BootError {
    match error {
        BootError::Io(fault) if fault.heals() => {
            not_moved(home.directory(), layout, format!("there is no room for the new journal ({fault})"))
        }
        BootError::DoesNotFit { refused } => not_moved(
            home.directory(),
            layout,
            format!("what counts does not fit the new journal: {refused}"),
        ),
        other => other,
    }
}

/// A journal being filled.
struct Writing<'a, E: Environment> {
    home: &'a ShardHome,
    shell: &'a mut JournalShell<E>,
    journal: &'a mut PrepareJournal,
    effects: &'a mut Vec<Effect>,
}

impl<E: Environment> Writing<'_, E> {
    /// Appends a record, waiting for room as long as there can be some.
    fn append(
        &mut self,
        driver: &mut E::Driver,
        header: RecordHeader,
        body: &Arc<Chunk>,
    ) -> Result<(), BootError> {
        for _ in 0..ROUNDS {
            match self.journal.append(header, Arc::clone(body)) {
                Ok(_) => return Ok(()),
                Err(Refused::Busy) => self.make_room(driver)?,
                Err(refused) => return Err(BootError::DoesNotFit { refused }),
            }
        }
        Err(BootError::DoesNotFit { refused: Refused::Busy })
    }

    /// Waits until all is written, and until the further file that is being made is there.
    fn make_room(&mut self, driver: &mut E::Driver) -> Result<(), BootError> {
        settle(driver, self.shell, self.journal, self.effects, self.home)?;
        while self.journal.is_growing() {
            let mut completions = Vec::new();
            let waited = driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut completions);
            waited.map_err(BootError::io(self.home.directory()))?;
            for completion in completions {
                if let Some(event) = self.shell.event(driver, completion) {
                    self.journal.step(event, self.effects);
                }
            }
            self.shell.perform(driver, self.effects);
            heed(self.journal, self.effects, self.home)?;
        }
        Ok(())
    }
}

/// The epoch of the shard whose directory has this name, if it is that of a shard.
fn epoch_of(name: &str) -> Option<u32> {
    let (epoch, shard) = name.split_once('-')?;
    let (epoch, shard) = (epoch.parse().ok()?, shard.parse().ok()?);
    (ShardHome::name(JournalName { epoch, shard }) == name).then_some(epoch)
}
