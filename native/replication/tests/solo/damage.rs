//! Damaged, truncated or missing segments: a poll of damaged messages gets an error and never an empty
//! answer, and the other messages are served.

use ng_io::Environment;
use ng_io::simulated::Faults;
use ng_replication::{PollRefusal, PollStrategy};

use crate::rig::{GROUP, Node, bytes, messages, poll, segments};

const SIZE: usize = 20_000;
const BATCH: usize = 256 + 48 + SIZE;

/// 40 batches of one message in four segments, three of them sealed. The node has restarted, so no batch is
/// in memory.
fn filled() -> Node {
    let mut node = Node::new(31);
    for id in 0..40 {
        node.send(id, &[SIZE]);
    }
    node.flush();
    node.stop_and_start()
}

fn polled(node: &mut Node, offset: u64, count: u32) -> Result<Vec<u64>, PollRefusal> {
    let polled = node.poll(poll(PollStrategy::Offset(offset), count))?;
    Ok(messages(&bytes(&polled)).into_iter().map(|(offset, ..)| offset).collect())
}

#[test]
fn a_flip_anywhere_in_a_batch_fences_that_batch() {
    // The first segment contains batches 0 to 11; the test damages batch 5.
    for place in (0..BATCH).step_by(997).chain(0..60).chain([255, 256, 263, 280, 300, BATCH - 1]) {
        let mut node = filled();
        let path = segments(&node.environment)[0].clone();
        assert!(node.environment.rot(&path, 5 * BATCH + place, 4));
        node.spoilt = true;
        assert_eq!(polled(&mut node, 0, 5), Ok(vec![0, 1, 2, 3, 4]), "byte {place}");
        assert_eq!(node.damaged, [], "no wanted message is damaged");
        assert_eq!(polled(&mut node, 0, 100).map(|found| found.len()), Ok(5), "byte {place}");
        let expected = if place < 256 { PollRefusal::BatchChecksum } else { PollRefusal::MessageChecksum };
        let refused = polled(&mut node, 5, 1).expect_err("a damaged message is not served");
        // The head of a message contains the position of the next one, so its damage counts as damage of the
        // batch.
        let head = (256..304).contains(&place) && refused == PollRefusal::BatchChecksum;
        assert!(refused == expected || head, "byte {place}: {refused:?}");
        assert_eq!(polled(&mut node, 8, 3), Ok(vec![8, 9, 10]), "byte {place}");
        assert_eq!(polled(&mut node, 13, 27).map(|found| found.len()), Ok(27), "byte {place}");
        assert_eq!(node.damaged, [(GROUP, 5); 2], "byte {place}");
    }
}

#[test]
fn a_missing_or_truncated_segment_is_refused_and_the_others_are_served() {
    for missing in [true, false] {
        let mut node = filled();
        let path = segments(&node.environment)[1].clone();
        node.spoilt = true;
        if missing {
            node.environment.remove_file(&path).expect("it is there");
        } else {
            assert!(node.environment.spoil(&path, BATCH));
        }
        assert_eq!(polled(&mut node, 0, 12).map(|found| found.len()), Ok(12));
        assert_eq!(polled(&mut node, 13, 1), Err(PollRefusal::Unreadable));
        assert_eq!(polled(&mut node, 24, 16).map(|found| found.len()), Ok(16));
        let all = polled(&mut node, 0, 100).expect("some of it");
        assert_eq!(all, (0..all.len() as u64).collect::<Vec<_>>(), "it ends before the damage");
        assert!((12..=13).contains(&all.len()));
        assert_eq!(node.damaged, [(GROUP, 13), (GROUP, all.len() as u64)]);
    }
}

/// The unsealed segment; it contains batches 36 to 39.
fn unsealed(environment: &ng_io::SimulatedEnvironment) -> std::path::PathBuf {
    segments(environment).last().expect("four segments").clone()
}

