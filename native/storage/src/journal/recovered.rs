//! What was found in a journal, for those who go on from there.

use std::collections::{BTreeMap, BTreeSet};

use super::groups::Groups;
use super::losses::{Loss, Losses};
use super::recovery::subject;
use super::scan::{FoundBlock, FoundRecord};
use super::space::Space;
use super::{Limits, Located, Position, SlotState, UNSYNCED_MAX};
use crate::manifest::GroupEntry;
use crate::record::{RecordHeader, RecordKind};
use crate::record_body::{InstallBody, LostBlocks, OpenBody, ViewBody};
use crate::superblock::SyncedBlock;

/// What a journal's files hold.
#[derive(Debug)]
pub struct Recovered {
    pub(super) groups: Groups,
    pub(super) head: u64,
    pub(super) oldest: u64,
    pub(super) proven: u64,
    pub(super) space: Space,
    pub(super) losses: Losses,
    pub(super) found: Vec<RecoveredGroup>,
    /// The newest block that is on the disk for good.
    pub(super) synced: SyncedBlock,
    /// Files of the journal that are missing or cut short.
    pub(super) lost_files: Vec<LostFile>,
    /// File and offset of pages that hold remains of a block, but for the page that the first block of the next incarnation
    /// replaces.
    pub(super) remains: Vec<(u32, u64)>,
    /// Of lost blocks, by the last of them: the file that one was in.
    pub(super) files_of_lost: BTreeMap<u64, u32>,
    /// Of records that cannot be read, or that no server can have written, by identity: the file that each lies in.
    pub(super) files_of_damaged: BTreeMap<u128, u32>,
    /// What was on the disk for good and is not readable now. A node of its own must not go on over it unless told to.
    pub damage: Vec<Damage>,
    /// Ranges of blocks that were never proven to be written: a node of its own drops them.
    pub unproven: Vec<(u64, u64)>,
}

/// Something that was acknowledged, or may have been, and cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// A file of the journal. What it held is lost beyond what the blocks around it say: the newest blocks may have been in it.
    File(LostFile),
    /// Blocks that may have held anything.
    Blocks {
        /// The first of them.
        first: u64,
        /// The last of them.
        last: u64,
    },
    /// A record whose header is known.
    Record {
        /// Which group.
        group: u64,
        /// Which op; 0 for a record that is no prepare.
        op: u64,
        /// What the record is.
        kind: RecordKind,
        /// Its identity, by which a peer can send it.
        checksum: u128,
    },
}

/// A file of the journal that is not there as it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostFile {
    /// Its number.
    pub number: u32,
    /// What is gone.
    pub fault: FileFault,
}

/// What is gone of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFault {
    /// All of it.
    Missing,
    /// Its end.
    Short {
        /// The bytes that are left.
        bytes: u64,
    },
}

impl Damage {
    pub(super) const fn of(lost: &LostBlocks) -> Self {
        Self::Blocks { first: lost.first, last: lost.last }
    }
}

/// The records of one group that count, each by its newest copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredGroup {
    /// Which group.
    pub group: u64,
    /// Where it began.
    pub open: Option<OpenBody>,
    /// The configuration that the open record is of.
    pub epoch: u32,
    /// State that came from another replica.
    pub install: Option<(RecordHeader, InstallBody)>,
    /// The newest view record that takes a log over.
    pub log: Option<(RecordHeader, ViewBody)>,
    /// The newest view record, if it is newer than the log and takes none over.
    pub vote: Option<(RecordHeader, ViewBody)>,
    /// By op, ascending.
    pub prepares: Vec<RecoveredPrepare>,
    /// Opens, installs and views of which only the header is known.
    pub damaged: Vec<DamagedRecord>,
}

