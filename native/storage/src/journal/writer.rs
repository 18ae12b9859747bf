//! The core of the journal: blocks are formed, written and synced one after the other, whatever arrives meanwhile.

use std::collections::VecDeque;

use ng_io::IoError;

use super::groups::{Groups, Place, Unfit};
use super::reclaim::Reclaim;
use super::recovery::Recovered;
use super::{Effect, Event, JournalFault, Limits, Located, Position, Refused, UNSYNCED_MAX, pages};
use crate::block::{self, BLOCK_HEADER, BlockHeader, RECORDS_MAX, block_bytes, body_bytes};
use crate::checksum::checksum;
use crate::record::{RECORD_HEADER, RecordHeader, RecordKind};
use crate::record_body::MarkBody;

/// A block that is not written yet.
#[derive(Debug, Default)]
pub(super) struct Forming {
    records: Vec<(RecordHeader, Vec<u8>)>,
    bodies: usize,
}

impl Forming {
    fn bytes(&self) -> usize {
        block_bytes(self.records.len(), self.bodies)
    }
}

/// The journal of a shard. See the module for how it is driven.
#[derive(Debug)]
pub struct PrepareJournal {
    pub(super) limits: Limits,
    journal: u128,
    incarnation: u64,
    pub(super) groups: Groups,

    /// Blocks to be written, oldest first; the first will be `next_sequence`.
    queue: VecDeque<Forming>,
    queued_bytes: usize,
    next_sequence: u64,
    previous: u128,

    /// Where the next block goes.
    file: u32,
    offset: u64,
    /// Files with blocks a recovery needs, oldest first, each with the first sequence in it; the last is `file`.
    pub(super) order: VecDeque<(u32, u64)>,
    pub(super) free: VecDeque<u32>,
    files: u32,
    growing: Growing,
    pub(super) oldest: u64,
    pub(super) reclaim: Reclaim,

    /// The block being written, and its file.
    writing: Option<(u64, u32)>,
    /// Written, not synced: sequence and file.
    unsynced: VecDeque<(u64, u32)>,
    /// What the sync under way covers, and its file.
    syncing: Option<(u64, u32)>,
    pub(super) synced_through: u64,
    /// Files of the incarnation before that must be synced before the first block says that they are.
    inherited: VecDeque<u32>,
    /// What the last formed block said of `synced_through`, and the last formed block with records in it.
    told_through: u64,
    last_records: u64,
    failed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Growing {
    No,
    Asked,
    /// There was no space; asked again when idle.
    Refused,
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
        let mut this = Self {
            limits,
            journal,
            incarnation,
            groups: recovered.groups,
            queue: VecDeque::new(),
            queued_bytes: 0,
            next_sequence: recovered.head + UNSYNCED_MAX + 1,
            previous: 0,
            file: recovered.file,
            offset: recovered.offset,
            order: recovered.order,
            free: recovered.free,
            files: recovered.files,
            growing: Growing::No,
            oldest: recovered.oldest,
            reclaim: Reclaim::default(),
            writing: None,
            unsynced: VecDeque::new(),
            syncing: None,
            synced_through: recovered.proven,
            inherited: VecDeque::new(),
            told_through: 0,
            last_records: 0,
            failed: false,
        };
        this.inherited = this.order.iter().map(|(file, _)| *file).collect();
        if this.order.is_empty() {
            this.order.push_back((this.file, this.next_sequence));
            this.oldest = this.next_sequence;
        }
        let body = MarkBody { lost: recovered.lost }.encode();
        this.enqueue(RecordHeader::of(RecordKind::Mark, 0, &body), body);
        this.pump(effects);
        this
    }

    /// Takes a record into the block that is being formed. Its position is durable once [`Effect::Durable`] says so of the
    /// block.
    pub fn append(
        &mut self,
        header: RecordHeader,
        body: Vec<u8>,
        effects: &mut Vec<Effect>,
    ) -> Result<Position, Refused> {
        self.admit(&header, &body)?;
        let identity = header.checksum();
        let position = self.position_of(body.len());
        let place = Place { position, file: u32::MAX, offset: 0, length: header.body_length };
        self.groups.follow(&header, identity, &body, place, true).map_err(Refused::from)?;
        self.enqueue(header, body);
        self.pump(effects);
        Ok(position)
    }

    /// Takes an event.
    pub fn step(&mut self, event: Event, effects: &mut Vec<Effect>) {
        if self.failed {
            return;
        }
        match event {
            Event::Written(result) => self.written(result, effects),
            Event::Synced(result) => self.synced(result, effects),
            Event::Read(result) => self.reclaim_read(&result, effects),
            Event::Grown(Ok(())) => {
                self.growing = Growing::No;
                self.free.push_back(self.files);
                self.files += 1;
            }
            // Out of space is pressure, not failure: what is there goes on.
            Event::Grown(Err(_)) => self.growing = Growing::Refused,
            Event::Released { group, op } => self.groups.release(group, op),
            Event::Idle => self.idle(),
        }
        self.pump(effects);
    }

