//! What a directory of journal files holds after a crash: whole, damaged, or never proven.

use std::collections::{BTreeMap, BTreeSet};

use super::groups::{Groups, RecordCopy, Unfit};
pub use super::losses::Loss;
use super::losses::Losses;
pub(crate) use super::recovered::Cut;
use super::recovered::collect;
pub use super::recovered::{
    Damage, DamagedRecord, FileFault, LostFile, Recovered, RecoveredGroup, RecoveredPrepare,
};
use super::scan::{FoundBlock, FoundRecord, Remains};
use super::slots::SlotId;
use super::{Position, UNSYNCED_MAX, notes};
use crate::block::BlockHeader;
use crate::record::{RecordHeader, RecordKind};
use crate::record_body::{LostBlocks, MarkBody, Standing};
use crate::superblock::Ring;

/// Ops that one group may span on the disk: far more than any window, few enough to fit memory.
const SPAN_MAX: u64 = 1 << 20;

/// Judges the blocks of all files of a journal that was written before, and what remains of others. `ring` is what the
/// superblock says of the files, of which some may be `lost`; `floors` says up to which op each group is safe elsewhere, as the
/// manifest in force does.
#[must_use]
pub fn recover(
    mut blocks: Vec<FoundBlock>,
    remains: &Remains,
    ring: &Ring,
    lost: &[LostFile],
    floors: &BTreeMap<u64, u64>,
) -> Recovered {
    let mut recovered = Recovered::empty(ring.files);
    for (group, op) in floors {
        recovered.groups.begin_at(*group, *op);
    }
    blocks.sort_by_key(|block| block.header.sequence);
    // Another block of this number is not the one that was synced.
    blocks.retain(|block| {
        block.header.sequence != ring.synced.sequence || block.checksum == ring.synced.checksum
    });
    recovered.lose_files(lost);
    let Some(newest) = blocks.last().map(|block| block.header) else {
        recovered.lose_everything(ring);
        return recovered;
    };
    blocks.retain(|block| block.header.sequence >= newest.oldest);
    recovered.stand_at(&newest, &blocks, ring);

    let declared = declared_lost(&blocks);
    blocks.retain(|block| !declared.iter().any(|lost| lost.holds(block.header.sequence)));
    unchain(&mut blocks);
    let unreported = declared.iter().filter(|lost| lost.standing == Standing::Proven);
    recovered.damage.extend(unreported.map(Damage::of));
    let mut losses = declared.clone();
    losses.extend(recovered.missing(&blocks, &declared));
    losses.extend(recovered.missing_behind_head(remains));
    let next = (recovered.space.file, recovered.space.offset);
    recovered.remains = remains.places.iter().copied().filter(|place| *place != next).collect();
    losses.extend(recovered.unreadable_notes(&blocks));
    recovered.losses = Losses::new(losses, recovered.oldest);
    recovered.locate_lost(&blocks, ring);
    let proven = recovered.proven;
    blocks.retain(|block| block.header.sequence <= proven || block.is_whole());
    for block in &blocks {
        recovered.replay(block);
    }
    recovered.keep_mark(&blocks);
    recovered.found = collect(&recovered.groups, &blocks, proven);
    recovered.note_damaged();
    recovered
}

impl Recovered {
    fn lose_files(&mut self, lost: &[LostFile]) {
        self.lost_files = lost.to_vec();
        self.damage.extend(lost.iter().map(|lost| Damage::File(*lost)));
    }

    /// No block is left. The superblock says how far the journal went at least.
    fn lose_everything(&mut self, ring: &Ring) {
        self.synced = ring.synced;
        self.head = ring.synced.sequence.max(1);
        self.proven = self.head;
        let lost = LostBlocks { first: 1, last: self.head, standing: Standing::Proven };
        self.damage.push(Damage::of(&lost));
        self.losses = Losses::new(vec![lost], 0);
        self.files_of_lost.insert(self.head, ring.synced.file);
    }

