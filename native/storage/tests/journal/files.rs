//! Files that are not those which this life of the journal left: each is known for what it is, and nothing is read from it.

use std::collections::BTreeMap;
use std::path::Path;

use ng_io::{
    Buffer, Driver, Environment, FileOptions, Instant, Operation, SimulatedEnvironment, Token, Wait,
};
use ng_storage::PAGE;
use ng_storage::block::BlockHeader;
use ng_storage::journal::Event;
use ng_storage::journal::recovery::{Damage, FileFault, LostFile};
use ng_storage::journal::scan::FoundBlock;
use ng_storage::journal::shell::StartFault;
use ng_storage::journal::strays::{Stray, StrayFile, earlier_files};
use ng_storage::superblock::{Ring, SyncedBlock};

use crate::rig::{DRIVER, Found, LIMITS, Rig, path, prepare};

/// As many as may count at once, each in a block and a page of its own.
const OPS: u64 = 32;

fn body(op: u64) -> Vec<u8> {
    vec![op.to_le_bytes()[0] | 1; 2_500]
}

fn append(rig: &mut Rig, group: u64, ops: std::ops::RangeInclusive<u64>) {
    for op in ops {
        rig.append(prepare(group, op, 1, &body(op)), body(op)).expect("room");
        rig.settle();
    }
}

/// A ring of which several files count, and what a superblock would vouch for that was written at its end.
fn written() -> (SimulatedEnvironment, Ring) {
    let mut rig = Rig::create(21);
    append(&mut rig, 5, 1..=OPS);
    rig.step(Event::Idle);
    rig.settle();
    let ring = Ring { files: rig.journal.files(), synced: rig.journal.synced_block() };
    assert!(ring.files > 3 && ring.synced.sequence > OPS, "{ring:?}");
    rig.environment.kill();
    (rig.environment, ring)
}

fn read(environment: &SimulatedEnvironment, incarnation: u64, ring: Ring) -> Result<Found, StartFault> {
    Found::read_ring(environment.clone(), incarnation, ring, &BTreeMap::new())
}

fn content(environment: &SimulatedEnvironment, number: u32) -> Vec<u8> {
    environment.file_bytes(&path(number)).expect("the file")
}

fn put(environment: &SimulatedEnvironment, path: &Path, content: &[u8]) {
    let mut driver = environment.driver(DRIVER).expect("a driver");
    let file = environment.open_file(path, FileOptions::WRITE).expect("a healthy disk");
    let file = driver.adopt_file(file).expect("room");
    let buffer = Buffer::from(content.to_vec());
    driver.submit(Token(0), Operation::WriteAt { file, buffer: buffer.into(), offset: 0, sync: true });
    let mut completions = Vec::new();
    while completions.is_empty() {
        driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut completions).expect("it lives");
    }
    drop(driver);
    environment.kill();
}

fn remove(environment: &SimulatedEnvironment, number: u32) {
    environment.remove_file(&path(number)).expect("a healthy disk");
}

/// The strays that a start names.
fn strays(found: Result<Found, StartFault>) -> Vec<StrayFile> {
    match found {
        Err(StartFault::Strays(strays)) => strays,
        Err(other) => panic!("{other}"),
        Ok(found) => panic!("it is read: {:?}", found.recovered.damage),
    }
}

const fn stray(number: u32, standing: Stray) -> StrayFile {
    StrayFile { number, standing }
}

#[test]
fn a_missing_file_is_damage_and_what_is_behind_it_is_read() {
    let (whole, ring) = written();
    for number in 0..ring.files {
        let (environment, ring) = written();
        let held_blocks = content(&whole, number).iter().any(|byte| *byte != 0);
        remove(&environment, number);
        let found = read(&environment, 2, ring).expect("the others are of this life");
        let missing = Damage::File(LostFile { number, fault: FileFault::Missing });
        assert_eq!(found.recovered.damage[0], missing, "file {number}");
        assert_eq!(found.recovered.damage.len() > 1, held_blocks, "file {number}");
        assert!(found.recovered.losses().iter().any(|loss| loss.proven), "file {number}");
        assert!(environment.file_bytes(&path(number)).is_none(), "reading makes no file");
    }
}

#[test]
fn a_file_that_was_cut_short_is_damage() {
    let (environment, ring) = written();
    let kept = content(&environment, 1);
    remove(&environment, 1);
    put(&environment, &path(1), &kept[..3 * PAGE]);
    let found = read(&environment, 2, ring).expect("it is of this life");
    let short = FileFault::Short { bytes: 3 * PAGE as u64 };
    assert_eq!(found.recovered.damage[0], Damage::File(LostFile { number: 1, fault: short }));
    assert!(found.recovered.damage.len() > 1, "its blocks are missed");
}

