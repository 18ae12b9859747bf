//! Unlogged offsets, from auto-commit polls and from consumers that do not wait: visible at once, in the log
//! later.

use std::time::Duration;

use ng_replication::{Poll, PollStrategy};
use ng_wire::replica::{
    ConsumerKind, LogOperation, OffsetRefusal, OffsetWrite, PartitionOp, PartitionReply, offsets_body,
};

use crate::rig::{CONSUMER, GROUP, Node, batch, bytes, messages, poll};

const DELAY: Duration = Duration::from_millis(100);

fn committing(node: &mut Node, strategy: PollStrategy, count: u32) -> Vec<u64> {
    let polled = node.poll(Poll { auto_commit: true, ..poll(strategy, count) }).expect("nothing is wrong");
    messages(&bytes(&polled)).into_iter().map(|(offset, ..)| offset).collect()
}

fn filled() -> Node {
    let mut node = Node::new(41);
    node.send(0, &[10; 20]);
    node
}

fn visible(node: &Node) -> Option<u64> {
    node.log.stored_offset(GROUP, CONSUMER)
}

/// The stored offset in the log.
fn logged(node: &Node) -> Option<u64> {
    let state = node.log.partition(GROUP).expect("a partition");
    state.offsets.get(&(CONSUMER.0, CONSUMER.1.into())).copied()
}

fn head(node: &Node) -> u64 {
    node.log.status(GROUP).expect("a group").head.0
}

fn store(node: &mut Node, offset: Option<u64>) -> PartitionReply {
    let write = OffsetWrite { kind: CONSUMER.0, id: CONSUMER.1.into(), offset };
    node.done(LogOperation::Offsets, &offsets_body(&[write]))
}

#[test]
fn a_poll_commits_at_once_and_many_enter_the_log_in_one_operation() {
    let mut node = filled();
    let before = head(&node);
    for from in 0..5 {
        assert_eq!(committing(&mut node, PollStrategy::Next, 2), [2 * from, 2 * from + 1]);
        assert_eq!(visible(&node), Some(2 * from + 1));
    }
    assert_eq!((logged(&node), head(&node)), (None, before));
    node.rest(DELAY * 2);
    assert_eq!((logged(&node), head(&node)), (Some(9), before + 1));
    let mut node = node.restart();
    assert_eq!(visible(&node), Some(9));
    assert_eq!(committing(&mut node, PollStrategy::Next, 1), [10]);
}

#[test]
fn a_poll_without_messages_or_below_the_stored_offset_commits_nothing() {
    let mut node = filled();
    assert!(committing(&mut node, PollStrategy::Offset(100), 2).is_empty());
    assert_eq!(visible(&node), None);
    assert_eq!(committing(&mut node, PollStrategy::Offset(10), 2), [10, 11]);
    assert_eq!(committing(&mut node, PollStrategy::Offset(3), 2), [3, 4]);
    assert_eq!(visible(&node), Some(11));
    node.rest(DELAY * 2);
    let before = head(&node);
    assert_eq!(committing(&mut node, PollStrategy::Offset(3), 2), [3, 4]);
    node.rest(DELAY * 2);
    assert_eq!((visible(&node), head(&node)), (Some(11), before));
}

#[test]
fn unlogged_offsets_enter_the_log_with_the_next_batch() {
    let mut node = filled();
    committing(&mut node, PollStrategy::First, 4);
    node.send(100, &[10]);
    node.until("the log has it", |node| logged(node).filter(|offset| *offset == 3));
}

#[test]
fn an_orderly_stop_leaves_no_offset_outside_the_log() {
    let mut node = filled();
    committing(&mut node, PollStrategy::First, 4);
    let node = node.stop_and_start();
    assert_eq!(logged(&node), Some(3));
}

#[test]
fn a_consumer_that_waits_has_the_last_word() {
    let mut node = filled();
    committing(&mut node, PollStrategy::First, 8);
    assert_eq!(store(&mut node, Some(2)), PartitionReply::Done { value: 0, refused: Vec::new() });
    assert_eq!(visible(&node), Some(2), "the stored offset supersedes that of the poll");
    node.rest(DELAY * 2);
    assert_eq!((visible(&node), logged(&node)), (Some(2), Some(2)));
    committing(&mut node, PollStrategy::Next, 2);
    assert_eq!(visible(&node), Some(4));
    assert_eq!(store(&mut node, None), PartitionReply::Done { value: 0, refused: Vec::new() });
    node.rest(DELAY * 2);
    assert_eq!((visible(&node), logged(&node)), (None, None));
}

#[test]
fn a_superseded_offset_does_not_enter_the_log_with_a_batch() {
    for offset in [Some(12), Some(2), None] {
        let mut node = filled();
        committing(&mut node, PollStrategy::First, 8);
        let write = OffsetWrite { kind: CONSUMER.0, id: CONSUMER.1.into(), offset };
        let stored = node.begin(LogOperation::Offsets, &offsets_body(&[write]));
        let sent = node.begin(LogOperation::Batch, &batch(100, &[10]));
        node.until("an answer", |node| node.take_answer(stored));
        node.until("an answer", |node| node.take_answer(sent));
        node.rest(DELAY * 2);
        assert_eq!((visible(&node), logged(&node)), (offset, offset));
    }
}

#[test]
fn a_refused_offset_does_not_change_an_unlogged_one() {
    let mut node = filled();
    committing(&mut node, PollStrategy::First, 8);
    let write = OffsetWrite { kind: CONSUMER.0, id: CONSUMER.1.into(), offset: Some(1_000) };
    let reply = node.done(LogOperation::Offsets, &offsets_body(&[write]));
    assert!(matches!(reply, PartitionReply::Done { refused, .. } if refused.len() == 1));
    assert_eq!(visible(&node), Some(7));
    node.rest(DELAY * 2);
    assert_eq!((visible(&node), logged(&node)), (Some(7), Some(7)));
}

#[test]
fn a_consumer_that_does_not_wait_may_step_back_or_drop_and_is_refused_by_name() {
    let mut node = filled();
    let ahead = |node: &mut Node, offset| node.log.store_ahead(GROUP, CONSUMER, offset).expect("it leads");
    assert_eq!(ahead(&mut node, None), Err(OffsetRefusal::Missing));
    assert_eq!(ahead(&mut node, Some(20)), Err(OffsetRefusal::BeyondEnd));
    assert_eq!(ahead(&mut node, Some(19)), Ok(()));
    assert_eq!(ahead(&mut node, Some(5)), Ok(()));
    node.rest(DELAY * 2);
    assert_eq!(logged(&node), Some(5));
    assert_eq!(ahead(&mut node, None), Ok(()));
    assert_eq!(visible(&node), None);
    node.rest(DELAY * 2);
    assert_eq!(logged(&node), None);
    for id in 10..13 {
        assert_eq!(node.log.store_ahead(GROUP, (ConsumerKind::Group, id), Some(1)), Some(Ok(())));
    }
    assert_eq!(ahead(&mut node, Some(1)), Err(OffsetRefusal::TableFull));
    assert_eq!(committing(&mut node, PollStrategy::First, 2), [0, 1], "the poll itself is answered");
    assert_eq!(visible(&node), None);
}

#[test]
fn a_purge_drops_unlogged_offsets() {
    let mut node = filled();
    committing(&mut node, PollStrategy::First, 8);
    node.op(PartitionOp::Purge { generation: 1 });
    assert_eq!(visible(&node), None);
    node.rest(DELAY * 2);
    assert_eq!(logged(&node), None);
}
