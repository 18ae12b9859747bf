//! Bit rot, unreadable sectors and lost files of a journal that was synced: reported, or of no account; never absence.

use std::collections::BTreeMap;

use ng_io::SimulatedEnvironment;
use ng_storage::block::{BlockHeader, BlockRecord, KIND};
use ng_storage::journal::recovery::{Damage, recover};
use ng_storage::journal::scan::{FoundBlock, FoundRecord, Remains};
use ng_storage::journal::{Event, SlotState};
use ng_storage::record::{RecordHeader, RecordKind};
use ng_storage::record_body::{InstallBody, LostBlocks, MarkBody, Standing};
use ng_storage::superblock::{Ring, SyncedBlock};

use crate::rig::{Found, LIMITS, Rig, path, prepare};

const OPS: u64 = 40;

fn body(op: u64) -> Vec<u8> {
    vec![op.to_le_bytes()[0]; usize::try_from(op * 37 % 900).expect("small")]
}

/// A journal with forty acknowledged ops and a mark behind them, always the same.
fn written() -> SimulatedEnvironment {
    let mut rig = Rig::create(11);
    rig.settle();
    for op in 1..=OPS {
        rig.append(prepare(5, op, 1, &body(op)), body(op)).expect("room");
        if op % 7 == 0 {
            rig.settle();
        }
    }
    rig.settle();
    rig.step(Event::Idle);
    rig.settle();
    rig.environment.kill();
    rig.environment
}

/// Every op is there as it was, or something is reported, with the file that is damaged where a record is. Returns whether
/// something was.
fn is_reported(environment: &SimulatedEnvironment, file: u32, story: &str) -> bool {
    let found = Found::read(environment.clone(), 2, &BTreeMap::new());
    let damage = &found.recovered.damage;
    for one in damage {
        if let Damage::Record { checksum, .. } = one {
            assert_eq!(found.recovered.file_of_damaged(*checksum), Some(file), "{story}: {one:?}");
        }
    }
    for op in 1..=OPS {
        let Some(located) = found.recovered.locate(5, op) else {
            assert!(!damage.is_empty(), "{story}: op {op} is absent");
            continue;
        };
        match located.state {
            SlotState::Present => assert_eq!(found.body(5, op), Some(body(op)), "{story}: op {op}"),
            _ => assert!(
                damage
                    .iter()
                    .any(|one| matches!(one, Damage::Record { group: 5, op: damaged, .. } if *damaged == op)),
                "{story}: op {op}"
            ),
        }
    }
    !damage.is_empty()
}

#[test]
fn a_flipped_bit_anywhere_is_reported_or_of_no_account() {
    let (mut reported, mut harmless) = (0, 0);
    let used = 32 * 4096;
    for position in (0..used).step_by(61) {
        let environment = written();
        let (file, at) = (u32::try_from(position / 65_536).expect("few"), position % 65_536);
        assert!(environment.rot(&path(file), at, 1 << (position % 8)));
        if is_reported(&environment, file, &format!("byte {at} of file {file}")) {
            reported += 1;
        } else {
            harmless += 1;
        }
    }
    assert!(reported > 100 && harmless > 100, "{reported} {harmless}");
}

#[test]
fn an_unreadable_sector_is_reported_or_of_no_account() {
    let mut reported = 0;
    for sector in 0..200 {
        let environment = written();
        assert!(environment.spoil(&path(0), sector * 512 % 65_536));
        reported += u32::from(is_reported(&environment, 0, &format!("sector {sector}")));
    }
    assert!(reported > 50, "{reported}");
}

/// A journal of which every op was acknowledged in a block of its own, and nothing was written behind the last one: its file
/// and where that block begins there.
fn cut_short(ops: u64) -> (SimulatedEnvironment, u32, usize) {
    let mut rig = Rig::create(11);
    rig.settle();
    for op in 1..=ops {
        rig.append(prepare(5, op, 1, &body(op)), body(op)).expect("room");
        rig.settle();
    }
    rig.environment.kill();
    let blocks = (0..2).flat_map(|file| {
        let bytes = rig.environment.file_bytes(&path(file)).unwrap_or_default();
        bytes.chunks(4096).filter_map(|page| Some(BlockHeader::decode(page).ok()?.0)).collect::<Vec<_>>()
    });
    let last = blocks.max_by_key(|header| header.sequence).expect("a block");
    (rig.environment, last.file, usize::try_from(last.offset).expect("small"))
}

