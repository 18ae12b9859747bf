//! A ring that is full, a disk that is full, a disk that fails.

use std::collections::BTreeMap;
use std::sync::Arc;

use ng_io::simulated::Faults;
use ng_storage::journal::recovery::Recovered;
use ng_storage::journal::{Effect, Event, Limits, PrepareJournal, Refused, UNSYNCED_MAX};
use ng_storage::record::{RecordHeader, RecordKind};
use ng_storage::record_body::ViewBody;

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
    assert!((3..=5).contains(&rig.journal.files()), "{} files", rig.journal.files());
}

/// Once a ring with one free file and little to relocate refused a large batch for ever: no further file was made, because
/// hardly anything had to be kept.
#[test]
fn a_ring_with_little_to_keep_grows_for_a_large_batch() {
    let mut rig = Rig::create(23);
    rig.settle();
    let large = rig.journal.body_bytes_max();
    let last = (1..=25).take_while(|op| {
        append(&mut rig, 1, *op).expect("room");
        rig.settle();
        rig.step(Event::Released { group: 1, op: *op });
        rig.journal.has_room(1, op + 1, large)
    });
    let next = last.last().unwrap_or(0) + 2;
    assert_eq!((rig.journal.files(), rig.journal.has_room(1, next, large)), (2, false));
    rig.journal.make_room();
    rig.step(Event::Idle);
    rig.settle();
    assert!(rig.journal.has_room(1, next, large), "{} files", rig.journal.files());
}

/// It is told before the file is full, for then nothing helps but room.
#[test]
fn a_ring_of_one_file_lacks_a_second() {
    let mut rig = Rig::create_within(33, LIMITS.file_bytes);
    rig.settle();
    assert_eq!((rig.journal.files(), rig.journal.is_stuck()), (1, false));
    assert!(rig.journal.lack().is_some());
    let refuses = |op: &u64| {
        rig.step(Event::Released { group: 1, op: op - 1 });
        append(&mut rig, 1, *op) == Err(Refused::Busy)
    };
    let full = (1..=60).find(refuses).expect("nothing frees the only file");
    assert_eq!(rig.fault, None);
    rig.environment.set_capacity(u64::MAX);
    rig.step(Event::Idle);
    append(&mut rig, 1, full).expect("two files are a ring");
    assert_eq!(rig.journal.lack(), None);
}

