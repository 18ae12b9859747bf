//! Adoption of compacted segments while the node runs, with kills and power failures.

use std::path::PathBuf;

use ng_io::SimulatedEnvironment;
use ng_replication::{Adoption, AdoptionEnd, Keeping, PollLimits, PollStrategy, RetentionLimits};
use ng_storage::segments_file::{SegmentEntry, SegmentsFile};
use ng_wire::replica::{LogOperation, PartitionOp, swap_body};

use crate::compaction::{compact, list, segments_there};
use crate::rig::{GROUP, Node, STORE, batch, home, poll};

/// Messages that [`filled`] sends, three per batch.
const MESSAGES: u64 = 120;

pub(crate) fn sealed(environment: &SimulatedEnvironment) -> Vec<SegmentEntry> {
    listed(environment).segments.into_iter().filter(SegmentEntry::is_sealed).collect()
}

pub(crate) fn listed(environment: &SimulatedEnvironment) -> SegmentsFile {
    list(environment, &home(), GROUP)
}

/// Output of a compaction job for runs of segments.
pub(crate) fn job(
    environment: &SimulatedEnvironment,
    runs: &[&[SegmentEntry]],
    keeps: impl Fn(u64) -> bool,
) -> Adoption {
    let directory = PathBuf::from("data/leases/1/outputs/0");
    let staging = compact(environment, (&home(), GROUP), runs, &directory, keeps);
    let order = staging.order;
    Adoption { swap: swap_body(order.generation, &order.inputs, &order.outputs), directory }
}

/// A node with four segments; the last is not sealed.
fn filled(seed: u64) -> Node {
    let mut node = Node::new(seed);
    for number in 0..MESSAGES / 3 {
        node.send(number * 3, &[7_000; 3]);
    }
    node.flush();
    assert_eq!(sealed(&node.environment).len(), 3);
    node
}

/// Keeps nothing of the second and third of every ten batches, and every other message of the rest.
const fn keeps(offset: u64) -> bool {
    !matches!(offset % 30, 3..9) && offset.is_multiple_of(2)
}

/// Merges all sealed segments into one. Returns the adoption and the remaining offsets.
fn merge(node: &mut Node) -> (Adoption, Vec<u64>) {
    let sealed = sealed(&node.environment);
    let end = sealed.last().map_or(0, |entry| entry.last_offset + 1);
    let adoption = job(&node.environment, &[&sealed], keeps);
    (adoption, (0..MESSAGES).filter(|offset| *offset >= end || keeps(*offset)).collect())
}

/// Segment files that no list contains.
fn left_over(environment: &SimulatedEnvironment) -> Vec<PathBuf> {
    let listed = listed(environment);
    assert!(listed.loose.is_empty(), "{listed:?}");
    let names: Vec<PathBuf> =
        listed.segments.iter().map(|entry| home().group(GROUP).segment(entry)).collect();
    segments_there(environment, &home(), GROUP).into_iter().filter(|path| !names.contains(path)).collect()
}

/// Polls with every strategy return the remaining messages.
fn check_polls(node: &mut Node, left: &[u64]) {
    for count in [1, 7, 1_000] {
        for offset in 0..MESSAGES + 2 {
            let behind: Vec<u64> =
                left.iter().copied().filter(|there| *there >= offset).take(count).collect();
            let wanted = u32::try_from(count).expect("small");
            assert_eq!(node.offsets(PollStrategy::Offset(offset), wanted), behind, "from {offset}");
        }
        let wanted = u32::try_from(count).expect("small");
        let last = &left[left.len().saturating_sub(count)..];
        assert_eq!(node.offsets(PollStrategy::Last, wanted), last);
        let first = &left[..count.min(left.len())];
        assert_eq!(node.offsets(PollStrategy::First, wanted), first);
        assert_eq!(node.offsets(PollStrategy::Timestamp(0), wanted), first);
    }
}

#[test]
fn adopted_segments_are_polled_by_every_strategy() {
    let mut node = filled(61);
    let before = node.figures();
    let (adoption, left) = merge(&mut node);
    assert_eq!(node.adopt(adoption), AdoptionEnd::Done);
    check_polls(&mut node, &left);
    let figures = node.figures();
    assert_eq!((figures.messages, figures.segments), (left.len() as u64, 2));
    assert!(figures.bytes < before.bytes && figures.current_offset == MESSAGES - 1);
    node.flush();
    assert_eq!(left_over(&node.environment), Vec::<PathBuf>::new());
    let mut node = node.restart();
    assert_eq!(node.figures(), figures);
    let mut node = node.stop_and_start();
    assert_eq!(node.figures(), figures);
    assert_eq!(node.send(1, &[10]), MESSAGES, "offsets continue");
    check_polls(&mut node, &[&left[..], &[MESSAGES]].concat());
}

