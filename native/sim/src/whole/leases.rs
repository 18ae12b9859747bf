//! Leases of partitions, as Python has the shards cut them for jobs, and segments that jobs rewrote, as it has them
//! adopted. What a lease holds stays as it was, whatever becomes of the partition and of the process.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ng_io::simulated::Random;
use ng_io::{Environment as _, IoError, SimulatedEnvironment};
use ng_storage::PAGE;
use ng_storage::footer::{Footer, digests};
use ng_storage::segments_file::SegmentEntry;
use ng_wire::primitive::{Malformed, Reader, put_u32, put_u64};
use ng_wire::table::record::{FromPython, ToPython};
use ng_wire::table::segment_order::{AdoptionEnd, CutEnd};

use super::job::{LeasedSegment, Run, headers};
use super::model::{Model, Place};
use super::reach::Reach;
use super::reply::messages_of;
use super::world::{Happening, WholeWorld};
use crate::conditions::log_uniform;
use crate::judges::Verdict;
use crate::node::MILLI;
use crate::plan::Fault;

/// Leases at a time. The oldest ends for a new one.
const LEASES_MAX: usize = 6;

/// Segments that a job rewrites at a time.
const RUN_MAX: u64 = 3;

/// What was ordered, with what was known then.
#[derive(Clone, Debug)]
enum LeaseOrder {
    /// Entries that a shard has told of so far.
    Cut {
        lease: Lease,
        known: KnownExtent,
        entries: Vec<SegmentEntry>,
    },
    Adopt {
        place: Place,
        group: u64,
        may_be_fenced: bool,
    },
}

/// What clients knew of a partition when a cut of it was ordered.
#[derive(Clone, Copy, Debug)]
struct KnownExtent {
    readable_to: Option<u64>,
}

#[derive(Clone, Debug)]
struct Lease {
    place: Place,
    group: u64,
    purge_generation: u64,
    directory: PathBuf,
    segments: Vec<LeasedSegment>,
    /// How many of the first segments a job has rewritten, or passed over.
    rewritten: usize,
}

/// What Python knows of leases. It outlives the process, as the files do.
#[derive(Debug)]
pub(super) struct Leases {
    random: Random,
    /// Nanoseconds between two orders, on average.
    between: u64,
    tokens: u64,
    /// By token.
    waiting: BTreeMap<u64, LeaseOrder>,
    held: Vec<Lease>,
    /// Groups to which a segment was offered.
    offered_to: BTreeSet<u64>,
}

impl Leases {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x006c_6561_7365);
        Self {
            between: log_uniform(&mut random, 10, 300) * MILLI,
            random,
            tokens: 0,
            waiting: BTreeMap::new(),
            held: Vec::new(),
            offered_to: BTreeSet::new(),
        }
    }

    /// Orders that have no end yet.
    pub(super) fn owed(&self) -> Vec<u64> {
        self.waiting.keys().copied().collect()
    }

    /// The process is gone, and with it the answers.
    pub(super) fn forget_orders(&mut self) {
        self.waiting.clear();
    }

    fn rest(&mut self) -> u64 {
        1 + self.random.below(2 * self.between)
    }

    fn token(&mut self) -> u64 {
        self.tokens += 1;
        self.tokens
    }

    /// Every file of a lease has the bytes that were leased.
    pub(super) fn check(&self, environment: &SimulatedEnvironment) -> Result<(), Verdict> {
        for lease in &self.held {
            for segment in &lease.segments {
                let path = lease.directory.join(segment.entry.file_name());
                let bytes = environment.file_bytes(&path);
                let same = bytes.is_some_and(|bytes| bytes.starts_with(&segment.batches));
                if !same {
                    return Err(Verdict(format!("a lease is not what it was; {}", path.display())));
                }
            }
        }
        Ok(())
    }
}