/// The last page that is left of a file may hold a whole block: its end is zero.
#[test]
fn a_file_that_was_cut_is_completed_after_what_is_left_of_it() {
    for cut in [3 * PAGE, 3 * PAGE - 100, 2 * PAGE + 1] {
        let (environment, ring) = written();
        let kept = content(&environment, 1);
        remove(&environment, 1);
        put(&environment, &path(1), &kept[..cut]);
        let mut found = read(&environment, 2, ring).expect("it is of this life");
        found.complete();
        drop(found);
        environment.kill();
        let completed = content(&environment, 1);
        assert_eq!(completed.len(), kept.len());
        assert!(completed[..cut] == kept[..cut], "cut at {cut}: what was left is changed");
        assert!(completed[cut..].iter().all(|byte| *byte == 0), "cut at {cut}");
    }
}

#[test]
fn a_copy_and_a_swap_and_a_foreign_file_are_named() {
    let (environment, ring) = written();
    put(&environment, &path(2), &content(&environment, 1));
    assert_eq!(strays(read(&environment, 2, ring)), [stray(2, Stray::Holds(1))]);

    let (environment, ring) = written();
    let (one, two) = (content(&environment, 1), content(&environment, 2));
    put(&environment, &path(1), &two);
    put(&environment, &path(2), &one);
    let swapped = [stray(1, Stray::Holds(2)), stray(2, Stray::Holds(1))];
    assert_eq!(strays(read(&environment, 2, ring)), swapped);

    let (environment, ring) = written();
    let mut foreign = content(&environment, 1);
    // The mark of the journal, and a checksum that fits it.
    foreign[32] ^= 1;
    let sum = ng_storage::checksum::checksum(&foreign[16..256]);
    foreign[..16].copy_from_slice(&sum.to_le_bytes());
    put(&environment, &path(1), &foreign);
    assert_eq!(strays(read(&environment, 2, ring)), [stray(1, Stray::Foreign)]);
}

#[test]
fn a_file_beyond_those_that_count_is_named_unless_its_growth_was_cut() {
    let (environment, ring) = written();
    let next = ring.files;
    put(&environment, &path(next), &vec![0; 5 * PAGE]);
    let mut rig = read(&environment, 2, ring).expect("the growth was cut").resume();
    rig.step(Event::Released { group: 5, op: OPS });
    append(&mut rig, 6, 1..=3);
    rig.environment.kill();

    // Rot and sectors that cannot be read take nothing from a file that held no block.
    let (environment, ring) = written();
    put(&environment, &path(next), &vec![0; 5 * PAGE]);
    assert!(environment.rot(&path(next), 99, 1) && environment.spoil(&path(next), 2 * PAGE));
    assert_eq!(read(&environment, 2, ring).expect("the growth was cut").recovered.damage, []);

    let (environment, ring) = written();
    put(&environment, &path(next + 1), &vec![0; PAGE]);
    assert_eq!(strays(read(&environment, 2, ring)), [stray(next + 1, Stray::Surplus)]);
    let (environment, ring) = written();
    put(&environment, &path(next), &content(&environment, 0));
    assert_eq!(strays(read(&environment, 2, ring)), [stray(next, Stray::Holds(0))]);
    let (environment, ring) = written();
    put(&environment, &path(next), &vec![0; usize::try_from(LIMITS.file_bytes).expect("small") + PAGE]);
    assert_eq!(strays(read(&environment, 2, ring)), [stray(next, Stray::Surplus)]);
}

#[test]
fn an_older_superblock_is_known_by_the_blocks_it_cannot_know_of() {
    let (environment, ring) = written();
    let fewer = Ring { files: ring.files - 1, ..ring };
    let last_holds = content(&environment, ring.files - 1).iter().any(|byte| *byte != 0);
    let fewer = if last_holds { fewer } else { Ring { files: 2, ..ring } };
    let found = read(&environment, 2, fewer).err().expect("blocks lie beyond");
    assert!(matches!(found, StartFault::OlderSuperblock(_)), "{found}");
    environment.kill();
    let found = read(&environment, 0, ring).err().expect("blocks are of incarnation 1");
    assert!(matches!(found, StartFault::OlderSuperblock(_)), "{found}");
}

#[test]
fn an_older_copy_of_any_file_is_missed_up_to_what_the_superblock_vouches_for() {
    let mut rig = Rig::create(21);
    append(&mut rig, 5, 1..=OPS / 2);
    let environment = rig.environment.clone();
    let older: Vec<_> = (0..rig.journal.files()).map(|number| content(&environment, number)).collect();
    append(&mut rig, 5, OPS / 2 + 1..=OPS);
    let ring = Ring { files: rig.journal.files(), synced: rig.journal.synced_block() };
    environment.kill();
    let newer: Vec<_> = (0..ring.files).map(|number| content(&environment, number)).collect();
    let mut changed = 0;
    for (number, older) in (0_u32..).zip(&older) {
        let now = &newer[number as usize];
        if now == older {
            continue;
        }
        changed += 1;
        put(&environment, &path(number), older);
        let found = read(&environment, 2, ring).expect("a copy of this life");
        let lost = found.recovered.damage.iter().find_map(|damage| match damage {
            Damage::Blocks { last, .. } => Some(*last),
            _ => None,
        });
        let last = lost.unwrap_or_else(|| panic!("file {number}: {:?}", found.recovered.damage));
        assert_eq!(found.recovered.file_of_lost(last), Some(number), "the file is named");
        assert!(found.recovered.next_sequence() > ring.synced.sequence, "no number is used again");
        environment.kill();
        put(&environment, &path(number), now);
    }
    assert!(changed > 1, "{changed}");
    assert_eq!(read(&environment, 2, ring).expect("all is back").recovered.damage, []);
}