    /// Whether the record at a position is on the disk for good.
    #[must_use]
    pub const fn is_durable(&self, position: Position) -> bool {
        position.block <= self.synced_through
    }

    /// Where the newest copy of an op is, if it counts.
    #[must_use]
    pub fn locate(&self, group: u64, op: u64) -> Option<Located> {
        self.groups.locate(group, op)
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

    /// Files that the ring has grown to.
    #[must_use]
    pub const fn files(&self) -> u32 {
        self.files
    }

    /// Whether nothing waits, is written or is synced.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.queue.is_empty()
            && self.writing.is_none()
            && self.unsynced.is_empty()
            && self.inherited.is_empty()
    }

    fn admit(&self, header: &RecordHeader, body: &[u8]) -> Result<(), Refused> {
        if self.failed {
            return Err(Refused::Failed);
        }
        if body.len() > self.limits.body_bytes_max() {
            return Err(Refused::TooLarge(body.len()));
        }
        let fits = header.body_length as usize == body.len() && header.body_checksum == checksum(body);
        if !fits || header.kind == RecordKind::Mark {
            return Err(Refused::Malformed);
        }
        self.groups.check(header, header.checksum(), body)?;
        if header.kind == RecordKind::Prepare {
            let span = self.groups.span_with(header.group, header.op);
            let slots = self.groups.slots() as u64 + span;
            if span > self.limits.window_max as u64 || slots > self.limits.slots_max as u64 {
                return Err(Refused::Window);
            }
        }
        self.admit_bytes(body.len())
    }

    /// Keeps two files' worth of room, so that the oldest file can always be relocated whole.
    fn admit_bytes(&self, body: usize) -> Result<(), Refused> {
        let bytes = block_bytes(1, body_bytes(body)) as u64;
        let queued = self.queued_bytes as u64 + bytes;
        let room = self.room();
        let growable = u64::from(self.growable()) * self.limits.file_bytes;
        let live = self.groups.live_bytes() + bytes;
        let full = queued > self.limits.queued_bytes_max as u64
            || queued > room
            || queued + 2 * self.limits.file_bytes > room + growable
            || live > self.limits.live_bytes_max();
        if full { Err(Refused::Busy) } else { Ok(()) }
    }

    /// Bytes that can be written before a file must be freed, less what a block that does not fit leaves unused.
    fn room(&self) -> u64 {
        let rest = self.limits.file_bytes - self.offset;
        rest + self.free.len() as u64 * self.limits.file_bytes
    }

    pub(super) fn growable(&self) -> u32 {
        if self.growing == Growing::Refused { 0 } else { self.limits.files_max.saturating_sub(self.files) }
    }

    fn position_of(&self, body: usize) -> Position {
        let last = self.queue.back().filter(|forming| self.takes(forming, body));
        let waiting = self.queue.len() as u64;
        match last {
            Some(forming) => {
                let index = u32::try_from(forming.records.len()).expect("a block has at most 65536 records");
                Position { block: self.next_sequence + waiting - 1, index }
            }
            None => Position { block: self.next_sequence + waiting, index: 0 },
        }
    }

    /// Whether a block takes one body more.
    fn takes(&self, forming: &Forming, body: usize) -> bool {
        let bytes = block_bytes(forming.records.len() + 1, forming.bodies + body_bytes(body));
        forming.records.len() < RECORDS_MAX && bytes <= self.limits.block_bytes_target
    }

    /// Puts a record into the last block of the queue, or into a new one.
    pub(super) fn enqueue(&mut self, header: RecordHeader, body: Vec<u8>) -> Position {
        let position = self.position_of(body.len());
        if position.block == self.next_sequence + self.queued_blocks() {
            self.queue.push_back(Forming::default());
            self.queued_bytes += block_bytes(0, 0);
        }
        let forming = self.queue.back_mut().expect("a block was there or was just added");
        let before = forming.bytes();
        forming.bodies += body_bytes(body.len());
        forming.records.push((header, body));
        self.queued_bytes += forming.bytes() - before;
        position
    }

    /// The sequence of the next block to be formed, which will carry what is known now.
    pub(super) const fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Blocks that wait for their write.
    pub(super) fn queued_blocks(&self) -> u64 {
        self.queue.len() as u64
    }

    /// Makes sure that a block is formed soon, even if nobody appends.
    pub(super) fn want_block(&mut self) {
        if self.queue.is_empty() {
            self.queue.push_back(Forming::default());
            self.queued_bytes += block_bytes(0, 0);
        }
    }