    /// How far the journal goes, by its newest block and by what the superblock vouches for.
    fn stand_at(&mut self, newest: &BlockHeader, blocks: &[FoundBlock], ring: &Ring) {
        self.head = newest.sequence.max(ring.synced.sequence);
        self.oldest = newest.oldest;
        let told = blocks.iter().map(|block| block.header.synced_through).max().unwrap_or(0);
        self.proven = told.max(ring.synced.sequence);
        let proven = blocks.iter().find(|block| block.header.sequence == self.proven);
        self.synced = proven.map_or(ring.synced, FoundBlock::synced);
        self.space.file = newest.file;
        self.space.offset = newest.offset + u64::from(newest.bytes);
        self.lay_out(blocks, ring.files);
    }

    /// Which files the lost blocks were in, as far as the blocks behind them or the superblock say so.
    fn locate_lost(&mut self, blocks: &[FoundBlock], ring: &Ring) {
        let behind = |header: &BlockHeader| {
            let skipped = if header.previous == 0 { UNSYNCED_MAX } else { 0 };
            (header.sequence.saturating_sub(1 + skipped), header.previous_file)
        };
        self.files_of_lost = blocks.iter().map(|block| behind(&block.header)).collect();
        self.files_of_lost.insert(ring.synced.sequence, ring.synced.file);
        let lasts = self.damage.iter().filter_map(|damage| match damage {
            Damage::Blocks { last, .. } => Some(*last),
            Damage::File(_) | Damage::Record { .. } => None,
        });
        let lasts: BTreeSet<u64> = lasts.collect();
        self.files_of_lost.retain(|last, _| lasts.contains(last));
    }

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
        self.space.order = order.into();
        self.space.free = (0..files).filter(|file| !firsts.contains_key(file)).collect();
    }

    /// Names each sequence that is not there, or whose block is not to be trusted.
    fn missing(&mut self, blocks: &[FoundBlock], declared: &[LostBlocks]) -> Vec<LostBlocks> {
        let proven = self.proven;
        let trusted = |block: &&FoundBlock| {
            block.is_whole() || (block.header.sequence <= proven && block.records.is_some())
        };
        let mut losses = Vec::new();
        let mut expected = self.oldest;
        let present = blocks.iter().filter(trusted).map(|block| block.header.sequence);
        for sequence in present.chain([self.head + 1]) {
            if sequence > expected {
                self.note_missing(expected, sequence - 1, declared, &mut losses);
            }
            expected = sequence.max(expected) + 1;
        }
        losses
    }

    /// A block that was written behind the head and is not one any more, or was in a file that is lost. No block vouches for
    /// it, and it may have been acknowledged all the same. It counts as the head: the next incarnation must skip what may have followed it. The first
    /// block of that, which lists the loss, goes where the remains are: they are told once.
    fn missing_behind_head(&mut self, remains: &Remains) -> Option<LostBlocks> {
        let is_left = |file: u32, offset: u64| remains.places.contains(&(file, offset));
        let front = self.space.free.iter().copied().find(|file| is_left(*file, 0));
        let there = front.is_some() || is_left(self.space.file, self.space.offset);
        let was_in_file = !self.lost_files.is_empty();
        if !there && remains.strayed <= self.head && !was_in_file {
            return None;
        }
        self.head += 1;
        if let Some(file) = front {
            self.space.move_to(file, self.next_sequence());
        }
        let lost = LostBlocks { first: self.head, last: self.head, standing: Standing::Proven };
        if !was_in_file {
            self.damage.push(Damage::of(&lost));
        }
        Some(lost)
    }

    fn note_missing(&mut self, first: u64, last: u64, declared: &[LostBlocks], losses: &mut Vec<LostBlocks>) {
        let mut at = first;
        while at <= last {
            if let Some(lost) = declared.iter().find(|lost| lost.holds(at)) {
                at = lost.last + 1;
                continue;
            }
            let next = declared.iter().map(|lost| lost.first).filter(|from| *from > at).min();
            let end = next.map_or(last, |next| last.min(next - 1));
            let proven_end = end.min(self.proven);
            if at <= proven_end {
                let lost = LostBlocks { first: at, last: proven_end, standing: Standing::Proven };
                self.damage.push(Damage::of(&lost));
                losses.push(lost);
            }
            if end > proven_end {
                let first = at.max(proven_end + 1);
                self.unproven.push((first, end));
                losses.push(LostBlocks { first, last: end, standing: Standing::Unproven });
            }
            at = end + 1;
        }
    }

    /// Marks and notes that cannot be read: nobody knows what they were about, so their blocks may have held anything.
    fn unreadable_notes(&mut self, blocks: &[FoundBlock]) -> Vec<LostBlocks> {
        let is_note = |found: &FoundRecord| {
            matches!(found.record.header.kind, RecordKind::Mark | RecordKind::Damaged) && !found.record.whole
        };
        let mut losses = Vec::new();
        for block in blocks.iter().filter(|block| block.header.sequence <= self.proven) {
            if block.records.iter().flatten().any(is_note) {
                let (first, last) = (block.header.sequence, block.header.sequence);
                let lost = LostBlocks { first, last, standing: Standing::Proven };
                self.damage.push(Damage::of(&lost));
                losses.push(lost);
            }
        }
        losses
    }

    /// Follows the records of a block. What does not fit any more was settled before: an older copy, or an op that is safe
    /// elsewhere.
    fn replay(&mut self, block: &FoundBlock) {
        for (index, found) in (0_u32..).zip(block.records.iter().flatten()) {
            let position = Position { block: block.header.sequence, index };
            let record = &found.record;
            if !record.whole {
                self.files_of_damaged.insert(record.checksum, block.header.file);
            }
            let (header, checksum) = subject(found);
            if is_out_of_reach(&self.groups, &header) {
                let RecordHeader { group, op, kind, .. } = header;
                self.damage.push(Damage::Record { group, op, kind, checksum });
                self.files_of_damaged.insert(checksum, block.header.file);
                continue;
            }
            let followed = self.replay_record(found, position);
            if let Ok(slot) = followed {
                let offset = block.header.offset + record.body_start as u64;
                self.groups.settle(slot, position, block.header.file, offset);
            }
        }
    }

    fn replay_record(&mut self, found: &FoundRecord, position: Position) -> Result<SlotId, Unfit> {
        let record = &found.record;
        let (header, checksum) = subject(found);
        let is_note = record.header.kind == RecordKind::Damaged;
        let whole = record.whole && !is_note;
        let copy = RecordCopy { header, checksum, body: &found.body, whole, position };
        if is_note { self.groups.follow_note(&copy) } else { self.groups.follow(&copy) }
    }

    /// The newest mark that lists what is still lost goes on counting, until the first of the next incarnation is there.
    fn keep_mark(&mut self, blocks: &[FoundBlock]) {
        for block in blocks {
            for (index, found) in (0_u32..).zip(block.records.iter().flatten()) {
                let record = &found.record;
                if record.header.kind == RecordKind::Mark && record.whole && !self.losses.is_empty() {
                    let position = Position { block: block.header.sequence, index };
                    let slot = self.groups.put_mark(record.checksum, position, record.header.body_length);
                    self.groups.settle(slot, position, block.header.file, block.header.offset);
                }
            }
        }
    }

    /// Names the records of which only the header is known.
    fn note_damaged(&mut self) {
        let damaged = self.found.iter().flat_map(RecoveredGroup::damaged_records);
        self.damage.extend(damaged.map(|(header, checksum)| {
            let RecordHeader { group, op, kind, .. } = header;
            Damage::Record { group, op, kind, checksum }
        }));
    }
}

/// Whether a prepare lies so far from the others of its group that no writer of ours can have taken it.
fn is_out_of_reach(groups: &Groups, header: &RecordHeader) -> bool {
    header.kind == RecordKind::Prepare && groups.span_with(header.group, header.op) > SPAN_MAX
}

/// The record that a found one is, or is a note about.
pub(super) fn subject(found: &FoundRecord) -> (RecordHeader, u128) {
    let record = &found.record;
    let lost = if record.whole { notes::lost(&record.header, &found.body) } else { None };
    lost.unwrap_or((record.header, record.checksum))
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

fn declared_lost(blocks: &[FoundBlock]) -> Vec<LostBlocks> {
    let records = blocks.iter().flat_map(|block| block.records.iter().flatten());
    let marks = records.filter(|found| found.record.header.kind == RecordKind::Mark && found.record.whole);
    let mut lost: Vec<_> =
        marks.filter_map(|found| MarkBody::decode(&found.body).ok()).flat_map(|body| body.lost).collect();
    lost.sort_unstable();
    lost
}
