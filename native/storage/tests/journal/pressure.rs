//! A ring that is full, a disk that is full, a disk that fails.

use std::collections::BTreeMap;

use ng_io::simulated::Faults;
use ng_storage::journal::recovery::Recovered;
use ng_storage::journal::{Effect, Event, Limits, PrepareJournal, Refused, UNSYNCED_MAX};
use ng_storage::record::{RecordHeader, RecordKind};

use crate::rig::{LIMITS, Rig, prepare};

fn body(op: u64) -> Vec<u8> {
    vec![op.to_le_bytes()[0]; 3_000]
}

/// Appends one op, releasing nothing; lets the disk work while it is busy.
fn append(rig: &mut Rig, group: u64, op: u64) -> Result<(), Refused> {
    for _ in 0..200 {
        match rig.append(prepare(group, op, 1, &body(op)), body(op)) {
            Err(Refused::Busy) => {
                rig.work(500_000);
            }
            other => return other.map(|_| ()),
        }
    }
    Err(Refused::Busy)
}

#[test]
fn a_group_that_never_releases_does_not_stop_another() {
    let mut rig = Rig::create(21);
    for op in 1..=10 {
        append(&mut rig, 1, op).expect("room");
    }
    // Many times the ring's bytes go by.
    for op in 1..=1_000 {
        append(&mut rig, 2, op).expect("the ring goes round");
        rig.work(300_000);
        if op > 5 {
            rig.step(Event::Released { group: 2, op: op - 5 });
        }
    }
    rig.settle();
    assert_eq!(rig.journal.files(), LIMITS.files_max);
    rig.environment.cut_power();
    let found = rig.reopen(&BTreeMap::from([(2, 995)]));
    assert_eq!(found.recovered.damage, []);
    for op in 1..=10 {
        assert_eq!(found.body(1, op), Some(body(op)), "relocated again and again: op {op}");
    }
}

#[test]
fn live_bytes_have_a_limit_and_release_heals() {
    let mut rig = Rig::create(22);
    let full = (1..=60).find(|op| append(&mut rig, 1, *op) == Err(Refused::Busy)).expect("it fills up");
    assert!(full > 20, "{full}");
    rig.step(Event::Released { group: 1, op: full - 2 });
    for op in full..full + 20 {
        append(&mut rig, 1, op).expect("there is room again");
        rig.step(Event::Released { group: 1, op: op - 2 });
    }
}

#[test]
fn an_idle_shard_has_two_files_and_the_ring_grows_on_demand() {
    let mut rig = Rig::create(23);
    rig.settle();
    assert_eq!(rig.journal.files(), 2);
    for op in 1..=25 {
        append(&mut rig, 1, op).expect("room");
    }
    rig.settle();
    assert_eq!(rig.journal.files(), 3);
}

#[test]
fn a_full_disk_is_back_pressure_that_heals() {
    let mut rig = Rig::create(24);
    rig.settle();
    rig.environment.set_capacity(2 * LIMITS.file_bytes);
    let taken = |rig: &mut Rig, op| {
        rig.step(Event::Released { group: 1, op: op - 1 });
        append(rig, 1, op) != Err(Refused::Busy)
    };
    let full = (1..=60).find(|op| !taken(&mut rig, *op)).expect("it fills up");
    assert_eq!(rig.fault, None, "no space for a file is not a failure");
    rig.environment.set_capacity(u64::MAX);
    rig.step(Event::Idle);
    for op in full..full + 100 {
        assert!(taken(&mut rig, op), "the ring has grown");
    }
}

#[test]
fn a_failed_write_or_sync_is_the_end_and_says_where() {
    let faults =
        [Faults { write_error: 1000, ..Faults::default() }, Faults { sync_error: 1000, ..Faults::default() }];
    for (faults, operation) in faults.into_iter().zip(["write", "sync"]) {
        let mut rig = Rig::create(25);
        rig.settle();
        let durable = rig.durable;
        rig.environment.set_faults(faults);
        rig.append(prepare(1, 1, 1, b"body"), b"body".to_vec()).expect("room");
        rig.settle();
        let fault = rig.fault.expect("the journal ends the process");
        assert_eq!((fault.file, fault.error.operation()), (0, operation));
        assert!(fault.to_string().starts_with("journal-00000000: "), "{fault}");
        rig.environment.set_faults(Faults::default());
        let refused = rig.append(prepare(1, 2, 1, b"body"), b"body".to_vec());
        assert_eq!(refused, Err(Refused::Failed));
        assert!(!rig.work(1_000_000), "nothing is tried again");
        assert_eq!(rig.durable, durable, "nothing is acknowledged any more");
    }
}

#[test]
fn a_sync_that_never_ends_stops_the_writes_within_the_window() {
    let mut effects = Vec::new();
    let limits = Limits { file_bytes: 1 << 20, ..LIMITS };
    let mut journal = PrepareJournal::resume(1, 1, limits, Recovered::empty(2), &mut effects);
    let (mut written, mut syncs) = (0, 0);
    for op in 1..=200 {
        let _ = journal.append(prepare(1, op, 1, b""), Vec::new(), &mut effects);
        for effect in std::mem::take(&mut effects) {
            match effect {
                Effect::Write { .. } => {
                    written += 1;
                    journal.step(Event::Written(Ok(())), &mut effects);
                }
                Effect::Sync { .. } => syncs += 1,
                _ => {}
            }
        }
        journal.step(Event::Released { group: 1, op }, &mut effects);
    }
    assert!(
        written > UNSYNCED_MAX / 2 && written <= UNSYNCED_MAX,
        "{written} blocks are written and not synced"
    );
    assert_eq!((syncs, journal.synced_through()), (1, 0));
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_written() {
    let mut rig = Rig::create(26);
    rig.settle();
    let large = vec![0; LIMITS.body_bytes_max() + 1];
    assert_eq!(rig.append(prepare(1, 1, 1, &large), large.clone()), Err(Refused::TooLarge(large.len())));
    assert_eq!(rig.append(prepare(1, 1, 1, b"one"), b"two".to_vec()), Err(Refused::Malformed));
    assert_eq!(rig.append(prepare(1, 0, 1, b""), Vec::new()), Err(Refused::Malformed));
    let view = RecordHeader::of(RecordKind::View, 1, b"not a view");
    assert_eq!(rig.append(view, b"not a view".to_vec()), Err(Refused::Malformed));
    rig.append(prepare(1, 5, 2, b"op"), b"op".to_vec()).expect("room");
    assert_eq!(rig.append(prepare(1, 5, 2, b"other"), b"other".to_vec()), Err(Refused::Settled));
    rig.append(prepare(1, 5, 2, b"op"), b"op".to_vec()).expect("the same record again");
    rig.append(prepare(1, 5, 3, b"other"), b"other".to_vec()).expect("a higher view");
    let far = 5 + LIMITS.window_max as u64;
    assert_eq!(rig.append(prepare(1, far, 3, b""), Vec::new()), Err(Refused::Window));
    rig.step(Event::Released { group: 1, op: 5 });
    assert_eq!(rig.append(prepare(1, 4, 9, b""), Vec::new()), Err(Refused::Settled));
}