    fn idle(&mut self) {
        if self.growing == Growing::Refused {
            self.growing = Growing::No;
        }
        if self.is_quiet() && self.told_through < self.last_records {
            self.want_block();
        }
    }

    pub(super) fn fail(&mut self, file: u32, error: IoError, effects: &mut Vec<Effect>) {
        self.failed = true;
        effects.push(Effect::Fatal(JournalFault { file, error }));
    }

    fn pump(&mut self, effects: &mut Vec<Effect>) {
        if self.failed {
            return;
        }
        if self.syncing.is_none() {
            self.start_sync(effects);
        }
        if self.inherited.is_empty() && self.writing.is_none() {
            self.start_write(effects);
        }
        if self.growing == Growing::No && self.free.is_empty() && self.files < self.limits.files_max {
            self.growing = Growing::Asked;
            effects.push(Effect::Grow { file: self.files });
        }
        self.drive_reclaim(effects);
        // Relocation may have filled an empty queue.
        if self.inherited.is_empty() && self.writing.is_none() {
            self.start_write(effects);
        }
    }

    fn start_sync(&mut self, effects: &mut Vec<Effect>) {
        if let Some(file) = self.inherited.front() {
            self.syncing = Some((0, *file));
            effects.push(Effect::Sync { file: *file });
            return;
        }
        let Some((_, file)) = self.unsynced.front().copied() else { return };
        let same = self.unsynced.iter().take_while(|(_, other)| *other == file);
        let through = same.last().map_or(0, |(sequence, _)| *sequence);
        self.syncing = Some((through, file));
        effects.push(Effect::Sync { file });
    }

    fn start_write(&mut self, effects: &mut Vec<Effect>) {
        let Some(forming) = self.queue.front() else { return };
        if self.unsynced.len() as u64 + 1 >= UNSYNCED_MAX || !self.make_place(forming.bytes() as u64) {
            return;
        }
        let Some(forming) = self.queue.pop_front() else { return };
        self.queued_bytes -= forming.bytes();
        let sequence = self.next_sequence;
        let header = BlockHeader {
            journal: self.journal,
            previous: self.previous,
            sequence,
            incarnation: self.incarnation,
            synced_through: self.synced_through,
            oldest: self.oldest,
            offset: self.offset,
            file: self.file,
            bytes: 0,
            records: 0,
            directory_checksum: 0,
        };
        let (buffer, header, checksum) = block::encode(header, &forming.records);
        self.settle(&forming, sequence);
        self.told_through = header.synced_through;
        if !forming.records.is_empty() {
            self.last_records = sequence;
        }
        self.next_sequence += 1;
        self.previous = checksum;
        self.writing = Some((sequence, self.file));
        effects.push(Effect::Write { file: self.file, offset: self.offset, buffer });
        self.offset += u64::from(header.bytes);
    }

    /// Moves on to a free file if the block does not fit the rest of this one. False if there is none.
    fn make_place(&mut self, bytes: u64) -> bool {
        debug_assert_eq!(pages(usize::try_from(bytes).unwrap_or(0)) as u64, bytes);
        if self.offset + bytes <= self.limits.file_bytes {
            return true;
        }
        let Some(file) = self.free.pop_front() else { return false };
        self.order.push_back((file, self.next_sequence));
        self.file = file;
        self.offset = 0;
        true
    }

    /// Tells the groups where the records of a block lie.
    fn settle(&mut self, forming: &Forming, sequence: u64) {
        let mut start = BLOCK_HEADER + RECORD_HEADER * forming.records.len();
        for (index, (header, body)) in (0_u32..).zip(&forming.records) {
            let position = Position { block: sequence, index };
            self.groups.settle(header, position, self.file, self.offset + start as u64);
            start += body_bytes(body.len());
        }
    }

    fn written(&mut self, result: Result<(), IoError>, effects: &mut Vec<Effect>) {
        let Some((sequence, file)) = self.writing.take() else { return };
        match result {
            Ok(()) => self.unsynced.push_back((sequence, file)),
            Err(error) => self.fail(file, error, effects),
        }
    }

    fn synced(&mut self, result: Result<(), IoError>, effects: &mut Vec<Effect>) {
        let Some((through, file)) = self.syncing.take() else { return };
        if let Err(error) = result {
            self.fail(file, error, effects);
            return;
        }
        // `synced_through` stays what was found until the first block is synced: only then is it certain that the list of
        // what is lost is there for whoever counts the blocks.
        if self.inherited.pop_front().is_some() {
            return;
        }
        while self.unsynced.front().is_some_and(|(sequence, _)| *sequence <= through) {
            self.unsynced.pop_front();
        }
        self.synced_through = through;
        effects.push(Effect::Durable { through });
        self.reclaim_synced();
    }
}

impl From<Unfit> for Refused {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Settled => Self::Settled,
            Unfit::Malformed => Self::Malformed,
        }
    }
}
