//! Load, a stop or a crash, damage of one file, and two or three lives after it.

use std::collections::BTreeMap;
use std::path::Path;

use ng_io::simulated::Random;
use ng_replication::owner::{METADATA, owner};
use ng_replication::{LogAnswer, LogRequest, Poll, PollStrategy, Ticket};
use ng_storage::segments_file::parse_file_name;
use ng_wire::batch::BatchBuilder;
use ng_wire::replica::{ConsumerKind, Level, LogOperation, OffsetWrite, Op, offsets_body};

use super::disk::{Files, files_of};
use super::fault::{Choice, Damage, Done};
use super::file_kind::FileKind;
use super::ledger::{Acknowledged, Reading, messages_of};
use super::process::Process;
use super::remedy::{Followed, Operator};
use crate::boot::home;
use crate::judges::Verdict;
use crate::plan::Plan;
use crate::world::Outcome;

/// How the damage of a file ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ending {
    /// Everything is served.
    Repaired,
    /// A range is refused and named.
    Fenced,
    /// The start was refused, and goes on after the loss was accepted.
    Accepted,
    /// The start was refused, and goes on with the file from a copy.
    Restored,
    /// The start was refused, and goes on without the wrong file.
    Moved,
}

/// Which damage a world had, and how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// The kind of the damaged file.
    pub file_kind: FileKind,
    /// What happened to it.
    pub damage: Damage,
    /// How it ended.
    pub ending: Ending,
}

/// Refusals of one start: a swap may be refused for each of its files, and what was moved away is missing then.
const REFUSALS_MAX: usize = 5;

/// Milliseconds after which everything that a start trusted is verified, and what polls met is named.
const VERIFIED: u64 = 4_000;

/// Milliseconds that a request may take.
const PATIENCE: u64 = 10_000;

/// Milliseconds of rest after which the journal has marked its last block as synced.
const PROVEN: u64 = 400;

/// Bytes of the payloads of a batch, well within a frame.
const BATCH_BYTES_MAX: u64 = 24_000;

/// The client of messages and offsets; those of sessions have low numbers.
const CLIENT: u128 = 77;

/// A consumer that stores nothing.
const READER: u32 = 9;

/// Messages by offset, or that they are damaged.
type Answered = Result<Vec<(u64, Vec<u8>)>, ()>;

/// What a request was about.
#[derive(Debug)]
enum Asked {
    Batch,
    Offset { consumer: u32, offset: u64 },
    Session,
}

/// A node, its clients, and a disk that damages one file.
pub(crate) struct DamageWorld {
    process: Process,
    random: Random,
    partitions: BTreeMap<u64, Acknowledged>,
    /// The last acknowledged operation of the metadata.
    metadata: Op,
    metadata_may_lose: bool,
    numbers: u64,
    acknowledged: usize,
    segment_bytes: u64,
    payload_bits: u64,
    depth: u64,
}

impl DamageWorld {
    pub(crate) fn new(plan: Plan, told: bool) -> Self {
        let mut random = Random::new(plan.seed ^ 0x6461_6d61_6765);
        let process = Process::new(plan, told);
        let partitions = process.partitions().into_iter().map(|group| (group, Acknowledged::default()));
        Self {
            partitions: partitions.collect(),
            process,
            metadata: Op::ZERO,
            metadata_may_lose: false,
            numbers: 0,
            acknowledged: 0,
            segment_bytes: (8 * 1024) << random.below(4),
            payload_bits: 5 + random.below(10),
            depth: 1 + random.below(16),
            random,
        }
    }

    pub(crate) fn story(&self) -> impl Iterator<Item = &str> {
        self.process.story.lines()
    }

    pub(crate) fn run(&mut self) -> Result<Outcome, Verdict> {
        self.begin()?;
        self.load()?;
        self.end(true)?;
        let older = files_of(&self.process.node.environment);
        self.begin()?;
        self.load()?;
        let orderly = self.end(true)?;
        let files = files_of(&self.process.node.environment);
        let damages = self.process.plan.damage.clone();
        let choice = Choice { damages: &damages, files: &files, older: &older, orderly };
        let done = choice.damage(&self.process.node.environment, &mut self.random);
        let cell = done.map(|done| self.recover(&files, &done)).transpose()?;
        Ok(Outcome {
            lived: self.process.lived(),
            acknowledged: self.acknowledged,
            restarts: self.process.node.lives.saturating_sub(1),
            operations: self.process.operations,
            trace: self.process.trace(),
            damage: cell,
        })
    }

