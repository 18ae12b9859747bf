//! Which of four copies wins, over every combination of what can have become of them.

use ng_storage::superblock::{COPIES, Superblock};
use ng_storage::{PAGE, Reason};

use crate::values;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copy {
    Old,
    New,
    Damaged,
}

const STATES: [Copy; 3] = [Copy::Old, Copy::New, Copy::Damaged];

fn file_of(copies: [Copy; COPIES]) -> Vec<u8> {
    let old = values::superblock();
    let new = Superblock { sequence: old.sequence + 1, incarnation: old.incarnation + 1, ..old };
    let mut file = vec![0; COPIES * PAGE];
    for (index, copy) in copies.into_iter().enumerate() {
        let number = u8::try_from(index).expect("of four");
        let (mut bytes, _) = if copy == Copy::New { new } else { old }.encode_copy(number);
        if copy == Copy::Damaged {
            bytes[100] ^= 1;
        }
        file[index * PAGE..index * PAGE + bytes.len()].copy_from_slice(&bytes);
    }
    file
}

#[test]
fn the_highest_sequence_that_two_copies_hold_wins() {
    for number in 0..81_usize {
        let copies = [0, 1, 2, 3].map(|index| STATES[number / 3_usize.pow(index) % 3]);
        let count = |state| copies.iter().filter(|copy| **copy == state).count();
        let read = Superblock::elect(&file_of(copies)).map(|elected| elected.superblock.sequence);
        let sequence = values::superblock().sequence;
        match (count(Copy::New), count(Copy::Old)) {
            (2.., _) => assert_eq!(read, Ok(sequence + 1), "{copies:?}"),
            (_, 2..) => assert_eq!(read, Ok(sequence), "{copies:?}"),
            _ => assert_eq!(read.expect_err("no pair").reason, Reason::NoQuorum, "{copies:?}"),
        }
    }
}

#[test]
fn a_cut_at_any_sector_of_a_write_leaves_the_old_or_the_new() {
    let old = values::superblock();
    let new = Superblock { sequence: old.sequence + 1, ..old };
    for (half, first) in [(new.encode_half(0), 0), (new.encode_half(2), 2)] {
        for sectors in 0_u32..1 << 4 {
            let before = if first == 0 { &old } else { &new };
            let mut file = values::superblock_file(before, &old);
            // Only the first sector of each page carries anything; the second stands for the rest of the page.
            for (bit, sector) in
                [0, 1, 8, 9].into_iter().enumerate().filter(|(bit, _)| sectors >> bit & 1 == 1)
            {
                let start = sector * 512;
                let place = usize::from(first == 2) * 2 * PAGE + start;
                file[place..place + 512].copy_from_slice(&half[start..start + 512]);
                assert!(bit < 4);
            }
            let read = Superblock::elect(&file).expect("two copies agree").superblock;
            assert!(read == old || read == new);
            if first == 2 {
                assert_eq!(read, new, "the first half was synced");
            }
        }
    }
}

#[test]
fn copies_that_disagree_within_a_sequence_are_refused() {
    let one = values::superblock();
    let two = Superblock { incarnation: one.incarnation + 1, ..one };
    let refusal = Superblock::elect(&values::superblock_file(&one, &two)).expect_err("a fork");
    assert_eq!(refusal.reason, Reason::Fork);
}

#[test]
fn a_copy_in_another_copys_place_is_refused() {
    let (bytes, _) = values::superblock().encode_copy(1);
    assert_eq!(Superblock::decode_copy(&bytes, 1), Ok(values::superblock()));
    assert_eq!(Superblock::decode_copy(&bytes, 2).expect_err("misdirected").field, "copy");
}
