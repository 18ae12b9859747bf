//! A group that ended stays so for as long as a manifest may name it, however often the ring goes round.

use std::collections::BTreeMap;

use ng_storage::journal::Event;
use ng_storage::record::{RecordHeader, RecordKind};
use ng_storage::record_body::OpenBody;

use crate::rig::{Found, Rig, prepare};

const ENDED: u64 = 5;
const BUSY: u64 = 6;

/// Ops of the busy group that fill the ring several times.
const ROUNDS: u64 = 200;

/// A journal in which a group with three ops ended, of which a manifest holds all.
fn ended(seed: u64) -> Rig {
    let mut rig = Rig::create(seed);
    for op in 1..=3 {
        rig.append(prepare(ENDED, op, 1, b"kept"), b"kept".to_vec()).expect("room");
    }
    rig.step(Event::Released { group: ENDED, op: 3 });
    rig.append(RecordHeader::of(RecordKind::Close, ENDED, &[]), Vec::new()).expect("room");
    rig.settle();
    rig
}

/// Writes so much that no block of before is left.
fn go_round(rig: &mut Rig) {
    for op in 1..=ROUNDS {
        let body = vec![7; 5_000];
        rig.append(prepare(BUSY, op, 1, &body), body).expect("room");
        rig.settle();
        rig.step(Event::Released { group: BUSY, op });
    }
}

/// What the next process finds, with a manifest that names the ended group.
fn killed(rig: Rig) -> Found {
    rig.environment.kill();
    rig.reopen(&BTreeMap::from([(ENDED, 3), (BUSY, ROUNDS)]))
}

#[test]
fn an_end_outlives_the_file_it_was_written_to() {
    let mut rig = ended(1);
    go_round(&mut rig);
    let found = killed(rig);
    assert!(found.recovered.closed().contains(&ENDED), "a manifest may still name it");
    assert!(found.group(ENDED).is_none());
    // And the next life knows it, too.
    let mut rig = found.resume();
    rig.settle();
    let found = killed(rig);
    assert!(found.recovered.closed().contains(&ENDED));
}

#[test]
fn an_end_that_no_manifest_contradicts_is_forgotten() {
    let mut rig = ended(2);
    let (with_end, _) = rig.journal.live_bytes();
    rig.step(Event::Ended { group: ENDED });
    assert!(rig.journal.live_bytes().0 < with_end);
    go_round(&mut rig);
    assert!(killed(rig).recovered.closed().is_empty());
}

#[test]
fn a_group_that_begins_again_has_not_ended() {
    let mut rig = ended(3);
    let open = OpenBody { blank: false, replicas: vec![1] }.encode();
    rig.append(RecordHeader::of(RecordKind::Open, ENDED, &open), open.clone()).expect("room");
    go_round(&mut rig);
    let found = killed(rig);
    assert!(found.recovered.closed().is_empty());
    assert!(found.group(ENDED).is_some_and(|group| group.open.is_some()));
}
