//! Segments get second names, and whatever becomes of the group, these keep what the cut said of them.

use std::path::PathBuf;
use std::time::Duration;

use ng_io::Environment;
use ng_storage::home::Home;
use ng_storage::store::{CutSegments, Effect, NoCut};

use crate::expected::{Log, Said};
use crate::mortal::Mortal;
use crate::rig::{Rig, batch};

const GROUP: u64 = 7;

fn leases() -> PathBuf {
    PathBuf::from("data/leases/1")
}

fn node(seed: u64) -> Rig<Mortal> {
    let environment = Mortal::new(seed);
    let rig = Rig::new(&environment, Home::new("data"), 1);
    environment.make_directories(&leases()).expect("a healthy disk");
    rig
}

fn grow(rig: &mut Rig<Mortal>, log: &mut Log, count: usize) {
    for _ in 0..count {
        let batch = batch(log.head() + 1, log.generation(), log.next_offset(), &[6; 2_500]);
        log.said.push(Said::Batch(batch.clone()));
        rig.append(GROUP, batch);
    }
}

fn purge(rig: &mut Rig<Mortal>, log: &mut Log) {
    let generation = log.generation() + 1;
    log.said.push(Said::Purge { generation });
    let op = log.head();
    rig.act(|store, effects| store.purge(GROUP, generation, op, effects));
}

fn ask(rig: &mut Rig<Mortal>, log: &Log, directory: PathBuf) {
    let op = log.head();
    rig.act(|store, effects| store.cut(GROUP, 5, op, directory, effects));
}

fn answer(rig: &mut Rig<Mortal>) -> Result<CutSegments, NoCut> {
    for _ in 0..400 {
        for effect in std::mem::take(&mut rig.said) {
            if let Effect::Cut { asker: 5, result, .. } = effect {
                return result;
            }
        }
        rig.work(Duration::from_millis(5));
    }
    panic!("nobody answers");
}

/// The batches under the names of a cut, by what it says of them alone.
fn content(rig: &Rig<Mortal>, cut: &CutSegments) -> Vec<u8> {
    let mut content = Vec::new();
    for entry in &cut.segments {
        let path = leases().join(entry.file_name());
        let bytes = rig.environment.machine.file_bytes(&path).expect("it has its name");
        content.extend_from_slice(&bytes[..usize::try_from(entry.bytes).expect("a small segment")]);
    }
    content
}

fn expected(log: &Log) -> Vec<u8> {
    log.batches().0.concat()
}

#[test]
fn a_cut_has_all_that_was_committed_and_stays_as_it_was() {
    let mut rig = node(1);
    let mut log = Log::default();
    grow(&mut rig, &mut log, 17);
    ask(&mut rig, &log, leases());
    let whole = expected(&log);
    let last = log.next_offset() - 1;
    grow(&mut rig, &mut log, 3);
    let cut = answer(&mut rig).expect("a healthy disk");
    assert!(cut.segments.len() >= 3 && cut.last_offset >= Some(last), "{cut:?}");
    assert!(content(&rig, &cut).starts_with(&whole));
    let before = content(&rig, &cut);
    let messages: u64 = cut.segments.iter().map(|entry| u64::from(entry.messages)).sum();
    assert_eq!(Some(messages - 1), cut.last_offset);
    grow(&mut rig, &mut log, 9);
    assert!(rig.settle_all([GROUP].into_iter()));
    purge(&mut rig, &mut log);
    grow(&mut rig, &mut log, 4);
    assert!(rig.settle_all([GROUP].into_iter()));
    assert_eq!(content(&rig, &cut), before);
    rig.act(|store, effects| store.remove(GROUP, effects));
    while rig.work(Duration::from_millis(5)) {}
    assert_eq!(content(&rig, &cut), before);
}

#[test]
fn a_cut_behind_a_purge_has_nothing_of_before() {
    let mut rig = node(2);
    let mut log = Log::default();
    grow(&mut rig, &mut log, 8);
    purge(&mut rig, &mut log);
    ask(&mut rig, &log, leases());
    let cut = answer(&mut rig).expect("a healthy disk");
    assert_eq!(cut, CutSegments { generation: 1, last_offset: None, segments: Vec::new() });
    grow(&mut rig, &mut log, 2);
    ask(&mut rig, &log, leases());
    let cut = answer(&mut rig).expect("a healthy disk");
    assert_eq!((cut.generation, content(&rig, &cut)), (1, expected(&log)));
}

#[test]
fn a_cut_that_gets_no_names_harms_nothing() {
    let mut rig = node(3);
    let mut log = Log::default();
    grow(&mut rig, &mut log, 3);
    ask(&mut rig, &log, PathBuf::from("data/leases/missing"));
    let Err(NoCut::Unnamed(fault)) = answer(&mut rig) else { panic!("there is no such directory") };
    assert!(fault.error.is_absent(), "{fault}");
    grow(&mut rig, &mut log, 3);
    ask(&mut rig, &log, leases());
    let cut = answer(&mut rig).expect("a healthy disk");
    assert_eq!(content(&rig, &cut), expected(&log));
}

#[test]
fn without_room_a_cut_is_refused_at_once_and_possible_again_later() {
    let mut rig = node(6);
    let mut log = Log::default();
    grow(&mut rig, &mut log, 3);
    assert!(rig.settle_all([GROUP].into_iter()));
    rig.environment.machine.set_capacity(0);
    // More than its last page has room for.
    grow(&mut rig, &mut log, 3);
    for _ in 0..2 {
        // The first finds out that the disk is full, the second is told what is known.
        ask(&mut rig, &log, leases());
        let Err(NoCut::Full(fault)) = answer(&mut rig) else { panic!("there is no room") };
        assert!(fault.error.is_full() && fault.path.starts_with("data/groups"), "{fault}");
    }
    rig.environment.machine.set_capacity(u64::MAX);
    assert!(rig.settle_all([GROUP].into_iter()));
    ask(&mut rig, &log, leases());
    let cut = answer(&mut rig).expect("there is room again");
    assert_eq!(content(&rig, &cut), expected(&log));
}

#[test]
fn a_group_that_goes_or_is_damaged_gets_no_cut() {
    let mut rig = node(4);
    let mut log = Log::default();
    grow(&mut rig, &mut log, 3);
    ask(&mut rig, &log, leases());
    rig.act(|store, effects| store.remove(GROUP, effects));
    assert_eq!(answer(&mut rig), Err(NoCut::Gone));

    let mut rig = node(5);
    let mut log = Log::default();
    grow(&mut rig, &mut log, 12);
    assert!(rig.settle_all([GROUP].into_iter()));
    let list = rig.home.group(GROUP).segments();
    assert!(rig.environment.machine.rot(&list, 20, 4));
    let environment = rig.environment.clone();
    let mut rig = Rig::with_peers(&environment, Home::new("data"), 2);
    ask(&mut rig, &log, leases());
    assert!(matches!(answer(&mut rig), Err(NoCut::Damaged(damage)) if damage.path == list));
}