    fn recover(&mut self, files: &Files, done: &Done) -> Result<Cell, Verdict> {
        self.process.tell(|| format!("damage: {:?} of {:?}", done.damage, done.touched));
        for path in &done.touched {
            self.excuse(files, path);
        }
        let followed = self.start_and_follow(files, done)?;
        let mut fenced = false;
        for life in 0..2 + self.random.below(2) {
            if life > 0 {
                self.begin()?;
            }
            fenced |= self.live()?;
            let rests = self.random.flip();
            self.end(rests)?;
        }
        let ending = match followed.last() {
            _ if fenced => Ending::Fenced,
            Some(Followed::Accepted(_)) => Ending::Accepted,
            Some(Followed::Restored) => Ending::Restored,
            Some(Followed::Moved) => Ending::Moved,
            None => Ending::Repaired,
        };
        Ok(Cell { file_kind: done.file_kind, damage: done.damage, ending })
    }

    fn begin(&mut self) -> Result<(), Verdict> {
        let started = self.process.start(self.segment_bytes);
        started.map_err(|refused| Verdict(format!("the node does not start: {refused}")))
    }

    /// Ends the process in one of three ways; whether in order. A crash right after an acknowledgement leaves a block that no
    /// later one proves: a node alone cannot tell its damage from a torn write.
    fn end(&mut self, rests: bool) -> Result<bool, Verdict> {
        let way = self.random.below(3);
        if way == 0 {
            self.process.stop()?;
            return Ok(true);
        }
        if rests {
            self.process.rest(PROVEN)?;
        }
        self.process.end(way == 1);
        Ok(false)
    }

    /// The ranges that a damaged file held may be refused.
    fn excuse(&mut self, files: &Files, path: &Path) {
        let is_own = |group: &u64| path.parent() == Some(home().group(*group).directory().as_path());
        let Some(group) = self.process.partitions().into_iter().find(is_own) else { return };
        let Some(partition) = self.partitions.get_mut(&group) else { return };
        let last = partition.next_offset.saturating_sub(1);
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match (FileKind::of(path, files), parse_file_name(name)) {
            (Some(FileKind::List), _) => partition.excused.push((0, last)),
            (Some(FileKind::Unsealed), Some((base_offset, _))) => partition.excused.push((base_offset, last)),
            (Some(FileKind::Sealed), Some((base_offset, _))) => {
                let later = files.keys().filter(|other| other.parent() == path.parent());
                let bases = later.filter_map(|other| Some(parse_file_name(other.file_name()?.to_str()?)?.0));
                let next = bases.filter(|base| *base > base_offset).min();
                partition.excused.push((base_offset, next.map_or(last, |next| next - 1)));
            }
            _ => {}
        }
    }

    fn start_and_follow(&mut self, files: &Files, done: &Done) -> Result<Vec<Followed>, Verdict> {
        let has_copy = self.random.below(5) < 2;
        let mut followed = Vec::new();
        while let Err(refused) = self.process.start(self.segment_bytes) {
            if followed.len() == REFUSALS_MAX {
                return Err(Verdict(format!("no remedy helps: {followed:?}, {refused}")));
            }
            let environment = self.process.node.environment.clone();
            let operator =
                Operator { environment: &environment, backup: files, touched: &done.touched, has_copy };
            let remedy = operator.follow(&refused).map_err(Verdict)?;
            self.process.tell(|| format!("the operator: {remedy:?}"));
            match &remedy {
                Followed::Accepted(names) => names.iter().for_each(|name| self.give_up(name)),
                Followed::Restored => self.partitions.values_mut().for_each(|found| found.excused.clear()),
                Followed::Moved => {}
            }
            followed.push(remedy);
        }
        Ok(followed)
    }

    /// The operator has accepted a loss of this name: that of a group, or of all groups of a shard.
    fn give_up(&mut self, name: &str) {
        let of_group =
            name.split_once("group-").and_then(|(_, rest)| u64::from_str_radix(rest.get(..16)?, 16).ok());
        let shard = name.strip_prefix("shard-").and_then(|rest| rest.split_once('.')?.0.parse().ok());
        let shards = self.process.plan.shards[0];
        let is_lost = |group: u64| match of_group {
            Some(lost) => lost == group,
            None => shard == Some(owner(group, shards)),
        };
        self.metadata_may_lose |= is_lost(METADATA);
        for (group, partition) in &mut self.partitions {
            partition.may_lose |= is_lost(*group);
        }
    }

    /// One life after the damage. Whether anything is refused.
    fn live(&mut self) -> Result<bool, Verdict> {
        // What the first polls meet is named after them.
        self.read_everything()?;
        self.process.rest(VERIFIED)?;
        let readings = self.read_everything()?;
        let mut fenced = false;
        for (group, reading) in readings {
            let fences = self.process.fences.get(&group).cloned().unwrap_or_default();
            let partition = self.partitions.entry(group).or_default();
            partition
                .judge(&reading, &fences)
                .map_err(|verdict| Verdict(format!("{group:x}: {}", verdict.0)))?;
            partition.settle(&reading);
            fenced |= !reading.refused.is_empty();
        }
        self.judge_metadata()?;
        self.send_to_each()?;
        Ok(fenced)
    }

