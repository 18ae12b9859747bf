//! Figures of a partition: updated with each batch, equal after a restart, zero after a purge.

use ng_replication::PartitionFigures;
use ng_wire::replica::PartitionOp;

use crate::rig::{GROUP, Node};

const EMPTY: PartitionFigures = PartitionFigures { segments: 1, bytes: 0, messages: 0, current_offset: 0 };

fn figures(node: &mut Node, group: u64) -> PartitionFigures {
    node.until("figures", |node| node.log.figures(group))
}

/// Sends 40 batches of three messages; returns their bytes.
fn fill(node: &mut Node) -> u64 {
    for number in 0..40 {
        node.send(number * 3, &[7_000; 3]);
    }
    40 * (256 + 3 * 7_048)
}

#[test]
fn a_partition_without_messages_has_one_segment() {
    let mut node = Node::new(21);
    assert_eq!(node.log.figures(GROUP), Some(EMPTY));
    assert_eq!(node.log.figures(99), None);
    let mut node = node.stop_and_start();
    assert_eq!(node.log.figures(GROUP), Some(EMPTY));
}

#[test]
fn figures_are_the_same_in_memory_on_the_disk_and_after_a_restart() {
    let mut node = Node::new(22);
    let bytes = fill(&mut node);
    let memory = figures(&mut node, GROUP);
    assert_eq!((memory.bytes, memory.messages, memory.current_offset), (bytes, 120, 119));
    node.flush();
    let disk = figures(&mut node, GROUP);
    assert_eq!((disk.bytes, disk.messages, disk.segments), (bytes, 120, 4));
    let mut node = node.restart();
    assert_eq!(figures(&mut node, GROUP), disk);
    let mut node = node.stop_and_start();
    assert_eq!(node.log.figures(GROUP), None, "the segments are not open yet");
    assert_eq!(figures(&mut node, GROUP), disk);
    node.op(PartitionOp::TruncatePrefix { offset: 60 });
    node.flush();
    let truncated = figures(&mut node, GROUP);
    assert!(truncated.messages < 120 && truncated.messages >= 60 && truncated.segments < 4);
    assert_eq!(truncated.bytes, bytes / 40 * (truncated.messages / 3));
    let mut node = node.restart();
    assert_eq!(figures(&mut node, GROUP), truncated);
    node.op(PartitionOp::Purge { generation: 1 });
    assert_eq!(node.log.figures(GROUP), Some(EMPTY), "at once");
    node.send(1, &[50]);
    let mut node = node.restart();
    let one = PartitionFigures { bytes: 256 + 98, messages: 1, ..EMPTY };
    assert_eq!(figures(&mut node, GROUP), one);
}

#[test]
fn every_change_is_reported_once() {
    let mut node = Node::new(23);
    node.log.changed_figures(100);
    fill(&mut node);
    node.flush();
    let changed = node.log.changed_figures(100);
    assert_eq!(changed.len(), 1);
    assert_eq!((changed[0].0, changed[0].1.messages), (GROUP, 120));
    assert!(node.log.changed_figures(100).is_empty());
    node.send(500, &[1]);
    assert_eq!(node.log.changed_figures(100).first().map(|(_, figures)| figures.messages), Some(121));
    node.op(PartitionOp::TruncatePrefix { offset: 60 });
    node.flush();
    let told = node.log.changed_figures(100).first().map(|(_, figures)| figures.messages);
    assert_eq!(told, Some(figures(&mut node, GROUP).messages));
}

#[test]
fn writes_deferred_by_a_full_disk_are_counted_and_wait_in_memory() {
    let mut node = Node::new(28);
    node.flush();
    assert_eq!((node.log.counts().put_off, node.log.disk_figures().unflushed_bytes), (0, 0));
    node.environment.set_capacity(0);
    node.send(1, &[50_000; 3]);
    node.until("a refusal", |node| (node.log.counts().put_off > 0).then_some(()));
    assert!(node.log.disk_figures().unflushed_bytes > 150_000);
    let (live, live_max) = node.log.disk_figures().journal_live_bytes;
    assert!(live > 150_000 && live < live_max);
    node.environment.set_capacity(u64::MAX);
    node.until("room", |node| (node.log.disk_figures().unflushed_bytes == 0).then_some(()));
}

#[test]
fn each_block_of_the_journal_is_measured_with_its_sync() {
    let mut node = Node::new(29);
    let blocks = |node: &Node| {
        let measured = node.log.journal_measured();
        let count = |cells: &[u64]| cells[..cells.len() - 1].iter().sum::<u64>();
        (count(measured.block_bytes.cells()), count(measured.sync_micros.cells()))
    };
    let before = blocks(&node);
    for id in 0..5 {
        node.send(id * 3, &[50]);
    }
    let after = blocks(&node);
    assert!(after.0 >= before.0 + 5 && after.1 >= before.1 + 5, "{before:?} to {after:?}");
    let sum = node.log.journal_measured().block_bytes.cells().last().copied();
    assert!(sum.is_some_and(|bytes| bytes >= after.0 * 4096));
}
