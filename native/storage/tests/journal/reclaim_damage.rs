//! What cannot be read must not hold up the ring, and must not be forgotten when its file is written anew.

use std::collections::BTreeMap;

use ng_storage::journal::recovery::{Damage, Loss};
use ng_storage::journal::{Event, Refused, SlotState};
use ng_storage::record::{RecordHeader, RecordKind};
use ng_storage::record_body::{OpenBody, ViewBody};

use crate::rig::{Found, LIMITS, Rig, path, prepare};

/// Appends of another group that go round the whole ring ten times.
const TURNS: u64 = 10 * LIMITS.files_max as u64 * LIMITS.file_bytes / 4_096;

/// Those of the first op cross into a second page, whose sectors can be lost without the headers in the first.
fn body(op: u64) -> Vec<u8> {
    vec![op.to_le_bytes()[0]; if op == 1 { 6_000 } else { 3_000 }]
}

/// Lets the ring go round; each append finds room within a few of the disk's operations.
fn turn(rig: &mut Rig, first: u64) -> u64 {
    for op in first..first + TURNS {
        let mut busy = 0;
        while rig.append(prepare(2, op, 1, &body(op)), body(op)) == Err(Refused::Busy) {
            busy += 1;
            assert!(busy < 60, "op {op} finds no room");
            rig.work(500_000);
        }
        rig.work(300_000);
        if op > 5 {
            rig.step(Event::Released { group: 2, op: op - 5 });
        }
    }
    rig.settle();
    first + TURNS
}

fn floors(next: u64) -> BTreeMap<u64, u64> {
    BTreeMap::from([(2, next - 6)])
}

/// A journal of one op of group 1, and where in its file the op's block and body begin.
fn one_op(seed: u64) -> (Rig, usize, usize) {
    let mut rig = Rig::create(seed);
    rig.append(prepare(1, 1, 1, &body(1)), body(1)).expect("room");
    rig.settle();
    let located = rig.journal.locate(1, 1).expect("it is there");
    assert_eq!(located.file, Some(0));
    let body = usize::try_from(located.offset).expect("small");
    (rig, body - 256 - 160, body)
}

fn reopened(rig: Rig, next: u64) -> Found {
    rig.environment.cut_power();
    rig.reopen(&floors(next))
}

#[test]
fn a_body_that_cannot_be_read_leaves_a_note_and_frees_its_file() {
    let (mut rig, _, at) = one_op(31);
    assert!(rig.environment.spoil(&path(0), at + 5_000));
    let next = turn(&mut rig, 1);
    assert_eq!(rig.damaged, [(1, 1)], "told once");
    assert_eq!(rig.journal.locate(1, 1).map(|located| located.state), Some(SlotState::Damaged));

    let mut found = reopened(rig, next);
    let header = prepare(1, 1, 1, &body(1));
    for _ in 0..2 {
        let record =
            Damage::Record { group: 1, op: 1, kind: RecordKind::Prepare, checksum: header.checksum() };
        assert_eq!(found.recovered.damage, [record]);
        let [there] = found.group(1).expect("a group").prepares[..] else { panic!("one op") };
        assert_eq!((there.header, there.checksum), (header, header.checksum()));
        assert_eq!((there.state, there.proven), (SlotState::Damaged, true));
        let mut rig = found.resume();
        rig.settle();
        found = reopened(rig, next);
    }
    let mut rig = found.resume();
    rig.append(header, body(1)).expect("a peer had it");
    turn(&mut rig, next);
    let found = reopened(rig, next + TURNS);
    assert_eq!(found.recovered.damage, []);
    assert_eq!(found.body(1, 1), Some(body(1)), "healed and moved");
}

#[test]
fn a_block_without_a_readable_header_is_listed_as_lost_for_good() {
    let (mut rig, at, _) = one_op(32);
    let block = rig.journal.locate(1, 1).expect("it is there").position.block;
    assert!(rig.environment.spoil(&path(0), at));
    let next = turn(&mut rig, 1);
    assert_eq!(rig.damaged, [(1, 1)]);

    let loss = Loss { first: block, last: block, proven: true };
    let found = reopened(rig, next);
    assert_eq!(found.recovered.damage, [Damage::Blocks { first: block, last: block }]);
    assert_eq!(found.recovered.losses(), [loss]);
    assert_eq!(found.recovered.locate(1, 1), None);
    // A start goes on over it, with the consent of whoever can give it: it stays known, and refuses nothing any more.
    let mut rig = found.resume();
    let next = turn(&mut rig, next);
    let found = reopened(rig, next);
    assert_eq!(found.recovered.damage, []);
    assert_eq!(found.recovered.losses(), [loss]);
}

#[test]
fn views_and_opens_that_cannot_be_read_are_named() {
    let mut rig = Rig::create(33);
    rig.settle();
    let open = OpenBody { blank: false, replicas: vec![1, 2, 3] };
    let log = ViewBody { view: 4, log_view: 4, commit: 0, head: 0, headers: Vec::new() };
    let vote = ViewBody { view: 6, log_view: 4, ..log.clone() };
    let mut headers = Vec::new();
    for (kind, view, bytes) in [
        (RecordKind::Open, 0, open.encode()),
        (RecordKind::View, 4, log.encode()),
        (RecordKind::View, 6, vote.encode()),
    ] {
        let header = RecordHeader { view, ..RecordHeader::of(kind, 1, &bytes) };
        rig.append(header, bytes).expect("room");
        // Each in a block of its own.
        rig.settle();
        headers.push(header);
    }
    // Nothing else says where they are: three of the first blocks, and in each the body follows one header.
    let file = rig.environment.file_bytes(&path(0)).expect("a file");
    let holds = |page: &usize| file[*page + 256..*page + 416].iter().any(|byte| *byte != 0);
    let blocks: Vec<usize> = (0..32 * 1024).step_by(4096).filter(holds).collect();
    let [.., open_at, log_at, vote_at] = blocks[..] else { panic!("{blocks:?}") };
    for at in [log_at, vote_at] {
        assert!(rig.environment.rot(&path(0), at + 256 + 160 + 8, 1));
    }
    let next = turn(&mut rig, 1);
    assert!(
        rig.environment.file_bytes(&path(0)).expect("a file")[open_at..open_at + 4096]
            != file[open_at..open_at + 4096]
    );

    let found = reopened(rig, next);
    let group = found.group(1).expect("a group");
    assert_eq!(group.open, Some(open));
    assert_eq!((&group.log, &group.vote), (&None, &None));
    let damaged: Vec<_> = group.damaged.iter().map(|damaged| damaged.header).collect();
    assert_eq!(
        damaged,
        headers[2..],
        "the newest view is what must be known: the log before it was superseded"
    );
    assert_eq!(found.recovered.view(1), Some(6), "and nobody goes below it");
}
