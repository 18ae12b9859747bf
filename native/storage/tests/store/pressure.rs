//! Full disks, failing disks, few descriptors, and when a batch leaves memory.

use std::time::Duration;

use ng_io::Environment;
use ng_io::simulated::Faults;
use ng_storage::home::Home;
use ng_storage::store::Effect;

use crate::expected::{Log, Said, check};
use crate::mortal::Mortal;
use crate::rig::{LIMITS, Rig, batch};

fn rig(environment: &Mortal) -> Rig<Mortal> {
    Rig::new(environment, Home::new("data"), 1)
}

/// Appends so many batches to a group.
fn append(rig: &mut Rig<Mortal>, log: &mut Log, group: u64, count: u64, size: usize) {
    for _ in 0..count {
        let batch = batch(log.head() + 1, log.generation(), log.next_offset(), &vec![7; size]);
        log.said.push(Said::Batch(batch.clone()));
        rig.append(group, batch);
    }
}

#[test]
fn a_full_disk_keeps_everything_in_memory_and_heals_by_itself() {
    let environment = Mortal::new(1);
    let (mut rig, mut log) = (rig(&environment), Log::default());
    append(&mut rig, &mut log, 7, 3, 2_000);
    assert!(rig.settle_all([7].into_iter()));
    environment.machine.set_capacity(0);
    append(&mut rig, &mut log, 7, 40, 2_000);
    for _ in 0..400 {
        rig.work(Duration::from_millis(10));
    }
    assert!(rig.pressure >= 2, "it was tried again: {}", rig.pressure);
    assert!(rig.store.is_full(7) && !rig.store.has_room() && rig.fault.is_none());
    assert_eq!(rig.store.synced(7), 3, "nothing new is safe");
    environment.machine.set_capacity(u64::MAX);
    assert!(rig.settle(7), "it heals without being told");
    assert!(rig.store.has_room() && !rig.store.is_full(7));
    assert_eq!(rig.store.buffered_bytes(), 0);
    check(&environment.machine, &rig.home, 7, &log, "after the disk was full");
}

#[test]
fn a_purge_and_a_truncation_outlast_a_full_disk() {
    let environment = Mortal::new(2);
    let (mut rig, mut log) = (rig(&environment), Log::default());
    append(&mut rig, &mut log, 7, 40, 2_000);
    assert!(rig.settle_all([7].into_iter()));
    environment.machine.set_capacity(0);
    log.said.push(Said::Truncate { generation: 0, offset: 30 });
    rig.act(|store, effects| store.truncate_prefix(7, 0, 30, effects));
    log.said.push(Said::Purge { generation: 1 });
    rig.act(|store, effects| store.purge(7, 1, 42, effects));
    append(&mut rig, &mut log, 7, 2, 100);
    for _ in 0..200 {
        rig.work(Duration::from_millis(10));
    }
    assert!(rig.pressure > 0 && rig.store.synced(7) < 42);
    environment.machine.set_capacity(u64::MAX);
    assert!(rig.settle_all([7].into_iter()));
    check(&environment.machine, &rig.home, 7, &log, "after the disk was full");
}

/// Whoever makes a manifest waits for it: the purge is applied anew before anybody knows what the disk holds.
#[test]
fn a_purge_that_a_start_asks_for_again_is_said_to_be_done() {
    let environment = Mortal::new(8);
    let mut before = rig(&environment);
    before.append(7, batch(1, 0, 0, &[7; 100]));
    before.act(|store, effects| store.purge(7, 1, 2, effects));
    assert!(before.settle_all([7].into_iter()));
    let mut again = Rig::new(&environment, Home::new("data"), 2);
    again.act(|store, effects| store.purge(7, 1, 2, effects));
    assert!(again.store.synced(7) < 2, "nobody has looked yet");
    assert!(again.settle_all([7].into_iter()));
    assert_eq!((again.synced.get(&7), again.store.synced(7)), (Some(&2), u64::MAX));
}

