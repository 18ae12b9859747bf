//! What a journal has lost, by name, and an operator's word that a node of its own may go on without it.
//!
//! The word is a file beside the journal (FORMAT.md, section 12). It is in force from its rename until a start finds nothing
//! lost and a manifest newer than it: whatever a start before then did not finish, the next one does in the same way.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ng_io::Environment;
use ng_wire::primitive::{put_u64, put_u128};

use crate::boot::{BootError, DRIVER, Hands, READER};
use crate::bytes::Fields;
use crate::data_directory::{DataDirectory, Settings, read_manifest};
use crate::envelope::Kind;
use crate::founding::LayoutState;
use crate::home::{Home, METADATA_GROUP, ShardHome};
use crate::journal::Limits;
use crate::journal::recovery::{Cut, Damage, FileFault, LostFile, Recovered};
use crate::journal::shell::file_name;
use crate::layout::{JournalName, Layout};
use crate::manifest::GroupEntry;
use crate::record::{RecordHeader, RecordKind};
use crate::refusal::{Reason, Refusal};
use crate::store::plan::{Plan, Step, replace};
use crate::superblock::Superblock;

/// The structure's marks and bounds.
pub const KIND: Kind =
    Kind { name: "accepted loss", magic: *b"NGACCEPT", version: 1, size: (HEAD, 64 << 20) };

/// Offsets that each partition of the shard passes over: more than any ring of journal files has room for messages, of which
/// each takes 48 bytes or more. What was given out since the manifest in force is or was in the ring.
pub const OFFSETS_SKIPPED: u64 = 1 << 40;

const HEAD: usize = 64;

/// What `recover` asks of a journal: it appends nothing. Number and bytes of the files are those of the superblock.
const LIMITS: Limits = Limits {
    file_bytes: 0,
    files_max: 0,
    block_bytes_target: 1 << 20,
    queued_bytes_max: 1 << 20,
    window_max: 1 << 20,
    slots_max: 1 << 20,
};

/// Something that was acknowledged, or may have been, and is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedLoss {
    /// How it is called, without a space.
    pub name: String,
    /// What it means, for an operator.
    pub meaning: String,
    /// Whether a node can go on without it.
    pub acceptable: bool,
    /// The file that it was in, if that is known.
    pub file: Option<PathBuf>,
}

/// Where the messages of a partition end of which nothing is lost, after a loss that names no partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownEnd {
    /// The partition's group.
    pub group: u64,
    /// The first offset that may be lost.
    pub offset: u64,
}

/// What a data directory has lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Each loss by its name.
    pub losses: Vec<NamedLoss>,
    /// Of each partition that a nameless loss may have hit: where it can have begun.
    pub ends: Vec<KnownEnd>,
}

/// An operator's word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedLoss {
    /// The mark of the journal.
    pub journal: u128,
    /// The sequence of the manifest that was in force.
    pub manifest: u64,
    /// What was accepted.
    pub names: Vec<String>,
}

impl AcceptedLoss {
    /// The file's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        KIND.seal(&mut bytes, |into| {
            put_u128(into, self.journal);
            put_u64(into, self.manifest);
            put_u64(into, 0);
            for name in &self.names {
                into.extend_from_slice(name.as_bytes());
                into.push(b'\n');
            }
        });
        bytes
    }

    /// Reads a whole file.
    pub fn decode(bytes: &[u8]) -> Result<Self, Refusal> {
        let opened = KIND.open(bytes)?;
        let mut fields = Fields::new(KIND.name, opened.content);
        let journal = fields.u128("journal")?;
        let manifest = fields.u64("manifest")?;
        fields.zero("reserved", 8)?;
        let text = opened.content.get(HEAD - crate::envelope::ENVELOPE..).unwrap_or_default();
        let text = str::from_utf8(text).map_err(|_| fields.refuse("names", Reason::Value(0)))?;
        Ok(Self { journal, manifest, names: text.lines().map(str::to_owned).collect() })
    }
}

/// Lists everything that the journals of the directory at `home` have lost. Changes nothing.
pub fn losses<E: Environment>(environment: &E, home: &Home) -> Result<Lost, BootError> {
    let mut all = Lost::default();
    for shard in damaged_shards(environment, home)? {
        all.losses.extend(shard.lost.losses);
        all.ends.extend(shard.lost.ends);
    }
    Ok(all)
}

