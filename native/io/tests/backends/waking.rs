//! Sleeping ends by a wake, a deadline, or a completion, and by nothing is a wake lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ng_io::{Buffer, Driver, Environment, Operation, Wait};

use crate::rig::{PATIENCE, on_every_backend, received, rig};

on_every_backend!(
    a_wake_before_sleeping_is_not_lost,
    no_wake_of_another_thread_is_lost,
    many_wakes_are_one,
    a_deadline_ends_the_sleep,
    a_passed_deadline_and_now_do_not_sleep,
    a_wake_does_not_swallow_a_completion,
);

fn a_wake_before_sleeping_is_not_lost<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    for round in 1..=100 {
        rig.driver.waker().wake();
        let deadline = rig.driver.now() + PATIENCE;
        while rig.driver.counters().wakes < round {
            assert!(rig.driver.now() < deadline, "wake {round} was lost");
            rig.driver.complete(Wait::Until(deadline), &mut Vec::new()).expect("the driver works");
        }
    }
}

fn no_wake_of_another_thread_is_lost<E: Environment>(environment: &E) {
    const ROUNDS: u64 = 2_000;
    let mut rig = rig(environment);
    let (waker, written) = (rig.driver.waker(), Arc::new(AtomicU64::new(0)));
    let (answer, answered) = mpsc::channel();
    let written_there = Arc::clone(&written);
    let writer = thread::spawn(move || {
        for round in 1..=ROUNDS {
            // Relaxed: the wake alone has to carry the value over.
            written_there.store(round, Ordering::Relaxed);
            waker.wake();
            answered.recv().expect("the driver's thread answers");
        }
    });
    let deadline = rig.driver.now() + PATIENCE;
    for round in 1..=ROUNDS {
        while written.load(Ordering::Relaxed) < round {
            assert!(rig.driver.now() < deadline, "wake {round} was lost");
            rig.driver.complete(Wait::Until(deadline), &mut Vec::new()).expect("the driver works");
        }
        answer.send(()).expect("the writer waits");
    }
    writer.join().expect("the writer is done");
}

fn many_wakes_are_one<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let waker = rig.driver.waker();
    for _ in 0..1_000 {
        waker.clone().wake();
    }
    let deadline = rig.driver.now() + PATIENCE;
    while rig.driver.counters().wakes == 0 {
        assert!(rig.driver.now() < deadline, "no wake was noticed");
        rig.driver.complete(Wait::Until(deadline), &mut Vec::new()).expect("the driver works");
    }
    rig.poll();
    assert_eq!(rig.driver.counters().wakes, 1);
}

fn a_deadline_ends_the_sleep<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let deadline = rig.driver.now() + Duration::from_millis(30);
    let mut turns = 0;
    while rig.driver.now() < deadline {
        rig.driver.complete(Wait::Until(deadline), &mut Vec::new()).expect("the driver works");
        turns += 1;
    }
    assert!(turns <= 10, "{turns} turns are not sleep");
    assert!(rig.driver.counters().sleeps > 0);
}

fn a_passed_deadline_and_now_do_not_sleep<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let passed = rig.driver.now();
    for wait in [Wait::Now, Wait::Until(passed)] {
        let mut completions = Vec::new();
        rig.driver.complete(wait, &mut completions).expect("the driver works");
        assert!(completions.is_empty());
    }
    assert_eq!(rig.driver.counters().sleeps, 0);
}

fn a_wake_does_not_swallow_a_completion<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (socket, mut far) = rig.connection();
    for _ in 0..50 {
        let token = rig.submit(Operation::Receive { socket, buffer: Buffer::with_capacity(8), wanted: 0 });
        std::io::Write::write_all(&mut far, b"x").expect("the connection lives");
        rig.driver.waker().wake();
        assert_eq!(received(rig.outcome(token)).1, Ok(1));
    }
}