/// A write of purged messages that finds no space is not tried again: it would be the first of what came after them.
#[test]
fn a_purge_behind_a_write_that_finds_no_space_keeps_nothing_of_before() {
    let environment = Mortal::new(6);
    let (mut rig, mut log) = (rig(&environment), Log::default());
    append(&mut rig, &mut log, 7, 3, 2_000);
    assert!(rig.settle_all([7].into_iter()));
    environment.machine.set_capacity(0);
    append(&mut rig, &mut log, 7, 3, 2_000);
    log.said.push(Said::Purge { generation: 1 });
    let op = log.head();
    rig.act(|store, effects| store.purge(7, 1, op, effects));
    append(&mut rig, &mut log, 7, 2, 100);
    rig.work(Duration::from_millis(100));
    assert!(rig.pressure > 0, "what was under way found no space");
    environment.machine.set_capacity(u64::MAX);
    assert!(rig.settle_all([7].into_iter()));
    assert_eq!(rig.store.buffered_bytes(), 0);
    check(&environment.machine, &rig.home, 7, &log, "after a purge on a full disk");
}

#[test]
fn a_failed_write_or_sync_is_final_and_names_its_file() {
    for (number, faults) in
        [Faults { write_error: 1000, ..Faults::default() }, Faults { sync_error: 1000, ..Faults::default() }]
            .into_iter()
            .enumerate()
    {
        let environment = Mortal::new(number as u64);
        let (mut rig, mut log) = (rig(&environment), Log::default());
        append(&mut rig, &mut log, 7, 1, 100);
        assert!(rig.settle_all([7].into_iter()));
        environment.machine.set_faults(faults);
        append(&mut rig, &mut log, 7, 1, 100);
        rig.flush(7);
        rig.settle(7);
        let fault = rig.fault.clone().expect("the disk failed");
        assert!(fault.path.ends_with("00000000000000000000.log"), "{fault}");
        assert_eq!(rig.synced[&7], 1, "nothing more was said to be safe");
    }
}

#[test]
fn a_lone_batch_leaves_memory_when_its_time_has_come() {
    let environment = Mortal::new(3);
    let (mut rig, mut log) = (rig(&environment), Log::default());
    append(&mut rig, &mut log, 7, 1, 10);
    let deadline = rig.store.next_deadline().expect("a batch waits");
    assert_eq!(deadline, environment.now() + LIMITS.flush_delay);
    while environment.now() < deadline {
        assert_eq!(rig.store.synced(7), 0, "not before its time");
        rig.work(Duration::from_millis(50));
    }
    assert!(rig.settle(7));
    assert_eq!((rig.synced[&7], rig.store.next_deadline()), (1, None));
}

