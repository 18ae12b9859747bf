//! One file: what a cut or a kill leaves of it, and faults where they are asked for.

use std::collections::BTreeSet;
use std::path::Path;

use ng_io::simulated::{Faults, SECTOR};
use ng_io::{Driver, Environment, Instant, Operation, Token, Wait};

use crate::rig::{attach, disk};

#[test]
fn a_cut_keeps_what_was_synced_and_tears_the_rest_by_sectors() {
    let (mut kept, mut lost, mut torn) = (0, 0, 0);
    for seed in 0..300 {
        let mut disk = disk(seed);
        disk.write(0, &[1; 8 * SECTOR]).expect("a good disk");
        disk.sync().expect("a good disk");
        disk.write(0, &[2; 4 * SECTOR]).expect("a good disk");
        disk.environment.cut_power();
        let content = disk.content();
        assert_eq!(&content[4 * SECTOR..], [1; 4 * SECTOR], "seed {seed}");
        let new = content.chunks(SECTOR).filter(|sector| sector.iter().all(|byte| *byte == 2)).count();
        let old = content.chunks(SECTOR).filter(|sector| sector.iter().all(|byte| *byte == 1)).count();
        assert_eq!(new + old, 8, "seed {seed}: no sector is half written");
        kept += u32::from(new == 4);
        lost += u32::from(new == 0);
        torn += u32::from((1..4).contains(&new));
    }
    assert!(kept > 30 && lost > 30 && torn > 30, "{kept} {lost} {torn}");
}

#[test]
fn a_cut_leaves_any_version_of_a_sector_and_any_end_of_the_file() {
    let (mut versions, mut lengths) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..200 {
        let mut disk = disk(seed);
        disk.write(0, &[1; SECTOR]).expect("a good disk");
        disk.sync().expect("a good disk");
        disk.write(0, &[2; SECTOR]).expect("a good disk");
        disk.write(0, &[3; SECTOR]).expect("a good disk");
        disk.write(SECTOR as u64, &[4; 2 * SECTOR + 100]).expect("a good disk");
        disk.environment.cut_power();
        let content = disk.content();
        versions.insert(content[0]);
        lengths.insert(content.len());
        assert!(content[SECTOR..].iter().all(|byte| matches!(byte, 0 | 4)), "seed {seed}");
    }
    assert_eq!(versions, [1, 2, 3].into());
    assert_eq!(lengths, [SECTOR, 2 * SECTOR, 3 * SECTOR, 3 * SECTOR + 100].into());
}

#[test]
fn a_kill_keeps_what_was_completed_and_leaves_what_was_under_way_to_chance() {
    let mut outcomes = BTreeSet::new();
    for seed in 0..100 {
        let mut disk = disk(seed);
        disk.write(0, &[1; SECTOR]).expect("a good disk");
        let write = |offset| disk.write_operation(offset, &[2; SECTOR], false);
        let (second, third) = (write(SECTOR as u64), write(2 * SECTOR as u64));
        disk.driver.submit(Token(2), second);
        disk.driver.submit(Token(3), third);
        disk.environment.kill();
        let content = disk.content();
        assert_eq!(&content[..SECTOR], [1; SECTOR]);
        outcomes.insert((content.get(SECTOR) == Some(&2), content.get(2 * SECTOR) == Some(&2)));
        disk.driver.complete(Wait::Now, &mut Vec::new()).expect_err("the process is gone");
        let mut next = attach(disk.environment.clone());
        assert_eq!(next.read(0, SECTOR), Ok(vec![1; SECTOR]), "the next process goes on");
    }
    assert_eq!(outcomes.len(), 4, "later writes land without earlier ones, too");
}

#[test]
fn a_sync_covers_only_what_had_completed_when_it_was_submitted() {
    let mut lost = 0;
    for seed in 0..200 {
        let mut disk = disk(seed);
        disk.driver.submit(Token(7), Operation::Sync { file: disk.file });
        let write = disk.write_operation(0, &[3; SECTOR], false);
        disk.driver.submit(Token(8), write);
        let mut done = Vec::new();
        while done.len() < 2 {
            disk.driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut done).expect("alive");
        }
        disk.environment.cut_power();
        lost += u32::from(disk.content().is_empty());
    }
    assert!(lost > 50, "{lost}");
}

#[test]
fn operations_complete_in_another_order_than_they_were_submitted() {
    let mut disk = disk(5);
    for token in 0..32 {
        disk.driver.submit(Token(token), Operation::Sync { file: disk.file });
    }
    let mut done = Vec::new();
    while done.len() < 32 {
        disk.driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut done).expect("alive");
    }
    let order: Vec<_> = done.iter().map(|completion| completion.token.0).collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..32).collect::<Vec<_>>());
    assert_ne!(order, sorted);
}

#[test]
fn faults_strike_where_they_are_asked_for() {
    let mut disk = disk(6);
    disk.write(0, &[1; 4096]).expect("no faults yet");
    disk.environment.set_faults(Faults { write_error: 1000, ..Faults::default() });
    assert_eq!(disk.write(0, &[2; 10]), Err(5));
    disk.environment.set_faults(Faults { sync_error: 1000, ..Faults::default() });
    assert_eq!(disk.sync(), Err(5));
    disk.environment.set_faults(Faults { read_error: 1000, ..Faults::default() });
    assert_eq!(disk.read(0, 10), Err(5));
    disk.environment.set_faults(Faults::default());
    assert!(disk.environment.spoil(Path::new("file"), 700));
    assert_eq!(disk.read(0, 600), Err(5));
    assert_eq!(disk.read(1024, 10).expect("another sector"), [1; 10]);
    disk.write(512, &[3; 512]).expect("a write heals a sector");
    assert_eq!(disk.read(512, 4), Ok(vec![3; 4]));
    assert!(disk.environment.rot(Path::new("file"), 2_000, 0x80));
    assert_eq!(disk.read(2_000, 1), Ok(vec![0x81]));
    disk.environment.set_capacity(4096);
    assert_eq!(disk.write(4096, &[4; 10]), Err(28), "no space");
    disk.write(0, &[4; 10]).expect("what is there may be overwritten");
}

#[test]
fn a_misdirected_write_says_nothing_and_is_elsewhere() {
    let mut disk = disk(9);
    disk.write(0, &[1; 8 * 4096]).expect("a good disk");
    disk.environment.set_faults(Faults { misdirected_write: 1000, ..Faults::default() });
    for page in 0..8 {
        disk.write(page * 4096, &[2; 4096]).expect("it says nothing");
    }
    assert!(disk.content().contains(&1), "some page was missed");
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let run = |seed| {
        let mut disk = disk(seed);
        disk.environment.set_faults(Faults { write_error: 100, read_error: 100, ..Faults::default() });
        for round in 0..50_u64 {
            let _ = disk.write(round * 100, &[1; 300]);
            let _ = disk.read(round * 50, 200);
            if round == 30 {
                let environment = disk.environment.clone();
                environment.cut_power();
                disk = attach(environment);
            }
        }
        (disk.environment.trace(), disk.environment.now())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
