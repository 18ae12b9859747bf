//! Polls in progress. A poll advances from offset to offset. For each one it checks again whether the message
//! is on the disk or only in memory, so that a batch is returned once even if it moves to a segment
//! meanwhile.

use std::collections::{BTreeMap, VecDeque};

use ng_io::Environment;
use ng_partition::PartitionState;
use ng_partition::fetch::{Cut, Selection, Source, offset_behind};
use ng_storage::store::{Fetch, Fetched, LastBegin, Sought};
use ng_wire::batch::{BatchHeader, BatchRefusal};

use crate::group::Ticket;
use crate::host::ShardLog;
use crate::machine::MetadataMachine;
use crate::outbox::Outgoing;
use crate::poll::cache::{Piece, PollCache};
use crate::poll::request::{Poll, PollPart, PollRefusal, PollStrategy, Polled};

/// Maximum consecutive lookups without a result before a poll is refused as busy.
const TRIES_MAX: u8 = 4;

/// Read size in bytes, unless the memory budget is too small for several reads of this size.
const PIECE_BYTES_MAX: usize = 1 << 20;

/// Number of reads that fit into the memory budget.
const PIECES: usize = 16;

/// Limits of the polls of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollLimits {
    /// Maximum polls that wait for the disk.
    pub polls_max: usize,
    /// Maximum bytes read for unanswered polls; further polls wait before they read.
    pub bytes_max: usize,
    /// Bytes per read, unless a single batch is larger.
    pub piece_bytes: usize,
    /// Maximum bytes of batches cached for later polls.
    pub cache_bytes: usize,
}

impl PollLimits {
    /// Limits with a budget of `bytes_max` bytes for reads, in pieces that leave room for several polls.
    #[must_use]
    pub fn reading(bytes_max: usize) -> Self {
        let piece_bytes = (bytes_max / PIECES).clamp(64 * 1024, PIECE_BYTES_MAX);
        Self { bytes_max, piece_bytes, ..Self::default() }
    }
}

impl Default for PollLimits {
    fn default() -> Self {
        Self { polls_max: 4096, bytes_max: 64 << 20, piece_bytes: PIECE_BYTES_MAX, cache_bytes: 128 << 20 }
    }
}

/// Polls that wait for the disk.
#[derive(Debug)]
pub(crate) struct Polls {
    limits: PollLimits,
    under_way: BTreeMap<u64, Box<ActivePoll>>,
    /// Polls that have not read yet, because others use the budget for reads.
    waiting: VecDeque<Box<ActivePoll>>,
    asked: u64,
    /// Bytes read for polls, or reserved for reads in progress.
    bytes: usize,
    pub(crate) cache: PollCache,
}

impl Default for Polls {
    fn default() -> Self {
        let limits = PollLimits::default();
        let cache = PollCache::new(limits.cache_bytes);
        Self { limits, under_way: BTreeMap::new(), waiting: VecDeque::new(), asked: 0, bytes: 0, cache }
    }
}

impl Polls {
    /// Bytes read for unanswered polls.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// A poll that holds `held` bytes must wait before it reads `reading` more, because others exceed the
    /// budget and will end soon.
    const fn is_crowded(&self, held: usize, reading: usize) -> bool {
        self.bytes > held && self.bytes + reading > self.limits.bytes_max
    }
}

/// Outcome of starting a read for a poll.
#[derive(Debug)]
enum Reading {
    /// The read is in progress under this number.
    Asked(u64),
    /// Other polls use the budget.
    Crowded,
    /// The poll has messages already, and there is no memory for more.
    Enough,
    /// Too many polls are in progress.
    Full,
}

/// Position of the first message.
#[derive(Clone, Copy, Debug)]
enum Begin {
    Known,
    Last,
    Time(u64),
    Behind { segment: u64, generation: u32, messages: u64 },
}

