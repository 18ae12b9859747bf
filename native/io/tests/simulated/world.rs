//! Time: a machine's own and that of a world; starts that wait; writes that outlive their process.

use std::path::Path;
use std::time::Duration;

use ng_io::simulated::{Faults, SimulatedClock};
use ng_io::{
    Driver, Environment, FileOptions, Instant, Operation, Outcome, SimulatedEnvironment, Token, Wait,
};

use crate::rig::{LIMITS, attach, attach_to, disk};

const LOCKED: FileOptions = FileOptions { lock: true, ..FileOptions::WRITE };

#[test]
fn waiting_moves_the_clock_and_nothing_else_does() {
    let mut disk = disk(3);
    assert_eq!(disk.environment.now(), Instant::from_nanos(0));
    disk.driver.complete(Wait::Now, &mut Vec::new()).expect("alive");
    assert_eq!(disk.environment.now(), Instant::from_nanos(0));
    let deadline = Instant::from_nanos(5_000_000);
    disk.driver.complete(Wait::Until(deadline), &mut Vec::new()).expect("alive");
    assert_eq!((disk.environment.now(), disk.driver.now()), (deadline, deadline));
}

#[test]
fn waiting_for_nothing_for_ever_is_an_error() {
    let mut disk = disk(1);
    let endless = disk.driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut Vec::new());
    assert_eq!(endless.expect_err("nothing will happen").errno(), libc::EDEADLK);
    assert_eq!(disk.environment.now(), Instant::from_nanos(0));
}

#[test]
fn a_shared_clock_is_moved_by_its_owner_alone() {
    let clock = SimulatedClock::new();
    let mut machines = [1, 2].map(|seed| attach(SimulatedEnvironment::on(&clock, seed)));
    for machine in &mut machines {
        assert_eq!(machine.driver.next_completion(), None);
        machine.driver.submit(Token(1), Operation::Sync { file: machine.file });
    }
    let mut done = Vec::new();
    for machine in &mut machines {
        machine.driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut done).expect("alive");
    }
    assert_eq!((done.len(), clock.now()), (0, 0));
    let mut ends = machines.iter().map(|machine| machine.driver.next_completion().expect("under way"));
    let (first, second) = (ends.next().expect("two"), ends.next().expect("two"));
    drop(ends);
    clock.advance_to(first.min(second));
    clock.advance_to(0);
    for machine in &mut machines {
        assert_eq!(machine.environment.now(), Instant::from_nanos(first.min(second)));
        machine.driver.complete(Wait::Now, &mut done).expect("alive");
    }
    assert_eq!(done.len(), 1, "two machines have two fates");
    clock.advance_to(first.max(second));
    for machine in &mut machines {
        machine.driver.complete(Wait::Now, &mut done).expect("alive");
        assert_eq!(machine.driver.next_completion(), None);
    }
    assert_eq!(done.len(), 2);
}

#[test]
fn a_start_waits_without_moving_the_world() {
    let clock = SimulatedClock::new();
    clock.advance_to(1_000);
    let environment = SimulatedEnvironment::on(&clock, 3);
    let mut disk = environment.boot(|| {
        let mut disk = attach(environment.clone());
        for page in 0..20 {
            disk.write(page * 4096, &[1; 4096]).expect("a good disk");
            disk.sync().expect("a good disk");
        }
        let soon = disk.driver.now() + Duration::from_millis(5);
        disk.driver.complete(Wait::Until(soon), &mut Vec::new()).expect("alive");
        assert_eq!(disk.driver.now(), soon);
        disk
    });
    assert_eq!(clock.now(), 1_000);
    let ahead = environment.now();
    assert!(ahead >= Instant::from_nanos(5_001_000), "{ahead:?}");
    disk.driver.submit(Token(1), Operation::Sync { file: disk.file });
    let ends = disk.driver.next_completion().expect("under way");
    assert!(ends > ahead.as_nanos());
    let mut done = Vec::new();
    disk.driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut done).expect("alive");
    clock.advance_to(2_000_000);
    assert_eq!(environment.now(), ahead, "it stands until the world has caught up");
    clock.advance_to(ends - 1);
    disk.driver.complete(Wait::Now, &mut done).expect("alive");
    assert!(done.is_empty());
    clock.advance_to(ends);
    disk.driver.complete(Wait::Now, &mut done).expect("alive");
    assert_eq!(done.len(), 1);
}

