//! What a directory of journal files holds after a crash: whole, damaged, or never proven.

use std::collections::{BTreeMap, VecDeque};

use super::groups::{Groups, Place};
use super::scan::FoundBlock;
use super::{Located, Position, SlotState, UNSYNCED_MAX};
use crate::block::BlockRecord;
use crate::record::{RecordHeader, RecordKind};
use crate::record_body::MarkBody;

/// Ops that one group may span on the disk: far more than any window, few enough to fit memory.
const SPAN_MAX: u64 = 1 << 20;

/// What a journal's files hold.
#[derive(Debug)]
pub struct Recovered {
    pub(super) groups: Groups,
    pub(super) head: u64,
    pub(super) oldest: u64,
    pub(super) proven: u64,
    pub(super) file: u32,
    pub(super) offset: u64,
    pub(super) order: VecDeque<(u32, u64)>,
    pub(super) free: VecDeque<u32>,
    pub(super) files: u32,
    pub(super) lost: Vec<(u64, u64)>,
    /// What was on the disk for good and is not readable now. A node of its own must not go on over it unless told to.
    pub damage: Vec<Damage>,
    /// Ranges of blocks that were never proven to be written: a node of its own drops them.
    pub unproven: Vec<(u64, u64)>,
}

/// Something that was acknowledged, or may have been, and cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// No block of a journal that must have some was found.
    Everything,
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

