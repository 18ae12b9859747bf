//! A journal from which a record between others is missing.

use ng_wire::replica::{
    Message, Op, PrepareHeader, ProbeReply, RequestPrepares, RequestStartView, SUFFIX_MAX, Standing, Tail,
    View,
};

use super::hand::{Hand, following, log, setup, start_view, taken_over};
use crate::{Directory, Effect, Effects, Event, Record, Recovery, Replica, Status};

/// What a replica hands out for execution as soon as it is opened on these records, with a loss after the first of them.
fn executed_at_once(before: &[Record], lost: bool, after: &[Record]) -> Vec<PrepareHeader> {
    let setup = setup(0, 3);
    let mut recovery = Recovery::new(&setup, true);
    before.iter().for_each(|record| recovery.replay(record, Standing::Present));
    if lost {
        recovery.lost(Tail::Damaged);
    }
    after.iter().for_each(|record| recovery.replay(record, Standing::Present));
    let mut effects = Effects::default();
    Replica::open(setup, recovery.finish(), 9, 0, &mut effects).expect("sound");
    let apply = |effect| if let Effect::Apply(header) = effect { Some(header) } else { None };
    effects.drain().filter_map(apply).collect()
}

/// Ops 1 and 2 were prepared in view 1; view 2, whose record is lost, put others in their place, and view 3 went on from
/// its op 3.
fn superseded() -> (Vec<Record>, Vec<Record>) {
    let old = log();
    let mut chosen = vec![old[0]];
    for op in 0..3 {
        chosen.push(following(&chosen[op], View(2)));
    }
    let before = old[1..3].iter().copied().map(Record::Prepare).collect();
    let log = taken_over(View(3), Op(3), &chosen[3..]);
    (before, vec![log, Record::Prepare(chosen[3])])
}

/// Once a replica executed op 90 of view 7 because it knew that op 90 was committed, as another one, in view 8: the record
/// of view 8 lay in a block that had rotted.
#[test]
fn what_a_lost_record_may_have_replaced_is_not_executed() {
    let (before, after) = superseded();
    assert_eq!(executed_at_once(&before, true, &after), []);
}

#[test]
fn what_provably_leads_to_the_log_is_executed_though_a_record_is_lost() {
    let log = log();
    let before: Vec<Record> = log[1..3].iter().copied().map(Record::Prepare).collect();
    let after = [taken_over(View(3), Op(3), &log[3..4]), Record::Prepare(log[3])];
    assert_eq!(executed_at_once(&before, true, &after), log[1..3]);
}

/// A prepare of a later view speaks of a log that was never taken over here.
#[test]
fn what_a_prepare_of_the_same_log_says_is_committed_is_executed() {
    let log = log();
    let before = [taken_over(View(1), Op(0), &log[..1]), Record::Prepare(log[1])];
    for (view, executed) in [(View(1), &log[1..2]), (View(2), &[])] {
        let last = PrepareHeader { view, commit: Op(1), ..log[2] }.sealed();
        assert_eq!(executed_at_once(&before, false, &[Record::Prepare(last)]), executed, "{view:?}");
    }
}

#[test]
fn a_state_that_was_installed_is_where_the_log_begins() {
    let log = log();
    let view = taken_over(View(1), Op(0), &log[..1]);
    let hand = Hand::start(setup(0, 3), &[view, Record::Install(log[4]), Record::Prepare(log[5])], None);
    assert_eq!((hand.replica.commit_min(), hand.replica.commit_max()), (Op(4), Op(4)));
    assert_eq!((hand.replica.anchor(), hand.replica.head()), (Some(log[4]), Op(5)));
}

#[test]
fn of_two_prepares_for_a_place_the_one_of_the_later_view_is_kept() {
    let log = log();
    let view = taken_over(View(0), Op(0), &log[..1]);
    let [early, late] = [View(1), View(2)].map(|view| following(&log[0], view));
    let equal = PrepareHeader { timestamp: 9, ..late }.sealed();
    for (one, other, kept) in [(early, late, late), (late, early, late), (late, equal, late)] {
        let records = [view.clone(), Record::Prepare(one), Record::Prepare(other)];
        let hand = Hand::start(setup(0, 3), &records, None);
        assert_eq!(hand.replica.window.header(Op(1)), Some(&kept));
    }
}

/// No log may have so many places in front of it that a vote could not list them.
#[test]
fn a_prepare_too_far_from_the_log_is_not_placed() {
    let log = log();
    let most = SUFFIX_MAX as u64;
    for (op, head, tail) in [(most, most, Tail::Certain), (most + 1, 0, Tail::Damaged)] {
        let far = PrepareHeader { op: Op(op), ..log[1] }.sealed();
        let records = [taken_over(View(1), Op(0), &log[..1]), Record::Prepare(far)];
        let hand = Hand::start(setup(0, 3), &records, None);
        assert_eq!((hand.replica.head(), hand.replica.window.tail), (Op(head), tail));
    }
}

