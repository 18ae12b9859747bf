//! What a partition holds: counted as it comes, the same after a restart, nothing once it is purged.

use ng_shard::log::PartitionFigures;
use ng_wire::replica::PartitionOp;

use crate::rig::{GROUP, Node};

const EMPTY: PartitionFigures = PartitionFigures { segments: 1, bytes: 0, messages: 0, current_offset: 0 };

fn figures(node: &mut Node, group: u64) -> PartitionFigures {
    node.until("figures", |node| node.log.figures(group))
}

/// Sends 40 batches of three messages; their bytes.
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
    assert_eq!(node.log.figures(GROUP), None, "nobody has looked yet");
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
fn every_change_is_told_once() {
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
