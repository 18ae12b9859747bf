//! A journal in its steady state allocates nothing, whichever thread does its work: alone, and with so much waiting that
//! blocks queue. Here, because only here and in `io` an allocator can be made that counts.

#![allow(missing_docs)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ng_io::{
    Chunk, Completion, Driver, DriverLimits, Environment, Instant, PosixEnvironment, UringEnvironment, Wait,
};
use ng_storage::journal::shell::{JournalHome, JournalShell};
use ng_storage::journal::{Effect, Event, Limits, PrepareJournal};
use ng_storage::record::{RecordHeader, RecordKind};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, counting what all threads ask of it.
struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of this very function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Nothing of the ring is freed or made while appends are counted: they all fit the first file.
const LIMITS: Limits = Limits {
    file_bytes: 64 << 20,
    files_max: 5,
    block_bytes_target: 64 << 10,
    queued_bytes_max: 4 << 20,
    window_max: 1 << 10,
    slots_max: 1 << 10,
};

/// Rounds of an append to each group: enough for every window to become as long as it will.
const WARM_UP: u64 = 50;
const ROUNDS: u64 = 200;

const BODY_BYTES: usize = 1_024;

/// Ops of a group that stay in the journal.
const KEPT: u64 = 8;

/// One test for all: what counts is what the whole process allocates.
#[test]
fn a_steady_append_allocates_nothing() {
    assert_eq!(allocations(&PosixEnvironment), [0, 0]);
    assert_eq!(allocations(&UringEnvironment), [0, 0]);
}

/// What appends of one group at a time allocate, and of 64 groups at a time.
fn allocations<E: Environment>(environment: &E) -> [u64; 2] {
    let name = format!("append-allocations-{}-{}", environment.name(), std::process::id());
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&directory).expect("a place for files");
    let mut journal = Journal::create(environment, directory.clone());
    let counted = [1, 64].map(|groups| {
        journal.append(groups, WARM_UP);
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        journal.append(groups, ROUNDS);
        ALLOCATIONS.load(Ordering::Relaxed) - before
    });
    drop(journal);
    std::fs::remove_dir_all(directory).expect("the directory is ours");
    counted
}

struct Journal<E: Environment> {
    driver: E::Driver,
    shell: JournalShell<E>,
    core: PrepareJournal,
    effects: Vec<Effect>,
    completions: Vec<Completion>,
    headers: BTreeMap<u64, RecordHeader>,
    body: Arc<Chunk>,
}

impl<E: Environment> Journal<E> {
    fn create(environment: &E, directory: PathBuf) -> Self {
        let home = JournalHome { directory, direct: false, journal: 5, first_token: 0 };
        let limits = DriverLimits { operations_max: 16, handles_max: 16 };
        let mut driver = environment.driver(limits).expect("a driver");
        let (shell, recovered) =
            JournalShell::create(environment.clone(), &mut driver, home, LIMITS).expect("a disk");
        let (mut effects, body) = (Vec::new(), Arc::new(Chunk::from(vec![7; BODY_BYTES])));
        let core = PrepareJournal::resume(5, 1, LIMITS, recovered, &mut effects);
        let header = |group| RecordHeader::of(RecordKind::Prepare, group, &body);
        let headers = (1..=64).map(|group| (group, header(group))).collect();
        let mut journal = Self { driver, shell, core, effects, completions: Vec::new(), headers, body };
        while journal.core.files() < 2 || !journal.core.is_quiet() {
            journal.work();
        }
        journal
    }

    /// Appends to all groups, waits until that is durable, and begins again.
    fn append(&mut self, groups: u64, rounds: u64) {
        for _ in 0..rounds {
            for group in 1..=groups {
                let header = self.headers.get_mut(&group).expect("a header for each");
                header.op += 1;
                let (header, body) = (*header, Arc::clone(&self.body));
                self.core.append(header, body).expect("room");
                let released = Event::Released { group, op: header.op.saturating_sub(KEPT) };
                self.core.step(released, &mut self.effects);
            }
            while !self.core.is_quiet() {
                self.work();
            }
        }
    }

    fn work(&mut self) {
        self.core.start(&mut self.effects);
        self.shell.perform(&mut self.driver, &mut self.effects);
        let enlists = self.effects.drain(..).any(|effect| matches!(effect, Effect::Enlist { .. }));
        if enlists {
            self.core.step(Event::Enlisted, &mut self.effects);
        }
        let wait = if self.core.is_quiet() && self.core.files() > 1 {
            Wait::Now
        } else {
            Wait::Until(Instant::FAR_FUTURE)
        };
        self.driver.complete(wait, &mut self.completions).expect("the driver works");
        for completion in self.completions.drain(..) {
            if let Some(event) = self.shell.event(&mut self.driver, completion) {
                self.core.step(event, &mut self.effects);
            }
        }
    }
}