#[test]
fn a_full_disk_is_back_pressure_that_heals() {
    let mut rig = Rig::create(24);
    rig.settle();
    assert_eq!(rig.journal.lack(), None);
    rig.environment.set_capacity(2 * LIMITS.file_bytes);
    let full = (1..=60).find(|op| append(&mut rig, 1, *op) == Err(Refused::Busy)).expect("it fills up");
    assert!(full > 5, "{full}");
    assert_eq!(rig.fault, None, "no space for a file is not a failure");
    // What is safe elsewhere makes room without a further file, many times around.
    for op in full..full + 300 {
        rig.step(Event::Released { group: 1, op: op - 3 });
        append(&mut rig, 1, op).expect("two files are a ring");
    }
    assert_eq!(rig.journal.files(), 2);
    rig.environment.set_capacity(u64::MAX);
    rig.step(Event::Idle);
    let first = full + 300;
    for op in first..first + 20 {
        append(&mut rig, 1, op).expect("the ring has grown");
    }
    assert!(rig.journal.files() > 2);
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
    // Two blocks wait for the mark, so that the first of them is not synced by its own write.
    let body = vec![7; limits.block_bytes_target * 3 / 4];
    for op in 1..=2 {
        journal.append(prepare(1, op, 1, &body), Arc::new(body.clone().into())).expect("room");
        journal.start(&mut effects);
    }
    for op in 3..=200 {
        let _ = journal.append(prepare(1, op, 1, b""), Arc::default());
        journal.start(&mut effects);
        for effect in std::mem::take(&mut effects) {
            match effect {
                Effect::Write { buffer, .. } => {
                    written += 1;
                    journal.step(Event::Written { buffer, result: Ok(()) }, &mut effects);
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
    assert_eq!(
        (syncs, journal.synced_through()),
        (1, UNSYNCED_MAX + 1),
        "the mark was synced by its own write"
    );
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
    rig.append(prepare(1, 5, 2, b"op"), b"op".to_vec()).expect("the same record again");
    rig.append(prepare(1, 5, 3, b"other"), b"other".to_vec()).expect("a higher view");
    rig.append(prepare(1, 5, 2, b"op"), b"op".to_vec())
        .expect("an older operation, which a repair goes back to");
    let far = 5 + LIMITS.window_max as u64;
    assert_eq!(rig.append(prepare(1, far, 3, b""), Vec::new()), Err(Refused::Window));
    rig.step(Event::Released { group: 1, op: 5 });
    assert_eq!(rig.append(prepare(1, 4, 9, b""), Vec::new()), Err(Refused::Settled));
}

#[test]
fn a_file_that_was_half_made_is_finished_when_there_is_space() {
    let mut rig = Rig::create(27);
    rig.settle();
    // Not even the second page of a third file fits.
    rig.environment.set_capacity(2 * LIMITS.file_bytes + 4_096);
    for op in 1..=8 {
        append(&mut rig, 1, op).expect("room");
    }
    rig.settle();
    assert_eq!((rig.journal.files(), rig.fault), (2, None));
    rig.step(Event::Idle);
    rig.settle();
    assert_eq!((rig.journal.files(), rig.fault), (2, None), "refused again");
    rig.environment.set_capacity(u64::MAX);
    rig.step(Event::Idle);
    rig.settle();
    assert!(rig.journal.files() > 2);
}

#[test]
fn the_next_process_goes_on_with_a_file_in_the_making() {
    for cut in [false, true] {
        let mut rig = Rig::create(28);
        rig.settle();
        rig.environment.set_capacity(2 * LIMITS.file_bytes + 4_096);
        for op in 1..=8 {
            append(&mut rig, 1, op).expect("room");
        }
        rig.settle();
        if cut {
            rig.environment.cut_power();
        } else {
            rig.environment.kill();
        }
        let found = rig.reopen(&BTreeMap::new());
        assert_eq!(found.recovered.damage, []);
        let mut rig = found.resume();
        rig.settle();
        assert_eq!((rig.journal.files(), rig.fault), (2, None), "still no space, and no reason not to start");
        rig.environment.set_capacity(u64::MAX);
        rig.step(Event::Idle);
        rig.settle();
        assert!(rig.journal.files() > 2);
        for op in 1..=5 {
            assert!(rig.journal.locate(1, op).is_some(), "op {op}");
        }
    }
}

#[test]
fn what_cannot_wait_finds_room_when_prepares_do_not() {
    let mut rig = Rig::create(29);
    let full = (1..=60).find(|op| append(&mut rig, 1, *op) == Err(Refused::Busy)).expect("it fills up");
    assert!(!rig.journal.has_room(1, full, 3_000));
    for view in 2..40 {
        let bytes =
            ViewBody { view, log_view: view, commit: 0, head: full - 1, headers: Vec::new() }.encode();
        let header = RecordHeader { view, ..RecordHeader::of(RecordKind::View, 1, &bytes) };
        rig.append(header, bytes).expect("a view always has room");
        rig.work(300_000);
    }
    rig.settle();
    assert_eq!(rig.journal.view(1), Some(39));
    assert!(rig.journal.locate(1, full - 1).is_some());
}

/// What a start appends of every group before the disk has done anything.
fn append_views(rig: &mut Rig, groups: u64, view: u64) {
    for group in 1..=groups {
        let bytes = ViewBody { view, log_view: view, commit: 0, head: 0, headers: Vec::new() }.encode();
        let header = RecordHeader { view, ..RecordHeader::of(RecordKind::View, group, &bytes) };
        let appended = rig.journal.append(header, Arc::new(bytes.into()));
        assert!(appended.is_ok(), "view {view} of group {group}: {appended:?}");
    }
    rig.step(Event::Idle);
}

#[test]
fn a_ring_has_room_for_a_view_of_every_group_at_every_start() {
    // 200 bytes each: nine files, where six are configured.
    const GROUPS: u64 = 3_000;
    let mut rig = Rig::create(30);
    let mut files = Vec::new();
    for view in 1..=8 {
        append_views(&mut rig, GROUPS, view);
        for op in 1..=40 {
            append(&mut rig, 1, 40 * view + op).expect("prepares have their room besides");
            rig.step(Event::Released { group: 1, op: 40 * view + op });
        }
        rig.environment.cut_power();
        let found = rig.reopen(&BTreeMap::from([(1, 40 * (view + 1))]));
        assert_eq!(found.recovered.damage, []);
        assert!((1..=GROUPS).all(|group| found.view(group) == view));
        rig = found.resume();
        files.push(rig.journal.files());
    }
    assert_eq!(files[5], files[7], "what is kept for views is enough: {files:?}");
    assert!(files[7] <= LIMITS.files_max + 4 * 9, "{files:?}");
}

#[test]
fn views_wait_for_a_full_disk_and_no_longer() {
    const GROUPS: u64 = 3_000;
    let mut rig = Rig::create(31);
    rig.settle();
    rig.environment.set_capacity(2 * LIMITS.file_bytes);
    append_views(&mut rig, GROUPS, 1);
    for _ in 0..100 {
        rig.work(1_000_000);
    }
    assert_eq!((rig.journal.files(), rig.fault), (2, None));
    assert!(rig.journal.is_stuck() && rig.journal.lack().is_some(), "not all of it has room");
    rig.environment.set_capacity(u64::MAX);
    rig.step(Event::Idle);
    rig.settle();
    assert!(rig.journal.files() > LIMITS.files_max);
    assert!(!rig.journal.is_stuck() && rig.journal.lack().is_none());
    rig.environment.cut_power();
    let found = rig.reopen(&BTreeMap::new());
    assert!((1..=GROUPS).all(|group| found.view(group) == 1));
}

#[test]
fn what_waits_is_bounded_by_what_there_is() {
    let mut rig = Rig::create(32);
    rig.settle();
    rig.environment.set_capacity(2 * LIMITS.file_bytes);
    let refused = (1..10_000).find_map(|view| {
        let bytes = ViewBody { view, log_view: view, commit: 0, head: 0, headers: Vec::new() }.encode();
        let header = RecordHeader { view, ..RecordHeader::of(RecordKind::View, 1, &bytes) };
        rig.journal.append(header, Arc::new(bytes.into())).err().map(|refused| (view, refused))
    });
    let (view, refused) = refused.expect("one group does not fill the memory");
    assert_eq!(refused, Refused::Busy);
    assert!(view * 200 > LIMITS.queued_bytes_max as u64 * 3 / 4, "{view}");
}