impl Lease {
    /// Reads the files behind the names that a shard gave them, and holds each against what the shard says of it. The messages.
    fn read(
        &mut self,
        environment: &SimulatedEnvironment,
        entries: &[SegmentEntry],
    ) -> Result<Vec<(u64, Vec<u8>)>, String> {
        let mut messages = Vec::new();
        for entry in entries {
            let path = self.directory.join(entry.file_name());
            let bytes = environment.file_bytes(&path).ok_or("there is no file")?;
            let valid = usize::try_from(entry.bytes).unwrap_or(usize::MAX);
            let batches = bytes.get(..valid).ok_or("the file is shorter")?.to_vec();
            check_batches(entry, &batches)?;
            if entry.is_sealed() && entry.footer != 0 {
                let footer = bytes.get(valid.next_multiple_of(PAGE)..).unwrap_or_default();
                let (footer, checksum) = Footer::decode(footer).map_err(|fault| fault.to_string())?;
                if checksum != entry.footer || footer.digests != digests(&batches) {
                    return Err("the footer is another".to_owned());
                }
            }
            messages.extend(messages_of(&batches)?);
            self.segments.push(LeasedSegment { entry: *entry, batches });
        }
        Ok(messages)
    }
}

/// Whether the valid bytes of a segment are whole batches, and those that are said of it.
fn check_batches(entry: &SegmentEntry, batches: &[u8]) -> Result<(), String> {
    let headers = headers(batches);
    let found = (
        headers.iter().map(|header| header.length).sum::<u64>(),
        headers.iter().map(|header| u64::from(header.count)).sum::<u64>(),
        headers.iter().map(|header| header.base_timestamp).min(),
        headers.iter().map(|header| header.base_timestamp).max(),
    );
    let told = (entry.bytes, u64::from(entry.messages), Some(entry.min_timestamp), Some(entry.max_timestamp));
    if found == told { Ok(()) } else { Err(format!("it holds {found:?}, and should hold {told:?}")) }
}

impl WholeWorld {
    /// What leases hold is what they held, whatever the process and the disk went through.
    pub(super) fn check_leases(&mut self) -> Result<(), Verdict> {
        if let Some(leases) = self.leases.as_ref().filter(|leases| !leases.held.is_empty()) {
            leases.check(&self.environment)?;
            self.model.reached.saw(Reach::LeaseChecked);
        }
        Ok(())
    }

    /// The next order about a lease is due.
    pub(super) fn next_lease(&mut self) {
        if let Some(leases) = &mut self.leases {
            let next = self.now + leases.rest();
            self.at(next, Happening::Lease);
        }
    }

    /// Orders a cut, or offers what a job has made of one.
    pub(super) fn order_lease(&mut self) {
        let places = self.model.places();
        let Some(leases) = &mut self.leases else { return };
        let adopts = leases.random.flip();
        let place = usize::try_from(leases.random.below(places.len() as u64)).ok();
        let place = place.and_then(|place| places.get(place).copied());
        if self.stopping || self.disk_fails || self.disk_is_full || self.process.is_none() {
            return;
        }
        if adopts {
            self.offer();
        } else if let Some(place) = place {
            self.cut(place);
        }
    }

    fn cut(&mut self, place: Place) {
        let name = self.model.topic(place.topic).name.clone();
        let (Some(leases), Some(process)) = (&mut self.leases, &mut self.process) else { return };
        let Some(group) = process.python.group_of(&name, place.partition) else { return };
        let token = leases.token();
        let directory = PathBuf::from(format!("/data/leases/{token:x}"));
        if leases.held.len() == LEASES_MAX {
            let old = leases.held.remove(0);
            process.beside(|environment| remove(environment, &old));
        }
        if process.beside(|environment| make(environment, &directory)).is_err() {
            return;
        }
        let mut body = Vec::new();
        put_u64(&mut body, group);
        body.extend_from_slice(directory.to_string_lossy().as_bytes());
        process.python.order(FromPython::Cut, group, token, &body);
        let partition = self.model.partition(place);
        let readable_to = partition.and_then(|partition| partition.readable_to);
        let known = KnownExtent { readable_to };
        let lease =
            Lease { place, group, purge_generation: 0, directory, segments: Vec::new(), rewritten: 0 };
        leases.waiting.insert(token, LeaseOrder::Cut { lease, known, entries: Vec::new() });
        self.story.tell(self.now, || format!("order {token}: a cut of {name}/{}", place.partition));
    }

