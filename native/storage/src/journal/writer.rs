//! The core of the journal: blocks are formed, written and synced one after the other, whatever arrives meanwhile.

use std::collections::VecDeque;
use std::sync::Arc;

use ng_io::{Buffer, Chunk, IoError, Output};

use super::groups::{Groups, RecordCopy};
use super::losses::Losses;
use super::plant::{Plant, Planted};
use super::proof::Proof;
use super::queue::{Forming, Queue};
use super::reclaim::Reclaim;
use super::recovery::Recovered;
use super::slots::{NO_SLOT, SlotId};
use super::space::Space;
use super::{Effect, Event, FILES_MIN, JournalFault, Limits, Located, Position, Refused, UNSYNCED_MAX};
use crate::block::{self, BLOCK_HEADER, BlockHeader, body_bytes};
use crate::poison::Poison;
use crate::record::{RECORD_HEADER, RecordHeader, RecordKind};
use crate::superblock::SyncedBlock;

/// The journal of a shard. See the module for how it is driven.
#[derive(Debug)]
pub struct PrepareJournal {
    /// The ring may grow to more files than it was configured to have: for what stands.
    pub(super) limits: Limits,
    pub(super) files_configured: u32,
    pub(super) journal: u128,
    incarnation: u64,
    pub(super) groups: Groups,
    pub(super) losses: Losses,

    /// Blocks to be written; the first will be `next_sequence`.
    pub(super) queue: Queue,
    next_sequence: u64,
    previous: u128,
    previous_file: u32,
    pub(super) space: Space,
    pub(super) oldest: u64,
    pub(super) reclaim: Reclaim,

    /// The block being written.
    writing: Option<Writing>,
    /// Written, not synced.
    unsynced: VecDeque<Written>,
    /// The last block that the sync under way covers, and its file; no block while files of the incarnation before are synced.
    syncing: Option<(Option<SyncedBlock>, u32)>,
    pub(super) synced_through: u64,
    /// The newest block that was synced, for the superblock.
    synced: SyncedBlock,
    proof: Proof,
    /// Files of the incarnation before that must be synced before the first block says that they are.
    inherited: VecDeque<u32>,
    /// What the last formed block said of `synced_through`, and the last formed block with records in it.
    told_through: u64,
    last_records: u64,
    pub(super) poison: Poison,
    pub(super) planted: Planted,

    /// The header at hand, of a record or of a block, encoded.
    encoded: Vec<u8>,
    /// The memory of blocks that were written: of two at most, for one is written while the next is laid out.
    spare: Vec<Buffer>,
}

/// A write under way.
#[derive(Clone, Copy, Debug)]
struct Writing {
    block: SyncedBlock,
    /// Whether it ends with a sync.
    sync: bool,
    records: usize,
}

/// A block that is written and not synced.
#[derive(Clone, Copy, Debug)]
struct Written {
    block: SyncedBlock,
    records: usize,
}

impl PrepareJournal {
    /// Goes on where `recovered` ends, as incarnation `incarnation`, which no block has had before.
    ///
    /// The first effects sync what the incarnation before left, then write a mark that lists what is lost. Records that were
    /// found above what was proven are durable, and to be acted on, from the first [`Effect::Durable`] on.
    #[must_use]
    pub fn resume(
        journal: u128,
        incarnation: u64,
        limits: Limits,
        recovered: Recovered,
        effects: &mut Vec<Effect>,
    ) -> Self {
        let next_sequence = recovered.next_sequence();
        let skipped = (recovered.head + 1, next_sequence - 1);
        let mut this = Self {
            limits,
            files_configured: limits.files_max,
            journal,
            incarnation,
            groups: recovered.groups,
            losses: recovered.losses,
            queue: Queue::new(limits.block_bytes_target),
            next_sequence,
            previous: 0,
            previous_file: recovered.space.file,
            inherited: recovered.space.order.iter().map(|(file, _)| *file).collect(),
            space: recovered.space,
            oldest: recovered.oldest,
            reclaim: Reclaim::default(),
            writing: None,
            unsynced: VecDeque::new(),
            syncing: None,
            synced_through: recovered.proven,
            synced: recovered.synced,
            proof: Proof::of(recovered.proven),
            told_through: 0,
            last_records: 0,
            poison: Poison::none(),
            planted: Planted::default(),
            encoded: Vec::with_capacity(BLOCK_HEADER),
            spare: Vec::new(),
        };
        if this.space.order.is_empty() {
            this.space.order.push_back((this.space.file, this.next_sequence));
            this.oldest = this.next_sequence;
        }
        this.make_way_for_standing();
        this.losses.accept();
        this.enqueue_mark(Some(skipped));
        this.start(effects);
        this
    }