impl Recovered {
    /// A journal that has not been written yet, of `files` prepared files.
    #[must_use]
    pub fn empty(files: u32) -> Self {
        Self {
            groups: Groups::default(),
            head: 0,
            oldest: 1,
            proven: 0,
            file: 0,
            offset: 0,
            order: VecDeque::new(),
            free: (1..files).collect(),
            files,
            lost: Vec::new(),
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
}

/// Judges the blocks of all `files` files of a journal that was written before. `floors` says up to which op each group is
/// safe elsewhere, as the manifest in force does.
#[must_use]
pub fn recover(mut blocks: Vec<FoundBlock>, files: u32, floors: &BTreeMap<u64, u64>) -> Recovered {
    let mut recovered = Recovered::empty(files);
    for (group, op) in floors {
        recovered.groups.release(*group, *op);
    }
    blocks.sort_by_key(|block| block.header.sequence);
    let Some(head) = blocks.last().map(|block| block.header) else {
        recovered.damage.push(Damage::Everything);
        return recovered;
    };
    blocks.retain(|block| block.header.sequence >= head.oldest);
    recovered.head = head.sequence;
    recovered.oldest = head.oldest;
    recovered.proven = blocks.iter().map(|block| block.header.synced_through).max().unwrap_or(0);
    recovered.file = head.file;
    recovered.offset = head.offset + u64::from(head.bytes);
    recovered.lay_out(&blocks, files);

    let declared = declared_lost(&blocks);
    blocks.retain(|block| !within(&declared, block.header.sequence));
    unchain(&mut blocks);
    let proven = recovered.proven;
    recovered.missing(&blocks, &declared);
    blocks.retain(|block| block.header.sequence <= proven || block.is_whole());
    let damaged = blocks.iter().flat_map(|block| recovered.replay(block)).collect();
    recovered.note_damaged(damaged);
    recovered.lost.clone_from(&recovered.unproven);
    recovered.lost.push((head.sequence + 1, head.sequence + UNSYNCED_MAX));
    recovered
}

impl Recovered {
    /// Which files hold something, in which order, and which are free.
    fn lay_out(&mut self, blocks: &[FoundBlock], files: u32) {
        let mut firsts: BTreeMap<u32, u64> = BTreeMap::new();
        for block in blocks {
            firsts.entry(block.header.file).or_insert(block.header.sequence);
        }
        let mut order: Vec<_> = firsts.iter().map(|(file, first)| (*file, *first)).collect();
        order.sort_by_key(|(_, first)| *first);
        // A damaged first block must not let the file's sequences belong to the file before.
        if let Some(front) = order.first_mut() {
            front.1 = front.1.min(self.oldest);
        }
        self.order = order.into();
        self.free = (0..files).filter(|file| !firsts.contains_key(file)).collect();
    }

    /// Names each sequence that is not there, or whose block is not to be trusted.
    fn missing(&mut self, blocks: &[FoundBlock], declared: &[(u64, u64)]) {
        let proven = self.proven;
        let trusted = |block: &&FoundBlock| {
            block.is_whole() || (block.header.sequence <= proven && block.records.is_some())
        };
        let mut expected = self.oldest;
        let present = blocks.iter().filter(trusted).map(|block| block.header.sequence);
        for sequence in present.chain([self.head + 1]) {
            if sequence > expected {
                self.note_missing(expected, sequence - 1, declared);
            }
            expected = sequence.max(expected) + 1;
        }
    }

    fn note_missing(&mut self, first: u64, last: u64, declared: &[(u64, u64)]) {
        let mut at = first;
        while at <= last {
            if let Some((_, end)) = declared.iter().find(|(from, to)| (*from..=*to).contains(&at)) {
                at = end + 1;
                continue;
            }
            let next = declared.iter().map(|(from, _)| *from).filter(|from| *from > at).min();
            let end = next.map_or(last, |next| last.min(next - 1));
            let proven_end = end.min(self.proven);
            if at <= proven_end {
                self.damage.push(Damage::Blocks { first: at, last: proven_end });
            }
            if end > proven_end {
                self.unproven.push((at.max(proven_end + 1), end));
            }
            at = end + 1;
        }
    }

    /// Follows the records of a block; returns the copies that turned out to be damaged.
    fn replay(&mut self, block: &FoundBlock) -> Vec<(BlockRecord, Position)> {
        let mut damaged = Vec::new();
        for (index, found) in (0_u32..).zip(block.records.iter().flatten()) {
            let record = &found.record;
            let position = Position { block: block.header.sequence, index };
            let place = Place {
                position,
                file: block.header.file,
                offset: block.header.offset + record.body_start as u64,
                length: record.header.body_length,
            };
            if !record.whole && self.is_settled(record) {
                continue;
            }
            if self.is_out_of_reach(&record.header) {
                let RecordHeader { group, op, kind, .. } = record.header;
                self.damage.push(Damage::Record { group, op, kind, checksum: record.checksum });
                continue;
            }
            // What does not fit any more was settled before: an older copy, or an op that is safe elsewhere.
            let fits = self.groups.follow(&record.header, record.checksum, &found.body, place, record.whole);
            if fits.is_ok() && !record.whole {
                damaged.push((record.clone(), position));
            }
        }
        damaged
    }

    /// Whether a prepare lies so far from the others of its group that no writer of ours can have taken it.
    fn is_out_of_reach(&self, header: &RecordHeader) -> bool {
        header.kind == RecordKind::Prepare && self.groups.span_with(header.group, header.op) > SPAN_MAX
    }

    /// Whether a damaged prepare is of no account: an older copy of it is whole, or the op is settled otherwise.
    fn is_settled(&self, record: &BlockRecord) -> bool {
        let header = &record.header;
        let copy = self.groups.locate(header.group, header.op);
        let whole =
            copy.is_some_and(|copy| copy.checksum == record.checksum && copy.state == SlotState::Present);
        header.kind == RecordKind::Prepare
            && (whole || self.groups.check(header, record.checksum, &[]).is_err())
    }

    /// Names the damaged copies of which no newer one was found.
    fn note_damaged(&mut self, damaged: Vec<(BlockRecord, Position)>) {
        for (record, position) in damaged {
            if self.groups.is_live(&record.header, position) {
                let RecordHeader { group, op, kind, .. } = record.header;
                self.damage.push(Damage::Record { group, op, kind, checksum: record.checksum });
            }
        }
    }
}

/// Drops each block that the one after it was not written behind.
fn unchain(blocks: &mut Vec<FoundBlock>) {
    let mut wrong = Vec::new();
    for pair in blocks.windows(2) {
        let (before, after) = (&pair[0].header, &pair[1].header);
        let adjacent = before.sequence + 1 == after.sequence && before.incarnation == after.incarnation;
        if adjacent && after.previous != pair[0].checksum {
            wrong.push(before.sequence);
        }
    }
    blocks.retain(|block| !wrong.contains(&block.header.sequence));
}

fn declared_lost(blocks: &[FoundBlock]) -> Vec<(u64, u64)> {
    let records = blocks.iter().flat_map(|block| block.records.iter().flatten());
    let marks = records.filter(|found| found.record.header.kind == RecordKind::Mark && found.record.whole);
    let mut lost: Vec<_> =
        marks.filter_map(|found| MarkBody::decode(&found.body).ok()).flat_map(|body| body.lost).collect();
    lost.sort_unstable();
    lost
}

fn within(ranges: &[(u64, u64)], sequence: u64) -> bool {
    ranges.iter().any(|(first, last)| (*first..=*last).contains(&sequence))
}
