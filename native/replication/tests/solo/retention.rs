//! Messages deleted by age, by size or on request of a client, and messages kept because a consumer needs
//! them.

use std::time::Duration;

use ng_replication::{Keeping, LogAnswer, OffsetHold, PollStrategy, RetentionLimits};
use ng_wire::replica::{LogOperation, OffsetWrite, PartitionOp, offsets_body};

use crate::rig::{CONSUMER, GROUP, Node, STORE, poll};

/// Bytes of each batch that [`fill`] sends.
const BATCH: u64 = 256 + 3 * 7_048;

const SECOND: u64 = 1_000_000;

/// Sends batches of three messages and waits until segments contain them.
fn fill(node: &mut Node, batches: u64) {
    for number in 0..batches {
        node.send(number * 3, &[7_000; 3]);
    }
    node.flush();
}

fn keeping(expiry: u64, bytes_max: u64) -> Keeping {
    Keeping { segment_bytes: STORE.segment_bytes, expiry, bytes_max }
}

fn limits(hold: OffsetHold) -> RetentionLimits {
    RetentionLimits { period: Some(200), hold }
}

/// A node that checks retention several times per second.
fn node(seed: u64, hold: OffsetHold) -> Node {
    let mut node = Node::new(seed);
    node.log.set_retention_limits(limits(hold));
    node
}

/// Stores an offset for the consumer through the log.
fn store(node: &mut Node, offset: u64) {
    let write = OffsetWrite { kind: CONSUMER.0, id: CONSUMER.1.into(), offset: Some(offset) };
    node.done(LogOperation::Offsets, &offsets_body(&[write]));
}

fn first(node: &mut Node) -> Option<u64> {
    node.offsets(PollStrategy::First, 1).first().copied()
}

fn is_done(answer: &LogAnswer) -> bool {
    matches!(answer, LogAnswer::Done { .. })
}

#[test]
fn a_partition_has_segments_of_its_topics_size() {
    let mut node = Node::new(30);
    node.log.keep(GROUP, Keeping { segment_bytes: 3 * BATCH, ..keeping(u64::MAX, u64::MAX) });
    fill(&mut node, 12);
    assert_eq!(node.figures().segments, 4);
    assert_eq!(node.offsets(PollStrategy::Offset(0), 100).len(), 36);
    let mut node = node.restart();
    assert_eq!(node.figures().segments, 4);
}

#[test]
fn an_idle_partition_becomes_empty() {
    let mut node = node(31, OffsetHold::Always);
    node.log.keep(GROUP, keeping(2 * SECOND, u64::MAX));
    fill(&mut node, 30);
    assert_eq!((node.figures().messages, first(&mut node)), (90, Some(0)));
    node.until("it is empty", |node| (node.figures().messages == 0).then_some(()));
    let empty = node.figures();
    assert_eq!((empty.segments, empty.bytes, empty.current_offset), (1, 0, 89));
    for strategy in [
        PollStrategy::First,
        PollStrategy::Last,
        PollStrategy::Next,
        PollStrategy::Offset(5),
        PollStrategy::Timestamp(0),
    ] {
        let polled = node.poll(poll(strategy, 10)).expect("nothing is wrong");
        assert_eq!((polled.messages, polled.current_offset), (0, 89), "{strategy:?}");
    }
    let mut node = node.restart();
    assert_eq!(node.figures(), empty);
    let mut node = node.stop_and_start();
    assert_eq!(node.figures(), empty);
    assert_eq!(node.send(1, &[10]), 90, "offsets go on");
    assert_eq!((first(&mut node), node.figures().messages), (Some(90), 1));
}

#[test]
fn a_poll_during_which_all_messages_expire_reports_no_damage() {
    for seed in 200..210 {
        let mut node = node(seed, OffsetHold::Never);
        node.log.keep(GROUP, keeping(SECOND, u64::MAX));
        fill(&mut node, 3);
        let mut tickets = Vec::new();
        while node.figures().messages > 0 {
            // More than are read at a time.
            if tickets.len() < 40 {
                tickets.push(node.begin_poll(poll(PollStrategy::First, 1)));
            }
            node.turn();
            tickets.retain(|ticket| match node.take_polled(*ticket) {
                Some(answer) => {
                    assert!(answer.is_ok(), "{answer:?}");
                    false
                }
                None => true,
            });
        }
        for ticket in tickets {
            let answer = node.until("an answer to a poll", |node| node.take_polled(ticket));
            assert!(answer.is_ok(), "{answer:?}");
        }
    }
}

#[test]
fn young_messages_are_kept_when_old_ones_expire() {
    let mut node = node(32, OffsetHold::Never);
    node.log.keep(GROUP, keeping(3 * SECOND, u64::MAX));
    fill(&mut node, 20);
    node.rest(Duration::from_secs(2));
    let young = node.send(500, &[100]);
    assert_eq!(first(&mut node), Some(0));
    node.until("the old ones are deleted", |node| (node.figures().messages < 60).then_some(()));
    assert_eq!(node.offsets(PollStrategy::Last, 1), [young]);
    node.until("all are deleted", |node| (node.figures().messages == 0).then_some(()));
}