    /// A job rewrites successive sealed segments of a lease, and offers what it made.
    fn offer(&mut self) {
        let (Some(leases), Some(process)) = (&mut self.leases, &mut self.process) else { return };
        let busy: BTreeSet<u64> = leases.waiting.values().filter_map(LeaseOrder::adopts_into).collect();
        let model = &mut self.model;
        let may_offer = |lease: &&mut Lease| {
            model.must_exist(lease.place) && !busy.contains(&lease.group) && lease.next_run(1).is_some()
        };
        let Some(lease) = leases.held.iter_mut().find(may_offer) else { return };
        let count = usize::try_from(1 + leases.random.below(RUN_MAX)).unwrap_or(1);
        let (salt, drops) = (leases.random.next(), leases.random.below(4));
        let keeps = |offset: u64| Random::new(salt ^ offset).below(4) >= drops;
        leases.tokens += 1;
        let token = leases.tokens;
        let Some(range) = lease.next_run(count) else { return };
        let segments = &lease.segments[range.clone()];
        let directory = lease.directory.join(format!("outputs-{token:x}"));
        let (group, place, purge_generation) = (lease.group, lease.place, lease.purge_generation);
        let run = Run { group, partition: place.partition, purge_generation, segments };
        let swap = process.beside(|environment| run.rewrite(environment, &directory, keeps));
        let offsets =
            segments.iter().flat_map(|segment| segment.entry.base_offset..=segment.entry.last_offset);
        let gone: BTreeSet<u64> = offsets.filter(|offset| !keeps(*offset)).collect();
        lease.rewritten = range.end;
        let Some(swap) = swap else { return };
        let mut body = Vec::new();
        put_u64(&mut body, group);
        put_u32(&mut body, u32::try_from(swap.len()).unwrap_or(u32::MAX));
        body.extend_from_slice(&swap);
        body.extend_from_slice(directory.to_string_lossy().as_bytes());
        process.python.order(FromPython::Adopt, group, token, &body);
        if let Some(partition) = model.partition_mut(place) {
            partition.gaps.offer(token, gone);
            partition.front.merges();
        }
        // Another job, or a request, may have been there before.
        let may_be_fenced = !leases.offered_to.insert(group) || self.plan.drops;
        leases.waiting.insert(token, LeaseOrder::Adopt { place, group, may_be_fenced });
        self.story.tell(self.now, || format!("order {token}: an adoption into {group:x} of {range:?}"));
    }

    /// Takes what shards say of orders.
    pub(super) fn take_lease_records(&mut self) -> Result<(), Verdict> {
        let Some(process) = &mut self.process else { return Ok(()) };
        for (kind, token, body) in std::mem::take(&mut process.python.told) {
            let taken = match kind {
                ToPython::Cut => self.take_cut(token, &body),
                _ => self.take_adopted(token, &body),
            };
            self.story.tell(self.now, || format!("order {token} ends: {:?}", body.get(..2)));
            taken.map_err(|what| Verdict(format!("order about a lease: {what}; {token}")))?;
        }
        Ok(())
    }

    fn take_cut(&mut self, token: u64, body: &[u8]) -> Result<(), String> {
        let unreadable = |fault: Malformed| format!("a cut that cannot be read: {fault:?}");
        let order = self.leases.as_mut().and_then(|leases| leases.waiting.remove(&token));
        let Some(LeaseOrder::Cut { mut lease, known, mut entries }) = order else {
            return Err("a cut that was not ordered".to_owned());
        };
        let mut reader = Reader::new(body);
        let (is_last, end) = (reader.u8().map_err(unreadable)?, reader.u8().map_err(unreadable)?);
        let must_exist = self.model.must_exist(lease.place);
        match CutEnd::from_code(end) {
            Some(CutEnd::Done) => {}
            Some(CutEnd::Busy) => return Ok(()),
            Some(CutEnd::NoGroup) if !must_exist => return Ok(()),
            Some(CutEnd::Failed | CutEnd::Full) if self.disk_may_fail() => return Ok(()),
            other => return Err(format!("a cut ends with {other:?}")),
        }
        lease.purge_generation = reader.u64().map_err(unreadable)?;
        let last_offset = Some(reader.u64().map_err(unreadable)?).filter(|last| *last != u64::MAX);
        read_entries(&mut reader, &mut entries).map_err(unreadable)?;
        let Some(leases) = &mut self.leases else { return Ok(()) };
        if is_last == 0 {
            leases.waiting.insert(token, LeaseOrder::Cut { lease, known, entries });
            return Ok(());
        }
        let messages = lease.read(&self.environment, &entries)?;
        if must_exist {
            known.check(lease.place, last_offset, &messages, &mut self.model)?;
        }
        self.model.reached.saw(Reach::Leased);
        if entries.iter().any(|entry| entry.footer == 0) {
            self.model.reached.saw(Reach::LeasedUnsealed);
        }
        leases.held.push(lease);
        Ok(())
    }

