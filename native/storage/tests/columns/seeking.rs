//! Finding the batch of an offset without reading what lies before it.

use ng_storage::columns::{Stop, Walk, seek};
use ng_wire::batch::BatchHeader;

use crate::segment::{segment, walk};

/// Position and base offset of each batch.
fn places(segment: &[u8]) -> Vec<(usize, u64)> {
    let (mut places, mut at) = (Vec::new(), 0);
    while at < segment.len() {
        let header = BatchHeader::decode(&segment[at..]).expect("a header");
        places.push((at, header.base_offset));
        at += usize::try_from(header.length).expect("a length");
    }
    places
}

/// Reads pieces of so many bytes, as a reader outside does.
fn found(segment: &[u8], piece: usize, offset: u64) -> Option<usize> {
    let (mut at, mut found) = (0, None);
    while at < segment.len() {
        let end = (at + piece).min(segment.len());
        let seat = seek(&segment[at..end], &walk(segment.len() - at), offset).expect("a good segment");
        found = seat.found.map(|place| at + place).or(found);
        at += usize::try_from(seat.next).expect("a position");
        if !seat.goes_on {
            return found;
        }
    }
    found
}

#[test]
fn the_last_batch_that_begins_at_an_offset_or_before() {
    let bytes = segment(&[3, 4, 5, 30, 1]);
    let places = places(&bytes);
    for offset in 0..120 {
        let expected = places.iter().rev().find(|(_, base)| *base <= offset).map(|(at, _)| *at);
        for piece in [256, 300, 1_000, bytes.len()] {
            assert_eq!(found(&bytes, piece, offset), expected, "offset {offset}, pieces of {piece}");
        }
    }
}

#[test]
fn damage_on_the_way_is_told() {
    let mut bytes = segment(&[3, 4]);
    let second = places(&bytes)[1].0;
    bytes[second + 100] = 1;
    assert!(matches!(seek(&bytes, &walk(bytes.len()), 99), Err(Stop::Damaged(_))));
    let wrong = Walk { partition: 9, ..walk(bytes.len()) };
    assert!(matches!(seek(&bytes, &wrong, 99), Err(Stop::Damaged(_))));
}
