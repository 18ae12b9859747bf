//! Limits of one answer and of concurrent reads.

use ng_replication::{Keeping, Poll, PollLimits, PollRefusal, PollStrategy};

use crate::rig::{GROUP, Node, bytes, messages, poll, uncached};

/// Bytes that a message adds to a batch, in addition to its payload.
const FRAME: usize = 48;
const HEADER: usize = 256;

fn filled() -> Node {
    let mut node = Node::new(11);
    for id in (0..60).step_by(3) {
        node.send(id, &[10_000; 3]);
    }
    node.flush();
    node
}

fn limited(node: &mut Node, from: u64, reply_bytes_max: usize) -> (Vec<u64>, usize) {
    let asked = Poll { reply_bytes_max, ..poll(PollStrategy::Offset(from), 100) };
    let polled = node.poll(asked).expect("nothing is wrong");
    let bytes = bytes(&polled);
    (messages(&bytes).into_iter().map(|(offset, ..)| offset).collect(), bytes.len())
}

#[test]
fn an_answer_ends_at_its_bytes_and_has_one_message_at_least() {
    let mut node = filled();
    let one = HEADER + FRAME + 10_000;
    assert_eq!(limited(&mut node, 4, 0), (vec![4], one));
    assert_eq!(limited(&mut node, 4, one), (vec![4], one));
    let two = one + FRAME + 10_000;
    assert_eq!(limited(&mut node, 4, two - 1), (vec![4], one));
    assert_eq!(limited(&mut node, 4, two), (vec![4, 5], two));
    assert_eq!(limited(&mut node, 4, two + one), (vec![4, 5, 6], two + one));
    let (offsets, length) = limited(&mut node, 0, 300_000);
    assert!(length <= 300_000 && length + FRAME + 10_000 + HEADER > 300_000);
    assert_eq!(offsets, (0..offsets.len() as u64).collect::<Vec<_>>());
}

#[test]
fn a_poll_is_charged_the_batches_it_keeps_and_not_the_pages_they_were_read_in() {
    const BATCHES: u64 = 9;
    let mut node = Node::new(13);
    node.log.keep(GROUP, Keeping { segment_bytes: 16 << 20, expiry: u64::MAX, bytes_max: u64::MAX });
    for id in 0..BATCHES {
        node.send(id * 30, &[20_000; 30]);
        node.flush();
    }
    // The batches have 5.4 MB. Each is read into a large page of 2 MiB, because a second one does not fit
    // into a read.
    node.log.set_poll_limits(PollLimits { bytes_max: 8 << 20, ..uncached() });
    assert_eq!(node.offsets(PollStrategy::First, 1_000), (0..BATCHES * 30).collect::<Vec<_>>());
}

#[test]
fn one_poll_is_read_whatever_the_budget_and_a_second_waits_for_it() {
    let mut node = filled();
    node.log.set_poll_limits(PollLimits { bytes_max: 1, ..uncached() });
    let (first, second) = (
        node.begin_poll(poll(PollStrategy::Offset(0), 100)),
        node.begin_poll(poll(PollStrategy::Offset(30), 100)),
    );
    for ticket in [first, second] {
        let served = node.until("an answer", |node| node.take_polled(ticket)).expect("it waits at most");
        assert!((1..60).contains(&served.messages), "it ends where the budget does: {}", served.messages);
    }
    assert!(node.poll(poll(PollStrategy::Offset(30), 100)).is_ok(), "there is room again");
}

#[test]
fn large_batches_are_read_one_at_a_time_and_charged_whether_they_are_wanted_or_passed_over() {
    const LARGE: usize = 300_000;
    let mut node = Node::new(14);
    node.log.keep(GROUP, Keeping { segment_bytes: 16 << 20, expiry: u64::MAX, bytes_max: u64::MAX });
    for id in (0..12).step_by(2) {
        node.send(id, &[LARGE]);
        node.flush();
        node.send(id + 1, &[10]);
        node.flush();
    }
    let all = messages(&bytes(&node.poll(poll(PollStrategy::First, 12)).expect("all of them")));
    let (_, time_of_a_small_one, _) = all[7];
    node.log.set_poll_limits(PollLimits { bytes_max: 1, piece_bytes: 5_000, ..uncached() });
    for strategy in [PollStrategy::Offset(6), PollStrategy::Timestamp(time_of_a_small_one)] {
        let tickets = [(); 3].map(|()| node.begin_poll(poll(strategy, 1)));
        let mut most = 0;
        while node.polled(tickets) < tickets.len() {
            node.turn();
            most = most.max(node.log.memory_figures().poll_reads);
        }
        assert!((LARGE..2 * LARGE).contains(&most), "{strategy:?} is charged {most}");
        for ticket in tickets {
            assert_eq!(
                node.take_polled(ticket).map(|answer| answer.map(|polled| polled.messages)),
                Some(Ok(1))
            );
        }
    }
}

#[test]
fn a_table_of_polls_is_full_at_its_bound() {
    let mut node = filled();
    node.log.set_poll_limits(PollLimits { polls_max: 2, ..uncached() });
    let asked: Vec<u64> = (0..3).map(|_| node.begin_poll(poll(PollStrategy::First, 1))).collect();
    let answers: Vec<_> =
        asked.iter().map(|ticket| node.until("an answer", |node| node.take_polled(*ticket))).collect();
    assert!(answers[0].is_ok() && answers[1].is_ok());
    assert_eq!(answers[2].as_ref().map(|polled| polled.messages), Err(&PollRefusal::Busy));
}

#[test]
fn a_batch_larger_than_a_piece_is_read_whole() {
    let mut node = Node::new(12);
    for id in 0..6 {
        node.send(id * 10, &[30_000; 10]);
    }
    node.flush();
    node.log.set_poll_limits(PollLimits { piece_bytes: 5_000, ..uncached() });
    for from in 0..60 {
        assert_eq!(node.offsets(PollStrategy::Offset(from), 1), [from]);
    }
    assert_eq!(node.offsets(PollStrategy::First, 100), (0..60).collect::<Vec<_>>());
}