#[test]
fn where_nothing_is_left_the_file_of_the_newest_block_is_named() {
    let (environment, ring) = written();
    for number in 0..ring.files {
        put(&environment, &path(number), &vec![0; content(&environment, number).len()]);
    }
    let found = read(&environment, 2, ring).expect("files of no other journal");
    let last = ring.synced.sequence;
    assert_eq!(found.recovered.damage, [Damage::Blocks { first: 1, last }]);
    assert_eq!(found.recovered.file_of_lost(last), Some(ring.synced.file));
}

/// Once the files behind a missing one were taken up two starts later, with blocks that later lives had written past.
#[test]
fn a_file_of_an_earlier_life_changes_nothing_in_a_later_one() {
    let (_, ring) = written();
    for number in 0..ring.files {
        let (environment, ring) = written();
        let earlier = content(&environment, number);
        remove(&environment, number);
        // An operator accepts the loss: the journal goes on with a new file, and the ring goes round.
        let mut rig = read(&environment, 2, ring).expect("of this life").resume();
        rig.step(Event::Released { group: 5, op: OPS });
        for op in 1..=2 * OPS {
            append(&mut rig, 6, op..=op);
            rig.step(Event::Released { group: 6, op: op.saturating_sub(5) });
        }
        rig.settle();
        let now = Ring { files: rig.journal.files(), synced: rig.journal.synced_block() };
        environment.kill();
        let found = read(&environment, 3, now).expect("of this life");
        assert_eq!(found.recovered.damage, [], "file {number}");
        let expected: Vec<_> = found.recovered.ops().collect();
        environment.kill();
        put(&environment, &path(number), &earlier);
        if let Ok(found) = read(&environment, 3, now) {
            let is_missed = !found.recovered.damage.is_empty();
            let ops: Vec<_> = found.recovered.ops().collect();
            assert!(is_missed || ops == expected, "file {number}: {ops:?}");
            assert!(ops.iter().all(|op| expected.contains(op)), "file {number}: {ops:?}");
        }
    }
}

#[test]
fn a_block_that_a_later_incarnation_wrote_past_is_of_an_earlier_life() {
    let block = |(sequence, incarnation, file)| {
        let header = BlockHeader {
            journal: 1,
            previous: 0,
            sequence,
            incarnation,
            synced_through: sequence - 1,
            oldest: 1,
            offset: 0,
            file,
            bytes: 4096,
            records: 0,
            previous_file: file,
            directory_checksum: 0,
        };
        FoundBlock { header, checksum: u128::from(sequence), records: Some(Vec::new()) }
    };
    let files = |blocks: &[(u64, u64, u32)]| {
        let blocks: Vec<_> = blocks.iter().copied().map(block).collect();
        earlier_files(&blocks)
    };
    assert_eq!(files(&[(10, 1, 0), (11, 1, 0), (76, 2, 1), (77, 2, 0)]), []);
    assert_eq!(files(&[(76, 2, 1), (80, 1, 2)]), [stray(2, Stray::Earlier)]);
    assert_eq!(files(&[(76, 1, 2), (76, 2, 1)]), [stray(2, Stray::Earlier)]);
    assert_eq!(files(&[(300, 1, 2), (76, 2, 1), (301, 3, 0)]), [stray(2, Stray::Earlier)]);
}

#[test]
fn rot_of_a_block_that_the_superblock_names_is_damage() {
    let mut rig = Rig::create(22);
    append(&mut rig, 5, 1..=5);
    let environment = rig.environment.clone();
    let ring = Ring { files: rig.journal.files(), synced: rig.journal.synced_block() };
    let located = rig.journal.locate(5, 5).expect("it counts");
    environment.kill();
    let last = ring.synced.sequence;
    assert_eq!((located.position.block, located.file), (last, Some(ring.synced.file)));
    let at = usize::try_from(located.offset).expect("small") / PAGE * PAGE;
    assert!(environment.rot(&path(ring.synced.file), at + 280, 1), "its directory");
    let blind = Ring { synced: SyncedBlock::default(), ..ring };
    assert_eq!(read(&environment, 2, blind).expect("of this life").recovered.damage, [], "it looks torn");
    environment.kill();
    let found = read(&environment, 2, ring).expect("of this life");
    assert_eq!(found.recovered.damage, [Damage::Blocks { first: last, last }]);
}
