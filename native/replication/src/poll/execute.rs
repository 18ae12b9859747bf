//! Polls under way. Each is led from offset to offset: what is on the disk is read, what is not is in memory,
//! and which of the two it is, is asked anew for each offset. So a batch that goes from the one to the other
//! is met once.

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

/// How often a poll looks again where it was told something was, before it is told to come again.
const TRIES_MAX: u8 = 4;

/// A poll reads at least so much at a time, unless its budget of memory has no room for several.
const PIECE_BYTES_MAX: usize = 1 << 20;

/// The budget has room for so many pieces.
const PIECES: usize = 16;

/// Bounds of the polls of a shard that wait for a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollLimits {
    /// How many there are at a time.
    pub polls_max: usize,
    /// Bytes that are read and not answered yet; further polls wait before they read.
    pub bytes_max: usize,
    /// Bytes read at a time, where no single batch has more.
    pub piece_bytes: usize,
    /// Bytes of batches that are kept in memory for those who poll next.
    pub cache_bytes: usize,
}

impl PollLimits {
    /// Reads at most `bytes_max` bytes that are not answered yet, in pieces that leave room for several
    /// polls.
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

/// Polls that wait for a disk.
#[derive(Debug)]
pub(crate) struct Polls {
    limits: PollLimits,
    under_way: BTreeMap<u64, Box<ActivePoll>>,
    /// Those that have read nothing, because others hold the memory for reads.
    waiting: VecDeque<Box<ActivePoll>>,
    asked: u64,
    /// What they have read, and are to read.
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
    /// Bytes that are read and not answered yet.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether a poll that holds `held` has to wait before it reads so much: others hold too much, and end
    /// soon.
    const fn is_crowded(&self, held: usize, reading: usize) -> bool {
        self.bytes > held && self.bytes + reading > self.limits.bytes_max
    }
}

/// What became of a read for a poll.
#[derive(Debug)]
enum Reading {
    /// It is under way under this number.
    Asked(u64),
    /// Others hold the memory for it.
    Crowded,
    /// The poll has messages, and there is no memory for more.
    Enough,
    /// Too many polls are under way.
    Full,
}

/// From where on messages are to be taken.
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
    /// The last committed offset when it began.
    until: u64,
    /// The first offset that was not truncated then.
    first: u64,
    begin: Begin,
    selection: Selection,
    /// How often segments had been replaced when its first messages were looked for.
    swaps: u64,
    parts: Vec<PollPart>,
    /// Bytes of what was read for it.
    held: usize,
    /// Bytes of what is being read for it.
    reading: usize,
    /// The next batch alone has so many.
    larger: usize,
    tries: u8,
}

/// What a poll does next.
#[derive(Debug)]
enum Step {
    Read(Sought),
    End,
    /// Refuse, unless there are messages to answer with.
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

    /// Knows where the first message is, now that the first batch is here.
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

    /// Takes what it wants of batches that were read; where in them the next poll will go on.
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
    /// Takes a poll; the answer is [`Outgoing::Polled`] under its ticket, now or in a later turn.
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

    /// Sets how much is read for polls at a time.
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

    /// Leads a poll on until it has to wait or has ended.
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

    /// Leads those on that waited for memory, as long as there is some. Returns whether one was.
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

    /// Answers a poll with what it has; where that is nothing, with what went wrong.
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
            // Nothing that was asked for is there any more.
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

    /// Goes on at the next offset, on the disk or in memory.
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

    /// Takes what it can of what was executed or read last. What is damaged there is looked for on the disk
    /// again.
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
        if polling.selection.is_full() || polling.selection.next() > until {
            return Step::End;
        }
        // There is a message at `until`: where it was not come to, one is missing.
        Step::Refuse(PollRefusal::Unreadable)
    }

    /// Looks in memory for the first batch of a time that none on the disk has.
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

    /// Asks the segments for what a poll seeks, if there is room to read it.
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
        // One that has read passes on what it holds when it ends, which it does.
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

    /// About how many bytes the messages have that a poll still wants.
    fn bytes_for(&self, polling: &ActivePoll) -> usize {
        let selection = &polling.selection;
        let figures = self.segments.core().figures(polling.poll.group).filter(|figures| figures.messages > 0);
        let each = figures.map_or(0, |figures| figures.bytes.div_ceil(figures.messages));
        let likely = each.saturating_mul(selection.messages_left().into());
        let wanted = usize::try_from(likely).unwrap_or(usize::MAX).min(selection.bytes_left());
        // Who goes on where another poll ended will go on further.
        let (group, next) = (polling.poll.group, selection.next());
        let ahead = self.segments.core().goes_on(group, polling.generation, next);
        let least = if ahead { self.polls.limits.piece_bytes } else { 1 };
        wanted.clamp(least, self.polls.limits.piece_bytes).max(polling.larger)
    }

    /// The segments have answered.
    pub(crate) fn poll_fetched(&mut self, asker: u64, fetched: Fetched) {
        let Some(mut polling) = self.polls.under_way.remove(&asker) else { return };
        self.polls.bytes -= polling.reading;
        (polling.reading, polling.larger) = (0, 0);
        let (id, generation) = (polling.poll.group, polling.generation);
        if polling.selection.messages() > 0 && polling.swaps != self.segments.core().swaps(id) {
            // What it has is of segments that were replaced: it ends with that, and has nothing of the new
            // ones.
            return self.conclude_poll(polling, None);
        }
        let led = match fetched {
            Fetched::Opened => Ok(()),
            Fetched::Batches(mut found) => {
                polling.tries = 0;
                let before = polling.held;
                // Most polls end with their first read, and give its memory back without a copy.
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
                // What was read of a segment that was replaced meanwhile is for this poll alone.
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
                    // The segment has been replaced: it is counted back anew.
                    polling.begin = Begin::Last;
                }
                Ok(())
            }
            // What is on the disk from that time on is not executed again yet.
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
