//! A body is held against its header in one of two ways.

use ng_wire::batch::{BATCH_HEADER_BYTES, build};
use ng_wire::replica::{BodyCheck, PrepareHeader, PrepareRefusal, xxh3_128};

use crate::values::{BODY, header};

fn of_batch(batch: &[u8]) -> PrepareHeader {
    PrepareHeader {
        body_checksum: BodyCheck::Batch.checksum(batch),
        body_bytes: u32::try_from(batch.len()).expect("a short batch"),
        body_check: BodyCheck::Batch,
        ..header()
    }
    .sealed()
}

#[test]
fn the_header_of_a_batch_covers_256_bytes_of_it() {
    let batch = build(1, &[b"payload", b"another"]);
    assert_eq!(of_batch(&batch).body_checksum, xxh3_128(&batch[..BATCH_HEADER_BYTES]));
    assert_eq!(of_batch(&batch).encode()[124], 1);
    assert_eq!(BodyCheck::Whole.checksum(&batch), xxh3_128(&batch));
}

#[test]
fn every_flipped_bit_of_a_batch_is_seen_through_its_own_checksums() {
    let batch = build(1, &[b"payload", b"another"]);
    let header = of_batch(&batch);
    assert!(header.verifies(&batch));
    for bit in 0..batch.len() * 8 {
        let mut flipped = batch.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(!header.verifies(&flipped), "bit {bit}");
    }
    assert!(!header.verifies(&batch[..batch.len() - 1]));
    assert!(!header.verifies(&build(1, &[b"payload", b"anothex"])), "a good batch, another one");
}

#[test]
fn a_body_that_is_no_batch_does_not_pass_for_one() {
    for body in [BODY, b"", &[0; 600]] {
        assert!(!of_batch(body).verifies(body));
    }
}

#[test]
fn a_check_of_a_newer_release_is_refused() {
    let mut bytes = header().encode();
    bytes[124] = 2;
    let checksum = xxh3_128(&bytes[16..]);
    bytes[..16].copy_from_slice(&checksum.to_le_bytes());
    assert_eq!(PrepareHeader::decode(&bytes), Err(PrepareRefusal::BodyCheck(2)));
}