/// Accepts the losses of these names, which must be all there are.
pub fn accept<E: Environment>(environment: &E, home: &Home, names: &[String]) -> Result<(), BootError> {
    let shards = damaged_shards(environment, home)?;
    let found = || shards.iter().flat_map(|shard| &shard.lost.losses);
    let is_all = found().all(|loss| loss.acceptable && names.contains(&loss.name));
    let is_only = names.iter().all(|name| found().any(|loss| loss.name == *name));
    if !is_all || !is_only {
        let losses = found().cloned().collect();
        return Err(BootError::OtherLoss {
            path: home.root().to_owned(),
            data: home.root().to_owned(),
            losses,
        });
    }
    let mut driver = environment.driver(DRIVER).map_err(BootError::io(home.root()))?;
    let mut hands = Hands::new(environment, &mut driver, 0);
    for shard in shards.into_iter().filter(|shard| !shard.lost.losses.is_empty()) {
        let names = shard.lost.losses.into_iter().map(|loss| loss.name).collect();
        let Superblock { journal, manifest, .. } = shard.superblock;
        let accepted = AcceptedLoss { journal, manifest: manifest.sequence, names };
        let mut plan = Plan::new();
        replace(&mut plan, shard.home.accepted_loss(), accepted.encode());
        plan.push(Step::SyncDirectory(shard.home.directory().to_owned()));
        hands.run(plan)?;
    }
    Ok(())
}

/// Goes on over what was accepted, if anything was. Returns how many offsets each partition has to skip.
pub(crate) fn take<E: Environment>(
    hands: &mut Hands<'_, E>,
    data: &Path,
    home: &ShardHome,
    superblock: &Superblock,
    entries: &[GroupEntry],
    recovered: &mut Recovered,
) -> Result<u64, BootError> {
    let path = home.accepted_loss();
    let Some(bytes) = hands.read(path.clone())? else { return Ok(0) };
    let accepted = AcceptedLoss::decode(&bytes).map_err(BootError::refused(&path))?;
    if accepted.journal != superblock.journal {
        return Err(BootError::Foreign { path, what: "journal", beside: home.superblock() });
    }
    let cuts = recovered.cuts(&anchors(entries));
    let place = JournalPlace { shard: superblock.shard, directory: home.directory() };
    let losses = name_all(&place, entries, recovered, &cuts);
    if losses.is_empty() && superblock.manifest.sequence > accepted.manifest {
        hands.run(vec![Step::Remove(path), Step::SyncDirectory(home.directory().to_owned())])?;
        return Ok(0);
    }
    if losses.iter().any(|loss| !loss.acceptable || !accepted.names.contains(&loss.name)) {
        return Err(BootError::OtherLoss { path, data: data.to_owned(), losses });
    }
    recovered.take_as_lost(&cuts);
    Ok(OFFSETS_SKIPPED)
}

/// Whose journal has lost something.
pub(crate) struct JournalPlace<'a> {
    /// The number of the shard.
    pub(crate) shard: u32,
    /// Where its files are.
    pub(crate) directory: &'a Path,
}

impl JournalPlace<'_> {
    fn file(&self, number: Option<u32>) -> Option<PathBuf> {
        number.map(|number| self.directory.join(file_name(number)))
    }
}

/// What a shard has lost, by name; nothing if nothing is damaged.
pub(crate) fn losses_of(
    place: &JournalPlace<'_>,
    entries: &[GroupEntry],
    recovered: &Recovered,
) -> Vec<NamedLoss> {
    if recovered.damage.is_empty() {
        return Vec::new();
    }
    name_all(place, entries, recovered, &recovered.cuts(&anchors(entries)))
}

/// Of each partition of a shard: the first offset that may be lost, if something is lost that names no partition.
fn known_ends(entries: &[GroupEntry], recovered: &Recovered) -> Vec<KnownEnd> {
    let is_nameless = |damage: &Damage| matches!(damage, Damage::File(_) | Damage::Blocks { .. });
    if !recovered.damage.iter().any(is_nameless) {
        return Vec::new();
    }
    let cuts: BTreeMap<u64, u64> =
        recovered.cuts(&anchors(entries)).iter().map(|cut| (cut.group, cut.first)).collect();
    let known = entries.iter().map(|entry| entry.group).chain(recovered.found().map(|group| group.group));
    let closed = recovered.closed();
    let mut groups: Vec<u64> =
        known.filter(|group| *group != METADATA_GROUP && !closed.contains(group)).collect();
    groups.sort_unstable();
    groups.dedup();
    let end = |group| {
        let first = cuts.get(&group).copied().unwrap_or(u64::MAX);
        KnownEnd { group, offset: next_offset(group, first, entries, recovered) }
    };
    groups.into_iter().map(end).collect()
}

