//! Batches: against the golden ones, against every flipped bit, and against a reader of their fields.

use ng_wire::batch::{
    BATCH_HEADER_BYTES, BatchBuilder, BatchHeader, BatchPart, BatchRefusal, MessageFrame, Messages, Verified,
    build, stamp, survey, verify, verify_front,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::vectors::golden;

fn messages(batch: &[u8]) -> Vec<MessageFrame<'_>> {
    let header = BatchHeader::decode(batch).expect("a header");
    let frames = Messages::new(&batch[BATCH_HEADER_BYTES..], header.count);
    frames.collect::<Result<_, _>>().expect("good messages")
}

/// The batch of a send: behind its metadata, whose length comes first.
fn sent() -> Vec<u8> {
    golden("send_messages_body")[4 + 26..].to_vec()
}

/// The batch of a poll: behind partition, current offset and count.
fn polled(name: &str) -> Vec<u8> {
    golden(name)[16..].to_vec()
}

#[test]
fn the_batch_of_a_producer_is_read() {
    let batch = sent();
    let read = verify(&batch).expect("a golden batch");
    assert_eq!((read.first_offset, read.last_offset, read.messages), (0, 1, 2));
    let origin = 1_700_000_000_000_000;
    assert_eq!((read.min_origin_timestamp, read.max_origin_timestamp), (origin, origin + 6));
    assert_eq!((read.header.length, read.header.checksum.to_le_bytes()[0]), (389, 0xb9));
    let messages = messages(&batch);
    assert_eq!((messages[0].id, messages[1].id), (0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10, 7));
    assert_eq!((messages[0].payload, messages[1].payload), (&b"hello"[..], &b"\0\x01\x02world"[..]));
    assert_eq!((messages[0].user_headers.len(), messages[1].user_headers.len()), (24, 0));
}

#[test]
fn a_batch_is_built_as_producers_build_it() {
    let golden = golden("produced_batch");
    let built = BatchBuilder::new(1000).message(7, 0, b"first-payload", b"");
    assert_eq!(built.message(8, 50, b"second-payload", b"user-header-bytes").finish(), golden);
}

#[test]
fn a_stamp_makes_the_batch_that_consumers_get() {
    let mut batch = sent();
    stamp(&mut batch, 0, 0, 1_700_000_000_500_000).expect("a good batch");
    assert_eq!(batch, polled("poll_reply_body"));
    let mut batch = golden("produced_batch");
    let header = stamp(&mut batch, 3, 100, 5000).expect("a good batch");
    assert_eq!(batch, polled("produced_batch_reply"));
    assert_eq!(BatchHeader::decode(&batch), Ok(header));
}

#[test]
fn a_slice_begins_beyond_its_base_offset() {
    let slice = verify(&polled("poll_reply_slice")).expect("a golden batch");
    assert_eq!((slice.header.base_offset, slice.first_offset, slice.last_offset), (0, 1, 1));
}

#[test]
fn every_flipped_bit_and_every_cut_is_refused() {
    let batch = sent();
    for bit in 0..batch.len() * 8 {
        let mut flipped = batch.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(verify(&flipped).is_err(), "bit {bit}");
    }
    for length in 0..batch.len() {
        assert!(matches!(verify(&batch[..length]), Err(BatchRefusal::Short { .. })), "{length} bytes");
    }
}

/// Changes bytes of a message and seals message and batch anew, so that only the rule under test can refuse
/// it.
fn changed(batch: &[u8], message: usize, at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut batch = batch.to_vec();
    let starts: Vec<_> = messages(&batch).iter().map(|message| message.bytes.len()).collect();
    let start = BATCH_HEADER_BYTES + starts[..message].iter().sum::<usize>();
    batch[start + at..start + at + bytes.len()].copy_from_slice(bytes);
    let end = start + starts[message];
    let checksum = ng_wire::checksum::xxh3_64(&batch[start + 8..end]);
    batch[start..start + 8].copy_from_slice(&checksum.to_le_bytes());
    let header = BatchHeader::decode(&batch).expect("a header");
    if let Ok(header) = header.sealed(&batch[BATCH_HEADER_BYTES..]) {
        batch[..BATCH_HEADER_BYTES].copy_from_slice(&header.encode());
    }
    batch
}