#[test]
fn a_timestamp_in_a_gap_is_found_after_it() {
    let mut node = filled(62);
    let all = node.poll(poll(PollStrategy::First, 1_000)).expect("nothing is wrong");
    let times: Vec<(u64, u64)> = crate::rig::messages(&crate::rig::bytes(&all))
        .iter()
        .map(|(offset, time, _)| (*offset, *time))
        .collect();
    let (adoption, left) = merge(&mut node);
    assert_eq!(node.adopt(adoption), AdoptionEnd::Done);
    for (_, time) in &times {
        let there = times.iter().find(|(offset, at)| at >= time && left.contains(offset));
        let found = node.offsets(PollStrategy::Timestamp(*time), 1);
        assert_eq!(found, there.map(|(offset, _)| *offset).into_iter().collect::<Vec<_>>(), "{time}");
    }
}

/// The last messages of a sealed segment are removed, and its end becomes a gap.
#[test]
fn a_gap_at_the_end_is_no_damage() {
    let mut node = filled(63);
    node.log.keep(GROUP, Keeping { segment_bytes: 1, expiry: u64::MAX, bytes_max: u64::MAX });
    node.send(500, &[10]);
    node.send(501, &[10]);
    node.flush();
    let end = node.send(502, &[10]);
    node.flush();
    let sealed = sealed(&node.environment);
    assert!(sealed.last().is_some_and(|entry| entry.last_offset == end - 1));
    let adoption = job(&node.environment, &[&sealed], |offset| offset < 10);
    assert_eq!(node.adopt(adoption), AdoptionEnd::Done);
    let left: Vec<u64> = (0..10).chain([end]).collect();
    assert_eq!(node.offsets(PollStrategy::First, 1_000), left);
    assert_eq!(node.offsets(PollStrategy::Last, 2), [9, end]);
    assert_eq!(node.offsets(PollStrategy::Offset(10), 5), [end]);
    let mut node = node.restart();
    assert_eq!(node.offsets(PollStrategy::Offset(50), 5), [end]);
    assert_eq!(node.offsets(PollStrategy::Last, 11), left);
}

/// A poll after an adoption must not return batches that were cached or read before it.
#[test]
fn cached_batches_of_replaced_segments_are_dropped() {
    let mut node = filled(64);
    node.log.set_poll_limits(PollLimits::default());
    assert_eq!(node.offsets(PollStrategy::First, 1_000).len() as u64, MESSAGES);
    let (adoption, left) = merge(&mut node);
    let asker = node.begin_adoption(GROUP, adoption);
    let under_way = node.begin_poll(poll(PollStrategy::First, 1_000));
    let end = node.until("an end", |node| {
        node.begin_poll(poll(PollStrategy::First, 1_000));
        node.take_adopted(asker)
    });
    assert_eq!(end, AdoptionEnd::Done);
    assert_eq!(node.offsets(PollStrategy::First, 1_000), left);
    let polled = node.until("an answer", |node| node.take_polled(under_way)).expect("nothing is wrong");
    assert!(u64::from(polled.messages) <= MESSAGES && polled.messages as usize >= left.len());
}

/// Regression: a start executes the batches again and had them in memory for polls in their form before the
/// swap.
#[test]
fn polls_after_a_start_do_not_return_replaced_batches() {
    let mut node = filled(71);
    let (adoption, left) = merge(&mut node);
    assert_eq!(node.adopt(adoption), AdoptionEnd::Done);
    let mut node = node.restart_with(PollLimits::default());
    assert_eq!(node.offsets(PollStrategy::First, 1_000), left);
}