#[test]
fn a_group_makes_no_file_before_its_first_batch_is_written() {
    let environment = Mortal::new(4);
    let mut rig = rig(&environment);
    rig.open(7, None);
    for _ in 0..10 {
        rig.work(Duration::from_millis(10));
    }
    assert!(rig.opened.contains_key(&7));
    assert_eq!(environment.machine.file_names(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn few_descriptors_are_enough_for_many_groups() {
    let environment = Mortal::new(5);
    let mut rig = rig(&environment);
    let mut logs = vec![Log::default(); 40];
    // Three files stay open, two more while plans run, and the directories that are being synced.
    for _ in 0..3 {
        for (group, log) in (0..).zip(&mut logs) {
            append(&mut rig, log, group, 2, 300);
        }
        assert!(rig.settle_all(0..40));
    }
    assert_eq!(rig.fault, None);
    for (group, log) in (0..).zip(&logs) {
        check(&environment.machine, &rig.home, group, log, "with few descriptors");
    }
}

#[test]
fn a_removed_group_goes_to_the_trash_with_all_its_files() {
    let environment = Mortal::new(6);
    let (mut rig, mut log) = (rig(&environment), Log::default());
    append(&mut rig, &mut log, 7, 30, 2_000);
    append(&mut rig, &mut Log::default(), 8, 1, 10);
    assert!(rig.settle_all([7, 8].into_iter()));
    append(&mut rig, &mut log, 7, 1, 10);
    rig.act(|store, effects| store.remove(7, effects));
    assert!(rig.settle(7));
    environment.restart();
    let names = environment.machine.file_names();
    let (trash, groups): (Vec<_>, Vec<_>) = names.iter().partition(|path| path.starts_with("data/trash"));
    assert!(trash.len() > 4, "{names:?}");
    assert!(groups.iter().all(|path| !path.to_string_lossy().contains("0000000000000007")), "{names:?}");
    assert!(groups.iter().any(|path| path.to_string_lossy().contains("0000000000000008")), "{names:?}");
}

#[test]
fn a_forgotten_group_opens_again_and_goes_on() {
    let environment = Mortal::new(7);
    let (mut rig, mut log) = (rig(&environment), Log::default());
    for _ in 0..3 {
        append(&mut rig, &mut log, 7, 3, 900);
        rig.store.forget(7);
        assert!(rig.store.held(7).is_none() || rig.store.buffered_bytes() > 0, "what waits is not forgotten");
        assert!(rig.settle_all([7].into_iter()));
        rig.store.forget(7);
        assert_eq!(rig.store.held(7), None);
    }
    check(&environment.machine, &rig.home, 7, &log, "after it was forgotten");
}

/// Seals what a group appends to, and holds the file against its log.
fn seal_and_check(rig: &mut Rig<Mortal>, log: &Log, what: &str) {
    rig.act(|store, effects| store.roll(7, effects));
    rig.hear("it is sealed", |effect| matches!(effect, Effect::Sealed { group: 7 }));
    check(&rig.environment.machine, &rig.home, 7, log, what);
}

#[test]
fn a_segment_that_is_sealed_behind_a_write_that_was_cut_short_ends_with_zeroes() {
    for seed in 0..200 {
        let environment = Mortal::new(seed);
        let (mut first, mut log) = (rig(&environment), Log::default());
        append(&mut first, &mut log, 7, 3, 700);
        assert!(first.settle_all([7].into_iter()));
        let safe = log.head();
        append(&mut first, &mut log, 7, 4, 900);
        environment.cut_after(1 + seed % 3);
        first.settle_all([7].into_iter());
        drop(first);
        environment.restart();
        let mut second = Rig::new(&environment, Home::new("data"), 2);
        second.open(7, None);
        assert!(second.settle(7) && second.damaged.is_empty());
        let held = second.store.held(7).and_then(|held| held.last_offset).expect("the first three are there");
        assert!(held + 1 >= safe, "seed {seed}");
        log.said.truncate(usize::try_from(held + 1).expect("a short log"));
        seal_and_check(&mut second, &log, &format!("seed {seed}"));
    }
}

#[test]
fn a_segment_that_is_sealed_when_a_full_disk_has_room_again_ends_with_zeroes() {
    for pages in 0..12 {
        let environment = Mortal::new(pages);
        let (mut rig, mut log) = (rig(&environment), Log::default());
        append(&mut rig, &mut log, 7, 3, 700);
        assert!(rig.settle_all([7].into_iter()));
        let machine = &environment.machine;
        let used: u64 = machine.file_names().iter().filter_map(|name| machine.file_length(name).ok()).sum();
        machine.set_capacity(used + pages * 512);
        let before = log.said.len();
        append(&mut rig, &mut log, 7, 8, 900);
        for _ in 0..100 {
            rig.work(Duration::from_millis(10));
        }
        environment.machine.set_capacity(u64::MAX);
        rig.act(|store, effects| store.roll(7, effects));
        assert!(rig.settle_all([7].into_iter()));
        assert!(log.said.len() > before);
        check(&environment.machine, &rig.home, 7, &log, &format!("{pages} sectors were left"));
    }
}