#[test]
fn what_is_wrong_is_named() {
    let batch = build(9, &[b"one", b"two"]);
    assert_eq!(verify(&changed(&batch, 1, 24, &[0])), Err(BatchRefusal::Order(0)));
    assert_eq!(verify(&changed(&batch, 1, 40, &[1])), Err(BatchRefusal::Reserved(BatchPart::Message)));
    let long = BatchRefusal::Short { part: BatchPart::Message, needed: 52, found: 51 };
    assert_eq!(verify(&changed(&batch, 1, 36, &[4])), Err(long));
    assert_eq!(survey(&changed(&batch, 1, 36, &[2])), Err(BatchRefusal::Trailing(1)));
    assert_eq!(verify(&build(9, &[])), Err(BatchRefusal::Empty));
    let mut flipped = batch.clone();
    flipped[BATCH_HEADER_BYTES + 48] ^= 1;
    assert_eq!(verify(&flipped), Err(BatchRefusal::MessageChecksum));
    assert_eq!(survey(&flipped).map(|read| read.last_offset), Ok(1), "a survey hashes no payload");
    let mut flipped = batch.clone();
    flipped[8] ^= 1;
    assert_eq!(verify(&flipped), Err(BatchRefusal::Checksum));
    let mut followed = batch.clone();
    followed.extend_from_slice(&batch);
    assert_eq!(verify(&followed), Err(BatchRefusal::Trailing(batch.len() as u64)));
    assert_eq!(verify_front(&followed), verify(&batch));
    let mut last = batch.clone();
    stamp(&mut last, 0, u64::MAX - 1, 0).expect("a good batch");
    assert_eq!(verify(&last), Err(BatchRefusal::Offsets(u64::MAX - 1)), "2^64 - 1 means none");
}

#[test]
fn gaps_between_offsets_are_taken() {
    let batch = changed(&build(9, &[b"one", b"two"]), 1, 24, &[200]);
    assert_eq!(verify(&batch).map(|read| (read.first_offset, read.last_offset)), Ok((0, 200)));
}

#[test]
fn a_batch_that_is_refused_is_not_stamped() {
    let mut batch = build(9, &[b"one", b"two"]);
    batch.pop();
    let before = batch.clone();
    assert!(stamp(&mut batch, 1, 2, 3).is_err());
    assert_eq!(batch, before);
}

proptest! {
    #[test]
    fn what_is_built_and_stamped_is_read(
        payloads in vec(
            (any::<u128>(), any::<u32>(), vec(any::<u8>(), 0..300), vec(any::<u8>(), 0..40)),
            1..20,
        ),
        place in any::<[u32; 3]>(),
        origin in any::<u32>(),
    ) {
        let [partition, base_offset, base_timestamp] = place.map(u64::from);
        let empty = BatchBuilder::new(origin.into());
        let mut batch = payloads
            .iter()
            .fold(empty, |batch, (id, delta, payload, headers)| batch.message(*id, *delta, payload, headers))
            .finish();
        let payload_bytes = batch[BATCH_HEADER_BYTES..].to_vec();
        stamp(&mut batch, partition, base_offset, base_timestamp).expect("a good batch");
        prop_assert_eq!(&batch[BATCH_HEADER_BYTES..], &payload_bytes[..]);
        let deltas = payloads.iter().map(|(_, delta, _, _)| u64::from(*delta));
        let read = verify(&batch).expect("a good batch");
        let Verified { header, .. } = read;
        let stamped = (header.partition, header.base_offset, header.base_timestamp);
        prop_assert_eq!(stamped, (partition, base_offset, base_timestamp));
        let last_offset = base_offset + payloads.len() as u64 - 1;
        prop_assert_eq!((read.first_offset, read.last_offset), (base_offset, last_offset));
        prop_assert_eq!(Some(read.min_origin_timestamp - u64::from(origin)), deltas.clone().min());
        prop_assert_eq!(Some(read.max_origin_timestamp - u64::from(origin)), deltas.max());
        prop_assert_eq!(survey(&batch), Ok(read));
        for (message, (id, delta, payload, headers)) in messages(&batch).iter().zip(&payloads) {
            prop_assert_eq!((message.id, message.timestamp_delta), (*id, *delta));
            prop_assert_eq!((message.payload, message.user_headers), (&payload[..], &headers[..]));
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in vec(any::<u8>(), 0..700), count in 0..4_u8, length in any::<u16>()) {
        let _ = verify(&bytes);
        let mut bytes = bytes;
        if bytes.len() >= BATCH_HEADER_BYTES {
            bytes[52..BATCH_HEADER_BYTES].fill(0);
            bytes[32..40].copy_from_slice(&u64::from(length % 700).to_le_bytes());
            bytes[48..52].copy_from_slice(&u32::from(count).to_le_bytes());
        }
        let _ = (verify(&bytes), verify_front(&bytes), survey(&bytes), stamp(&mut bytes, 1, 2, 3));
    }
}
