//! A backup that lags catches up by round trips, not by timers, whatever overtakes what.

use std::collections::VecDeque;

use ng_wire::replica::{
    Commit, DoViewChange, Message, Op, PrepareHeader, RequestPrepares, Standing, Tail, TransferOffer, View,
};

use super::catalogue::wish;
use super::hand::{Hand, following, log, setup, taken_over};
use super::merging::vote;
use crate::merge::{Verdict, merge};
use crate::quorum::Quorums;
use crate::{Drop, Effect, Event, Record};

/// A backup that executed nothing, and its primary's log of so many operations.
fn lagging(operations: usize) -> (Hand, Vec<PrepareHeader>) {
    let mut log = log();
    while log.len() <= operations {
        log.push(following(&log[log.len() - 1], View(1)));
    }
    let mut hand = Hand::backup(&log[..1], Op(0));
    let end = Op(operations as u64);
    hand.hear(1, Message::Commit(Commit { view: View(1), commit_max: end, head: end }));
    (hand, log)
}

/// Executes everything that was handed out, and collects what is asked of whom meanwhile.
fn execute(hand: &mut Hand, asked: &mut Vec<(u8, RequestPrepares)>) {
    let mut handed = VecDeque::new();
    loop {
        for to in 1..3 {
            let requests = hand.sent(to).into_iter().filter_map(|message| match message {
                Message::RequestPrepares(request) => Some((to, *request)),
                _ => None,
            });
            asked.extend(requests);
        }
        handed.extend(hand.done.iter().filter_map(|effect| match effect {
            Effect::Apply(header) => Some(*header),
            _ => None,
        }));
        let Some(header) = handed.pop_front() else { return };
        hand.step(Event::Applied { header, reply: Vec::new() });
    }
}

/// Once a backup took the prepares of a round only in their order: of a round that came in another one it kept the first,
/// and asked for the rest when its timer was due. It was ten rounds behind for good.
#[test]
fn a_backup_catches_up_without_waiting_whatever_the_order() {
    for order in [|run: &mut [PrepareHeader]| run.reverse(), |run: &mut [PrepareHeader]| run.rotate_left(1)] {
        let (mut hand, log) = lagging(60);
        hand.wait();
        let mut asked = Vec::new();
        execute(&mut hand, &mut asked);
        let mut waits = 1;
        while hand.replica.commit_min() < Op(60) {
            if asked.is_empty() {
                waits += 1;
                hand.wait();
                execute(&mut hand, &mut asked);
                assert!(!asked.is_empty(), "it asks for what it lacks");
            }
            for (from, request) in std::mem::take(&mut asked) {
                let asked_for = |header: &&PrepareHeader| (request.first..=request.last).contains(&header.op);
                let mut run: Vec<PrepareHeader> = log.iter().filter(asked_for).copied().collect();
                assert!(run.len() <= 4, "one round: {request:?}");
                order(&mut run);
                for header in run {
                    hand.prepare(from, View(1), header);
                    execute(&mut hand, &mut asked);
                }
            }
        }
        assert_eq!(waits, 1, "round trips alone bring the rest");
    }
}

#[test]
fn the_next_places_are_asked_of_whoever_answered() {
    let (mut hand, log) = lagging(12);
    hand.wait();
    for header in &log[1..=4] {
        hand.prepare(2, View(1), *header);
    }
    let next = Message::RequestPrepares(RequestPrepares { view: View(1), first: Op(5), last: Op(8) });
    assert_eq!(hand.sent(2), [&next]);
    assert!(!hand.sent(1).contains(&&next), "one copy is enough");
}

/// A journal that takes a few prepares at a time got no more than these in each period of the timer.
#[test]
fn what_found_no_room_is_asked_for_once_it_would() {
    let (mut hand, log) = lagging(12);
    for (here, lacks) in [(0, 1..=4), (2, 3..=6)] {
        for header in &log[1..=here] {
            hand.prepare(1, View(1), *header);
        }
        hand.step(Event::RoomAgain);
        let (first, last) = (Op(*lacks.start()), Op(*lacks.end()));
        let request = Message::RequestPrepares(RequestPrepares { view: View(1), first, last });
        assert_eq!(hand.sent(1), [&request], "whatever was asked for before");
        assert!(hand.sent(2).is_empty(), "one copy is enough");
    }
}

#[test]
fn room_is_no_reason_to_ask_where_nothing_lacks() {
    let mut hand = Hand::backup(&log()[..2], Op(1));
    hand.step(Event::RoomAgain);
    assert!(hand.sent(1).is_empty() && hand.sent(2).is_empty());
}