/// Once a replica denied an operation that it had acknowledged: bits of the last block's header had rotted before a further
/// block could say that it was there.
#[test]
fn the_last_block_is_missed_though_no_block_vouches_for_it() {
    for ops in [1, 5, 15, 16] {
        let (whole, ..) = cut_short(ops);
        assert_eq!(Found::read(whole, 2, &BTreeMap::new()).recovered.damage, [], "{ops} ops");
        for byte in 0..136 {
            let (environment, file, offset) = cut_short(ops);
            assert!(environment.rot(&path(file), offset + byte, 1 << (byte % 8)));
            assert!(is_missed(&environment, ops), "byte {byte} after {ops} ops");
        }
        let (environment, file, offset) = cut_short(ops);
        assert!(environment.spoil(&path(file), offset));
        assert!(is_missed(&environment, ops), "unreadable after {ops} ops");
    }
}

/// What remains of a block may be what remains of one that counted no more: a start that goes on writes over it.
#[test]
fn remains_are_told_once() {
    let (environment, ..) = cut_short(5);
    for (at, byte) in (16..).zip(KIND.magic).filter(|(_, byte)| *byte != 0) {
        assert!(environment.rot(&path(1), at, byte), "the second file is all zero");
    }
    let found = Found::read(environment, 2, &BTreeMap::new());
    assert!(matches!(found.recovered.damage[..], [Damage::Blocks { .. }]));
    let mut rig = found.resume();
    rig.append(prepare(5, 6, 1, &body(6)), body(6)).expect("room");
    rig.settle();
    rig.environment.kill();
    let found = rig.reopen(&BTreeMap::new());
    assert_eq!((found.recovered.damage.len(), found.recovered.losses().len()), (0, 1));
    assert_eq!(found.body(5, 6), Some(body(6)));
}

/// Once a start was refused for the remains of a loss that the one before had gone on over: their file was free by then, so that
/// they could have been those of the newest block.
#[test]
fn remains_of_a_loss_are_not_taken_for_another_one() {
    let (environment, ..) = cut_short(16);
    assert!(environment.rot(&path(0), 64, 1), "the header of the first block");
    let mut found = Found::read(environment, 2, &BTreeMap::new());
    assert!(matches!(found.recovered.damage[..], [Damage::Blocks { .. }]));
    for op in 17..80 {
        let mut rig = found.resume();
        rig.append(prepare(5, op, 1, &body(op)), body(op)).expect("room");
        rig.settle();
        rig.step(Event::Released { group: 5, op });
        rig.settle();
        rig.environment.kill();
        found = rig.reopen(&BTreeMap::from([(5, op)]));
        assert_eq!(found.recovered.damage, [], "after op {op}");
        assert_eq!(found.recovered.losses().iter().filter(|loss| loss.proven).count(), 1, "after op {op}");
    }
}

fn is_missed(environment: &SimulatedEnvironment, last_op: u64) -> bool {
    let found = Found::read(environment.clone(), 2, &BTreeMap::new());
    let losses = found.recovered.losses();
    found.recovered.locate(5, last_op).is_none()
        && matches!(found.recovered.damage[..], [Damage::Blocks { .. }])
        && losses.iter().any(|loss| loss.proven && loss.last < found.recovered.next_sequence())
}

#[test]
fn a_block_in_a_wrong_place_is_missed_in_its_own() {
    let (environment, file, offset) = cut_short(5);
    let bytes = environment.file_bytes(&path(file)).expect("the file");
    for (at, byte) in (offset..).zip(&bytes[offset..offset + 4096]).filter(|(_, byte)| **byte != 0) {
        assert!(environment.rot(&path(file), at, *byte) && environment.rot(&path(file), at + 8192, *byte));
    }
    assert!(is_missed(&environment, 5));
}

#[test]
fn a_journal_without_a_single_block_is_damage() {
    let environment = written();
    for file in 0..2 {
        for position in (0..usize::try_from(LIMITS.file_bytes).expect("small")).step_by(4096) {
            environment.rot(&path(file), position + 40, 0xff);
        }
    }
    let found = Found::read(environment, 2, &BTreeMap::new());
    assert_eq!(found.recovered.damage, [Damage::Blocks { first: 1, last: 1 }]);
}

