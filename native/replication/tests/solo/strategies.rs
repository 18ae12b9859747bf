//! The five poll strategies and their edge cases, from memory and from the disk.

use ng_replication::{LogAnswer, PollLimits, PollRefusal, PollStrategy};
use ng_wire::batch::BatchHeader;
use ng_wire::replica::{LogOperation, PartitionOp};
use ng_wire::table::error::ErrorCode;

use crate::rig::{CONSUMER, GROUP, Node, batch, bytes, messages, poll, segments};

/// Ten messages in four batches, checked in memory, in the cache, on the disk, and after a restart.
fn in_every_place(look: impl Fn(&mut Node)) {
    for cached in [false, true] {
        look_around(cached, &look);
    }
}

fn look_around(cached: bool, look: impl Fn(&mut Node)) {
    let mut node = Node::new(3);
    if cached {
        node.log.set_poll_limits(PollLimits::default());
    }
    for (id, count) in [(0, 3), (3, 1), (4, 4), (8, 2)] {
        node.send(id, &vec![100; count]);
    }
    look(&mut node);
    node.flush();
    look(&mut node);
    let mut node = node.restart();
    look(&mut node);
    let mut node = node.stop_and_start();
    look(&mut node);
}

#[test]
fn an_empty_partition_answers_with_nothing() {
    let mut node = Node::new(1);
    for strategy in [
        PollStrategy::Offset(0),
        PollStrategy::Timestamp(0),
        PollStrategy::First,
        PollStrategy::Last,
        PollStrategy::Next,
    ] {
        let polled = node.poll(poll(strategy, 10)).expect("nothing is wrong");
        assert_eq!((polled.current_offset, polled.messages, polled.parts.len()), (0, 0, 0));
    }
    let elsewhere = ng_replication::Poll { group: 99, ..poll(PollStrategy::First, 1) };
    assert_eq!(node.poll(elsewhere).map(|polled| polled.messages), Err(PollRefusal::NoGroup));
}

/// A poll of all messages in memory must not report damage at their end.
#[test]
fn messages_only_in_memory_are_not_reported_damaged() {
    let mut node = Node::new(4);
    node.send(0, &[100; 3]);
    node.send(3, &[100; 2]);
    assert!(segments(&node.environment).is_empty(), "nothing was written yet");
    for count in [1, 3, 4, 5, 10] {
        let all: Vec<u64> = (0..5.min(u64::from(count))).collect();
        assert_eq!(node.offsets(PollStrategy::Timestamp(0), count), all);
        assert_eq!(node.offsets(PollStrategy::First, count), all);
        assert_eq!(node.offsets(PollStrategy::Offset(0), count), all);
        let last: Vec<u64> = (5 - all.len() as u64..5).collect();
        assert_eq!(node.offsets(PollStrategy::Last, count), last);
    }
    assert!(segments(&node.environment).is_empty() && node.damaged.is_empty());
}

#[test]
fn offsets_are_served_from_memory_and_disk() {
    in_every_place(|node| {
        for from in 0..10 {
            for count in 1..12 {
                let expected: Vec<u64> = (from..10.min(from + u64::from(count))).collect();
                assert_eq!(node.offsets(PollStrategy::Offset(from), count), expected);
            }
        }
        for (from, count) in [(10, 5), (u64::MAX, 5), (0, 0)] {
            let polled = node.poll(poll(PollStrategy::Offset(from), count)).expect("nothing is wrong");
            assert_eq!((polled.current_offset, polled.messages), (9, 0));
        }
    });
}

