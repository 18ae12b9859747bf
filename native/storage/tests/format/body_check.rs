//! Prepares of batches: the header that replicas send, and bodies whose payload only their own checksums
//! cover.

use ng_storage::block::BlockHeader;
use ng_storage::record::{BodyCheck, RECORD_HEADER, RecordHeader, RecordKind, body_is_whole};
use ng_storage::refusal::Reason;
use ng_wire::replica::{LogOperation, Op, PREPARE_HEADER_BYTES, PrepareHeader};
use proptest::prelude::*;

use crate::round_trips::header;
use crate::values;

/// The record of a batch.
fn of_batch(batch: &[u8]) -> RecordHeader {
    RecordHeader {
        body_checksum: BodyCheck::Batch.checksum(batch),
        body_check: BodyCheck::Batch,
        operation: LogOperation::Batch.code(),
        ..values::prepare(7, 11, batch)
    }
}

fn block_of(record: RecordHeader, body: &[u8]) -> (BlockHeader, Vec<u8>) {
    let front = BlockHeader {
        journal: values::JOURNAL,
        previous: 0,
        sequence: 1,
        incarnation: 1,
        synced_through: 0,
        oldest: 1,
        offset: 0,
        file: 0,
        bytes: 0,
        records: 0,
        previous_file: 0,
        directory_checksum: 0,
    };
    let (bytes, front, _) = values::block(front, &[(record, body.to_vec())]);
    (front, bytes.to_vec())
}

#[test]
fn a_payload_that_was_torn_off_is_not_whole() {
    let batch = values::batch(5, 1_000, &[&[0x5a; 9_000]]);
    let record = of_batch(&batch);
    let (front, block) = block_of(record, &batch);
    let found = front.records(&block).expect("a good directory");
    assert_eq!((found[0].header, found[0].whole), (record, true));
    for position in (256..batch.len()).step_by(512).chain([batch.len() - 1]) {
        let mut torn = block.clone();
        torn[found[0].body_start + position..].fill(0);
        assert!(!front.records(&torn).expect("a good directory")[0].whole, "torn at {position}");
        let mut flipped = batch.clone();
        flipped[position] ^= 1;
        assert!(!body_is_whole(&record, &flipped), "flipped at {position}");
        assert!(record.is_sealed_over(&flipped), "the seal speaks of the first 256 bytes alone");
    }
}

#[test]
fn a_check_of_a_newer_server_is_refused_as_newer() {
    let mut bytes = Vec::new();
    values::prepare(7, 11, b"body").encode(&mut bytes);
    bytes[124] = 2;
    let sum = ng_storage::checksum::checksum(&bytes[16..]);
    bytes[..16].copy_from_slice(&sum.to_le_bytes());
    let refusal = RecordHeader::decode(&bytes).expect_err("a body check from the future");
    assert_eq!((refusal.field, refusal.reason), ("body check", Reason::Newer(2)));
}

proptest! {
    #[test]
    fn a_prepare_is_the_same_bytes_on_the_wire_and_on_the_disk(header in header()) {
        const { assert!(PREPARE_HEADER_BYTES == RECORD_HEADER) };
        let mut stored = Vec::new();
        let identity = header.encode(&mut stored);
        match header.prepare() {
            None => prop_assert_ne!(header.kind, RecordKind::Prepare),
            Some(prepare) => {
                prop_assert_eq!(&prepare.encode()[..], &stored[..]);
                prop_assert_eq!(prepare.checksum, identity);
                prop_assert_eq!(RecordHeader::from(prepare), header);
                let bytes = stored.first_chunk().expect("160 bytes");
                prop_assert_eq!(PrepareHeader::decode(bytes), Ok(prepare));
                prop_assert_eq!((prepare.op, prepare.body_check), (Op(header.op), header.body_check));
            }
        }
    }
}