#[derive(Debug)]
struct ActivePoll {
    ticket: Ticket,
    poll: Poll,
    generation: u64,
    /// Last committed offset when the poll began.
    until: u64,
    /// First offset that was not truncated when the poll began.
    first: u64,
    begin: Begin,
    selection: Selection,
    /// Number of segment swaps when the first messages were located.
    swaps: u64,
    parts: Vec<PollPart>,
    /// Bytes of the buffers from which it took messages.
    held: usize,
    /// Bytes of its read in progress.
    reading: usize,
    /// Bytes of the next batch, because it alone exceeds a normal read.
    larger: usize,
    tries: u8,
}

/// Next action of a poll.
#[derive(Debug)]
enum Step {
    Read(Sought),
    End,
    /// Refuse, unless the poll has messages to return.
    Refuse(PollRefusal),
}

impl ActivePoll {
    fn new(ticket: Ticket, poll: Poll, state: &PartitionState, until: u64, stored: Option<u64>) -> Self {
        let first = state.first_offset;
        let (begin, from) = match poll.strategy {
            PollStrategy::Offset(offset) => (Begin::Known, offset),
            PollStrategy::First => (Begin::Known, first),
            PollStrategy::Next => (Begin::Known, stored.map_or(first, |stored| stored.saturating_add(1))),
            PollStrategy::Timestamp(time) => (Begin::Time(time), first),
            PollStrategy::Last => (Begin::Last, first),
        };
        Self {
            ticket,
            poll,
            generation: state.purge_generation,
            until,
            first,
            begin,
            selection: Selection::new(from.max(first), poll.count, poll.reply_bytes_max),
            swaps: 0,
            parts: Vec::new(),
            held: 0,
            reading: 0,
            larger: 0,
            tries: 0,
        }
    }

    /// Takes messages from this offset on.
    fn begin_at(&mut self, offset: u64) {
        self.begin = Begin::Known;
        let Poll { count, reply_bytes_max, .. } = self.poll;
        self.selection = Selection::new(offset.max(self.first), count, reply_bytes_max);
    }

    fn push(&mut self, cut: Cut, part: impl FnOnce(std::ops::Range<usize>) -> PollPart) {
        self.parts.extend(cut.header.map(PollPart::Header));
        self.parts.push(part(cut.range));
    }

    /// Resolves the first offset from the first batch.
    fn begin_in(&mut self, first: &[u8], passed: u64) -> Result<(), BatchRefusal> {
        match self.begin {
            Begin::Known | Begin::Last => {}
            Begin::Time(_) => self.begin_at(BatchHeader::decode(first)?.base_offset),
            Begin::Behind { messages, .. } => {
                let offset = offset_behind(first, messages.saturating_sub(passed))?;
                self.begin_at(offset.unwrap_or(self.until));
            }
        }
        Ok(())
    }

    /// Takes the wanted messages of batches that were read. Returns the position at which the next poll
    /// continues.
    fn take(&mut self, piece: &mut Piece, passed: u64) -> (usize, Result<(), BatchRefusal>) {
        if let Err(refusal) = self.begin_in(piece.first(), passed) {
            return (0, Err(refusal));
        }
        let before = self.parts.len();
        let taken = piece.take(&mut self.selection, self.until, &mut self.parts);
        if self.parts.len() > before {
            self.held += piece.held();
        }
        taken
    }
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Takes a poll; the answer is [`Outgoing::Polled`] with its ticket, in this or a later turn.
    pub fn poll(&mut self, ticket: Ticket, poll: Poll) {
        let stored = self.stored_offset(poll.group, poll.consumer);
        if stored.is_some() {
            let (kind, id) = poll.consumer;
            self.retention.readers.saw(poll.group, (kind, id.into()), self.clock.ticks());
        }
        let Some(state) = self.partition(poll.group) else {
            return self.end_poll(ticket, Err(PollRefusal::NoGroup));
        };
        let empty = Polled { current_offset: state.last_offset.unwrap_or(0), messages: 0, parts: Vec::new() };
        let Some(until) = state.last_offset.filter(|_| poll.count > 0) else {
            return self.end_poll(ticket, Ok(empty));
        };
        let polling = ActivePoll::new(ticket, poll, state, until, stored);
        self.lead_poll(Box::new(polling));
    }