#[test]
fn a_damaged_body_names_its_record_and_a_new_copy_heals_it() {
    let environment = written();
    let found = Found::read(environment.clone(), 2, &BTreeMap::new());
    let located = found.recovered.locate(5, 20).expect("an op");
    let position = usize::try_from(located.offset).expect("small");
    environment.rot(&path(located.file.expect("written")), position, 4);
    environment.kill();

    let found = Found::read(environment, 2, &BTreeMap::new());
    let [Damage::Record { group: 5, op: 20, checksum, .. }] = found.recovered.damage[..] else {
        panic!("one record is damaged: {:?}", found.recovered.damage);
    };
    assert_eq!(checksum, prepare(5, 20, 1, &body(20)).checksum());

    // As a replica does: go on, get the record from a peer, append it again.
    let mut rig = found.resume();
    rig.append(prepare(5, 20, 1, &body(20)), body(20)).expect("the same record");
    rig.settle();
    rig.environment.cut_power();
    let found = rig.reopen(&BTreeMap::new());
    assert_eq!(found.recovered.damage, []);
    assert_eq!(found.body(5, 20), Some(body(20)));
}

/// Once the ops up to that of an install counted as safe elsewhere though its body, and the state with it, was lost: the
/// replica began anew, and its journal refused what the others sent it.
#[test]
fn an_install_that_cannot_be_read_releases_nothing() {
    let mut rig = Rig::create(12);
    let install = InstallBody { anchor: prepare(6, 9, 1, b"x"), state: vec![7; 5_000] }.encode();
    let header = RecordHeader { op: 9, ..RecordHeader::of(RecordKind::Install, 6, &install) };
    rig.append(header, install).expect("room");
    rig.append(prepare(6, 10, 1, &body(10)), body(10)).expect("room");
    rig.settle();
    rig.step(Event::Idle);
    rig.settle();
    rig.environment.kill();
    let found = Found::read(rig.environment.clone(), 2, &BTreeMap::new());
    assert!(found.group(6).is_some_and(|group| group.install.is_some()));

    let located = found.recovered.locate(6, 10).expect("it is there");
    let within = usize::try_from(located.offset).expect("small") / 4096 * 4096 - 5_000;
    assert!(rig.environment.rot(&path(located.file.expect("written")), within, 4));
    rig.environment.kill();
    let found = Found::read(rig.environment, 2, &BTreeMap::new());
    let [Damage::Record { group: 6, op: 9, kind: RecordKind::Install, .. }] = found.recovered.damage[..]
    else {
        panic!("the install is damaged: {:?}", found.recovered.damage);
    };
    let mut rig = found.resume();
    for op in 1..=9 {
        rig.append(prepare(6, op, 1, &body(op)), body(op)).expect("nothing is safe elsewhere");
    }
}

#[test]
fn a_block_that_the_next_one_was_not_written_behind_is_damage() {
    let block = |sequence, previous| {
        let header = BlockHeader {
            journal: 1,
            previous,
            sequence,
            incarnation: 1,
            synced_through: sequence - 1,
            oldest: 65,
            offset: (sequence - 65) * 4096,
            file: 0,
            bytes: 4096,
            records: 0,
            previous_file: 0,
            directory_checksum: 0,
        };
        FoundBlock { header, checksum: u128::from(sequence), records: Some(Vec::new()) }
    };
    let chained = vec![block(65, 0), block(66, 65), block(67, 66)];
    assert_eq!(recover(chained, &Remains::default(), &RING, &[], &BTreeMap::new()).damage, []);
    let phantom = vec![block(65, 0), block(66, 65), block(67, 99)];
    assert_eq!(
        recover(phantom, &Remains::default(), &RING, &[], &BTreeMap::new()).damage,
        [Damage::Blocks { first: 66, last: 66 }]
    );
}

/// Two files, of which no superblock says how far they were written.
const RING: Ring = Ring { files: 2, synced: SyncedBlock { sequence: 0, checksum: 0, file: 0 } };

/// A record in a block that holds it alone, behind the one before.
fn block_of(sequence: u64, header: RecordHeader, body: Vec<u8>) -> FoundBlock {
    let block = BlockHeader {
        journal: 1,
        previous: u128::from(sequence - 1),
        sequence,
        incarnation: 1,
        synced_through: sequence - 1,
        oldest: 1,
        offset: (sequence - 1) * 4096,
        file: 0,
        bytes: 4096,
        records: 1,
        previous_file: 0,
        directory_checksum: 0,
    };
    let record = BlockRecord { header, checksum: header.checksum(), body_start: 416, whole: true };
    FoundBlock {
        header: block,
        checksum: u128::from(sequence),
        records: Some(vec![FoundRecord { record, body, next_offset: None }]),
    }
}

