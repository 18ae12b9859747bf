//! Slices of a segment found in it, in pieces of any size; and everything that is none.

use ng_storage::columns::{Stop, Walk};
use ng_storage::rewrite::rewrite;
use ng_storage::slices::{Compared, Halt, compare};
use ng_wire::batch::{BATCH_HEADER_BYTES, BatchHeader};

use crate::segment::{PARTITION, segment};

fn walk(valid: &[u8], after: u64) -> Walk {
    Walk { valid: valid.len() as u64, after, partition: PARTITION, hashed: true }
}

/// The messages of a segment that are chosen, as segments of their own.
fn slices(whole: &[u8], chooses: impl Fn(u64) -> bool) -> Vec<u8> {
    let kept: Vec<u8> = (0..10_000).filter(|offset| chooses(*offset)).flat_map(u64::to_le_bytes).collect();
    let mut written = Vec::new();
    let rewritten = rewrite(whole, &walk(whole, 0), &kept, &mut written);
    assert_eq!(rewritten.stop, Stop::End);
    written
}

fn at_once(slices: &[u8], whole: &[u8]) -> Compared {
    compare((slices, &walk(slices, 0)), (whole, &walk(whole, 0)))
}

/// Compares with so many bytes of each at a time, or as many as are asked for.
fn in_pieces(slices: &[u8], whole: &[u8], piece: usize) -> (u64, Option<(u64, u64)>, Halt) {
    let (mut slice, mut other) = ((0, 0), (0, 0));
    let (mut slice_piece, mut whole_piece) = (piece, piece);
    let (mut messages, mut times): (u64, Option<(u64, u64)>) = (0, None);
    loop {
        let front = |bytes: &[u8], piece: usize| bytes[..piece.min(bytes.len())].to_vec();
        let (slice_rest, whole_rest) = (&slices[slice.0..], &whole[other.0..]);
        let done = compare(
            (&front(slice_rest, slice_piece), &walk(slice_rest, slice.1)),
            (&front(whole_rest, whole_piece), &walk(whole_rest, other.1)),
        );
        slice = (slice.0 + done.slices.0, done.slices.1);
        other = (other.0 + done.whole.0, done.whole.1);
        messages += done.messages;
        times = match (times, done.timestamps) {
            (Some(before), Some(found)) => Some((before.0.min(found.0), before.1.max(found.1))),
            (before, found) => before.or(found),
        };
        (slice_piece, whole_piece) = (piece, piece);
        let wanted = |bytes: u64| usize::try_from(bytes).expect("small");
        match done.halt {
            Halt::Slices(bytes) => slice_piece = wanted(bytes),
            Halt::Whole(bytes) => whole_piece = wanted(bytes),
            halt => return (messages, times, halt),
        }
        // What was asked of one side must not be forgotten for the other.
        slice_piece = slice_piece.max(wanted(length(&slices[slice.0..])));
    }
}

fn length(batches: &[u8]) -> u64 {
    BatchHeader::decode(batches).map_or(0, |header| header.length)
}

#[test]
fn slices_are_found_in_pieces_of_any_size() {
    let whole = segment(&[3, 40, 1, 17, 60]);
    for (name, chosen) in [
        ("all", slices(&whole, |_| true)),
        ("every other", slices(&whole, |offset| offset % 2 == 0)),
        ("the last", slices(&whole, |offset| offset > 120)),
        ("none", slices(&whole, |_| false)),
    ] {
        let once = at_once(&chosen, &whole);
        assert_eq!(once.halt, Halt::End, "{name}");
        assert_eq!(once.slices.0, chosen.len(), "{name}");
        for piece in [1, 300, 1_000, 10_000] {
            let (messages, times, halt) = in_pieces(&chosen, &whole, piece);
            assert_eq!(
                (messages, times, halt),
                (once.messages, once.timestamps, Halt::End),
                "{name} {piece}"
            );
        }
    }
    assert_eq!(at_once(&slices(&whole, |_| true), &whole).messages, 121);
    assert_eq!(at_once(&slices(&whole, |offset| offset > 120), &whole).timestamps, Some((2_004, 2_004)));
}

#[test]
fn what_was_not_in_the_segment_is_foreign() {
    let whole = segment(&[3, 40, 5]);
    let mut other = slices(&whole, |offset| offset % 3 != 0);
    // A producer's id is changed, and every checksum made anew.
    other[BATCH_HEADER_BYTES + 8] ^= 1;
    let first = usize::try_from(length(&other)).expect("short");
    let frame = 48 + usize::from(other[BATCH_HEADER_BYTES + 36]);
    let checksum = ng_wire::checksum::xxh3_64(&other[BATCH_HEADER_BYTES + 8..BATCH_HEADER_BYTES + frame]);
    other[BATCH_HEADER_BYTES..BATCH_HEADER_BYTES + 8].copy_from_slice(&checksum.to_le_bytes());
    let header = BatchHeader::decode(&other).expect("a header");
    let sealed = header.sealed(&other[BATCH_HEADER_BYTES..first]).expect("good messages");
    other[..BATCH_HEADER_BYTES].copy_from_slice(&sealed.encode());
    assert!(matches!(at_once(&other, &whole).halt, Halt::Foreign(10 | 11)), "{:?}", at_once(&other, &whole));

    let ten = segment(&[3, 40, 5]);
    let mut moved = ten.clone();
    ng_wire::batch::stamp(&mut moved[..first_batch(&ten)], PARTITION, 11, 2_000).expect("a good batch");
    assert_eq!(at_once(&moved, &whole).halt, Halt::Foreign(11), "another offset");
    let mut late = ten.clone();
    ng_wire::batch::stamp(&mut late[..first_batch(&ten)], PARTITION, 10, 2_001).expect("a good batch");
    assert_eq!(at_once(&late, &whole).halt, Halt::Foreign(10), "another time");
    let rest = &whole[first_batch(&whole)..];
    assert_eq!(at_once(&slices(&whole, |_| true), rest).halt, Halt::Foreign(10));
    assert_eq!(at_once(rest, &whole[..first_batch(&whole)]).halt, Halt::WholeEnded);
    let twice = [&whole[..first_batch(&whole)], &whole].concat();
    assert!(matches!(at_once(&twice, &whole).halt, Halt::Damaged(_)), "offsets do not ascend");
}

fn first_batch(segment: &[u8]) -> usize {
    usize::try_from(length(segment)).expect("a short batch")
}

#[test]
fn every_flipped_byte_of_a_slice_is_found() {
    let whole = segment(&[2, 6]);
    let chosen = slices(&whole, |offset| offset % 2 == 0);
    for position in 0..chosen.len() {
        let mut flipped = chosen.clone();
        flipped[position] ^= 0x10;
        let done = at_once(&flipped, &whole);
        assert!(matches!(done.halt, Halt::Damaged(_)), "{position}: {:?}", done.halt);
    }
    for position in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[position] ^= 0x10;
        // Nothing but what was there passes, whatever has rotted beside it.
        let done = at_once(&chosen, &flipped);
        assert!(done.halt != Halt::End || done.messages == 4, "{position}");
    }
}