    /// Sets the memory limits of polls.
    pub fn set_poll_limits(&mut self, limits: PollLimits) {
        self.polls.limits = limits;
        self.polls.cache.set_bytes_max(limits.cache_bytes);
    }

    fn end_poll(&mut self, ticket: Ticket, answer: Result<Polled, PollRefusal>) {
        if answer.as_ref().is_err_and(|refusal| *refusal == PollRefusal::Busy) {
            self.outbox.counts.busy += 1;
        }
        self.outbox.push(Outgoing::Polled { ticket, answer });
    }

    /// Advances a poll until it waits or ends.
    fn lead_poll(&mut self, mut polling: Box<ActivePoll>) {
        match self.next_poll_step(&mut polling) {
            Step::Read(sought) => match self.read_for_poll(&mut polling, sought) {
                Reading::Asked(asker) => drop(self.polls.under_way.insert(asker, polling)),
                Reading::Crowded => self.polls.waiting.push_back(polling),
                Reading::Enough => self.conclude_poll(polling, None),
                Reading::Full => self.conclude_poll(polling, Some(PollRefusal::Busy)),
            },
            Step::End => self.conclude_poll(polling, None),
            Step::Refuse(refusal) => self.conclude_poll(polling, Some(refusal)),
        }
    }

    /// Advances polls that waited for memory, while there is some. Returns true if at least one advanced.
    pub(crate) fn lead_waiting_polls(&mut self) -> bool {
        let waiting = self.polls.waiting.len();
        for _ in 0..waiting {
            if self.polls.is_crowded(0, self.polls.limits.piece_bytes) {
                break;
            }
            let Some(polling) = self.polls.waiting.pop_front() else { break };
            self.lead_poll(polling);
        }
        self.polls.waiting.len() < waiting
    }

    /// Answers a poll with its messages; without messages, with the refusal.
    fn conclude_poll(&mut self, mut polling: Box<ActivePoll>, wrong: Option<PollRefusal>) {
        self.polls.bytes -= polling.held;
        if wrong.is_some_and(PollRefusal::is_damage) {
            let (group, offset) = (polling.poll.group, polling.selection.next());
            self.outbox.push(Outgoing::Damaged { group, offset });
            self.segments.order(|store, effects| store.distrust(group, offset, effects));
        }
        let messages = polling.selection.messages();
        let answer = match wrong.filter(|_| messages == 0) {
            Some(refusal) => Err(refusal),
            None => Ok(Polled {
                current_offset: polling.until,
                messages,
                parts: std::mem::take(&mut polling.parts),
            }),
        };
        let Poll { group, consumer, auto_commit, .. } = polling.poll;
        if let (Ok(_), true, Some(offset)) = (&answer, auto_commit, polling.selection.last_offset()) {
            self.commit_ahead(group, consumer, polling.generation, offset);
        }
        self.end_poll(polling.ticket, answer);
    }

    fn next_poll_step(&mut self, polling: &mut ActivePoll) -> Step {
        let id = polling.poll.group;
        self.open_segments(id);
        let store = self.segments.core();
        match self.partition(id) {
            None => return Step::Refuse(PollRefusal::NoGroup),
            // A purge has deleted the requested messages.
            Some(state) if state.purge_generation != polling.generation => {
                polling.until = state.last_offset.unwrap_or(0);
                polling.selection = Selection::new(0, 0, 0);
                polling.parts.clear();
                return Step::End;
            }
            Some(_) => {}
        }
        if !store.is_open(id) {
            return Step::Read(Sought::Opened);
        }
        if polling.selection.messages() == 0 {
            polling.swaps = store.swaps(id);
        } else if polling.swaps != store.swaps(id) {
            return Step::End;
        }
        match polling.begin {
            Begin::Known => {}
            Begin::Time(time) if store.has_time_on_disk(id, time) => return Step::Read(Sought::Time(time)),
            Begin::Time(time) => return self.begin_in_memory(polling, time),
            Begin::Behind { segment, generation, messages } => {
                return Step::Read(Sought::Behind { segment, generation, messages });
            }
            Begin::Last => match store.last_begin(id, polling.until, polling.poll.count) {
                LastBegin::At(offset) => polling.begin_at(offset),
                LastBegin::Unsettled => return Step::Refuse(PollRefusal::Busy),
                LastBegin::Behind { segment, generation, messages } => {
                    polling.begin = Begin::Behind { segment, generation, messages };
                    return Step::Read(Sought::Behind { segment, generation, messages });
                }
            },
        }
        self.poll_on(polling)
    }

