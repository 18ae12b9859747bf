//! A journal on a real disk, driven as a shard drives it.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ng_io::{Chunk, Driver, DriverLimits, Environment, Wait};
use ng_storage::journal::recovery::Recovered;
use ng_storage::journal::shell::{JournalHome, JournalShell};
use ng_storage::journal::{Effect, Event, Limits, PrepareJournal, Refused};
use ng_storage::record::{BodyCheck, RecordHeader, RecordKind};
use ng_wire::batch::build;

use crate::sample::{Sample, cpu_time};

pub(crate) const LIMITS: Limits = Limits {
    file_bytes: 64 << 20,
    files_max: 16,
    block_bytes_target: 1 << 20,
    queued_bytes_max: 16 << 20,
    window_max: 1 << 20,
    slots_max: 1 << 22,
};

const DRIVER: DriverLimits = DriverLimits { operations_max: 64, handles_max: 64 };

/// Files that the ring has grown to before anything is measured.
pub(crate) const FILES: u32 = 8;

/// Ops that a group leaves in the journal.
const KEPT: u64 = 8;

pub(crate) struct Bed<E: Environment> {
    driver: E::Driver,
    shell: JournalShell<E>,
    journal: PrepareJournal,
    effects: Vec<Effect>,
    next: BTreeMap<u64, u64>,
    /// Group, op and when it was appended, by block.
    waiting: VecDeque<(u64, u64, u64, Instant)>,
    through: u64,
    writes: u64,
    syncs: u64,
}

pub(crate) fn home(directory: &Path) -> JournalHome {
    JournalHome { directory: directory.to_owned(), direct: true, journal: 5, first_token: 0 }
}

impl<E: Environment> Bed<E> {
    pub(crate) fn found(environment: &E, directory: &Path) -> Self {
        for file in 0..LIMITS.files_max {
            let _ = std::fs::remove_file(directory.join(ng_storage::journal::shell::file_name(file)));
        }
        let mut driver = environment.driver(DRIVER).expect("a driver");
        let (shell, recovered) =
            JournalShell::create(environment.clone(), &mut driver, home(directory), LIMITS).expect("a disk");
        Self::start(driver, shell, recovered)
    }

    fn start(driver: E::Driver, shell: JournalShell<E>, recovered: Recovered) -> Self {
        let mut effects = Vec::new();
        let journal = PrepareJournal::resume(5, 1, LIMITS, recovered, &mut effects);
        let (next, waiting) = (BTreeMap::new(), VecDeque::new());
        let mut bed =
            Self { driver, shell, journal, effects, next, waiting, through: 0, writes: 0, syncs: 0 };
        bed.grow();
        bed
    }

    /// Lets the ring grow to what a full one has: making files is not what a steady shard does.
    fn grow(&mut self) {
        let body = sealed(1 << 20);
        while self.journal.files() < FILES {
            if self.journal.has_room(1, self.next.get(&1).copied().unwrap_or(1), 1 << 20) {
                self.append(1, &body);
            }
            self.work();
        }
        let last = self.next.get(&1).copied().unwrap_or(1) - 1;
        self.journal.step(Event::Released { group: 1, op: last }, &mut self.effects);
        while !self.journal.is_quiet() {
            self.work();
        }
        self.waiting.clear();
    }

    /// Keeps one append of each group under way.
    pub(crate) fn run(&mut self, groups: u64, length: usize, turn: Duration) -> Sample {
        let body = sealed(length);
        let mut sample = Sample::default();
        (self.writes, self.syncs) = (0, 0);
        let (start, cpu, calls) = (Instant::now(), cpu_time(), self.driver.counters().syscalls);
        for group in 1..=groups {
            self.append(group, &body);
        }
        while !self.waiting.is_empty() {
            self.work();
            while let Some((block, group, op, begun)) = self.waiting.front().copied() {
                if block > self.through {
                    break;
                }
                self.waiting.pop_front();
                sample.latencies.push(begun.elapsed());
                sample.bytes += length as u64;
                self.release(group, op);
                if start.elapsed() < turn {
                    self.append(group, &body);
                }
            }
        }
        sample.time = start.elapsed();
        sample.cpu = cpu_time().saturating_sub(cpu);
        sample.syscalls = self.driver.counters().syscalls - calls;
        (sample.writes, sample.syncs) = (self.writes, self.syncs);
        sample
    }

    /// Appends so many bytes of small records, so that there is something to recover. Returns where each group stands.
    pub(crate) fn write(mut self, bytes: u64, length: usize) -> BTreeMap<u64, u64> {
        let body = sealed(length);
        let mut left = bytes;
        while left > 0 {
            for group in 1..=256 {
                self.append(group, &body);
                left = left.saturating_sub(length as u64);
            }
            while let Some((_, group, op, _)) = self.waiting.pop_front() {
                self.release(group, op);
            }
            self.work();
        }
        while !self.journal.is_quiet() {
            self.work();
        }
        self.next.iter().map(|(group, next)| (*group, next.saturating_sub(KEPT + 1))).collect()
    }

    fn append(&mut self, group: u64, sealed: &Sealed) {
        let op = self.next.get(&group).copied().unwrap_or(1);
        let header = RecordHeader { op, group, ..sealed.header };
        loop {
            let begun = Instant::now();
            match self.journal.append(header, Arc::clone(&sealed.body)) {
                Ok(position) => {
                    self.waiting.push_back((position.block, group, op, begun));
                    self.next.insert(group, op + 1);
                    return;
                }
                Err(Refused::Busy) => self.work(),
                Err(refused) => unreachable!("{refused}"),
            }
        }
    }

    fn release(&mut self, group: u64, op: u64) {
        let released = Event::Released { group, op: op.saturating_sub(KEPT) };
        self.journal.step(released, &mut self.effects);
    }

    fn work(&mut self) {
        self.journal.start(&mut self.effects);
        for effect in &self.effects {
            match effect {
                Effect::Write { .. } => self.writes += 1,
                Effect::Sync { .. } => self.syncs += 1,
                Effect::Durable { through, .. } => self.through = *through,
                _ => {}
            }
        }
        let was_durable = self.effects.iter().any(|effect| matches!(effect, Effect::Durable { .. }));
        self.shell.perform(&mut self.driver, &mut self.effects);
        for effect in std::mem::take(&mut self.effects) {
            if let Effect::Enlist { .. } = effect {
                self.journal.step(Event::Enlisted, &mut self.effects);
            }
        }
        let far = ng_io::Instant::FAR_FUTURE;
        let wait = if was_durable || self.journal.is_quiet() { Wait::Now } else { Wait::Until(far) };
        let mut completions = Vec::with_capacity(8);
        self.driver.complete(wait, &mut completions).expect("the driver works");
        for completion in completions {
            if let Some(event) = self.shell.event(&mut self.driver, completion) {
                self.journal.step(event, &mut self.effects);
            }
        }
    }
}

/// A body and a header that was sealed over it.
pub(crate) struct Sealed {
    header: RecordHeader,
    body: Arc<Chunk>,
}

/// A batch of one message, so that what is measured is what a shard appends.
fn sealed(length: usize) -> Sealed {
    let empty = build(1, &[&[]]).len();
    let payload: Vec<u8> = (0..length - empty).map(|at| (at * 31 / 7).to_le_bytes()[0]).collect();
    let body = build(1, &[&payload]);
    let body_check = BodyCheck::Batch;
    let header = RecordHeader {
        body_check,
        body_checksum: body_check.checksum(&body),
        ..RecordHeader::of(RecordKind::Prepare, 1, &body)
    };
    Sealed { header, body: Arc::new(body.into()) }
}
