//! Slices of stored batches: against the golden one, and against a reader that picks messages one by one.

use ng_wire::batch::{
    BATCH_HEADER_BYTES, BatchBuilder, BatchHeader, BatchRefusal, Messages, Sliced, Wanted, build, slice,
    stamp, verify,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::vectors::golden;

const ALL: Wanted = Wanted { first_offset: 0, count_max: u32::MAX, bytes_max: u64::MAX };

fn stored(payloads: &[&[u8]], base_offset: u64) -> Vec<u8> {
    let mut batch = build(9, payloads);
    stamp(&mut batch, 1, base_offset, 77).expect("a good batch");
    batch
}

fn sliced(batch: &[u8], wanted: Wanted) -> (Option<Sliced>, Vec<u8>) {
    let mut into = Vec::new();
    let sliced = slice(batch, &wanted, &mut into).expect("a good batch");
    (sliced, into)
}

#[test]
fn a_whole_batch_and_its_second_message() {
    let batch = golden("poll_reply_body")[16..].to_vec();
    let both = Sliced { messages: 2, first_offset: 0, last_offset: 1 };
    assert_eq!(sliced(&batch, ALL), (Some(both), batch.clone()));
    let second = Sliced { messages: 1, first_offset: 1, last_offset: 1 };
    let expected = golden("poll_reply_slice")[16..].to_vec();
    assert_eq!(sliced(&batch, Wanted { first_offset: 1, ..ALL }), (Some(second), expected));
}

#[test]
fn nothing_is_wanted() {
    let batch = stored(&[b"one", b"two"], 10);
    assert_eq!(sliced(&batch, Wanted { first_offset: 12, ..ALL }), (None, vec![]));
    assert_eq!(sliced(&batch, Wanted { count_max: 0, ..ALL }), (None, vec![]));
}

#[test]
fn one_message_goes_whatever_its_length() {
    let batch = stored(&[b"one", b"two"], 10);
    let (taken, bytes) = sliced(&batch, Wanted { bytes_max: 0, ..ALL });
    assert_eq!(taken, Some(Sliced { messages: 1, first_offset: 10, last_offset: 10 }));
    assert_eq!(verify(&bytes).map(|read| read.messages), Ok(1));
    let exactly = Wanted { bytes_max: batch.len() as u64, ..ALL };
    assert_eq!(sliced(&batch, exactly).1, batch);
    let less = Wanted { bytes_max: batch.len() as u64 - 1, ..ALL };
    assert_eq!(sliced(&batch, less).0.map(|sliced| sliced.messages), Some(1));
}

#[test]
fn what_follows_the_batch_is_not_taken() {
    let batch = stored(&[b"one", b"two"], 10);
    let followed = [&batch[..], b"anything"].concat();
    assert_eq!(sliced(&followed, ALL).1, batch);
    let cut = slice(&batch[..batch.len() - 1], &ALL, &mut Vec::new());
    assert!(matches!(cut, Err(BatchRefusal::Short { .. })));
}

proptest! {
    #[test]
    fn a_slice_holds_exactly_what_is_wanted(
        payloads in vec((any::<u32>(), vec(any::<u8>(), 0..60), vec(any::<u8>(), 0..20)), 1..30),
        base_offset in 0..1000_u64, first in 0..1040_u64, count_max in 0..40_u32, bytes_max in 0..4000_u64
    ) {
        let empty = BatchBuilder::new(5);
        let mut batch = payloads
            .iter()
            .fold(empty, |batch, (delta, payload, headers)| batch.message(1, *delta, payload, headers))
            .finish();
        let header = stamp(&mut batch, 1, base_offset, 77).expect("a good batch");
        let mut expected = Vec::new();
        let mut offsets = Vec::new();
        for message in Messages::new(&batch[BATCH_HEADER_BYTES..], header.count) {
            let message = message.expect("a good message");
            let offset = base_offset + u64::from(message.offset_delta);
            let bytes = (BATCH_HEADER_BYTES + expected.len() + message.bytes.len()) as u64;
            let fits = offsets.is_empty() || (offsets.len() < count_max as usize && bytes <= bytes_max);
            if offset < first || count_max == 0 {
                continue;
            }
            if !fits {
                break;
            }
            expected.extend_from_slice(message.bytes);
            offsets.push(offset);
        }
        let (taken, bytes) = sliced(&batch, Wanted { first_offset: first, count_max, bytes_max });
        prop_assert_eq!(taken.map(|sliced| sliced.first_offset), offsets.first().copied());
        prop_assert_eq!(taken.map(|sliced| sliced.last_offset), offsets.last().copied());
        prop_assert_eq!(taken.map_or(0, |sliced| sliced.messages as usize), offsets.len());
        if taken.is_some() {
            prop_assert_eq!(&bytes[BATCH_HEADER_BYTES..], &expected[..]);
            let read = verify(&bytes).expect("a slice is a batch").header;
            let kept = BatchHeader { length: read.length, checksum: read.checksum, count: read.count, ..header };
            prop_assert_eq!(read, kept);
        } else {
            prop_assert_eq!(bytes, vec![]);
        }
    }

    #[test]
    fn no_bytes_make_it_panic(
        bytes in vec(any::<u8>(), 0..700), count in 0..4_u8, length in any::<u16>(), first in any::<u64>()
    ) {
        let mut bytes = bytes;
        if bytes.len() >= BATCH_HEADER_BYTES {
            bytes[52..BATCH_HEADER_BYTES].fill(0);
            bytes[32..40].copy_from_slice(&u64::from(length % 700).to_le_bytes());
            bytes[48..52].copy_from_slice(&u32::from(count).to_le_bytes());
        }
        let _ = slice(&bytes, &Wanted { first_offset: first, ..ALL }, &mut Vec::new());
    }
}
