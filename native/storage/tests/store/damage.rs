//! Files of a group of a node with peers, cut at any length and flipped anywhere: what is vouched for is there or missed, and
//! nothing panics.

use std::path::PathBuf;
use std::time::Duration;

use ng_storage::home::Home;
use ng_storage::store::{StoreFault, Vouched};

use crate::expected::{Log, Said};
use crate::mortal::Mortal;
use crate::rig::{Rig, batch};

/// A group with a sealed segment, an unsealed one, and what a manifest says of them.
fn grown(environment: &Mortal) -> (Log, Vouched) {
    let mut rig = Rig::new(environment, Home::new("data"), 1);
    let mut log = Log::default();
    for size in [6_000, 6_000, 1_000, 6_000, 300, 300] {
        let batch = batch(log.head() + 1, 0, log.next_offset(), &vec![9; size]);
        log.said.push(Said::Batch(batch.clone()));
        rig.append(7, batch);
    }
    assert!(rig.settle_all([7].into_iter()));
    let (last_offset, generation) = log.state_at(log.head());
    (log.clone(), Vouched::new(log.head(), last_offset, generation))
}

fn tail(environment: &Mortal) -> PathBuf {
    let logs = environment.machine.file_names().into_iter();
    logs.filter(|path| path.extension().is_some_and(|extension| extension == "log")).max().expect("a segment")
}

fn opened(environment: &Mortal, vouched: Option<Vouched>) -> Rig<Mortal> {
    environment.restart();
    let mut rig = Rig::with_peers(environment, Home::new("data"), 2);
    rig.open(7, vouched);
    for _ in 0..1000 {
        if rig.opened.contains_key(&7) || rig.damaged.contains_key(&7) {
            return rig;
        }
        rig.work(Duration::from_millis(5));
    }
    panic!("the group never opens");
}

#[test]
fn a_flip_in_the_unsealed_segment_is_missed_if_it_was_vouched_for_and_ends_it_if_not() {
    let environment = Mortal::new(1);
    let (_, vouched) = grown(&environment);
    let path = tail(&environment);
    let length = environment.machine.file_bytes(&path).expect("the file").len();
    for position in (0..length).step_by(61) {
        assert!(environment.machine.rot(&path, position, 0x10));
        let strict = opened(&environment, Some(vouched.clone()));
        let lenient = opened(&environment, None);
        match strict.opened.get(&7) {
            Some(held) => assert_eq!(held.last_offset, Some(vouched.last_offset), "flip at {position}"),
            None => {
                let fault = strict.damaged[&7].fault;
                assert!(
                    matches!(fault, StoreFault::Ends { .. } | StoreFault::Missing),
                    "flip at {position}: {fault}"
                );
            }
        }
        let found = lenient.opened.get(&7).and_then(|held| held.last_offset);
        assert!(found.is_none_or(|found| found <= vouched.last_offset), "flip at {position}");
        assert!(environment.machine.rot(&path, position, 0x10));
    }
    assert!(opened(&environment, Some(vouched)).opened.contains_key(&7), "all flips are undone");
}

#[test]
fn a_flip_anywhere_in_the_list_is_refused_by_name() {
    let environment = Mortal::new(2);
    let (_, vouched) = grown(&environment);
    let path = Home::new("data").group(7).segments();
    let length = environment.machine.file_bytes(&path).expect("the file").len();
    for position in 0..length {
        environment.machine.rot(&path, position, 1 << (position % 8));
        let rig = opened(&environment, Some(vouched.clone()));
        assert_eq!(rig.damaged[&7].path, path, "flip at {position}");
        environment.machine.rot(&path, position, 1 << (position % 8));
    }
}

#[test]
fn an_unreadable_sector_is_damage_and_not_the_end() {
    let environment = Mortal::new(3);
    let (_, vouched) = grown(&environment);
    environment.machine.spoil(&tail(&environment), 600);
    let rig = opened(&environment, Some(vouched));
    assert!(matches!(rig.damaged[&7].fault, StoreFault::Unreadable(_)), "{:?}", rig.damaged);
}

#[test]
fn a_missing_list_or_segment_is_missed_if_it_was_vouched_for() {
    for list in [true, false] {
        let environment = Mortal::new(4);
        let (_, vouched) = grown(&environment);
        let path = if list { Home::new("data").group(7).segments() } else { tail(&environment) };
        let parent = path.parent().expect("a directory").to_owned();
        ng_io::Environment::remove_file(&environment, &path).expect("it is there");
        ng_io::Environment::sync_directory(&environment, &parent).expect("a healthy disk");
        let rig = opened(&environment, Some(vouched.clone()));
        let fault = rig.damaged[&7].fault;
        assert!(matches!(fault, StoreFault::Missing | StoreFault::Ends { found: None, .. }), "{fault}");
    }
}

/// Another replica asks for the group while it is being opened: a short tail must not pass for all there was.
#[test]
fn who_only_wants_a_group_open_does_not_make_it_forget_what_is_vouched_for() {
    let environment = Mortal::new(7);
    let (_, vouched) = grown(&environment);
    assert!(environment.machine.rot(&tail(&environment), 7_000, 0x10));
    environment.restart();
    let mut rig = Rig::with_peers(&environment, Home::new("data"), 2);
    rig.open(7, Some(vouched));
    rig.open(7, None);
    while !rig.opened.contains_key(&7) && !rig.damaged.contains_key(&7) {
        rig.work(Duration::from_millis(5));
    }
    assert!(matches!(rig.damaged[&7].fault, StoreFault::Ends { found: Some(_), .. }), "{:?}", rig.opened);
}

#[test]
fn a_damaged_group_takes_no_batch_and_says_that_nothing_is_safe() {
    let environment = Mortal::new(5);
    let (mut log, vouched) = grown(&environment);
    environment.machine.rot(&Home::new("data").group(7).segments(), 100, 1);
    let mut rig = opened(&environment, Some(vouched));
    let next = batch(log.head() + 1, 0, log.next_offset(), b"more");
    log.said.push(Said::Batch(next.clone()));
    rig.append(7, next);
    assert_eq!((rig.store.synced(7), rig.store.buffered_bytes()), (0, 0));
    assert_eq!(rig.store.export(7), None);
}

#[test]
fn a_list_older_than_the_manifest_is_damage() {
    let environment = Mortal::new(6);
    let (_, vouched) = grown(&environment);
    let rig = opened(&environment, Some(Vouched { generation: 1, last_offset: u64::MAX, ..vouched }));
    assert!(matches!(rig.damaged[&7].fault, StoreFault::Generation { found: 0, vouched: 1 }));
}