    /// A slow metadata machine still executes after a start what it had acknowledged before.
    fn judge_metadata(&mut self) -> Result<(), Verdict> {
        let may_lose = std::mem::take(&mut self.metadata_may_lose);
        let wanted = if may_lose { Op::ZERO } else { self.metadata };
        self.process.until(PATIENCE, |process| process.metadata_executed() >= wanted)?;
        let executed = self.process.metadata_executed();
        if executed < wanted {
            return Err(Verdict(format!("silent loss of the metadata from op {executed} to {wanted}")));
        }
        if may_lose {
            self.metadata = executed;
        }
        Ok(())
    }

    fn read_everything(&mut self) -> Result<BTreeMap<u64, Reading>, Verdict> {
        let mut readings = BTreeMap::new();
        for group in self.process.partitions() {
            let mut reading = self.read(group)?;
            let partition = self.partitions.entry(group).or_default();
            let consumers: Vec<u32> = partition.stored.keys().copied().collect();
            for consumer in consumers {
                let shard = self.process.node.shard_of(group);
                let stored = shard
                    .and_then(|shard| shard.log().stored_offset(group, (ConsumerKind::Consumer, consumer)));
                reading.stored.insert(consumer, stored);
            }
            readings.insert(group, reading);
        }
        for ((group, _), batch) in std::mem::take(&mut self.process.executed) {
            self.partitions.entry(group).or_default().executes(&batch);
        }
        for (group, reading) in &readings {
            let partition = self.partitions.entry(*group).or_default();
            partition
                .judge_served(reading)
                .map_err(|verdict| Verdict(format!("{group:x}: {}", verdict.0)))?;
        }
        Ok(readings)
    }

    /// Polls a partition from its first message to its last, across what is refused.
    fn read(&mut self, group: u64) -> Result<Reading, Verdict> {
        let mut reading = Reading::default();
        let mut at = 0;
        loop {
            match self.poll(group, at)? {
                Ok(found) => {
                    let Some((last, _)) = found.last().filter(|(last, _)| *last >= at) else {
                        return Ok(reading);
                    };
                    at = last + 1;
                    reading.messages.extend(found);
                }
                Err(()) => {
                    let expected = self.partitions.get(&group).map(|partition| &partition.messages);
                    if expected.is_some_and(|expected| expected.contains_key(&at)) {
                        reading.refused.insert(at);
                        at += 1;
                    }
                    let next = expected.and_then(|expected| expected.range(at..).next());
                    let Some((next, _)) = next else { return Ok(reading) };
                    at = *next;
                }
            }
        }
    }

    /// The messages from an offset on, or that they are damaged.
    fn poll(&mut self, group: u64, offset: u64) -> Result<Answered, Verdict> {
        let poll = Poll {
            group,
            consumer: (ConsumerKind::Consumer, READER),
            strategy: PollStrategy::Offset(offset),
            count: 1_000,
            reply_bytes_max: 1 << 20,
            auto_commit: false,
        };
        for _ in 0..PATIENCE / 10 {
            let Some(ticket) = self.process.poll(poll) else {
                return Err(Verdict(format!("no shard has group {group:x}")));
            };
            self.process.until(PATIENCE, |process| process.polls.contains_key(&ticket))?;
            match self.process.polls.remove(&ticket) {
                Some(Ok(polled)) => {
                    let bytes: Vec<u8> = polled.parts.iter().flat_map(|part| part.bytes()).copied().collect();
                    let found =
                        messages_of(&bytes).map_err(|what| Verdict(format!("{group:x}: a poll: {what}")))?;
                    return Ok(Ok(found));
                }
                Some(Err(refusal)) if refusal.is_damage() => return Ok(Err(())),
                Some(Err(_)) => self.process.rest(10)?,
                None => return Err(Verdict(format!("a poll of {group:x} is not answered"))),
            }
        }
        Err(Verdict(format!("polls of {group:x} are refused for good")))
    }