/// It can be read, and cannot be right: the op is farther from the others than any window.
#[test]
fn a_record_where_no_server_writes_one_is_named_with_its_file() {
    let far = prepare(5, 1 << 40, 1, &body(1));
    let mut blocks = vec![
        block_of(1, prepare(5, 1, 1, &body(1)), body(1)),
        block_of(2, far, body(1)),
        block_of(3, prepare(5, 2, 1, &body(2)), body(2)),
    ];
    blocks[1].header.file = 1;
    let recovered = recover(blocks, &Remains::default(), &RING, &[], &BTreeMap::new());
    let checksum = far.checksum();
    let record = Damage::Record { group: 5, op: 1 << 40, kind: RecordKind::Prepare, checksum };
    assert_eq!(recovered.damage, [record]);
    assert_eq!(recovered.file_of_damaged(checksum), Some(1));
}

#[test]
fn a_block_between_two_that_are_lost_is_not_lost_however_many_there_are() {
    const LOST: u64 = 100;
    let is_lost = |block: u64| block % 3 == 1 && block < 3 * LOST;
    let mut blocks: Vec<_> =
        (1..=3 * LOST).map(|op| block_of(op, prepare(5, op, 1, &body(op)), Vec::new())).collect();
    let lost = (1..3 * LOST).filter(|block| is_lost(*block));
    let lost = lost.map(|block| LostBlocks { first: block, last: block, standing: Standing::Unproven });
    let mark = MarkBody { lost: lost.collect() }.encode();
    blocks.push(block_of(3 * LOST + 1, RecordHeader::of(RecordKind::Mark, 0, &mark), mark));

    let first = recover(blocks.clone(), &Remains::default(), &RING, &[], &BTreeMap::new());
    let told = first.losses();
    let listed = told.iter().map(|loss| LostBlocks {
        first: loss.first,
        last: loss.last,
        standing: Standing::Unproven,
    });
    let again = MarkBody { lost: listed.collect() }.encode();
    blocks.push(block_of(3 * LOST + 2, RecordHeader::of(RecordKind::Mark, 0, &again), again));
    let second = recover(blocks, &Remains::default(), &RING, &[], &BTreeMap::new());
    for recovered in [first, second] {
        for op in 1..=3 * LOST {
            assert_eq!(recovered.locate(5, op).is_some(), !is_lost(op), "op {op}: {told:?}");
        }
        assert!(!recovered.is_shattered(&LIMITS), "a mark can list them");
    }
}

#[test]
fn a_journal_that_is_lost_in_more_places_than_it_can_list_is_told_so() {
    let shattered = |count: u64| {
        let lost = (1..=count).map(|number| LostBlocks {
            first: 2 * number,
            last: 2 * number,
            standing: Standing::Unproven,
        });
        let mark = MarkBody { lost: lost.collect() }.encode();
        let block = block_of(2 * count + 1, RecordHeader::of(RecordKind::Mark, 0, &mark), mark);
        let header = BlockHeader { oldest: 2 * count + 1, ..block.header };
        let counts = recover(vec![block.clone()], &Remains::default(), &RING, &[], &BTreeMap::new());
        let gone =
            recover(vec![FoundBlock { header, ..block }], &Remains::default(), &RING, &[], &BTreeMap::new());
        assert!(!gone.is_shattered(&LIMITS) && gone.losses().len() <= 64, "nothing counts between them");
        counts.is_shattered(&LIMITS)
    };
    // What lies between them is missing, too, and of another standing.
    assert!(!shattered(500) && shattered(600));
}

#[test]
fn a_block_of_another_journal_is_not_a_block() {
    let environment = written();
    let foreign = environment.file_bytes(&path(0)).expect("the file");
    let mut scan = ng_storage::journal::scan::FileScan::new(0x4a4b, 0, LIMITS.file_bytes);
    while let Some((offset, count)) = scan.wants() {
        let start = usize::try_from(offset).expect("small");
        scan.feed(Some(&foreign[start..start + count]), &mut |_, _, _| panic!("a block was found"));
    }
}