/// The offset behind the last message of a partition that an op before `first` gave one to.
fn next_offset(group: u64, first: u64, entries: &[GroupEntry], recovered: &Recovered) -> u64 {
    let found = recovered.found().find(|found| found.group == group);
    let installed = found.and_then(|found| found.install.as_ref()).map(|(_, install)| &install.state);
    let installed = installed.and_then(|state| GroupEntry::from_bytes(state).ok());
    let kept = entries.iter().find(|entry| entry.group == group).into_iter().chain(&installed);
    let behind = kept.map(|entry| entry.last_offset.wrapping_add(1).max(entry.first_offset));
    let prepares = found.into_iter().flat_map(|found| &found.prepares);
    let batches =
        prepares.filter(|prepare| prepare.header.op < first).filter_map(|prepare| prepare.next_offset);
    behind.chain(batches).max().unwrap_or(0)
}

/// A shard as `recover` finds it.
struct FoundShard {
    home: ShardHome,
    superblock: Superblock,
    lost: Lost,
}

fn damaged_shards<E: Environment>(environment: &E, home: &Home) -> Result<Vec<FoundShard>, BootError> {
    let genesis = crate::superblock::Genesis {
        frame_bytes_max: 0,
        pipeline_depth: 0,
        client_table_slots: 0,
        consumer_offsets_max: 0,
    };
    let settings = Settings { genesis, journal: LIMITS, direct: false, first_token: 0 };
    let directory = DataDirectory::new(environment.clone(), home.clone(), settings);
    let layout = match directory.layout()? {
        LayoutState::Complete(layout) => layout,
        LayoutState::Nothing => {
            let named_by = "a recovery".to_owned();
            return Err(BootError::Missing { path: home.layout(), named_by });
        }
    };
    layout.journals.iter().map(|name| find_shard(&directory, &layout, *name)).collect()
}

fn find_shard<E: Environment>(
    directory: &DataDirectory<E>,
    layout: &Layout,
    name: JournalName,
) -> Result<FoundShard, BootError> {
    let (environment, home) = (&directory.environment, directory.home.shard(name));
    // A driver of its own: the files are let go with it.
    let mut driver = environment.driver(READER).map_err(BootError::io(home.directory()))?;
    let mut hands = Hands::new(environment, &mut driver, 0);
    let (_, superblocks) = directory.identify(&mut hands, &home, layout, name)?;
    let superblock = *superblocks.current();
    let entries = read_manifest(&mut hands, &home, &superblock)?;
    let (_, recovered) = directory.read_journal(&mut hands, &home, &superblock, &entries)?;
    let place = JournalPlace { shard: superblock.shard, directory: home.directory() };
    let losses = losses_of(&place, &entries, &recovered);
    let ends = known_ends(&entries, &recovered);
    Ok(FoundShard { home, superblock, lost: Lost { losses, ends } })
}

fn anchors(entries: &[GroupEntry]) -> BTreeMap<u64, RecordHeader> {
    entries.iter().map(|entry| (entry.group, entry.anchor)).collect()
}

fn name_all(
    place: &JournalPlace<'_>,
    entries: &[GroupEntry],
    recovered: &Recovered,
    cuts: &[Cut],
) -> Vec<NamedLoss> {
    let damage = recovered.damage.iter();
    let mut losses: Vec<NamedLoss> =
        damage.filter_map(|damage| name_of(place, damage, recovered, cuts)).collect();
    losses.extend(cuts.iter().filter_map(|cut| name_of_cut(place, entries, recovered, cut)));
    losses
}

/// What an operator calls a group.
fn group_words(group: u64) -> String {
    if group == METADATA_GROUP { "the metadata".to_owned() } else { format!("partition group {group:016x}") }
}