    /// Requests in bursts, with pauses in which segments, indexes and manifests are written.
    fn load(&mut self) -> Result<(), Verdict> {
        let groups = self.process.partitions();
        self.rouse(&groups)?;
        for _ in 0..10 + self.random.below(60) {
            let mut asked = Vec::new();
            for _ in 0..self.depth {
                let group = groups[usize::try_from(self.random.below(groups.len() as u64)).unwrap_or(0)];
                asked.push(match self.random.below(12) {
                    0 => self.store_offset(group)?,
                    1 => self.register()?,
                    _ => self.send(group)?,
                });
            }
            self.collect(asked)?;
            match self.random.below(10) {
                0 => self.process.rest(2_500)?,
                1..4 => self.process.rest(60)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Waits until every partition takes messages.
    fn rouse(&mut self, groups: &[u64]) -> Result<(), Verdict> {
        for group in groups {
            let mut tries = 0;
            loop {
                let asked = self.send(*group)?;
                if self.collect(vec![asked])? > 0 {
                    break;
                }
                tries += 1;
                if tries > PATIENCE / 10 {
                    return Err(Verdict(format!("sends to {group:x} are refused for good")));
                }
                self.process.rest(10)?;
            }
        }
        Ok(())
    }

    fn send_to_each(&mut self) -> Result<(), Verdict> {
        let groups = self.process.partitions();
        self.rouse(&groups)
    }

    fn send(&mut self, group: u64) -> Result<(Ticket, u64, Asked), Verdict> {
        let mut batch = BatchBuilder::new(self.process.wall());
        let mut left = BATCH_BYTES_MAX;
        for _ in 0..=self.random.below(4) {
            let bits = self.random.below(self.payload_bits);
            let bytes = ((1 << bits) + self.random.below(1 << bits)).min(left);
            left -= bytes;
            self.numbers += 1;
            let mut payload = self.numbers.to_le_bytes().to_vec();
            payload.extend((0..bytes).map(|_| u8::try_from(self.random.below(256)).unwrap_or(0)));
            batch = batch.message(self.numbers.into(), 0, &payload, &[]);
        }
        self.ask(group, LogOperation::Batch, CLIENT, batch.finish(), Asked::Batch)
    }

    fn store_offset(&mut self, group: u64) -> Result<(Ticket, u64, Asked), Verdict> {
        let next = self.partitions.get(&group).map_or(0, |partition| partition.next_offset);
        let offset = self.random.below(next.max(1));
        let consumer = u32::try_from(1 + self.random.below(3)).unwrap_or(1);
        let write = OffsetWrite { kind: ConsumerKind::Consumer, id: consumer.into(), offset: Some(offset) };
        let body = offsets_body(&[write]);
        self.ask(group, LogOperation::Offsets, CLIENT, body, Asked::Offset { consumer, offset })
    }

    fn register(&mut self) -> Result<(Ticket, u64, Asked), Verdict> {
        self.numbers += 1;
        let body = self.numbers.to_le_bytes().to_vec();
        self.ask(METADATA, LogOperation::Register, u128::from(1 + self.numbers % 4), body, Asked::Session)
    }

    fn ask(
        &mut self,
        group: u64,
        operation: LogOperation,
        client: u128,
        body: Vec<u8>,
        asked: Asked,
    ) -> Result<(Ticket, u64, Asked), Verdict> {
        let level = if self.random.flip() { Level::Persisted } else { Level::Replicated };
        let request =
            LogRequest { group, client, session: 0, request: 0, operation, level, body: body.into() };
        Ok((self.process.ask(request)?, group, asked))
    }

    /// Waits for answers, and enters what is acknowledged; how many that are.
    fn collect(&mut self, asked: Vec<(Ticket, u64, Asked)>) -> Result<usize, Verdict> {
        let tickets: Vec<Ticket> = asked.iter().map(|(ticket, ..)| *ticket).collect();
        let all = |process: &Process| tickets.iter().all(|ticket| process.answers.contains_key(ticket));
        self.process.until(PATIENCE, all)?;
        let mut done = Vec::new();
        for (ticket, group, asked) in asked {
            match self.process.answers.remove(&ticket) {
                Some(LogAnswer::Done { op, reply }) => done.push((group, op, reply, asked)),
                Some(_) => {}
                None => {
                    let stands = self.process.sketch(group);
                    return Err(Verdict(format!(
                        "a request of {group:x} is not answered: {asked:?}; {stands}"
                    )));
                }
            }
        }
        done.sort_by_key(|(group, op, ..)| (*group, *op));
        let mut acknowledged = 0;
        for (group, op, reply, asked) in done {
            if matches!(asked, Asked::Session) {
                self.metadata = self.metadata.max(op);
                acknowledged += 1;
                continue;
            }
            let partition = self.partitions.entry(group).or_default();
            match asked {
                _ if reply.first() != Some(&0) => continue,
                Asked::Session => {}
                Asked::Offset { consumer, offset } => {
                    partition.stored.insert(consumer, offset);
                }
                Asked::Batch => {
                    let Some(batch) = self.process.executed.get(&(group, op)) else {
                        return Err(Verdict(format!(
                            "op {op} of {group:x} is acknowledged, and was not executed"
                        )));
                    };
                    let entered = partition.acknowledges(batch);
                    entered.map_err(|what| Verdict(format!("{group:x}: {what}")))?;
                }
            }
            acknowledged += 1;
        }
        self.acknowledged += acknowledged;
        Ok(acknowledged)
    }
}
