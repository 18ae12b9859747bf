//! Bodies of operations: written, read, and refused.

use ng_partition::{Applied, Partition};
use ng_wire::replica::{
    ConsumerKind, LogOperation, OffsetRefusal, OffsetWrite, PartitionOp, PartitionReply, RefusedOffset,
    Rejection, offsets_body,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use crate::rig::{GROUP, LIMITS};

fn apply(operation: LogOperation, body: &[u8]) -> Applied {
    Partition::new(GROUP, LIMITS).apply(1, operation, body)
}

const MALFORMED: Applied = Applied::Rejected(Rejection::Malformed);

/// REPLICA.md, read here by its offsets alone.
#[test]
fn fields_stand_where_the_table_says() {
    let writes = [
        OffsetWrite { kind: ConsumerKind::Consumer, id: 5, offset: Some(6) },
        OffsetWrite { kind: ConsumerKind::Group, id: 7, offset: None },
    ];
    let mut expected = vec![1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0];
    expected.extend_from_slice(&[2, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend_from_slice(&[0xff; 8]);
    assert_eq!(offsets_body(&writes), expected);
    let number = |value: u8| vec![value, 0, 0, 0, 0, 0, 0, 0];
    let bodies = [
        (PartitionOp::Noop, LogOperation::Noop, vec![]),
        (PartitionOp::Purge { generation: 2 }, LogOperation::Purge, number(2)),
        (PartitionOp::TruncatePrefix { offset: 3 }, LogOperation::TruncatePrefix, number(3)),
        (PartitionOp::DropGroupOffsets { id: 4 }, LogOperation::DropGroupOffsets, number(4)),
        (PartitionOp::Fence { on: true }, LogOperation::Fence, number(1)),
    ];
    for (operation, kind, body) in bodies {
        assert_eq!(operation.encode(), (kind, body.clone()));
        assert_eq!(PartitionOp::decode(kind, &body), Some(Ok(operation)));
    }
    let refused = vec![RefusedOffset { index: 3, reason: OffsetRefusal::TableFull }];
    let reply = PartitionReply::Done { value: 9, refused };
    let bytes = [0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0];
    assert_eq!(reply.encode(), bytes);
    assert_eq!(PartitionReply::decode(&bytes), Ok(reply));
    assert_eq!(PartitionReply::Rejected(Rejection::Fenced).encode()[0], 3);
}

#[test]
fn a_body_of_another_form_is_rejected() {
    let entry =
        |kind, id: u8| vec![kind, 0, 0, 0, 0, 0, 0, 0, id, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    let offsets = [
        vec![],
        entry(0, 1),
        entry(3, 1),
        [vec![1, 1], entry(1, 1)[2..].to_vec()].concat(),
        [entry(1, 1), entry(1, 1)].concat(),
        [entry(2, 1), entry(1, 2)].concat(),
        entry(1, 1)[..23].to_vec(),
    ];
    for body in offsets {
        assert_eq!(apply(LogOperation::Offsets, &body), MALFORMED, "{body:?}");
    }
    for operation in [LogOperation::Purge, LogOperation::TruncatePrefix, LogOperation::DropGroupOffsets] {
        assert_eq!(apply(operation, &[1; 7]), MALFORMED);
        assert_eq!(apply(operation, &[1; 9]), MALFORMED);
    }
    for body in [&[2, 0, 0, 0, 0, 0, 0, 0][..], &[1, 0, 0, 0, 0, 0, 0, 1], &[1]] {
        assert_eq!(apply(LogOperation::Fence, body), MALFORMED);
    }
    assert_eq!(apply(LogOperation::Noop, &[0]), MALFORMED);
    assert_eq!(apply(LogOperation::Batch, b"not a batch"), MALFORMED);
}

#[test]
fn an_operation_that_no_partition_executes_is_rejected() {
    for operation in [LogOperation::Metadata, LogOperation::Register, LogOperation::Logout] {
        assert_eq!(apply(operation, b"anything"), Applied::Rejected(Rejection::Unsupported));
    }
}

proptest! {
    #[test]
    fn offsets_that_are_written_are_read(
        entries in btree_map((any::<bool>(), any::<u64>()), proptest::option::of(0..u64::MAX), 1..20),
    ) {
        let kind = |group| if group { ConsumerKind::Group } else { ConsumerKind::Consumer };
        let writes: Vec<_> = entries
            .into_iter()
            .map(|((group, id), offset)| OffsetWrite { kind: kind(group), id, offset })
            .collect();
        let body = offsets_body(&writes);
        let Some(Ok(read)) = PartitionOp::decode(LogOperation::Offsets, &body) else {
            return Err(TestCaseError::fail("a good body"));
        };
        prop_assert_eq!(read.encode(), (LogOperation::Offsets, body.clone()));
        let PartitionOp::Offsets(read) = read else { return Err(TestCaseError::fail("offsets")) };
        prop_assert_eq!(read.iter().collect::<Vec<_>>(), writes);
    }

    #[test]
    fn no_body_makes_it_panic_or_differ(number in 0..LogOperation::ALL.len(), body in vec(any::<u8>(), 0..80)) {
        let operation = LogOperation::ALL[number];
        prop_assert_eq!(apply(operation, &body), apply(operation, &body));
        let _ = PartitionReply::decode(&body);
    }
}
