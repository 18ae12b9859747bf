//! Partitions that begin and end while the node runs.

use std::time::Duration;

use ng_io::SimulatedEnvironment;
use ng_replication::LogAnswer;
use ng_wire::replica::LogOperation;

use crate::rig::{Node, batch, home};

/// A partition that is not expected at a start.
const NEW: u64 = 0x5001;

fn files(environment: &SimulatedEnvironment) -> usize {
    let of_group = home().group(NEW).directory();
    environment.file_names().into_iter().filter(|path| path.starts_with(&of_group)).count()
}

/// A node with the new partition open, with messages in it.
fn opened(seed: u64) -> Node {
    let mut node = Node::new(seed);
    node.log.open(NEW).expect("sound limits");
    node.until("it is settled", |node| node.log.is_settled(NEW).then_some(()));
    node.group = NEW;
    assert_eq!(node.send(1, &[10, 20, 30]), 0);
    node
}

fn last_offset(node: &Node) -> Option<u64> {
    node.log.partition(NEW).expect("it is open").last_offset
}

#[test]
fn a_partition_takes_messages_as_soon_as_it_is_settled() {
    let mut node = opened(1);
    assert_eq!(node.send(9, &[10]), 3);
    node.log.open(NEW).expect("it is open already");
    assert_eq!(last_offset(&node), Some(3));
    assert_eq!(files(&node.environment), 0, "nothing is written before it has to be");
}

#[test]
fn a_partition_with_constant_writes_stays_settled() {
    let mut node = opened(4);
    let under_way = node.begin(LogOperation::Batch, &batch(9, &[10]));
    let status = node.log.status(NEW).expect("it is open");
    assert!(status.commit_min < status.head);
    assert!(node.log.is_settled(NEW));
    node.until("an answer", |node| node.take_answer(under_way));
}

#[test]
fn acknowledged_messages_of_a_new_partition_survive_every_crash() {
    for seed in 0..20 {
        let mut node = opened(seed);
        for _ in 0..seed {
            node.turn();
        }
        let mut node = node.restart();
        node.until("it is settled", |node| node.log.is_settled(NEW).then_some(()));
        assert_eq!(last_offset(&node), Some(2), "seed {seed}");
        assert!(node.log.partitions().any(|group| group == NEW));
    }
}

#[test]
fn a_removed_partition_leaves_no_file() {
    let mut node = opened(2);
    node.flush();
    assert!(files(&node.environment) > 0);
    node.log.remove(NEW);
    assert!(!node.log.has(NEW));
    node.until("its files are deleted", |node| node.removed.contains(&NEW).then_some(()));
    assert_eq!((files(&node.environment), node.log.ending().count()), (0, 0));
    let node = node.restart();
    assert!(!node.log.has(NEW));
}

#[test]
fn an_earlier_manifest_does_not_revive_a_partition() {
    let mut node = opened(3);
    // An orderly stop writes a manifest that names the partition.
    node = node.stop_and_start();
    assert!(node.log.has(NEW));
    node.log.remove(NEW);
    node.until("its files are deleted", |node| node.removed.contains(&NEW).then_some(()));
    let mut node = node.restart();
    assert!(!node.log.has(NEW));
    // The next manifest does not name it.
    node = node.stop_and_start();
    assert!(!node.log.has(NEW));
    node.until("nothing ends any more", |node| (node.log.ending().count() == 0).then_some(()));
}

#[test]
fn the_journal_keeps_the_end_of_a_partition_until_a_manifest_does() {
    for turns in 0..60 {
        let mut node = Node::new(turns);
        node.flush();
        node.rest(Duration::from_secs(1));
        let before = node.log.disk_figures().journal_live_bytes.0;
        node.log.open(NEW).expect("sound limits");
        // Manifests are written continuously, so one is being collected, written or put in force when the
        // partition ends.
        node.send(1, &[10]);
        for _ in 0..turns * 10 {
            node.turn();
        }
        node.log.remove(NEW);
        let kept = node.log.disk_figures().journal_live_bytes.0;
        node.until("its files are deleted", |node| node.removed.contains(&NEW).then_some(()));
        assert!(kept > before, "after {turns} turns");
        node.rest(Duration::from_secs(2));
        assert_eq!(node.log.disk_figures().journal_live_bytes.0, before, "after {turns} turns");
    }
}

#[test]
fn an_interrupted_removal_happens_completely_or_not_at_all() {
    let (mut kept, mut removed) = (0, 0);
    for turns in 0..40 {
        let mut node = opened(turns);
        node.flush();
        node.log.remove(NEW);
        for _ in 0..turns {
            node.turn();
        }
        let mut node = node.restart();
        if node.log.has(NEW) {
            kept += 1;
            node.until("it is settled", |node| node.log.is_settled(NEW).then_some(()));
            assert_eq!(last_offset(&node), Some(2), "after {turns} turns");
        } else {
            removed += 1;
            node.until("its files are deleted", |node| (node.log.ending().count() == 0).then_some(()));
            assert_eq!(files(&node.environment), 0, "after {turns} turns");
        }
    }
    assert!(kept > 0 && removed > 0, "{kept} kept, {removed} removed");
}

#[test]
fn a_request_to_a_partition_that_ends_gets_an_uncertain_answer() {
    let mut node = opened(4);
    let answer = {
        let ticket = node.begin(LogOperation::Batch, &batch(50, &[5]));
        node.log.remove(NEW);
        node.until("an answer", |node| node.take_answer(ticket))
    };
    assert_eq!(answer, LogAnswer::Uncertain);
}

#[test]
fn a_burst_is_slowed_down_before_its_log_is_too_long_for_a_start() {
    let mut node = opened(5);
    let mut sent = 0;
    let mut waiting = Vec::new();
    // Many more operations than a start can list, and much faster than periodic manifests.
    while sent < 6_000 {
        while waiting.len() < 48 && sent < 6_000 {
            sent += 1;
            waiting.push(node.begin(LogOperation::Batch, &batch(sent, &[1])));
        }
        node.turn();
        waiting.retain(|ticket| match node.take_answer(*ticket) {
            None => true,
            Some(LogAnswer::Done { .. }) => false,
            Some(LogAnswer::Busy) => {
                sent -= 1;
                false
            }
            Some(other) => panic!("{other:?}"),
        });
    }
    for ticket in waiting {
        node.until("an answer", |node| node.take_answer(ticket));
    }
    let before = last_offset(&node);
    let mut node = node.restart();
    node.until("it is settled", |node| node.log.is_settled(NEW).then_some(()));
    assert_eq!(last_offset(&node), before);
}