/// A prepare that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveredPrepare {
    /// Its header.
    pub header: RecordHeader,
    /// Its identity.
    pub checksum: u128,
    /// Whether the body can be read.
    pub state: SlotState,
    /// Whether it was known to be on the disk.
    pub proven: bool,
    /// The offset behind its messages, if it is a batch that can be read.
    pub next_offset: Option<u64>,
}

/// A record, no prepare, of which only the header is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedRecord {
    /// Its header.
    pub header: RecordHeader,
    /// Its identity.
    pub checksum: u128,
}

impl Recovered {
    /// A journal that has not been written yet, of `files` prepared files.
    #[must_use]
    pub fn empty(files: u32) -> Self {
        Self {
            groups: Groups::default(),
            head: 0,
            oldest: 1,
            proven: 0,
            space: Space::new(files),
            losses: Losses::default(),
            found: Vec::new(),
            synced: SyncedBlock::default(),
            lost_files: Vec::new(),
            remains: Vec::new(),
            files_of_lost: BTreeMap::new(),
            files_of_damaged: BTreeMap::new(),
            damage: Vec::new(),
            unproven: Vec::new(),
        }
    }

    /// Where the newest copy of an op is.
    #[must_use]
    pub fn locate(&self, group: u64, op: u64) -> Option<Located> {
        self.groups.locate(group, op)
    }

    /// The highest view that a group's records name: the next one must be above it.
    #[must_use]
    pub fn view(&self, group: u64) -> Option<u64> {
        self.groups.view(group)
    }

    /// Every op that counts, with its group.
    pub fn ops(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.groups.ops()
    }

    /// The groups of which anything counts, ascending, unless they were taken.
    pub(crate) fn found(&self) -> impl Iterator<Item = &RecoveredGroup> {
        self.found.iter()
    }

    /// The groups of which anything counts, ascending. Gives them away: whole headers are kept for the time of a start only.
    pub fn take_groups(&mut self) -> Vec<RecoveredGroup> {
        std::mem::take(&mut self.found)
    }

    /// The groups that ended, ascending. A manifest that was captured before may still name them: see [`Self::live`].
    #[must_use]
    pub fn closed(&self) -> BTreeSet<u64> {
        self.groups.ended().collect()
    }

    /// The entries of the manifest in force that are of groups which have not ended since it was captured.
    #[must_use]
    pub fn live(&self, mut entries: Vec<GroupEntry>) -> Vec<GroupEntry> {
        let closed = self.closed();
        entries.retain(|entry| !closed.contains(&entry.group));
        entries
    }

    /// The newest block that was found and is on the disk for good, or else the one that the superblock has named before.
    #[must_use]
    pub const fn synced_block(&self) -> SyncedBlock {
        self.synced
    }

    /// The file in which the last of these lost blocks was, where a block or the superblock says so.
    #[must_use]
    pub fn file_of_lost(&self, last: u64) -> Option<u32> {
        self.files_of_lost.get(&last).copied()
    }

    /// The file with the damaged record of this identity, unless only a note is left about one that could not be read.
    #[must_use]
    pub fn file_of_damaged(&self, checksum: u128) -> Option<u32> {
        self.files_of_damaged.get(&checksum).copied()
    }

    /// The file with the first prepare of a cut that cannot be read, if one is why it is cut.
    pub(crate) fn file_of_cut(&self, cut: &Cut) -> Option<u32> {
        let group = self.found.iter().find(|group| group.group == cut.group)?;
        let is_cut = |prepare: &&RecoveredPrepare| prepare.header.op >= cut.first;
        group.prepares.iter().filter(is_cut).find_map(|prepare| self.file_of_damaged(prepare.checksum))
    }

    /// Every range of blocks that is lost, ascending and apart: found now, or at any start before, or while the journal ran.
    #[must_use]
    pub fn losses(&self) -> Vec<Loss> {
        self.losses.told()
    }

    /// Whether so many ranges are lost that a journal with these limits cannot list them: nothing may go on from there.
    #[must_use]
    pub fn is_shattered(&self, limits: &Limits) -> bool {
        !self.losses.fit(limits.body_bytes_max())
    }

