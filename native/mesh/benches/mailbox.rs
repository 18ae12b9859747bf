//! Latency of one hop between shards through a mailbox: on one core, across cores between awake shards, and
//! across cores to a sleeping shard, which must be rung.

#![allow(missing_docs)]

use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use ng_control::shard_id::ShardId;
use ng_io::{Driver, DriverLimits, Environment, Instant, IoError, PosixEnvironment, Wait, affinity};
use ng_mesh::frame::{Lifecycle, ShardFrame};
use ng_mesh::mailbox::{Mailboxes, ShardBell, mesh};

const NEAR: ShardId = ShardId(0);
const FAR: ShardId = ShardId(1);
const INBOX_CAPACITY: usize = 1024;
const LIMITS: DriverLimits = DriverLimits { operations_max: 8, handles_max: 8 };

type PosixDriver = <PosixEnvironment as Environment>::Driver;

fn hop(criterion: &mut Criterion) {
    one_core(criterion);
    let cpus = affinity::usable_cpus().expect("the kernel lists the CPUs");
    let [near, far, ..] = cpus.as_slice() else {
        eprintln!("hops across cores need two CPUs");
        return;
    };
    affinity::pin_current_thread(*near).expect("a usable CPU");
    across(criterion, *far, "awake", Rest::Spin);
    across(criterion, *far, "asleep", Rest::Sleep);
}

fn frame() -> ShardFrame {
    ShardFrame::Lifecycle(Lifecycle::Closed { client_id: 7 })
}

/// Send, flush and receive on one thread: the cost of the ring and of the doorbell's check.
fn one_core(criterion: &mut Criterion) {
    let (mut near, mut far) = pair();
    let drivers = [driver(), driver()];
    let bells: Vec<Arc<ShardBell>> = drivers.iter().map(bell).collect();
    criterion.bench_function("mailbox hop/one core", |bencher| {
        bencher.iter(|| {
            near.send(FAR, frame());
            near.flush(&bells);
            far.receive().expect("it was sent just now")
        });
    });
}

/// How a shard waits for its next frame.
#[derive(Clone, Copy)]
enum Rest {
    Spin,
    Sleep,
}

/// Round trip between two pinned threads: two hops per iteration.
fn across(criterion: &mut Criterion, cpu: usize, name: &str, rest: Rest) {
    let (mut near, far) = pair();
    let over = Arc::new(AtomicBool::new(false));
    let over_there = over.clone();
    let (its_bell, from_there) = mpsc::channel();
    let (bells_there, from_here) = mpsc::channel();
    let echo = thread::spawn(move || {
        affinity::pin_current_thread(cpu).expect("a usable CPU");
        let driver = driver();
        its_bell.send(bell(&driver)).expect("the other side waits for it");
        let bells = from_here.recv().expect("the other side sends it");
        answer_all(far, ShardSetup { own: FAR, driver, bells, rest }, &over_there);
    });
    let driver = driver();
    let bells = vec![bell(&driver), from_there.recv().expect("the thread has begun")];
    bells_there.send(bells.clone()).expect("the thread waits for it");
    let mut setup = ShardSetup { own: NEAR, driver, bells, rest };
    criterion.bench_function(&format!("mailbox there and back/across cores, {name}"), |bencher| {
        bencher.iter(|| {
            near.send(FAR, frame());
            near.flush(&setup.bells);
            assert!(setup.wait(&near, &over).expect("the driver works"), "the run is not over");
            near.receive().expect("the wait ended with a frame")
        });
    });
    over.store(true, Ordering::Release);
    setup.bells[FAR.index()].receiver().wake();
    echo.join().expect("the other side ends when the run is over");
}

fn answer_all(mut mailboxes: Mailboxes, mut setup: ShardSetup, over: &AtomicBool) {
    while setup.wait(&mailboxes, over).expect("the driver works") {
        mailboxes.receive().expect("the wait ended with a frame");
        mailboxes.send(NEAR, frame());
        mailboxes.flush(&setup.bells);
    }
}

/// One side. Its mailboxes are separate, because a wait borrows them only to look.
struct ShardSetup {
    own: ShardId,
    driver: PosixDriver,
    bells: Vec<Arc<ShardBell>>,
    rest: Rest,
}

impl ShardSetup {
    /// Waits for a frame as a shard does; returns false when the run is over.
    fn wait(&mut self, mailboxes: &Mailboxes, over: &AtomicBool) -> Result<bool, IoError> {
        let bell = &self.bells[self.own.index()];
        while mailboxes.is_empty() {
            if over.load(Ordering::Acquire) {
                return Ok(false);
            }
            match self.rest {
                Rest::Spin => hint::spin_loop(),
                Rest::Sleep if bell.may_sleep(|| mailboxes.is_empty()) => {
                    self.driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut Vec::new())?;
                    bell.awake();
                }
                Rest::Sleep => {}
            }
        }
        Ok(true)
    }
}

fn pair() -> (Mailboxes, Mailboxes) {
    let mut all = mesh(2, INBOX_CAPACITY / 2).into_iter();
    all.next().zip(all.next()).expect("a mesh of two")
}

fn driver() -> PosixDriver {
    PosixEnvironment.driver(LIMITS).expect("posix is always there")
}

fn bell(driver: &PosixDriver) -> Arc<ShardBell> {
    Arc::new(ShardBell::new(driver.waker()))
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(20);
    targets = hop
}
criterion_main!(benches);