#[test]
fn an_impossible_adoption_is_refused_with_its_reason() {
    let mut node = filled(65);
    let (adoption, _) = merge(&mut node);
    let figures = node.figures();
    let asker = node.begin_adoption(GROUP + 7, adoption.clone());
    assert_eq!(node.until("an end", |node| node.take_adopted(asker)), AdoptionEnd::NoGroup);
    let unsound = Adoption { swap: adoption.swap[1..].to_vec(), ..adoption.clone() };
    assert_eq!(node.adopt(unsound), AdoptionEnd::Unsound);
    let elsewhere = Adoption { directory: PathBuf::from("data/leases/2"), ..adoption.clone() };
    assert!(matches!(node.adopt(elsewhere), AdoptionEnd::Failed(why) if why.contains(".log: ")));
    let first = node.begin_adoption(GROUP, adoption.clone());
    assert_eq!(node.adopt(adoption.clone()), AdoptionEnd::Busy, "one at a time");
    assert_eq!(node.until("an end", |node| node.take_adopted(first)), AdoptionEnd::Done);
    assert_ne!(node.figures(), figures);
    node.flush();
    assert_eq!(node.adopt(adoption), AdoptionEnd::Fenced, "its inputs are deleted");
    assert_eq!(left_over(&node.environment), Vec::<PathBuf>::new());
}

/// A truncation or a purge happens between the check of the segments and the swap.
#[test]
fn a_concurrent_truncation_or_purge_fences_the_adoption() {
    for (seed, op) in
        [(66, PartitionOp::TruncatePrefix { offset: 60 }), (67, PartitionOp::Purge { generation: 1 })]
    {
        for turns in 0..12 {
            let mut node = filled(seed + 100 * turns);
            let (adoption, left) = merge(&mut node);
            let asker = node.begin_adoption(GROUP, adoption);
            (0..turns).for_each(|_| node.turn());
            let (operation, body) = op.encode();
            let ticket = node.begin(operation, &body);
            let end = node.until("an end", |node| node.take_adopted(asker));
            node.until("an answer", |node| node.take_answer(ticket));
            node.flush();
            let found = node.offsets(PollStrategy::First, 1_000);
            let before: Vec<u64> = (0..MESSAGES).collect();
            let expected = match (end, op) {
                (_, PartitionOp::Purge { .. }) => Vec::new(),
                (AdoptionEnd::Done, _) => left,
                (AdoptionEnd::Fenced, _) => before,
                (other, _) => panic!("{other:?}"),
            };
            assert!(expected.ends_with(&found), "{turns}: {found:?}");
            assert_eq!(left_over(&node.environment), Vec::<PathBuf>::new(), "{turns}");
        }
    }
}

/// A kill or a power failure at every turn of an adoption.
#[test]
fn an_interrupted_adoption_happens_completely_or_not_at_all() {
    let (mut old, mut new) = (0, 0);
    for turns in 0..40 {
        for power in [false, true] {
            let mut node = filled(68 + turns);
            let (adoption, left) = merge(&mut node);
            let asker = node.begin_adoption(GROUP, adoption);
            (0..turns).for_each(|_| node.turn());
            let done = node.take_adopted(asker) == Some(AdoptionEnd::Done);
            let mut node = if power { node.restart_without_power() } else { node.restart() };
            let early = node.offsets(PollStrategy::First, 1_000);
            node.flush();
            let found = node.offsets(PollStrategy::First, 1_000);
            let whole: Vec<u64> = (0..MESSAGES).collect();
            assert!(found == left || (found == whole && !done), "{turns}: {found:?}");
            assert!(found.starts_with(&early) || whole.starts_with(&early), "{turns}: {early:?}");
            assert_eq!(left_over(&node.environment), Vec::<PathBuf>::new(), "{turns}");
            if found == left {
                new += 1
            } else {
                old += 1
            }
            let mut node = node.stop_and_start();
            assert_eq!(node.offsets(PollStrategy::First, 1_000), found, "{turns}");
            assert_eq!(node.figures().messages, found.len() as u64);
        }
    }
    assert!(old > 4 && new > 4, "{old} before the commit, {new} after it");
}

