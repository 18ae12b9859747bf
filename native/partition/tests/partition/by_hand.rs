//! Cases with a name.

use ng_partition::{Applied, Effect, Partition, PartitionState, StampRefusal, Stamped, Stamper};
use ng_wire::batch::{BatchHeader, BatchRefusal, build, stamp, survey};
use ng_wire::checksum::xxh3_64;
use ng_wire::replica::{
    ConsumerKind, LogOperation, OffsetRefusal, OffsetWrite, PartitionOp, PartitionReply, RefusedOffset,
    Rejection,
};

use crate::rig::{GROUP, LIMITS, Rig, batch, offsets};

fn rig() -> Rig {
    Rig::new(Partition::new(GROUP, LIMITS))
}

fn done(value: u64) -> PartitionReply {
    PartitionReply::Done { value, refused: Vec::new() }
}

fn rejected(reason: Rejection) -> PartitionReply {
    PartitionReply::Rejected(reason)
}

const fn consumer(id: u64, offset: u64) -> OffsetWrite {
    OffsetWrite { kind: ConsumerKind::Consumer, id, offset: Some(offset) }
}

#[test]
fn batches_get_offsets_behind_those_in_the_pipeline() {
    let mut rig = rig();
    let first = rig.send(0..3, 50);
    let second = rig.send(3..5, 40);
    assert_eq!(first, Stamped { base_offset: 0, last_offset: 2, base_timestamp: 50 });
    assert_eq!(
        second,
        Stamped { base_offset: 3, last_offset: 4, base_timestamp: 50 },
        "time never steps back"
    );
    assert_eq!(survey(&rig.log[1].1).map(|batch| batch.header.partition), Ok(3));
    assert_eq!(rig.reply(), done(3));
    assert_eq!(rig.partition.state().last_offset, Some(4));
}

#[test]
fn a_new_primary_goes_on_behind_what_it_executed() {
    let mut rig = rig();
    rig.send(0..3, 1_000);
    rig.send(3..5, 1_000);
    rig.execute();
    rig.change_view(1);
    assert_eq!(rig.send(5..6, 7), Stamped { base_offset: 3, last_offset: 3, base_timestamp: 1_000 });
}

#[test]
fn a_batch_that_never_stood_in_the_log_leaves_a_gap() {
    let mut rig = rig();
    let mut lost = batch(0..3);
    rig.stamp(&mut lost, 1).expect("nothing inherited").expect("a good batch");
    assert_eq!(rig.send(3..5, 1).base_offset, 3);
    assert_eq!(rig.reply(), done(3));
    assert_eq!(rig.partition.state().last_offset, Some(4));
}

#[test]
fn an_offset_that_is_taken_is_never_given_again() {
    let mut rig = rig();
    rig.send(0..3, 1);
    let mut late = batch(3..4);
    stamp(&mut late, 3, 2, 1).expect("a good batch");
    rig.prepare((LogOperation::Batch, late));
    assert_eq!(rig.reply(), rejected(Rejection::OffsetTaken));
    let mut half_late = batch(3..5);
    stamp(&mut half_late, 3, 2, 1).expect("a good batch");
    rig.prepare((LogOperation::Batch, half_late));
    assert_eq!(rig.reply(), rejected(Rejection::OffsetTaken));
    assert_eq!(rig.partition.state().last_offset, Some(2));
}

#[test]
fn the_last_offset_follows_from_no_count() {
    let mut rig = rig();
    let mut sparse = batch(0..2);
    let second = 256 + 64;
    sparse[second + 24] = 200;
    let checksum = xxh3_64(&sparse[second + 8..]);
    sparse[second..second + 8].copy_from_slice(&checksum.to_le_bytes());
    stamp(&mut sparse, 3, 10, 1).expect("a good batch");
    rig.prepare((LogOperation::Batch, sparse));
    assert_eq!(rig.reply(), done(10));
    assert_eq!(rig.partition.state().last_offset, Some(210));
    assert_eq!(rig.send(2..3, 1).base_offset, 211);
}

#[test]
fn the_time_of_the_partition_is_that_of_its_youngest_batch() {
    let mut rig = rig();
    for (base_offset, timestamp) in [(0, 1_000), (1, 900)] {
        let mut batch = batch(0..1);
        stamp(&mut batch, 3, base_offset, timestamp).expect("a good batch");
        rig.prepare((LogOperation::Batch, batch));
    }
    assert_eq!(rig.reply(), done(1), "an older primary's clock is no fault of its batch");
    assert_eq!(rig.partition.state().last_timestamp, 1_000);
}