    /// Continues at the next offset, on the disk or in memory.
    fn poll_on(&mut self, polling: &mut ActivePoll) -> Step {
        self.take_from_cache(polling);
        let next = polling.selection.next();
        if polling.selection.is_full() || next > polling.until {
            return Step::End;
        }
        if self.segments.core().last_on_disk(polling.poll.group).is_some_and(|last| next <= last) {
            return Step::Read(Sought::Offset(next));
        }
        self.take_from_memory(polling)
    }

    /// Takes messages from recently executed or read batches. After damage in the cache, the poll reads the
    /// disk again.
    fn take_from_cache(&mut self, polling: &mut ActivePoll) {
        let (group, generation) = (polling.poll.group, polling.generation);
        while !polling.selection.is_full() && polling.selection.next() <= polling.until {
            let next = polling.selection.next();
            let Some(piece) = self.polls.cache.get(group, generation, next) else { return };
            let (_, taken) = piece.take(&mut polling.selection, polling.until, &mut polling.parts);
            if taken.is_err() || polling.selection.next() == next {
                return;
            }
        }
    }

    fn take_from_memory(&self, polling: &mut ActivePoll) -> Step {
        let until = polling.until;
        for batch in self.segments.core().in_memory(polling.poll.group) {
            if batch.base_offset > until || polling.selection.is_full() {
                break;
            }
            if batch.last_offset < polling.selection.next() {
                continue;
            }
            match polling.selection.take(&batch.bytes, Source::Memory(batch.last_offset)) {
                Ok(Some(cut)) => polling.push(cut, |range| PollPart::Kept(batch.bytes.clone(), range)),
                Ok(None) => {}
                Err(refusal) => return Step::Refuse(refusal.into()),
            }
        }
        // All messages up to `until` may have been deleted since the poll began.
        let is_dropped = self.partition(polling.poll.group).is_none_or(|state| state.first_offset > until);
        if polling.selection.is_full() || polling.selection.next() > until || is_dropped {
            return Step::End;
        }
        // A message exists at `until`. If the poll cannot reach it, one in between is missing.
        Step::Refuse(PollRefusal::Unreadable)
    }

    /// Finds the first batch in memory with the requested time; no batch on the disk has it.
    fn begin_in_memory(&self, polling: &mut ActivePoll, time: u64) -> Step {
        let mut batches = self.segments.core().in_memory(polling.poll.group);
        let found = batches.find(|batch| batch.timestamp >= time && batch.last_offset >= polling.first);
        match found.filter(|batch| batch.base_offset <= polling.until).map(|batch| batch.base_offset) {
            Some(offset) => {
                polling.begin_at(offset);
                self.take_from_memory(polling)
            }
            None => Step::End,
        }
    }

    /// Starts a read, if the budget has room.
    fn read_for_poll(&mut self, polling: &mut ActivePoll, sought: Sought) -> Reading {
        let group = polling.poll.group;
        let bytes = self.bytes_for(polling);
        let polls = &mut self.polls;
        let reading = if sought == Sought::Opened { 0 } else { bytes };
        if polling.selection.messages() > 0 && polls.bytes + reading > polls.limits.bytes_max {
            return Reading::Enough;
        }
        if polls.under_way.len() + polls.waiting.len() >= polls.limits.polls_max {
            return Reading::Full;
        }
        // A poll that has already read need not wait, because it ends soon and then frees its memory.
        if polling.held == 0 && polls.is_crowded(0, reading) {
            return Reading::Crowded;
        }
        polls.bytes += reading;
        polling.reading = reading;
        polls.asked += 1;
        let asker = polls.asked;
        let ActivePoll { generation, until, .. } = *polling;
        let batch_bytes = polls.limits.piece_bytes;
        let fetch = Fetch { asker, generation, sought, until, bytes, batch_bytes };
        self.segments.order(|store, effects| store.fetch(group, fetch, effects));
        Reading::Asked(asker)
    }

