//! Removals on a disk without a free byte, and removals that fail.

use std::time::Duration;

use ng_io::Environment;
use ng_io::simulated::Faults;
use ng_storage::home::{Home, METADATA_GROUP};
use ng_storage::metadata_state::MetadataState;
use ng_storage::store::Effect;

use crate::expected::{Log, Said, check};
use crate::mortal::Mortal;
use crate::rig::{LIMITS, Rig, batch};

const RESERVE: &str = "data/reserve-00000000";

fn rig(environment: &Mortal) -> Rig<Mortal> {
    Rig::new(environment, Home::new("data"), 1)
}

fn append(rig: &mut Rig<Mortal>, log: &mut Log, group: u64, count: u64, size: usize) {
    for _ in 0..count {
        let batch = batch(log.head() + 1, log.generation(), log.next_offset(), &vec![7; size]);
        log.said.push(Said::Batch(batch.clone()));
        rig.append(group, batch);
    }
}

/// Bytes of all files.
fn used(environment: &Mortal) -> u64 {
    let machine = &environment.machine;
    machine.file_names().iter().filter_map(|name| machine.file_length(name).ok()).sum()
}

fn has_reserve(environment: &Mortal) -> bool {
    environment.machine.file_names().iter().any(|name| name.as_os_str() == RESERVE)
}

/// A store with 80 KB of messages in group 7, on a disk that has not a byte left.
fn filled(environment: &Mortal) -> (Rig<Mortal>, Log) {
    let (mut rig, mut log) = (rig(environment), Log::default());
    append(&mut rig, &mut log, 7, 40, 2_000);
    assert!(rig.settle_all([7].into_iter()));
    work_until(&mut rig, |_| has_reserve(environment));
    rig.work(Duration::from_secs(1));
    environment.machine.set_capacity(used(environment));
    (rig, log)
}

fn work_until(rig: &mut Rig<Mortal>, is_there: impl Fn(&Rig<Mortal>) -> bool) {
    for _ in 0..10_000 {
        if is_there(rig) {
            return;
        }
        rig.work(Duration::from_millis(10));
    }
    panic!("it never comes to this");
}

fn segments(environment: &Mortal) -> usize {
    let names = environment.machine.file_names();
    names.iter().filter(|name| name.extension().is_some_and(|extension| extension == "log")).count()
}

#[test]
fn a_purge_frees_its_segments_on_a_disk_without_a_free_byte() {
    let environment = Mortal::new(1);
    let (mut rig, mut log) = filled(&environment);
    assert!(segments(&environment) > 4);
    log.said.push(Said::Purge { generation: 1 });
    rig.act(|store, effects| store.purge(7, 1, 41, effects));
    assert!(rig.settle(7));
    assert_eq!((rig.synced[&7], segments(&environment)), (41, 0));
    assert!(used(&environment) < 10_000, "{}", used(&environment));
    append(&mut rig, &mut log, 7, 2, 100);
    assert!(rig.settle_all([7].into_iter()));
    check(&environment.machine, &rig.home, 7, &log, "after a purge without space");
}

#[test]
fn a_truncation_frees_segments_on_a_disk_without_a_free_byte() {
    let environment = Mortal::new(2);
    let (mut rig, mut log) = filled(&environment);
    let before = segments(&environment);
    log.said.push(Said::Truncate { generation: 0, offset: 30 });
    rig.act(|store, effects| store.truncate_prefix(7, 0, 30, effects));
    rig.hear("it is done", |effect| matches!(effect, Effect::Truncated { group: 7 }));
    assert!(segments(&environment) < before);
    check(&environment.machine, &rig.home, 7, &log, "after a truncation without space");
}

#[test]
fn the_reserve_is_kept_again_once_there_is_room_and_leaves_nothing_behind_before() {
    let environment = Mortal::new(3);
    let (mut rig, _) = filled(&environment);
    let full = used(&environment);
    rig.act(|store, effects| store.truncate_prefix(7, 0, 10, effects));
    rig.hear("it is done", |effect| matches!(effect, Effect::Truncated { group: 7 }));
    assert!(!has_reserve(&environment));
    environment.machine.set_capacity(used(&environment) + 10_000);
    let until = environment.now() + LIMITS.retry_delay * 40;
    let mut largest = 0;
    while environment.now() < until {
        rig.work(Duration::from_millis(10));
        largest = largest.max(used(&environment));
    }
    assert!(rig.fault.is_none() && !has_reserve(&environment), "an attempt leaves nothing behind");
    environment.machine.set_capacity(2 * full);
    work_until(&mut rig, |rig| has_reserve(&rig.environment));
}

#[test]
fn a_group_waits_for_space_until_its_batches_are_on_the_disk() {
    let environment = Mortal::new(4);
    let (mut rig, mut log) = filled(&environment);
    assert_eq!(rig.store.waits_for_space(), 0);
    append(&mut rig, &mut log, 7, 10, 2_000);
    work_until(&mut rig, |rig| rig.store.waits_for_space() == 1);
    let tries = rig.pressure;
    work_until(&mut rig, |rig| rig.pressure > tries + 2);
    assert_eq!(rig.store.waits_for_space(), 1, "an attempt is no success");
    environment.machine.set_capacity(u64::MAX);
    assert!(rig.settle(7));
    assert_eq!(rig.store.waits_for_space(), 0);
}

#[test]
fn a_removal_that_fails_is_told_backed_off_and_done_in_the_end() {
    let environment = Mortal::new(5);
    let (mut rig, mut log) = (rig(&environment), Log::default());
    append(&mut rig, &mut log, 7, 40, 2_000);
    append(&mut rig, &mut log, 8, 1, 10);
    assert!(rig.settle_all([7, 8].into_iter()));
    environment.machine.set_faults(Faults { removal_error: 1_000, ..Faults::default() });
    rig.act(|store, effects| store.truncate_prefix(7, 0, 30, effects));
    let failed = |effect: &Effect| matches!(effect, Effect::RemovalFailed { group: 7, .. });
    rig.hear("a failure", failed);
    let first = environment.now();
    rig.hear("another one", failed);
    rig.hear("a third one", failed);
    assert!(environment.now() - first >= LIMITS.retry_delay * 3, "it backs off");
    assert_eq!((rig.store.waits_for_removals(), rig.fault.clone()), (1, None));
    environment.machine.set_faults(Faults::default());
    rig.hear("it is done", |effect| matches!(effect, Effect::Truncated { group: 7 }));
    assert_eq!(rig.store.waits_for_removals(), 0);
}

#[test]
fn a_file_that_finds_no_space_leaves_nothing_behind() {
    let environment = Mortal::new(6);
    let (mut rig, _) = filled(&environment);
    // Without the reserve, and with room for half of what is to be written.
    rig.act(|store, effects| store.truncate_prefix(7, 0, 10, effects));
    rig.hear("it is done", |effect| matches!(effect, Effect::Truncated { group: 7 }));
    environment.machine.set_capacity(used(&environment) + 2_000);
    let state = MetadataState {
        group: METADATA_GROUP,
        op: 5,
        chain: 1,
        clients: vec![1; 1_000],
        machine: vec![2; 4_000],
    };
    rig.act(|store, effects| store.write_state(&state, effects));
    rig.hear("it is given up", |effect| matches!(effect, Effect::GivenUp { group: METADATA_GROUP }));
    let left = environment.machine.file_names();
    assert!(left.iter().all(|name| name.extension().is_none_or(|extension| extension != "new")), "{left:?}");
}