#[test]
fn what_a_primary_does_not_take() {
    let mut stamper = Stamper::begin(&Partition::new(GROUP, LIMITS));
    let mut refuse = |mut bytes: Vec<u8>| {
        let before = bytes.clone();
        let refusal = stamper.stamp(&mut bytes, 1).expect_err("a bad batch");
        assert_eq!(bytes, before);
        refusal
    };
    assert_eq!(refuse(build(1, &[])), StampRefusal::Malformed(BatchRefusal::Empty));
    let mut flipped = batch(0..2);
    *flipped.last_mut().expect("a payload") ^= 1;
    assert_eq!(refuse(flipped), StampRefusal::Malformed(BatchRefusal::MessageChecksum));
    let long = build(1, &[&[0; 4096]]);
    assert_eq!(refuse(long), StampRefusal::TooLarge { bytes: 256 + 48 + 4096, max: 4096 });
    let longer = build(1, &[&[0; 4096 - 256 - 48 + 1]]);
    assert_eq!(refuse(longer), StampRefusal::TooLarge { bytes: 4097, max: 4096 });
    let mut slice = batch(0..2);
    slice.drain(256..256 + 64);
    let header = BatchHeader::decode(&slice).expect("a header");
    let header = BatchHeader { length: slice.len() as u64, count: 1, ..header };
    let header = header.sealed(&slice[256..]).expect("one message");
    slice[..256].copy_from_slice(&header.encode());
    assert_eq!(refuse(slice), StampRefusal::Numbers, "its one message has delta 1");
    let full = PartitionState { last_offset: Some(u64::MAX - 2), ..PartitionState::default() };
    let mut stamper = Stamper::begin(&Partition::restore(full, LIMITS));
    let refusal = stamper.stamp(&mut batch(0..2), 1);
    assert_eq!(refusal, Err(StampRefusal::Malformed(BatchRefusal::Offsets(u64::MAX - 1))));
}

#[test]
fn skipped_offsets_are_given_to_nobody_and_executed_as_before() {
    let before = PartitionState { last_offset: Some(9), skipped_to: 1_000, ..PartitionState::default() };
    let mut partition = Partition::restore(before, LIMITS);
    let mut old = batch(0..2);
    stamp(&mut old, LIMITS.index.into(), 10, 1).expect("a good batch");
    partition.apply(1, LogOperation::Batch, &old);
    assert_eq!(partition.state().last_offset, Some(11), "it was stamped before the loss, and is not lost");
    let mut stamper = Stamper::begin(&partition);
    assert_eq!(stamper.stamp(&mut batch(0..2), 1).map(|stamped| stamped.base_offset), Ok(1_000));
    assert_eq!(stamper.stamp(&mut batch(0..1), 1).map(|stamped| stamped.base_offset), Ok(1_002));
    let (purge, body) = PartitionOp::Purge { generation: 1 }.encode();
    stamper.follow(purge, &body);
    let first = stamper.stamp(&mut batch(0..1), 1).map(|stamped| stamped.base_offset);
    assert_eq!(first, Ok(1_000), "what is lost may have been of this generation");
}

#[test]
fn the_longest_batch_is_taken() {
    let mut longest = build(1, &[&[0; 4096 - 256 - 48]]);
    let stamped = rig().stamp(&mut longest, 1).expect("nothing inherited");
    assert_eq!(stamped.map(|stamped| stamped.last_offset), Ok(0));
}

#[test]
fn a_fence_holds_for_what_is_prepared_behind_it() {
    let mut rig = rig();
    rig.send(0..1, 1);
    let mut behind = batch(1..2);
    let stamped = rig.stamp(&mut behind, 1).expect("nothing inherited").expect("a good batch");
    rig.ask(PartitionOp::Fence { on: true });
    assert_eq!(rig.stamp(&mut batch(1..2), 1), Some(Err(StampRefusal::Fenced)), "it is not executed yet");
    rig.prepare((LogOperation::Batch, behind));
    assert_eq!(rig.reply(), rejected(Rejection::Fenced));
    assert_eq!(stamped.base_offset, 1);
    rig.prepare(offsets(&[consumer(1, 0)]));
    assert_eq!(rig.reply(), done(0), "consumers go on");
    rig.ask(PartitionOp::Fence { on: false });
    rig.send(1..2, 1);
    assert_eq!(rig.reply(), done(2));
}