#[test]
fn a_full_backlog_is_asked_on_for_once_it_was_executed() {
    let (mut hand, log) = lagging(20);
    hand.wait();
    for header in &log[1..=8] {
        hand.prepare(2, View(1), *header);
    }
    assert!(hand.sent(2).is_empty(), "nothing beyond it would be taken");
    let mut asked = Vec::new();
    for header in &log[1..=4] {
        hand.step(Event::Applied { header: *header, reply: Vec::new() });
        asked.extend(hand.sent(2).into_iter().cloned());
    }
    assert_eq!(
        asked,
        [Message::RequestPrepares(RequestPrepares { view: View(1), first: Op(9), last: Op(12) })]
    );
}

#[test]
fn prepares_that_overtake_each_other_are_acknowledged_as_they_come() {
    let log = log();
    let mut hand = Hand::backup(&log[..1], Op(0));
    for op in [3, 1, 2] {
        hand.prepare(1, View(1), log[op]);
        let acknowledged: Vec<Op> = hand.acknowledged().into_iter().map(|(op, _)| op).collect();
        assert_eq!(acknowledged, [Op(op as u64)]);
    }
    assert_eq!((hand.replica.head(), hand.replica.deadline()), (Op(3), None), "nothing lacks");
}

#[test]
fn the_first_place_that_lacks_is_known() {
    let log = log();
    let mut hand = Hand::backup(&log[..1], Op(0));
    for (op, lacks) in [(3, 1), (1, 2), (2, 4)] {
        hand.prepare(1, View(1), log[op]);
        assert_eq!(hand.replica.lacks_from(), Op(lacks));
    }
}

#[test]
fn a_prepare_beyond_the_backlog_is_dropped() {
    let (mut hand, log) = lagging(12);
    hand.prepare(1, View(1), log[9]);
    assert!(hand.dropped(Drop::Window));
    hand.prepare(1, View(1), log[8]);
    assert_eq!(hand.acknowledged().len(), 1);
}

/// The places of a vote for view 2, as a replica casts it that has op 1 and op 3, and lacks op 2.
fn standings(hand: &mut Hand) -> Vec<(Standing, bool)> {
    hand.hear(2, wish(2));
    hand.hear(1, wish(2));
    hand.vote().suffix.iter().map(|entry| (entry.standing, entry.header.is_some())).collect()
}

/// What was overtaken and never came was never acknowledged: a primary that is lost must not take the group with it.
#[test]
fn a_place_that_was_skipped_is_a_no() {
    let log = log();
    let mut hand = Hand::backup(&log[..1], Op(0));
    hand.prepare(1, View(1), log[1]);
    hand.prepare(1, View(1), log[3]);
    let present = (Standing::Present, true);
    assert_eq!(standings(&mut hand), [present, present, (Standing::Absent, false), present]);
    let other = DoViewChange { view: View(2), ..vote(&log, View(1), &[Standing::Present]) };
    let votes = [Some(DoViewChange { view: View(2), ..hand.vote() }), None, Some(other)];
    let Verdict::Begin(chosen) = merge(&votes, Quorums::of(3)) else { panic!("it is decided") };
    assert_eq!(chosen.headers.last().map(|last| last.op), Some(Op(1)));
}

#[test]
fn a_place_that_was_skipped_stays_one_over_a_restart_unless_records_are_lost() {
    let log = log();
    let records = [taken_over(View(1), Op(0), &log[..1]), Record::Prepare(log[1]), Record::Prepare(log[3])];
    let place = |lost: Option<Tail>| standings(&mut Hand::start(setup(0, 3), &records, lost))[2];
    assert_eq!(place(None), (Standing::Absent, false));
    assert_eq!(place(Some(Tail::Unproven)), (Standing::Unproven, false));
    assert_eq!(place(Some(Tail::Damaged)), (Standing::Damaged, false));
}

fn asks(hand: &Hand, of: u8) -> bool {
    hand.sent(of).iter().any(|said| matches!(said, Message::RequestPrepares(_)))
}

#[test]
fn the_primary_is_asked_in_each_round_and_each_other_in_turn() {
    let (mut hand, log) = lagging(4);
    for round in 1..=7 {
        hand.wait();
        let asked = [0, 1, 2].map(|of| asks(&hand, of));
        assert_eq!(asked, [false, true, round % 3 == 2], "round {round}");
    }
    let anchor = log[4];
    hand.hear(2, Message::TransferOffer(TransferOffer { view: View(1), commit_max: Op(4), anchor }));
    assert_eq!(hand.done, [Effect::Fetch { from: 2, anchor }]);
    hand.wait();
    assert_eq!(hand.done, [], "a state is on its way");
}

#[test]
fn what_may_be_on_its_way_is_not_asked_for_before_its_time() {
    let (mut hand, log) = lagging(2);
    hand.wait();
    for header in &log[1..=2] {
        hand.prepare(1, View(1), *header);
    }
    hand.hear(1, Message::Commit(Commit { view: View(1), commit_max: Op(2), head: Op(4) }));
    hand.step(Event::Applied { header: log[1], reply: Vec::new() });
    assert!(!asks(&hand, 1), "{:?}", hand.done);
    hand.wait();
    assert!(asks(&hand, 1));
}
