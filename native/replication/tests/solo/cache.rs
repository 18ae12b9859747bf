//! The poll cache: the reads that it saves, and the messages that it must never return.

use ng_io::Driver;
use ng_replication::{PollLimits, PollStrategy};
use ng_wire::replica::PartitionOp;

use crate::rig::{Node, segments, uncached};

/// Driver operations during `act`.
fn operations(node: &mut Node, act: impl FnOnce(&mut Node)) -> u64 {
    let before = node.driver.counters().operations;
    act(node);
    node.driver.counters().operations - before
}

#[test]
fn a_large_batch_that_is_polled_bit_by_bit_is_read_once() {
    let mut node = Node::new(31);
    node.send(0, &[500; 200]);
    node.flush();
    let bit_by_bit = |node: &mut Node| {
        for from in (0..200).step_by(10) {
            assert_eq!(node.offsets(PollStrategy::Offset(from), 10), (from..from + 10).collect::<Vec<_>>());
        }
    };
    let alone = operations(&mut node, bit_by_bit);
    let mut node = node.stop_and_start();
    node.log.set_poll_limits(PollLimits::default());
    assert_eq!(node.offsets(PollStrategy::Offset(0), 1), [0]);
    let kept = operations(&mut node, bit_by_bit);
    assert!(alone >= 20, "without it each of 20 polls reads: {alone}");
    assert_eq!(kept, 0, "with it none does");
}

#[test]
fn recent_messages_are_served_from_memory_after_they_are_written() {
    let mut node = Node::new(32);
    node.log.set_poll_limits(PollLimits::default());
    for id in 0..20 {
        node.send(id, &[1_000]);
    }
    node.flush();
    assert!(!segments(&node.environment).is_empty());
    let read = operations(&mut node, |node| {
        assert_eq!(node.offsets(PollStrategy::Offset(5), 100), (5..20).collect::<Vec<_>>());
        assert_eq!(node.offsets(PollStrategy::Last, 3), [17, 18, 19]);
    });
    assert_eq!(read, 0);
}

#[test]
fn purged_or_truncated_messages_are_not_served_from_memory() {
    let mut node = Node::new(33);
    node.log.set_poll_limits(PollLimits::default());
    for id in 0..10 {
        node.send(id, &[1_000]);
    }
    node.op(PartitionOp::TruncatePrefix { offset: 4 });
    assert_eq!(node.offsets(PollStrategy::Offset(0), 100), (4..10).collect::<Vec<_>>());
    node.op(PartitionOp::Purge { generation: 1 });
    assert_eq!(node.offsets(PollStrategy::Offset(0), 100), []);
    assert_eq!(node.send(100, &[7]), 0);
    assert_eq!(node.offsets(PollStrategy::Offset(0), 100), [0]);
}

#[test]
fn a_smaller_bound_gives_memory_back_at_once() {
    let mut node = Node::new(34);
    node.log.set_poll_limits(PollLimits::default());
    node.send(0, &[1_000]);
    node.flush();
    node.log.set_poll_limits(uncached());
    assert!(operations(&mut node, |node| assert_eq!(node.offsets(PollStrategy::First, 1), [0])) > 0);
}