#[test]
fn a_purge_begins_anew_and_is_not_repeated() {
    let mut rig = rig();
    rig.send(0..3, 1);
    rig.prepare(offsets(&[consumer(1, 2)]));
    rig.ask(PartitionOp::Purge { generation: 1 });
    assert_eq!(rig.send(3..4, 1).base_offset, 0, "foreseen while the purge is in the pipeline");
    assert_eq!(rig.reply(), done(0));
    assert_eq!((rig.partition.state().last_offset, rig.partition.state().offsets.len()), (Some(0), 0));
    rig.ask(PartitionOp::Purge { generation: 1 });
    assert_eq!(rig.send(4..5, 1).base_offset, 1);
    rig.ask(PartitionOp::Purge { generation: 1 });
    assert_eq!(rig.reply(), rejected(Rejection::StaleGeneration));
    assert_eq!(rig.partition.state().last_offset, Some(1));
    rig.ask(PartitionOp::Purge { generation: 9 });
    assert_eq!(rig.reply(), done(9));
}

#[test]
fn a_prefix_is_truncated_at_most_to_the_end() {
    let mut rig = rig();
    rig.send(0..5, 1);
    for (offset, first) in [(2, 2), (1, 2), (u64::MAX, 5), (3, 5)] {
        rig.ask(PartitionOp::TruncatePrefix { offset });
        assert_eq!(rig.reply(), done(first));
    }
    assert_eq!(rig.send(5..6, 1).base_offset, 5);
}

#[test]
fn offsets_are_taken_one_by_one() {
    let mut rig = rig();
    let refused = |index, reason| RefusedOffset { index, reason };
    rig.prepare(offsets(&[consumer(1, 0)]));
    let refusals = vec![refused(0, OffsetRefusal::BeyondEnd)];
    assert_eq!(rig.reply(), PartitionReply::Done { value: 0, refused: refusals }, "nothing was ever sent");
    rig.send(0..5, 1);
    let group = |id, offset| OffsetWrite { kind: ConsumerKind::Group, id, offset };
    rig.prepare(offsets(&[
        consumer(1, 4),
        consumer(2, 5),
        consumer(3, 0),
        group(1, Some(1)),
        group(2, None),
    ]));
    let refusals = vec![refused(1, OffsetRefusal::BeyondEnd), refused(4, OffsetRefusal::Missing)];
    assert_eq!(rig.reply(), PartitionReply::Done { value: 0, refused: refusals });
    rig.prepare(offsets(&[consumer(1, 0), consumer(7, 0), consumer(8, 0), group(1, Some(2))]));
    let refusals = vec![refused(2, OffsetRefusal::TableFull)];
    assert_eq!(rig.reply(), PartitionReply::Done { value: 0, refused: refusals });
    let kept: Vec<_> = rig.partition.state().offsets.iter().map(|((_, id), offset)| (*id, *offset)).collect();
    assert_eq!(
        kept,
        [(1, 0), (3, 0), (7, 0), (1, 2)],
        "a stored offset may step back, and changes in a full table"
    );
    for dropped in [true, false] {
        rig.ask(PartitionOp::DropGroupOffsets { id: 1 });
        assert_eq!(rig.execute(), Some(Applied::Done(Effect::DropGroupOffsets { dropped })));
    }
    rig.prepare(offsets(&[consumer(3, u64::MAX - 1)]));
    assert!(matches!(rig.execute(), Some(Applied::Done(Effect::Offsets { refused })) if refused.len() == 1));
}

#[test]
fn what_was_executed_is_not_executed_again() {
    let mut rig = rig();
    rig.send(0..3, 1);
    rig.ask(PartitionOp::Purge { generation: 1 });
    rig.execute_all();
    let before = rig.partition.clone();
    for op in 0..3 {
        assert_eq!(
            rig.partition.apply(op, LogOperation::Purge, &2_u64.to_le_bytes()),
            Applied::AlreadyApplied
        );
    }
    assert_eq!(rig.partition, before);
    let reply = PartitionReply::decode(&Applied::AlreadyApplied.reply());
    assert_eq!(reply, Ok(rejected(Rejection::AlreadyApplied)));
}