    /// Plants a bug, for good.
    #[cfg(feature = "plants")]
    pub const fn plant(&mut self, bug: super::Plant) {
        self.planted.bug = Some(bug);
    }

    /// Takes a record into the block that is being formed, for the next [`PrepareJournal::start`]. Its position is durable
    /// once [`Effect::Durable`] says so of the block.
    ///
    /// Whoever took a batch in has verified it: its payload is not hashed again. Prepares are refused with
    /// [`Refused::Busy`] early enough that every other record finds room; on a full disk it waits for room.
    pub fn append(&mut self, header: RecordHeader, body: Arc<Chunk>) -> Result<Position, Refused> {
        self.encoded.clear();
        let checksum = header.encode(&mut self.encoded);
        let position = self.queue.position_of(self.next_sequence, body.len());
        let copy = RecordCopy { header, checksum, body: &body, whole: true, position };
        let fitting = self.admit(&copy)?;
        let slot = self.groups.follow_fitting(&copy, &fitting, header.body_length);
        self.queue.push(&self.encoded, slot, body);
        if header.kind != RecordKind::Prepare {
            self.make_way_for_standing();
        }
        Ok(position)
    }

    /// Takes an event; what follows from it waits for the next [`PrepareJournal::start`].
    pub fn step(&mut self, event: Event, effects: &mut Vec<Effect>) {
        if self.poison.is_set() {
            return;
        }
        match event {
            Event::Written { buffer, result } => self.written(buffer, result, effects),
            Event::Synced(result) => self.synced(result, effects),
            Event::Read(result) => self.reclaim_read(result.as_deref().ok(), effects),
            // Out of space is pressure, not failure: what is there goes on.
            Event::Grown(result) => {
                effects.extend(self.space.grown(result).map(|files| Effect::Enlist { files }));
            }
            Event::Enlisted => self.space.enlisted(),
            Event::Released { group, op } => self.groups.release(group, op),
            Event::Ended { group } => self.groups.forget_end(group),
            Event::Idle => self.idle(),
        }
    }

    /// Where the newest copy of an op is, if it counts.
    #[must_use]
    pub fn locate(&self, group: u64, op: u64) -> Option<Located> {
        let located = self.groups.locate(group, op)?;
        // A read beside the write of its block may come first and find what was there before.
        let is_being_written =
            self.writing.is_some_and(|writing| writing.block.sequence == located.position.block);
        Some(Located { file: located.file.filter(|_| !is_being_written), ..located })
    }

    /// Every op that counts, with its group.
    pub fn ops(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.groups.ops()
    }

    /// The highest view that a group's records name: the next one must be above it.
    #[must_use]
    pub fn view(&self, group: u64) -> Option<u64> {
        self.groups.view(group)
    }

    /// Blocks up to here are on the disk for good.
    #[must_use]
    pub const fn synced_through(&self) -> u64 {
        self.synced_through
    }

    /// The newest block that is on the disk for good, for the superblock to vouch for.
    #[must_use]
    pub const fn synced_block(&self) -> SyncedBlock {
        self.synced
    }

    /// Blocks up to here will be known to have been synced, whatever becomes of them on the disk.
    #[must_use]
    pub const fn proven_through(&self) -> u64 {
        self.proof.through()
    }

    /// Has a block proven as soon as it is synced, by one behind it.
    pub fn prove(&mut self, block: u64) {
        self.proof.want(block);
    }

    /// Files that the ring has grown to.
    #[must_use]
    pub const fn files(&self) -> u32 {
        self.space.files
    }

    /// Whether a further file is being made, or waits for the superblock to count it.
    #[must_use]
    pub fn is_growing(&self) -> bool {
        self.space.is_growing()
    }