    /// Estimated bytes of the messages that a poll still wants.
    fn bytes_for(&self, polling: &ActivePoll) -> usize {
        let selection = &polling.selection;
        let figures = self.segments.core().figures(polling.poll.group).filter(|figures| figures.messages > 0);
        let each = figures.map_or(0, |figures| figures.bytes.div_ceil(figures.messages));
        let likely = each.saturating_mul(selection.messages_left().into());
        let wanted = usize::try_from(likely).unwrap_or(usize::MAX).min(selection.bytes_left());
        // A poll that continues where another ended is part of a sequential scan, so it reads ahead.
        let (group, next) = (polling.poll.group, selection.next());
        let ahead = self.segments.core().goes_on(group, polling.generation, next);
        let least = if ahead { self.polls.limits.piece_bytes } else { 1 };
        wanted.clamp(least, self.polls.limits.piece_bytes).max(polling.larger)
    }

    /// Takes the result of a read.
    pub(crate) fn poll_fetched(&mut self, asker: u64, fetched: Fetched) {
        let Some(mut polling) = self.polls.under_way.remove(&asker) else { return };
        self.polls.bytes -= polling.reading;
        (polling.reading, polling.larger) = (0, 0);
        let (id, generation) = (polling.poll.group, polling.generation);
        if polling.selection.messages() > 0 && polling.swaps != self.segments.core().swaps(id) {
            // The messages so far belong to replaced segments. The poll ends with them, because it must not
            // mix old and new segments.
            return self.conclude_poll(polling, None);
        }
        let led = match fetched {
            Fetched::Opened => Ok(()),
            Fetched::Batches(mut found) => {
                polling.tries = 0;
                let before = polling.held;
                // Most polls end with their first read, so their memory is freed without a copy.
                if polling.held > 0
                    && let Some(buffer) = found.compact()
                {
                    self.segments.recycle(buffer);
                }
                let mut piece = Piece::read(&mut found);
                let (at, taken) = polling.take(&mut piece, found.passed);
                self.polls.bytes += polling.held - before;
                let next = polling.selection.next();
                self.segments.order(|store, _| store.remember(id, generation, next, &found, at));
                // A batch from a segment that was replaced meanwhile serves only this poll and is not cached.
                if taken.is_ok() && self.segments.core().is_current(id, &found) {
                    self.polls.cache.keep(id, generation, piece);
                }
                taken.map_err(PollRefusal::from)
            }
            Fetched::Larger { bytes } => {
                polling.larger = bytes;
                Ok(())
            }
            Fetched::Passed { last_offset } => {
                polling.selection.pass(last_offset);
                Ok(())
            }
            Fetched::Nothing | Fetched::Purged if polling.tries < TRIES_MAX => {
                polling.tries += 1;
                if matches!(polling.begin, Begin::Behind { .. }) {
                    // The segment was replaced, so its position is computed again.
                    polling.begin = Begin::Last;
                }
                Ok(())
            }
            // After a restart, batches on the disk may await execution again, so none of that time is visible
            // yet.
            Fetched::Nothing if matches!(polling.begin, Begin::Time(_)) => {
                return self.conclude_poll(polling, None);
            }
            Fetched::Nothing | Fetched::Purged | Fetched::Busy => Err(PollRefusal::Busy),
            Fetched::Damaged(damage) => Err(PollRefusal::from(&damage.fault)),
            Fetched::Gone => Err(PollRefusal::NoGroup),
        };
        match led {
            Ok(()) => self.lead_poll(polling),
            Err(refusal) => self.conclude_poll(polling, Some(refusal)),
        }
    }
}