/// A disk that kept a committed state and lost what was promised since: nothing is promised, and nothing executed again.
#[test]
fn a_kept_state_without_its_promises_goes_on_from_there() {
    let log = log();
    let setup = setup(0, 3);
    let mut recovery = Recovery::new(&setup, false);
    recovery.checkpoint(log[4], None);
    let directory = recovery.finish();
    assert!(matches!(directory, Directory::Unsworn(_)), "{directory:?}");
    let replica = Replica::open(setup, directory, 9, 0, &mut Effects::default()).expect("sound");
    assert_eq!((replica.status(), replica.view(), replica.commit_min()), (Status::Blank, View(0), Op(4)));
}

/// Once a replica that had voted for view 3, and lost what it promised, entered view 2, of which the others told it. Its
/// journal, where the record of view 3 was known still, took no record of view 2.
#[test]
fn a_view_that_a_record_names_is_not_gone_back_from() {
    for kept in [None, Some(log()[4])] {
        let mut recovery = Recovery::new(&setup(0, 3), false);
        if let Some(anchor) = kept {
            recovery.checkpoint(anchor, None);
        }
        recovery.names(View(3));
        let mut hand = Hand::open(setup(0, 3), recovery.finish());
        for from in [1, 2] {
            hand.hear(from, Message::ProbeReply(ProbeReply { view: View(2), nonce: Hand::NONCE }));
        }
        let asks = Message::RequestStartView(RequestStartView { view: View(3), nonce: Hand::NONCE });
        assert!(hand.sent(2).contains(&&asks), "{:?}", hand.done);
        hand.hear(2, start_view(View(2), Op(4), Hand::NONCE, &log()[4..5]));
        assert_eq!((hand.replica.status(), hand.appended()), (Status::Blank, vec![]));
        hand.hear(1, start_view(View(4), Op(4), Hand::NONCE, &log()[4..5]));
        assert_eq!((hand.replica.status(), hand.replica.view()), (Status::Normal, View(4)));
    }
}

/// Once two of three replicas waited for each other: the only copy of an operation lay aside in one of them, which asked for
/// that operation and not for those behind it, which would have proved it. The third had a state that could not be read.
#[test]
fn what_lies_aside_is_proved_by_what_others_hold_behind_it() {
    let mut log = log();
    for op in 6..8 {
        log.push(following(&log[op], View(1)));
    }
    let records = [taken_over(View(1), Op::ZERO, &log[..1]), Record::Prepare(log[1])];
    let mut hand = Hand::start(setup(0, 3), &records, None);
    hand.hear(2, start_view(View(2), Op(8), Hand::NONCE, &log[8..]));
    let mut rounds = 0;
    while hand.replica.commit_min() < Op(8) && rounds < 60 {
        rounds += 1;
        hand.wait();
        let asked: Vec<RequestPrepares> = (1..3)
            .flat_map(|to| hand.sent(to))
            .filter_map(
                |message| if let Message::RequestPrepares(asked) = message { Some(*asked) } else { None },
            )
            .collect();
        for header in log[2..].iter().filter(|header| asked.iter().any(|asked| holds(asked, header.op))) {
            hand.prepare(1, View(2), *header);
            execute(&mut hand);
        }
    }
    assert_eq!(hand.replica.commit_min(), Op(8), "after {rounds} rounds");
}

/// Nobody may have the oldest place, and what is aside here be the only copy: what follows would prove it.
#[test]
fn places_are_asked_for_from_both_ends_in_turn() {
    let mut log = log();
    for op in 6..8 {
        log.push(following(&log[op], View(1)));
    }
    let mut hand = Hand::start(setup(0, 3), &[taken_over(View(1), Op::ZERO, &log[..1])], None);
    hand.hear(2, start_view(View(2), Op(8), Hand::NONCE, &log[8..]));
    for round in 1..=13 {
        hand.wait();
        let (first, last) = if round / 4 % 2 == 1 { (7, 7) } else { (1, 4) };
        let asks = RequestPrepares { view: View(2), first: Op(first), last: Op(last) };
        assert!(hand.sent(2).contains(&&Message::RequestPrepares(asks)), "round {round}: {:?}", hand.done);
    }
}

/// What precedes a place that came is asked for at once, of its sender.
#[test]
fn places_that_nothing_is_known_of_are_asked_for_backwards() {
    let log = log();
    let mut hand = Hand::start(setup(0, 3), &[taken_over(View(1), Op::ZERO, &log[..1])], None);
    hand.hear(2, start_view(View(2), Op(6), Hand::NONCE, &log[6..]));
    (0..4).for_each(|_| hand.wait());
    for op in (2..=5).rev() {
        hand.prepare(1, View(2), log[op]);
        let before = Op(op as u64).previous();
        let asks = RequestPrepares { view: View(2), first: before, last: before };
        assert_eq!(hand.sent(1), [&Message::RequestPrepares(asks)]);
    }
}

fn holds(asked: &RequestPrepares, op: Op) -> bool {
    (asked.first..=asked.last).contains(&op)
}

/// Executes what was handed out, and what is handed out for that.
fn execute(hand: &mut Hand) {
    let handed = |hand: &Hand| {
        let apply = |effect: &Effect| if let Effect::Apply(header) = effect { Some(*header) } else { None };
        hand.done.iter().filter_map(apply).collect::<Vec<_>>()
    };
    let mut waiting = handed(hand);
    while !waiting.is_empty() {
        hand.step(Event::Applied { header: waiting.remove(0), reply: Vec::new() });
        waiting.extend(handed(hand));
    }
}