    /// Records that wait for their write to begin.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue.records()
    }

    /// Whether no write and no sync is under way or due.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.writing.is_none() && self.unsynced.is_empty() && self.inherited.is_empty()
    }

    /// Whether nothing waits, is written or is synced.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.queue.is_empty() && self.is_idle()
    }

    /// Whether a block waits, has no place, and gets none before a further file is made. Nothing in it was acknowledged.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        let has_place = |forming: &Forming| self.space.has_place(forming.bytes() as u64, &self.limits);
        self.is_idle() && self.space.lack.is_some() && self.queue.front().is_some_and(|next| !has_place(next))
    }

    /// Why a further file could not be made without which the journal cannot go on: it is stuck, or will be, because the only
    /// file it has is never freed.
    #[must_use]
    pub fn lack(&self) -> Option<IoError> {
        self.space.lack.filter(|_| self.is_stuck() || self.files() < FILES_MIN)
    }

    /// Whether [`Event::Idle`] would do anything: leave a mark, or try again to grow.
    #[must_use]
    pub fn wants_mark(&self) -> bool {
        // What waits for a file that could not be made waits for this event, too.
        self.space.is_refused() || (self.is_quiet() && self.told_through < self.last_records)
    }

    /// Puts a record into the last block of the queue, or into a new one.
    pub(super) fn enqueue(&mut self, header: &RecordHeader, slot: SlotId, body: Arc<Chunk>) -> Position {
        let position = self.queue.position_of(self.next_sequence, body.len());
        self.encoded.clear();
        header.encode(&mut self.encoded);
        self.queue.push(&self.encoded, slot, body);
        position
    }

    /// Lists what is lost; the list counts until a newer one is there.
    pub(super) fn enqueue_mark(&mut self, skipped: Option<(u64, u64)>) {
        let body = self.losses.mark(skipped).encode();
        let header = RecordHeader::of(RecordKind::Mark, 0, &body);
        let position = self.queue.position_of(self.next_sequence, body.len());
        let slot = match self.losses.is_empty() {
            true => NO_SLOT,
            false => self.groups.put_mark(header.checksum(), position, header.body_length),
        };
        self.enqueue(&header, slot, Arc::new(body.into()));
    }

    /// The sequence of the next block to be formed, which will carry what is known now.
    pub(super) const fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    fn idle(&mut self) {
        self.space.retry_growing();
        if self.is_quiet() && self.told_through < self.last_records {
            self.queue.want_block();
        }
        self.spare = Vec::new();
        self.queue.forget_spare();
    }

    pub(super) fn fail(&mut self, file: u32, error: IoError, effects: &mut Vec<Effect>) {
        if self.poison.set() {
            effects.push(Effect::Fatal(JournalFault { file, error }));
        }
    }

    /// Starts what can be started now: to be called once all was taken in that is to share a block.
    pub fn start(&mut self, effects: &mut Vec<Effect>) {
        if self.poison.is_set() {
            return;
        }
        let was_writing = self.writing.is_some();
        if self.syncing.is_none() {
            self.start_sync(effects);
        }
        self.start_write(effects);
        if let Some(file) = self.space.grow(self.groups.slots().live_bytes(), &self.limits) {
            effects.push(Effect::Grow { file });
        }
        self.drive_reclaim(effects);
        // Relocation may have filled an empty queue.
        self.start_write(effects);
        // Not in a step that began a write: that must reach the disk first.
        if was_writing {
            self.queue.lay_out_ahead(&mut self.spare);
        }
    }

    fn start_sync(&mut self, effects: &mut Vec<Effect>) {
        if let Some(file) = self.inherited.front() {
            self.syncing = Some((None, *file));
            effects.push(Effect::Sync { file: *file });
            return;
        }
        let Some(file) = self.unsynced.front().map(|written| written.block.file) else { return };
        let same = self.unsynced.iter().take_while(|other| other.block.file == file);
        self.syncing = Some((same.last().map(|last| last.block), file));
        effects.push(Effect::Sync { file });
    }

    fn start_write(&mut self, effects: &mut Vec<Effect>) {
        if self.writing.is_some() || !self.inherited.is_empty() {
            return;
        }
        let Some(bytes) = self.queue.front().map(|forming| forming.bytes() as u64) else { return };
        let is_window_full = self.unsynced.len() as u64 + 1 >= UNSYNCED_MAX;
        if is_window_full || !self.space.make_place(bytes, self.next_sequence, &self.limits) {
            return;
        }
        let Some(mut forming) = self.queue.pop() else { return };
        let sequence = self.next_sequence;
        assert!(self.space.offset + bytes <= self.limits.file_bytes, "a block is in one file");
        assert!(self.synced_through < sequence, "a block that is not written is not synced");
        assert!(self.oldest <= sequence, "a recovery begins with a block that exists");
        let vouches = self.planted.has(Plant::VouchesUnsynced);
        let header = BlockHeader {
            journal: self.journal,
            previous: self.previous,
            sequence,
            incarnation: self.incarnation,
            synced_through: if vouches { sequence - 1 } else { self.synced_through },
            oldest: self.oldest,
            offset: self.space.offset,
            file: self.space.file,
            previous_file: self.previous_file,
            bytes: 0,
            records: 0,
            directory_checksum: 0,
        };
        let mut buffer = forming.lay_out(&mut self.spare);
        let (header, checksum) = block::seal(&mut buffer, forming.records(), header, &mut self.encoded);
        self.settle(&forming, sequence);
        let records = forming.records();
        self.told_through = header.synced_through;
        self.proof.formed(sequence, header.synced_through);
        if records > 0 {
            self.last_records = sequence;
        }
        self.queue.recycle(forming);
        self.next_sequence += 1;
        self.previous = checksum;
        let (file, offset, sync) = (self.space.file, self.space.offset, self.syncs_with_write());
        self.previous_file = file;
        let block = SyncedBlock { sequence, checksum, file };
        self.writing = Some(Writing { block, sync, records });
        effects.push(Effect::Write { file, offset, buffer, sync });
        self.space.offset += u64::from(header.bytes);
    }

    /// Whether the write that begins now ends with its sync. That saves a way to the disk and back, and costs the next block
    /// its head start: so it is done when none is waiting, nor a sync of the blocks before.
    fn syncs_with_write(&self) -> bool {
        self.queue.is_empty() && self.unsynced.is_empty() && self.syncing.is_none()
    }

    /// Tells the groups where the records of a block lie.
    fn settle(&mut self, forming: &Forming, sequence: u64) {
        let mut start = BLOCK_HEADER + RECORD_HEADER * forming.records();
        for (index, (slot, length)) in (0_u32..).zip(forming.slots()) {
            let position = Position { block: sequence, index };
            self.groups.settle(slot, position, self.space.file, self.space.offset + start as u64);
            start += body_bytes(length);
        }
    }

    fn written(&mut self, buffer: Output, result: Result<(), IoError>, effects: &mut Vec<Effect>) {
        let Writing { block, sync, records } = self.writing.take().expect("a write that ends was begun");
        self.spare.extend(buffer.into_buffer());
        match result {
            Ok(()) if sync => self.durable(block, records, effects),
            Ok(()) => {
                let follows = |last: &Written| last.block.sequence + 1 == block.sequence;
                assert!(self.unsynced.back().is_none_or(follows), "blocks are written in their order");
                self.unsynced.push_back(Written { block, records });
            }
            Err(error) => self.fail(block.file, error, effects),
        }
    }

    fn synced(&mut self, result: Result<(), IoError>, effects: &mut Vec<Effect>) {
        let (through, file) = self.syncing.take().expect("a sync that ends was begun");
        if let Err(error) = result {
            self.fail(file, error, effects);
            return;
        }
        // `synced_through` stays what was found until the first block is synced: only then is it certain that the list of
        // what is lost is there for whoever counts the blocks.
        if self.inherited.pop_front().is_some() {
            return;
        }
        let Some(through) = through else { return };
        let mut records = 0;
        while let Some(written) =
            self.unsynced.pop_front_if(|written| written.block.sequence <= through.sequence)
        {
            records += written.records;
        }
        self.durable(through, records, effects);
    }

    fn durable(&mut self, block: SyncedBlock, records: usize, effects: &mut Vec<Effect>) {
        let through = block.sequence;
        assert!(through > self.synced_through, "a block is synced once");
        (self.synced, self.synced_through) = (block, through);
        if self.proof.synced(through, self.told_through) {
            self.queue.want_block();
        }
        effects.push(Effect::Durable { through, records });
        self.reclaim_synced();
    }
}