#[test]
fn a_partition_respects_its_size_limit() {
    let mut node = node(33, OffsetHold::Never);
    let bytes_max = 15 * BATCH;
    node.log.keep(GROUP, keeping(u64::MAX, bytes_max));
    fill(&mut node, 40);
    node.until("it fits", |node| (node.figures().bytes <= bytes_max).then_some(()));
    let figures = node.figures();
    assert!(
        figures.bytes + STORE.segment_bytes > bytes_max,
        "more segments were deleted than necessary: {figures:?}"
    );
    assert_eq!(figures.bytes, figures.messages / 3 * BATCH);
    assert_eq!(first(&mut node), Some(120 - figures.messages));
    assert_eq!(
        node.offsets(PollStrategy::Offset(3), 1),
        [120 - figures.messages],
        "from the first that is kept"
    );
    let mut node = node.restart();
    assert_eq!(node.figures(), figures);
    assert_eq!(first(&mut node), Some(120 - figures.messages));
}

#[test]
fn another_limit_of_the_topic_holds_from_then_on() {
    let mut node = node(34, OffsetHold::Never);
    node.log.keep(GROUP, keeping(u64::MAX, u64::MAX));
    fill(&mut node, 30);
    node.rest(Duration::from_secs(2));
    assert_eq!(node.figures().messages, 90);
    node.log.keep(GROUP, keeping(u64::MAX, STORE.segment_bytes));
    node.until("it fits", |node| (node.figures().bytes <= STORE.segment_bytes).then_some(()));
    node.log.keep(GROUP, keeping(SECOND, u64::MAX));
    node.until("all are deleted", |node| (node.figures().messages == 0).then_some(()));
}

#[test]
fn unread_messages_of_an_active_consumer_are_kept() {
    let mut node = node(35, OffsetHold::Seen(3_000));
    node.log.keep(GROUP, keeping(SECOND / 2, u64::MAX));
    fill(&mut node, 40);
    store(&mut node, 50);
    node.until("the read messages are deleted", |node| (node.figures().messages < 120).then_some(()));
    for _ in 0..20 {
        node.rest(Duration::from_millis(500));
        // The consumer repeats the same poll and stores no offset.
        assert!(node.offsets(PollStrategy::First, 1)[0] <= 50);
        node.offsets(PollStrategy::Next, 1);
    }
    assert_eq!(node.offsets(PollStrategy::Next, 1), [51]);
    node.until("it is given up", |node| (node.figures().messages == 0).then_some(()));
    assert_eq!(node.offsets(PollStrategy::Next, 1), [] as [u64; 0]);
}

#[test]
fn a_consumer_without_an_offset_protects_nothing() {
    let mut node = node(36, OffsetHold::Always);
    node.log.keep(GROUP, keeping(SECOND / 2, u64::MAX));
    fill(&mut node, 30);
    assert_eq!(node.log.store_ahead(GROUP, CONSUMER, Some(0)), Some(Ok(())));
    node.rest(Duration::from_secs(3));
    assert_eq!(node.figures().messages, 90, "an unlogged offset protects messages, too");
    assert_eq!(node.log.store_ahead(GROUP, CONSUMER, None), Some(Ok(())));
    node.until("all are deleted", |node| (node.figures().messages == 0).then_some(()));
}

#[test]
fn a_client_deletes_the_oldest_sealed_segments() {
    let mut node = node(37, OffsetHold::Seen(60_000));
    assert!(is_done(&node.delete_segments(GROUP, 3)), "there is none, and that is fine");
    fill(&mut node, 40);
    let before = node.figures();
    assert_eq!(before.segments, 4);
    assert!(is_done(&node.delete_segments(GROUP, 0)));
    assert_eq!(node.figures(), before);
    assert!(is_done(&node.delete_segments(GROUP, 1)));
    let after = node.figures();
    assert_eq!((after.segments, after.messages), (3, 120 - first(&mut node).expect("some are left")));
    store(&mut node, 80);
    assert!(is_done(&node.delete_segments(GROUP, u32::MAX)));
    let held = first(&mut node).expect("some are left");
    assert!(held > 0 && held <= 81, "{held}");
    store(&mut node, 119);
    let mut node = node.restart();
    // The segments have not been opened since the start.
    assert!(is_done(&node.delete_segments(GROUP, u32::MAX)));
    let rest = node.figures();
    assert_eq!(rest.segments, 1, "the unsealed segment is kept");
    assert_eq!(first(&mut node), Some(120 - rest.messages));
    assert!(is_done(&node.delete_segments(GROUP, u32::MAX)));
    assert_eq!(node.figures(), rest);
    assert_eq!(node.delete_segments(99, 1), LogAnswer::NoGroup);
}

#[test]
fn a_deletion_in_a_partition_that_ends_is_answered() {
    let node = node(38, OffsetHold::Never);
    let mut node = node.stop_and_start();
    fill(&mut node, 1);
    let mut node = node.stop_and_start();
    let ticket = node.begin_deletion(GROUP, 1);
    node.log.remove(GROUP);
    assert_eq!(node.until("an answer", |node| node.take_answer(ticket)), LogAnswer::Uncertain);
}

#[test]
fn an_interrupted_truncation_happens_completely_or_not_at_all() {
    for turns in 0..60 {
        let mut node = node(39 + turns, OffsetHold::Never);
        fill(&mut node, 30);
        let before = node.figures();
        node.begin_deletion(GROUP, 1);
        for _ in 0..turns {
            node.turn();
        }
        let mut node = if turns % 3 == 0 { node.stop_and_start() } else { node.restart() };
        node.until("it is settled", |node| node.log.is_settled(GROUP).then_some(()));
        let after = node.figures();
        assert!(after == before || after.segments == before.segments - 1, "after {turns} turns: {after:?}");
        assert_eq!(first(&mut node), Some(90 - after.messages), "after {turns} turns");
        node.op(PartitionOp::Purge { generation: 1 });
        assert_eq!(node.send(1, &[5]), 0);
        assert_eq!(first(&mut node), Some(0));
    }
}