fn name_of(
    place: &JournalPlace<'_>,
    damage: &Damage,
    recovered: &Recovered,
    cuts: &[Cut],
) -> Option<NamedLoss> {
    let (name, meaning, acceptable, file) = match *damage {
        Damage::File(lost) => {
            let (name, meaning) = name_of_file(lost);
            (name, meaning, true, Some(lost.number))
        }
        Damage::Blocks { first, last } => {
            let file = recovered.file_of_lost(last);
            let (name, meaning) = name_of_blocks(first, last, file);
            (name, meaning, true, file)
        }
        Damage::Record { group, op, kind: RecordKind::Prepare, checksum } => {
            // What is cut has a name that tells of all its ops.
            if cuts.iter().any(|cut| cut.group == group && cut.first <= op) {
                return None;
            }
            let meaning =
                format!("op {op} of {} lies where no server can have written it", group_words(group));
            (format!("group-{group:016x}.op-{op}"), meaning, false, recovered.file_of_damaged(checksum))
        }
        Damage::Record { group, kind, checksum, .. } => {
            let (word, meaning) = match kind {
                RecordKind::View => ("view", "which view it was in: the next start begins a later one"),
                RecordKind::Open => ("open", "the record that it was opened: the next start writes it anew"),
                _ => ("install", "the record of a state that another node sent: nothing else has that state"),
            };
            let acceptable = matches!(kind, RecordKind::View | RecordKind::Open);
            let meaning = format!("of {}, {meaning}", group_words(group));
            (format!("group-{group:016x}.{word}"), meaning, acceptable, recovered.file_of_damaged(checksum))
        }
    };
    Some(NamedLoss {
        name: format!("shard-{}.{name}", place.shard),
        meaning,
        acceptable,
        file: place.file(file),
    })
}

fn name_of_file(lost: LostFile) -> (String, String) {
    let name = file_name(lost.number);
    let what = match lost.fault {
        FileFault::Missing => format!("the file {name} is missing"),
        FileFault::Short { bytes } => format!("the file {name} is cut short to {bytes} bytes"),
    };
    let meaning = format!(
        "{what}. It may have held the newest messages, stored offsets and logins of every group of the shard, beyond the \
         losses that have a name of their own"
    );
    (name, meaning)
}

fn name_of_blocks(first: u64, last: u64, file: Option<u32>) -> (String, String) {
    let (name, blocks) = if first == last {
        (format!("block-{first}"), format!("block {first} of the journal"))
    } else {
        (format!("blocks-{first}-{last}"), format!("blocks {first} to {last} of the journal"))
    };
    let place = file.map(|file| format!(", the last of them in {}", file_name(file))).unwrap_or_default();
    let meaning = format!(
        "{blocks}{place}, may have held anything since the last manifest, of any group of the shard, also the last \
         messages and logins"
    );
    (name, meaning)
}

fn name_of_cut(
    place: &JournalPlace<'_>,
    entries: &[GroupEntry],
    recovered: &Recovered,
    cut: &Cut,
) -> Option<NamedLoss> {
    let (first, last) = (cut.first, cut.last?);
    let what = if cut.group == METADATA_GROUP {
        "logins, logouts and changes of streams, topics and users".to_owned()
    } else {
        format!("messages {} and stored offsets", lost_offsets(entries, recovered, cut))
    };
    Some(NamedLoss {
        name: format!("shard-{}.group-{:016x}.ops-{first}-{last}", place.shard, cut.group),
        meaning: format!(
            "ops {first} to {last} of {}, which are {what}: at least one cannot be read, and what follows it cannot be \
             executed without it",
            group_words(cut.group)
        ),
        acceptable: true,
        file: place.file(recovered.file_of_cut(cut)),
    })
}

/// The offsets of the messages that are cut off.
fn lost_offsets(entries: &[GroupEntry], recovered: &Recovered, cut: &Cut) -> String {
    let from = next_offset(cut.group, cut.first, entries, recovered);
    let until = next_offset(cut.group, u64::MAX, entries, recovered);
    if until > from {
        format!("of the offsets {from} to {} at least", until - 1)
    } else {
        format!("from offset {from} on")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operators_word_is_read_as_it_was_written() {
        let names = vec!["shard-0.block-7".to_owned(), "shard-0.group-8000000000000000.view".to_owned()];
        for names in [names, Vec::new()] {
            let accepted = AcceptedLoss { journal: 7, manifest: 3, names };
            let bytes = accepted.encode();
            assert_eq!(AcceptedLoss::decode(&bytes), Ok(accepted));
            for length in 0..bytes.len() {
                assert!(AcceptedLoss::decode(&bytes[..length]).is_err());
            }
        }
    }
}
