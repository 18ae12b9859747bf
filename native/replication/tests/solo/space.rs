//! A node with a full disk: it stops in order and loses no message.

use std::time::Duration;

use ng_io::{Driver, Environment};
use ng_replication::{LogAnswer, PollStrategy};
use ng_wire::replica::{LogOperation, PartitionOp};

use crate::rig::{GROUP, Node, batch};

/// A node with three batches in segments and three without space for a segment.
fn full(seed: u64) -> Node {
    let mut node = Node::new(seed);
    for id in 0..3 {
        node.send(id, &[50_000]);
    }
    node.flush();
    node.environment.set_capacity(0);
    for id in 3..6 {
        node.send(id, &[50_000]);
    }
    node.until("a lack of space", |node| (node.log.disk_figures().waits_for_space > 0).then_some(()));
    node
}

/// Sends until even the smallest batch is refused.
fn fill_journal(node: &mut Node) {
    let mut id = 6;
    for size in [500_000, 50_000, 5_000, 1_000, 1] {
        for _ in 0..2_000 {
            match node.ask(LogOperation::Batch, &batch(id, &[size])) {
                LogAnswer::Done { .. } => id += 1,
                LogAnswer::Busy => break,
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(node.ask(LogOperation::Batch, &batch(id, &[1])), LogAnswer::Busy);
}

#[test]
fn a_stop_without_space_keeps_the_earlier_manifest_and_loses_nothing() {
    for seed in 0..20 {
        let mut node = full(seed);
        let began = node.environment.now();
        node.log.begin_stop();
        node.until("a stop", |node| node.log.is_stopped().then_some(()));
        assert!(node.environment.now() - began < Duration::from_secs(1), "it waits for no space");
        node.environment.set_capacity(u64::MAX);
        let mut node = node.restart();
        assert_eq!(node.offsets(PollStrategy::Offset(0), 10), [0, 1, 2, 3, 4, 5], "seed {seed}");
        assert_eq!(node.send(9, &[1]), 6);
    }
}

#[test]
fn a_stop_in_the_middle_of_a_manifest_that_finds_no_space_ends() {
    for seed in 0..20 {
        let mut node = full(seed);
        // Longer than the period of manifests, so one is in progress and waits for segments.
        node.rest(Duration::from_millis(900));
        node.log.begin_stop();
        node.until("a stop", |node| node.log.is_stopped().then_some(()));
    }
}

#[test]
fn a_node_starts_and_continues_without_space() {
    let mut node = full(30).restart();
    assert_eq!(node.offsets(PollStrategy::Offset(0), 10), [0, 1, 2, 3, 4, 5]);
    assert_eq!(node.send(9, &[1]), 6);
    node.environment.set_capacity(u64::MAX);
    node.until("room", |node| (node.log.disk_figures().unflushed_bytes == 0).then_some(()));
}

#[test]
fn a_partition_is_purged_when_producers_have_filled_the_journal() {
    let mut node = full(31);
    fill_journal(&mut node);
    let (operation, body) = PartitionOp::Purge { generation: 1 }.encode();
    assert!(matches!(node.ask(operation, &body), LogAnswer::Done { .. }), "there is room for that");
    assert_eq!(node.log.partition(GROUP).map(|state| state.purge_generation), Some(1));
    node.environment.set_capacity(u64::MAX);
    node.until("room", |node| (node.log.disk_figures().unflushed_bytes == 0).then_some(()));
}

#[test]
fn the_journal_leaves_space_to_segments_that_wait_for_it() {
    let mut node = full(32);
    let files = |node: &Node| {
        let names = node.environment.file_names();
        names.iter().filter(|name| name.to_string_lossy().contains("/journal-")).count()
    };
    let before = files(&node);
    // More than a quarter of a file, so the ring would have grown if it had room.
    for id in 6..36 {
        node.send(id, &[50_000]);
    }
    node.rest(Duration::from_secs(1));
    assert_eq!(files(&node), before);
    node.environment.set_capacity(u64::MAX);
    node.until("room", |node| (node.log.disk_figures().unflushed_bytes == 0).then_some(()));
}

#[test]
fn a_full_journal_on_a_full_disk_is_no_reason_to_try_without_pause() {
    let mut node = full(33);
    fill_journal(&mut node);
    let mut node = node.restart();
    let before = node.driver.counters().operations;
    node.rest(Duration::from_secs(3));
    let operations = node.driver.counters().operations - before;
    assert!(operations < 1_000, "{operations}");
}
