//! Cut at every length and flipped at every byte: never a panic, never a row that was not written.

use ng_storage::columns::{Columns, Selection, Stop, decode};
use proptest::prelude::*;

use crate::segment::{EVERYTHING, call, expected, segment, walk};

#[test]
fn a_segment_that_was_cut_is_damage_behind_its_whole_batches() {
    let bytes = segment(&[2, 3, 4]);
    let whole = expected(&bytes);
    for length in 0..bytes.len() {
        let (rows, decoded) = call(&bytes[..length], &walk(length), &EVERYTHING);
        assert_eq!(rows, whole[..rows.len()], "cut to {length}");
        let at_an_end = decoded.consumed == length;
        assert_eq!(decoded.stop == Stop::End, at_an_end, "cut to {length}: {:?}", decoded.stop);
        assert!(at_an_end || matches!(decoded.stop, Stop::Damaged(_)), "cut to {length}");
    }
}

#[test]
fn a_piece_that_was_cut_asks_for_more() {
    let bytes = segment(&[2, 3, 4]);
    for length in 0..bytes.len() {
        let (_, decoded) = call(&bytes[..length], &walk(bytes.len()), &EVERYTHING);
        let Stop::More(wanted) = decoded.stop else { panic!("cut to {length}: {:?}", decoded.stop) };
        assert!(wanted > (length - decoded.consumed) as u64, "cut to {length}");
    }
}

#[test]
fn a_flipped_bit_is_found_wherever_it_is() {
    let bytes = segment(&[2, 3]);
    let whole = expected(&bytes);
    for position in 0..bytes.len() {
        for flip in [0x01, 0x80] {
            let mut flipped = bytes.clone();
            flipped[position] ^= flip;
            let (rows, decoded) = call(&flipped, &walk(bytes.len()), &EVERYTHING);
            assert!(matches!(decoded.stop, Stop::Damaged(_)), "byte {position}: {:?}", decoded.stop);
            assert_eq!(rows, whole[..rows.len()], "byte {position}");
            assert!([0, 2].contains(&rows.len()), "byte {position}: rows of a batch that is damaged");
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..2_000), columns in 0_u32..512) {
        let selection = Selection { columns: Columns(columns), ..EVERYTHING };
        let (rows, decoded) = call(&bytes, &walk(bytes.len()), &selection);
        prop_assert!(rows.is_empty() && decoded.consumed == 0);
    }

    #[test]
    fn payloads_that_nobody_hashed_are_still_within_their_bounds(position in 0_usize..2_000, value: u8) {
        let mut bytes = segment(&[2, 3]);
        let position = position % bytes.len();
        bytes[position] = value;
        let walk = ng_storage::columns::Walk { hashed: false, ..walk(bytes.len()) };
        let mut arena = vec![0; 1 << 20];
        let decoded = decode(&bytes, &walk, &EVERYTHING, &mut arena).expect("a long arena");
        prop_assert!(decoded.rows <= 5);
    }
}