#[test]
fn first_last_and_next_begin_at_the_right_offset() {
    in_every_place(|node| {
        assert_eq!(node.offsets(PollStrategy::First, 2), [0, 1]);
        assert_eq!(node.offsets(PollStrategy::Last, 3), [7, 8, 9]);
        assert_eq!(node.offsets(PollStrategy::Last, 100), (0..10).collect::<Vec<_>>());
        assert_eq!(node.offsets(PollStrategy::Next, 2), [0, 1]);
        assert_eq!(node.log.store_ahead(GROUP, CONSUMER, Some(4)), Some(Ok(())));
        assert_eq!(node.offsets(PollStrategy::Next, 2), [5, 6]);
        assert_eq!(node.log.store_ahead(GROUP, CONSUMER, Some(9)), Some(Ok(())));
        assert!(node.offsets(PollStrategy::Next, 2).is_empty());
        assert_eq!(node.log.store_ahead(GROUP, CONSUMER, None), Some(Ok(())));
    });
}

#[test]
fn a_time_begins_with_the_first_batch_of_it_or_after_it() {
    in_every_place(|node| {
        let polled = node.poll(poll(PollStrategy::First, 10)).expect("nothing is wrong");
        let all = messages(&bytes(&polled));
        for (_, time, _) in &all {
            for asked in [time - 1, *time, time + 1] {
                let expected: Vec<u64> =
                    all.iter().filter(|(_, time, _)| *time >= asked).map(|(offset, ..)| *offset).collect();
                assert_eq!(node.offsets(PollStrategy::Timestamp(asked), 10), expected);
            }
        }
        assert!(node.offsets(PollStrategy::Timestamp(u64::MAX), 10).is_empty());
    });
}

#[test]
fn a_slice_keeps_its_messages_byte_for_byte() {
    in_every_place(|node| {
        let sent = batch(4, &[100; 4]);
        let polled = node.poll(poll(PollStrategy::Offset(5), 2)).expect("nothing is wrong");
        let bytes = bytes(&polled);
        let header = BatchHeader::decode(&bytes).expect("a header");
        assert_eq!((header.base_offset, header.count, header.length), (4, 2, bytes.len() as u64));
        assert_eq!(bytes[256..], sent[256 + 148..256 + 3 * 148]);
    });
}

#[test]
fn truncated_messages_are_skipped() {
    let mut node = Node::new(4);
    for id in 0..40 {
        node.send(id, &[20_000]);
    }
    node.flush();
    node.op(PartitionOp::TruncatePrefix { offset: 17 });
    let mut node = {
        node.flush();
        for strategy in
            [PollStrategy::First, PollStrategy::Offset(3), PollStrategy::Next, PollStrategy::Timestamp(0)]
        {
            assert_eq!(node.offsets(strategy, 2), [17, 18]);
        }
        node.stop_and_start()
    };
    assert_eq!(node.offsets(PollStrategy::Offset(0), 2), [17, 18]);
    assert_eq!(node.offsets(PollStrategy::Last, 100).first(), Some(&17));
    node.op(PartitionOp::TruncatePrefix { offset: 40 });
    let polled = node.poll(poll(PollStrategy::First, 10)).expect("nothing is wrong");
    assert_eq!((polled.current_offset, polled.messages), (39, 0));
}

#[test]
fn a_purge_restarts_at_offset_zero_at_once() {
    let mut node = Node::new(5);
    for id in 0..20 {
        node.send(id, &[20_000]);
    }
    node.op(PartitionOp::Purge { generation: 1 });
    assert!(node.offsets(PollStrategy::First, 10).is_empty());
    node.send(100, &[10, 10]);
    assert_eq!(node.offsets(PollStrategy::First, 10), [0, 1]);
    assert_eq!(node.offsets(PollStrategy::Last, 1), [1]);
    node.flush();
    let mut node = node.restart();
    assert_eq!(node.offsets(PollStrategy::First, 10), [0, 1]);
    assert_eq!(node.offsets(PollStrategy::Timestamp(0), 10), [0, 1]);
}

#[test]
fn a_malformed_batch_adds_no_messages() {
    let mut node = Node::new(6);
    let answer = node.ask(LogOperation::Batch, b"no batch");
    assert_eq!(answer, LogAnswer::Invalid(ErrorCode::InvalidCommand));
    assert!(node.offsets(PollStrategy::First, 10).is_empty());
}