    /// The number of the first block that the next incarnation writes.
    #[must_use]
    pub const fn next_sequence(&self) -> u64 {
        self.head + UNSYNCED_MAX + 1
    }
}

/// Where the log of a group ends for a node of its own that goes on over a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Which group.
    pub(crate) group: u64,
    /// The first op that cannot be executed.
    pub(crate) first: u64,
    /// The last one of which anything proven is known; none if all of it was acknowledged to nobody.
    pub(crate) last: Option<u64>,
}

impl Recovered {
    /// What cannot be executed any more of each group: from the first op that is missing, unreadable or does not follow the
    /// one before it. `anchors` says where each group's kept state ends.
    pub(crate) fn cuts(&self, anchors: &BTreeMap<u64, RecordHeader>) -> Vec<Cut> {
        self.found.iter().filter_map(|group| group.cut(anchors.get(&group.group))).collect()
    }

    /// Goes on without what is damaged and what was cut. For a node of its own: others would have to be asked.
    ///
    /// The journal itself drops the cut prepares with the view record that every start writes.
    pub(crate) fn take_as_lost(&mut self, cuts: &[Cut]) {
        self.damage.clear();
        for group in &mut self.found {
            let cut = cuts.iter().find(|cut| cut.group == group.group);
            group.end_before(cut.map_or(u64::MAX, |cut| cut.first));
        }
    }
}

impl RecoveredGroup {
    fn cut(&self, anchor: Option<&RecordHeader>) -> Option<Cut> {
        let installed = self.install.as_ref().map(|(_, install)| &install.anchor);
        let kept = anchor.into_iter().chain(installed).max_by_key(|kept| kept.op);
        let base = kept.map_or(0, |kept| kept.op);
        // No record stands for op 0.
        let (mut op, mut identity) = (base, kept.filter(|_| base > 0).map(RecordHeader::checksum));
        let follows = |prepare: &RecoveredPrepare, op: u64, identity: Option<u128>| {
            let fits = identity.is_none_or(|identity| identity == prepare.header.parent);
            prepare.header.op == op + 1 && prepare.state == SlotState::Present && fits
        };
        let mut left = self.prepares.iter().skip_while(|prepare| prepare.header.op <= base).peekable();
        while let Some(prepare) = left.next_if(|prepare| follows(prepare, op, identity)) {
            (op, identity) = (prepare.header.op, Some(prepare.checksum));
        }
        let known = left.filter(|prepare| prepare.proven || prepare.state == SlotState::Damaged);
        let listed = self.log.as_ref().map(|(_, log)| log.head);
        let last = known.map(|prepare| prepare.header.op).chain(listed).filter(|last| *last > op).max();
        let is_whole = last.is_none() && self.prepares.last().is_none_or(|prepare| prepare.header.op <= op);
        (!is_whole).then_some(Cut { group: self.group, first: op + 1, last })
    }

    /// Forgets everything from an op on, and what of the other records cannot be read.
    fn end_before(&mut self, first: u64) {
        let end = first - 1;
        self.promise_later_view(first);
        self.prepares.retain(|prepare| prepare.header.op < first);
        for (_, view) in self.log.iter_mut().chain(&mut self.vote) {
            view.headers.retain(|header| header.op < first);
            (view.head, view.commit) = (view.head.min(end), view.commit.min(end));
        }
        self.damaged.clear();
    }