#[test]
fn retention_counts_only_the_remaining_messages() {
    let mut node = filled(69);
    node.log.set_retention_limits(RetentionLimits { period: Some(200), ..RetentionLimits::default() });
    let (adoption, left) = merge(&mut node);
    assert_eq!(node.adopt(adoption), AdoptionEnd::Done);
    let end = sealed(&node.environment)[0].last_offset + 1;
    let figures = node.figures();
    node.log.keep(
        GROUP,
        Keeping { segment_bytes: STORE.segment_bytes, expiry: u64::MAX, bytes_max: figures.bytes },
    );
    node.rest(std::time::Duration::from_secs(1));
    assert_eq!(node.figures(), figures, "it fits");
    let (operation, body) = PartitionOp::TruncatePrefix { offset: end - 1 }.encode();
    node.done(operation, &body);
    assert_eq!(node.figures(), figures, "the segment covers its last offset, too");
    assert!(matches!(node.delete_segments(GROUP, 1), ng_replication::LogAnswer::Done { .. }));
    let behind: Vec<u64> = left.iter().copied().filter(|offset| *offset >= end).collect();
    node.until("it is deleted", |node| (node.figures().messages == behind.len() as u64).then_some(()));
    assert_eq!(node.offsets(PollStrategy::First, 1_000), behind);
    assert_eq!(
        node.done(LogOperation::Noop, &[]),
        ng_wire::replica::PartitionReply::Done { value: 0, refused: Vec::new() }
    );
    let mut node = node.restart();
    assert_eq!(node.offsets(PollStrategy::First, 1_000), behind);
}

/// A compacted segment can be compacted again, and each time its generation increases.
#[test]
fn a_compaction_of_a_compaction() {
    let mut node = filled(70);
    let (adoption, left) = merge(&mut node);
    assert_eq!(node.adopt(adoption), AdoptionEnd::Done);
    node.flush();
    let again = sealed(&node.environment);
    assert_eq!(again.iter().map(|entry| entry.generation).collect::<Vec<_>>(), [1]);
    let adoption = job(&node.environment, &[&again], |offset| offset.is_multiple_of(4));
    assert_eq!(node.adopt(adoption), AdoptionEnd::Done);
    let end = again[0].last_offset;
    let left: Vec<u64> =
        left.into_iter().filter(|offset| *offset > end || offset.is_multiple_of(4)).collect();
    check_polls(&mut node, &left);
    node.flush();
    assert_eq!(sealed(&node.environment).iter().map(|entry| entry.generation).collect::<Vec<_>>(), [2]);
    assert_eq!(left_over(&node.environment), Vec::<PathBuf>::new());
    check_polls(&mut node.restart(), &left);
}

/// A run ends with unlisted files in the directory of the segments. After the restart the log has operations
/// after the swap. A new adoption is requested as soon as they are executed; the cleanup of the old files
/// must not remove the new ones.
#[test]
fn an_adoption_right_after_a_start_keeps_its_files() {
    let mut adopted = 0;
    for turns in 0..12 {
        let mut node = filled(80 + turns);
        let (adoption, left) = merge(&mut node);
        let end = sealed(&node.environment).last().map_or(0, |entry| entry.last_offset);
        node.begin_adoption(GROUP, adoption);
        node.until("it is staged", |node| (!listed(&node.environment).loose.is_empty()).then_some(()));
        (0..turns).for_each(|_| node.turn());
        // The swap is deferred for lack of space, but the operations after it are not.
        node.environment.set_capacity(0);
        for number in 0..20 {
            node.begin(LogOperation::Batch, &batch(MESSAGES + number, &[7_000]));
        }
        (0..20).for_each(|_| node.turn());
        node.environment.set_capacity(u64::MAX);
        let mut node = node.restart();
        let again = sealed(&node.environment);
        let adoption = job(&node.environment, &[&again], |offset| offset.is_multiple_of(4));
        let end_of_it = node.until("it is not busy", |node| {
            Some(node.adopt(adoption.clone())).filter(|end| *end != AdoptionEnd::Busy)
        });
        let done = end_of_it == AdoptionEnd::Done;
        adopted += usize::from(done);
        node.flush();
        let swapped = sealed(&node.environment).iter().any(|entry| entry.generation > u32::from(done));
        let behind = again.last().map_or(0, |entry| entry.last_offset);
        let survives = |offset: &u64| {
            (!swapped || *offset > end || left.contains(offset))
                && (!done || *offset > behind || offset.is_multiple_of(4))
        };
        let all: Vec<u64> = (0..=node.figures().current_offset).filter(survives).collect();
        assert_eq!(node.offsets(PollStrategy::First, 1_000), all, "{turns}");
        assert_eq!(left_over(&node.environment), Vec::<PathBuf>::new(), "{turns}");
    }
    assert!(adopted > 0, "no adoption was taken");
}