    fn take_adopted(&mut self, token: u64, body: &[u8]) -> Result<(), String> {
        let order = self.leases.as_mut().and_then(|leases| leases.waiting.remove(&token));
        let Some(LeaseOrder::Adopt { place, may_be_fenced, .. }) = order else {
            return Err("an adoption that was not ordered".to_owned());
        };
        let end = body.first().and_then(|code| AdoptionEnd::from_code(*code));
        let must_exist = self.model.must_exist(place);
        let now = self.now;
        if let Some(partition) = self.model.partition_mut(place) {
            if end == Some(AdoptionEnd::Done) {
                partition.gaps.adopted(token, now);
            } else {
                partition.gaps.refused(token);
            }
        }
        match end {
            Some(AdoptionEnd::Done) => self.model.reached.saw(Reach::Adopted),
            Some(AdoptionEnd::Busy) => {}
            Some(AdoptionEnd::Fenced) if may_be_fenced || !must_exist => {
                self.model.reached.saw(Reach::AdoptionFenced);
            }
            Some(AdoptionEnd::NoGroup) if !must_exist => {}
            Some(AdoptionEnd::Failed) if self.disk_may_fail() => {}
            other => return Err(format!("an adoption ends with {other:?}")),
        }
        Ok(())
    }

    fn disk_may_fail(&self) -> bool {
        let fails = [Fault::WriteError, Fault::ReadError, Fault::FullDisk];
        fails.into_iter().any(|fault| self.plan.has(fault))
    }
}

impl LeaseOrder {
    /// The group into which it adopts a segment.
    const fn adopts_into(&self) -> Option<u64> {
        match self {
            Self::Adopt { group, .. } => Some(*group),
            Self::Cut { .. } => None,
        }
    }
}

impl KnownExtent {
    /// A cut holds everything that was acknowledged before it was ordered, but for what may have gone. It has whole
    /// segments: the first of them may begin before what is left.
    fn check(
        self,
        place: Place,
        last_offset: Option<u64>,
        messages: &[(u64, Vec<u8>)],
        model: &mut Model,
    ) -> Result<(), String> {
        model.learn_all("a cut", place, messages, false)?;
        let behind = last_offset.map_or(0, |last| last + 1);
        let first = messages.first().map_or(behind, |(offset, _)| *offset);
        let Some(readable_to) = self.readable_to else { return Ok(()) };
        if behind <= readable_to {
            return Err(format!("a cut ends before {behind}, and {readable_to} could be read"));
        }
        model.front_is_at(place, 0, first)?;
        let end = messages.last().map_or(behind, |(offset, _)| offset + 1);
        let is_whole = model.partition(place).is_none_or(|partition| partition.gaps.may_cover(end..behind));
        if is_whole { Ok(()) } else { Err(format!("a cut lacks the messages from {end} to {behind}")) }
    }
}

impl Lease {
    /// At most so many successive sealed segments that no job has rewritten.
    fn next_run(&self, count: usize) -> Option<std::ops::Range<usize>> {
        let is_sealed = |segment: &LeasedSegment| segment.entry.footer != 0;
        let first = self.rewritten + self.segments.iter().skip(self.rewritten).position(is_sealed)?;
        let run = self.segments[first..].iter().take(count).take_while(|segment| is_sealed(segment)).count();
        Some(first..first + run)
    }
}

fn read_entries(reader: &mut Reader<'_>, into: &mut Vec<SegmentEntry>) -> Result<(), Malformed> {
    while reader.remaining() > 0 {
        into.push(SegmentEntry {
            base_offset: reader.u64()?,
            last_offset: reader.u64()?,
            min_timestamp: reader.u64()?,
            max_timestamp: reader.u64()?,
            bytes: reader.u64()?,
            messages: reader.u32()?,
            generation: reader.u32()?,
            footer: reader.u128()?,
        });
    }
    Ok(())
}

/// Makes the directory of a lease, for good.
fn make(environment: &SimulatedEnvironment, directory: &Path) -> Result<(), IoError> {
    environment.make_directories(directory)?;
    for above in directory.ancestors().skip(1).take(2) {
        environment.sync_directory(above)?;
    }
    Ok(())
}

/// Ends a lease. What cannot be removed lies there for longer.
fn remove(environment: &SimulatedEnvironment, lease: &Lease) {
    for segment in &lease.segments {
        environment.remove_file(&lease.directory.join(segment.entry.file_name())).ok();
    }
}