    /// The next view must be above that of every record that it takes away: only of lower ones does a view record drop
    /// prepares.
    fn promise_later_view(&mut self, first: u64) {
        let unread =
            self.damaged.iter().map(|lost| &lost.header).filter(|lost| lost.kind == RecordKind::View);
        let cut = self.prepares.iter().map(|lost| &lost.header).filter(|lost| lost.op >= first);
        let Some(highest) = unread.chain(cut).max_by_key(|lost| lost.view).copied() else { return };
        let log_view = self.log.as_ref().map_or(0, |(_, log)| log.view);
        let promised = self.vote.as_ref().map_or(log_view, |(_, vote)| vote.view);
        // What took over a log in a view that was only voted for may be lost, too.
        if highest.view > log_view && highest.view >= promised {
            let view = highest.view + 1;
            let body = ViewBody { view, log_view, commit: 0, head: 0, headers: Vec::new() };
            self.vote = Some((RecordHeader { view, ..highest }, body));
        }
    }

    fn new(group: u64) -> Self {
        let (open, install, log, vote) = (None, None, None, None);
        Self { group, open, epoch: 0, install, log, vote, prepares: Vec::new(), damaged: Vec::new() }
    }

    /// The highest view that a record of it names, whether it can be read or not.
    #[must_use]
    pub fn highest_view(&self) -> u64 {
        let read = self.log.iter().chain(&self.vote).map(|(header, _)| header.view);
        let unread = self.damaged.iter().map(|lost| lost.header.view);
        let prepared = self.prepares.iter().map(|prepare| prepare.header.view);
        read.chain(unread).chain(prepared).max().unwrap_or(0)
    }

    /// Every record of which only the header is known, with its identity.
    pub fn damaged_records(&self) -> impl Iterator<Item = (RecordHeader, u128)> + '_ {
        let prepares = self.prepares.iter().filter(|prepare| prepare.state == SlotState::Damaged);
        let prepares = prepares.map(|prepare| (prepare.header, prepare.checksum));
        prepares.chain(self.damaged.iter().map(|damaged| (damaged.header, damaged.checksum)))
    }

    fn keep(&mut self, groups: &Groups, found: &FoundRecord, position: Position, proven: bool) {
        let (header, checksum) = subject(found);
        let Some(slot) = groups.live(&header, position) else { return };
        let state = groups.slots().get(slot).map_or(SlotState::Empty, |slot| slot.state);
        if header.kind == RecordKind::Prepare {
            let next_offset = found.next_offset;
            self.prepares.push(RecoveredPrepare { header, checksum, state, proven, next_offset });
            return;
        }
        if state == SlotState::Damaged {
            self.damaged.push(DamagedRecord { header, checksum });
            return;
        }
        match header.kind {
            RecordKind::Open => {
                self.open = OpenBody::decode(&found.body).ok();
                self.epoch = found.record.header.epoch;
            }
            RecordKind::Install => {
                self.install = InstallBody::decode(&found.body).ok().map(|body| (header, body));
            }
            RecordKind::View => {
                let view = ViewBody::decode(&found.body, header.group).ok().map(|body| (header, body));
                if groups.is_log(header.group, slot) == Some(true) {
                    self.log = view;
                } else {
                    self.vote = view;
                }
            }
            RecordKind::Prepare | RecordKind::Close | RecordKind::Mark | RecordKind::Damaged => {}
        }
    }
}

/// The records that count, once all were replayed.
pub(super) fn collect(groups: &Groups, blocks: &[FoundBlock], proven: u64) -> Vec<RecoveredGroup> {
    let mut found: BTreeMap<u64, RecoveredGroup> = BTreeMap::new();
    for block in blocks {
        let sequence = block.header.sequence;
        for (index, record) in (0_u32..).zip(block.records.iter().flatten()) {
            let position = Position { block: sequence, index };
            let (header, _) = subject(record);
            let stands_alone = matches!(header.kind, RecordKind::Mark | RecordKind::Close);
            if stands_alone || groups.live(&header, position).is_none() {
                continue;
            }
            let group = found.entry(header.group).or_insert_with(|| RecoveredGroup::new(header.group));
            group.keep(groups, record, position, sequence <= proven);
        }
    }
    let mut found: Vec<_> = found.into_values().collect();
    for group in &mut found {
        group.prepares.sort_by_key(|prepare| prepare.header.op);
    }
    found
}