#[test]
fn a_flip_in_the_unsealed_segment_costs_one_message_after_an_orderly_stop() {
    let mut node = filled().stop_and_start_after(|environment| {
        assert!(environment.rot(&unsealed(environment), BATCH + 500, 4));
    });
    assert_eq!(polled(&mut node, 0, 100).map(|found| found.len()), Ok(37));
    assert!(polled(&mut node, 37, 1).is_err_and(PollRefusal::is_damage));
    assert_eq!(polled(&mut node, 38, 10), Ok(vec![38, 39]));
    assert_eq!(node.send(40, &[SIZE]), 40, "the partition continues");
    assert_eq!(node.fenced, [(37, 37)]);
    let mut node = node.stop_and_start_after(|_| {});
    assert_eq!(polled(&mut node, 38, 10), Ok(vec![38, 39, 40]));
    assert_eq!(node.fenced, [(37, 37)], "the next start names it, too");
}

#[test]
fn damage_is_reported_without_a_poll() {
    let mut node = filled().stop_and_start_after(|environment| {
        assert!(environment.rot(&unsealed(environment), BATCH + 500, 4));
    });
    node.until("figures", |node| node.log.figures(GROUP));
    node.until("the damage is named", |node| (node.fenced == [(37, 37)]).then_some(()));
    assert_eq!(node.damaged, [], "no poll met it");
}

#[test]
fn a_missing_unsealed_segment_costs_its_messages_and_none_of_the_journal() {
    let mut node = filled().stop_and_start();
    assert_eq!(node.send(40, &[SIZE]), 40);
    let environment = node.environment.clone();
    drop(node);
    environment.kill();
    environment.remove_file(&unsealed(&environment)).expect("it is there");
    let mut node = Node::start(&environment);
    node.spoilt = true;
    assert_eq!(polled(&mut node, 0, 100).map(|found| found.len()), Ok(36));
    assert_eq!(polled(&mut node, 36, 1), Err(PollRefusal::Unreadable));
    assert_eq!(polled(&mut node, 40, 1), Ok(vec![40]), "the journal had it");
    assert_eq!(node.send(41, &[SIZE]), 41);
    assert_eq!(node.fenced, [(36, 39)]);
}

#[test]
fn a_missing_or_wrong_index_is_rebuilt() {
    let index = |node: &Node| segments(&node.environment)[0].with_extension("index");
    let good = filled();
    let expected = good.environment.file_bytes(&index(&good)).expect("an index");
    for byte in (0..expected.len()).step_by(5).map(Some).chain([None]) {
        let mut node = filled();
        let path = index(&node);
        match byte {
            Some(byte) => assert!(node.environment.rot(&path, byte, 2)),
            None => node.environment.remove_file(&path).expect("it is there"),
        }
        for offset in [11, 0, 7] {
            assert_eq!(polled(&mut node, offset, 1), Ok(vec![offset]), "byte {byte:?}");
        }
        node.flush();
        assert_eq!(node.environment.file_bytes(&path).as_ref(), Some(&expected), "byte {byte:?}");
    }
}

#[test]
fn an_index_of_another_segment_misleads_no_poll() {
    let mut node = filled();
    let names = segments(&node.environment);
    let (one, other) = (names[0].with_extension("index"), names[1].with_extension("index"));
    node.environment.rename(&other, &one).expect("both are there");
    for offset in 0..40 {
        assert_eq!(polled(&mut node, offset, 1), Ok(vec![offset]));
    }
}

#[test]
fn damage_without_an_index_fences_no_other_segment() {
    let mut node = filled();
    let path = segments(&node.environment)[0].clone();
    node.environment.remove_file(&path.with_extension("index")).expect("it is there");
    assert!(node.environment.rot(&path, 5 * BATCH + 100, 4));
    node.spoilt = true;
    assert_eq!(polled(&mut node, 0, 100), Ok(vec![0, 1, 2, 3, 4]));
    assert_eq!(polled(&mut node, 5, 1), Err(PollRefusal::BatchChecksum));
    assert_eq!(polled(&mut node, 12, 100).map(|found| found.len()), Ok(28));
}

#[test]
fn a_disk_that_fails_a_read_once_is_read_again() {
    let mut node = filled();
    node.environment.set_faults(Faults { read_error: 50, ..Faults::default() });
    for offset in 0..40 {
        assert!(polled(&mut node, offset, 1).is_ok_and(|found| found == [offset]));
    }
}
