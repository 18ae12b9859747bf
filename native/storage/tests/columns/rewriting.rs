//! Segments rewritten to their survivors.

use ng_storage::columns::Stop;
use ng_storage::rewrite::{Rewritten, rewrite};
use proptest::prelude::*;

use crate::segment::{EVERYTHING, Row, call, expected, segment, walk};

fn rewritten(segment: &[u8], kept: &[u64]) -> (Vec<u8>, Rewritten) {
    let kept: Vec<u8> = kept.iter().flat_map(|offset| offset.to_le_bytes()).collect();
    let mut into = Vec::new();
    let done = rewrite(segment, &walk(segment.len()), &kept, &mut into);
    (into, done)
}

#[test]
fn whoever_survives_as_a_whole_is_the_same_segment() {
    let bytes = segment(&[3, 4]);
    let all: Vec<u64> = expected(&bytes).iter().map(|row| row.offset.unsigned_abs()).collect();
    let (into, done) = rewritten(&bytes, &all);
    assert_eq!((into, done.messages, done.last_offset), (bytes, 7, Some(21)));
}

#[test]
fn a_batch_without_a_survivor_is_gone() {
    let bytes = segment(&[3, 4]);
    let (into, done) = rewritten(&bytes, &[19]);
    let (rows, read) = call(&into, &walk(into.len()), &EVERYTHING);
    assert_eq!((rows.len(), rows[0].offset, read.stop), (1, 19, Stop::End));
    assert_eq!((done.messages, done.after, done.stop), (1, 22, Stop::End));
    assert_eq!(rewritten(&bytes, &[]).0, Vec::<u8>::new());
}

#[test]
fn what_rotted_is_not_sealed_again() {
    let mut bytes = segment(&[3, 4]);
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let (into, done) = rewritten(&bytes, &[10, 19]);
    assert!(matches!(done.stop, Stop::Damaged(_)));
    let (rows, _) = call(&into, &walk(into.len()), &EVERYTHING);
    assert_eq!(rows.iter().map(|row| row.offset).collect::<Vec<_>>(), [10]);
}

proptest! {
    #[test]
    fn survivors_are_what_they_were(batches in proptest::collection::vec(1_u32..12, 1..5), bits: u64) {
        let bytes = segment(&batches);
        let survives = |row: &Row| bits >> (row.offset.unsigned_abs() % 64) & 1 == 1;
        let survivors: Vec<_> = expected(&bytes).into_iter().filter(survives).collect();
        let kept: Vec<u64> = survivors.iter().map(|row| row.offset.unsigned_abs()).collect();
        let (into, done) = rewritten(&bytes, &kept);
        prop_assert_eq!(done.messages, kept.len() as u64);
        let (rows, read) = call(&into, &walk(into.len()), &EVERYTHING);
        prop_assert_eq!((rows, read.stop), (survivors, Stop::End));
        let again = rewritten(&into, &kept).0;
        prop_assert_eq!(again, into);
    }
}