#[test]
fn wall_clocks_differ_and_jump() {
    let clock = SimulatedClock::new();
    let [one, other] = [1, 2].map(|seed| SimulatedEnvironment::on(&clock, seed));
    assert_eq!(one.wall(), other.wall());
    one.set_wall_offset(-3_000_000);
    assert_eq!(one.wall().0 + 3_000_000, other.wall().0);
    other.set_wall_offset(5);
    clock.advance_to(7_000);
    assert_eq!(one.wall().0 + 3_000_005, other.wall().0);
    assert_eq!((one.now(), other.now()), (Instant::from_nanos(7_000), Instant::from_nanos(7_000)));
}

#[test]
fn a_write_of_a_dead_process_lands_when_the_next_one_has_opened_the_file() {
    let mut later = 0;
    for seed in 0..50 {
        let clock = SimulatedClock::new();
        let environment = SimulatedEnvironment::on(&clock, seed);
        environment.set_faults(Faults { late_writes: 1000, ..Faults::default() });
        let mut dead = attach(environment.clone());
        let write = dead.write_operation(0, &[2; 4096], false);
        dead.driver.submit(Token(1), write);
        environment.kill();
        let mut next = attach(environment.clone());
        assert_eq!(next.content(), [], "not yet");
        let found = environment.boot(|| next.read(0, 4096)).expect("a good disk");
        later += u32::from(found.is_empty());
        clock.advance_to(1_000_000_000);
        assert_eq!(next.content(), [2; 4096], "seed {seed}");
        drop(dead);
    }
    assert!(later > 40, "{later}");
}

#[test]
fn a_lock_holds_until_the_last_write_of_a_dead_process_has_landed() {
    for seed in 0..50 {
        let environment = SimulatedEnvironment::new(seed);
        environment.set_faults(Faults { late_writes: 700, ..Faults::default() });
        let path = Path::new("file");
        let mut dead = attach_to(environment.clone(), path, LOCKED);
        for page in 0..4 {
            let write = dead.write_operation(page * 4096, &[2; 4096], false);
            dead.driver.submit(Token(page), write);
        }
        environment.kill();
        let mut driver = environment.driver(LIMITS).expect("a driver");
        let mut waited = 0;
        let opened = loop {
            match environment.open_file(path, LOCKED) {
                Err(error) if error.is_held() => {
                    waited += 1;
                    let soon = driver.now() + Duration::from_millis(2);
                    driver.complete(Wait::Until(soon), &mut Vec::new()).expect("alive");
                }
                opened => break opened.expect("it is there"),
            }
        };
        assert!(waited < 20, "seed {seed}");
        let found = environment.file_bytes(path);
        let much_later = driver.now() + Duration::from_secs(1);
        driver.complete(Wait::Until(much_later), &mut Vec::new()).expect("alive");
        assert_eq!(environment.file_bytes(path), found, "seed {seed}: nothing lands in a locked file");
        drop(opened);
    }
}

#[test]
fn a_process_that_is_gone_holds_no_lock() {
    for end in [SimulatedEnvironment::kill, SimulatedEnvironment::cut_power] {
        let environment = SimulatedEnvironment::new(1);
        let holder = attach_to(environment.clone(), Path::new("file"), LOCKED);
        environment.open_file(Path::new("file"), LOCKED).expect_err("somebody holds it");
        end(&environment);
        let next = environment.open_file(Path::new("file"), LOCKED).expect("nobody holds it");
        drop(holder);
        environment.open_file(Path::new("file"), LOCKED).expect_err("the next one holds it");
        drop(next);
        environment.open_file(Path::new("file"), LOCKED).expect("nobody holds it");
    }
}

#[test]
fn a_kill_does_what_was_asked_of_names_or_not() {
    let mut outcomes = std::collections::BTreeSet::new();
    for seed in 0..40 {
        let mut disk = disk(seed);
        disk.driver.submit(Token(1), Operation::MakeDirectory { path: "d".into() });
        disk.driver.submit(Token(2), Operation::Open { path: "f".into(), options: LOCKED });
        disk.environment.kill();
        let names = disk.environment.list_directory(Path::new("")).expect("the root");
        disk.environment.open_file(Path::new("f"), LOCKED).expect("nobody holds it");
        outcomes.insert(names);
    }
    assert_eq!(outcomes.len(), 4);
}

#[test]
fn opening_takes_its_time_and_may_come_after_other_work() {
    let mut disk = disk(4);
    let before = disk.environment.now();
    let Outcome::Opened(opened) = disk.run(Operation::Open { path: "g".into(), options: LOCKED }) else {
        panic!("not of an open")
    };
    disk.file = opened.expect("a new file");
    assert!(disk.environment.now() > before);
    disk.write(0, b"x").expect("a good disk");
    assert_eq!(disk.environment.file_bytes(Path::new("g")), Some(b"x".to_vec()));
}
