//! The last block of a journal is proven by none behind it: when it is lost, something says that it was there.

use std::collections::BTreeMap;

use ng_io::simulated::Faults;
use ng_storage::journal::Event;

use crate::rig::{Found, Rig, path, prepare};

const PAGE: usize = 4096;

/// Bytes of a body: with it a block has more than a page.
const BODY: usize = 5_000;

/// Blocks that fill the files of a young ring several times.
const ROUNDS: u64 = 60;

fn body(op: u64) -> Vec<u8> {
    vec![op.to_le_bytes()[0] | 1; BODY]
}

fn append(rig: &mut Rig, op: u64) {
    rig.append(prepare(5, op, 1, &body(op)), body(op)).expect("room");
    rig.settle();
    rig.step(Event::Released { group: 5, op: op - 1 });
    rig.settle();
}

/// A journal of so many ops, each synced before the next; only the last one counts.
fn written(ops: u64) -> Rig {
    let mut rig = Rig::create(ops);
    rig.settle();
    (1..=ops).for_each(|op| append(&mut rig, op));
    rig
}

/// Where the block of the last op lies: the file and the position in it.
fn last_block(rig: &Rig, op: u64) -> (u32, usize) {
    let located = rig.journal.locate(5, op).expect("it counts");
    let offset = usize::try_from(located.offset).expect("small") / PAGE * PAGE;
    (located.file.expect("it is written"), offset)
}

/// Whether the op is there, and whether blocks are missed.
fn found(rig: Rig, op: u64) -> (bool, bool) {
    let found = rig.reopen(&BTreeMap::from([(5, op - 1)]));
    let told = !found.recovered.losses().is_empty();
    assert_eq!(told, !found.recovered.unproven.is_empty() || !found.recovered.damage.is_empty());
    (found.recovered.locate(5, op).is_some(), told)
}

#[test]
fn an_end_that_is_whole_raises_no_doubt() {
    for ops in 1..=ROUNDS {
        let rig = written(ops);
        rig.environment.kill();
        assert_eq!(found(rig, ops), (true, false), "{ops} ops");
    }
}

#[test]
fn a_last_block_that_cannot_be_read_is_missed() {
    for ops in 1..=ROUNDS {
        for spoiled in [false, true] {
            let rig = written(ops);
            let (file, offset) = last_block(&rig, ops);
            rig.environment.kill();
            match spoiled {
                true => assert!(rig.environment.spoil(&path(file), offset)),
                false => assert!(rig.environment.rot(&path(file), offset + 70, 8)),
            }
            assert_eq!(found(rig, ops), (false, true), "{ops} ops, spoiled {spoiled}");
        }
    }
}

#[test]
fn a_last_block_in_a_wrong_place_is_missed() {
    let mut missed = 0;
    for ops in 1..=ROUNDS {
        let mut rig = written(ops);
        rig.environment.set_faults(Faults { misdirected_write: 1_000, ..Faults::default() });
        let op = ops + 1;
        rig.append(prepare(5, op, 1, &body(op)), body(op)).expect("room");
        rig.settle();
        rig.environment.kill();
        let found = rig.reopen(&BTreeMap::from([(5, ops)]));
        let is_there = found.recovered.locate(5, op).is_some();
        assert!(is_there || !found.recovered.losses().is_empty(), "{ops} ops");
        missed += u64::from(!is_there);
    }
    assert!(missed > ROUNDS / 2, "most writes miss: {missed}");
}

#[test]
fn a_missed_end_is_told_at_every_later_start() {
    let rig = written(9);
    let (file, offset) = last_block(&rig, 9);
    rig.environment.kill();
    assert!(rig.environment.rot(&path(file), offset + 70, 8));
    let first = rig.reopen(&BTreeMap::new());
    let losses = first.recovered.losses();
    let mut rig = first.resume();
    for op in 20..20 + ROUNDS {
        append(&mut rig, op);
    }
    rig.environment.kill();
    let again: Found = rig.reopen(&BTreeMap::new());
    assert_eq!((losses.len(), again.recovered.losses()), (1, losses));
}
