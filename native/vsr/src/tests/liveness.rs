//! Who is suspected when, and what says that it lives.

use ng_wire::replica::{
    Commit, DoViewChange, Message, Op, Probe, ProbeReply, RequestStartView, Standing, StartViewChange, Tail,
    View,
};

use super::catalogue::wish;
use super::hand::{Hand, log, setup, start_view, taken_over};
use super::merging::vote;
use crate::{Directory, Effect, Effects, Event, Record, Replica, Status};

#[test]
fn an_idle_group_waits_for_nothing() {
    let log = log();
    assert_eq!(Hand::primary(&log[..1]).replica.deadline(), None);
    let mut hand = Hand::backup(&log[..1], Op(0));
    assert_eq!(hand.replica.deadline(), None);
    hand.prepare(1, View(1), log[2]);
    assert_eq!(hand.replica.deadline(), Some(setup(0, 3).timing.resend), "a gap is something to say again");
    hand.prepare(1, View(1), log[1]);
    hand.prepare(1, View(1), log[2]);
    assert_eq!(hand.replica.deadline(), None);
}

fn silence(hand: &mut Hand) -> Vec<Message> {
    hand.step(Event::PrimarySilent);
    hand.sent(2).into_iter().cloned().collect()
}

#[test]
fn a_silent_primary_is_suspected_until_it_is_heard() {
    let log = log();
    let mut hand = Hand::backup(&log[..2], Op(1));
    assert_eq!(hand.replica.awaited_primary(), Some(1));
    assert_eq!(silence(&mut hand), [wish(2)]);
    hand.wait();
    assert_eq!(hand.sent(2), [&wish(2)], "a wish is said again");
    hand.hear(1, Message::Commit(Commit { view: View(1), commit_max: Op(1), head: Op(1) }));
    assert_eq!((hand.replica.deadline(), hand.replica.view()), (None, View(1)));
}

#[test]
fn who_waits_for_no_primary_ignores_its_silence() {
    let log = log();
    let mut primary = Hand::primary(&log[..1]);
    assert_eq!((silence(&mut primary), primary.replica.awaited_primary()), (Vec::new(), None));
    let mut effects = Effects::default();
    let blank = Replica::open(setup(0, 3), Directory::Blank, 5, 0, &mut effects).expect("sound");
    let mut blank = Hand { replica: blank, done: Vec::new(), now: 0 };
    assert_eq!((silence(&mut blank), blank.replica.awaited_primary()), (Vec::new(), None));
}

#[test]
fn a_voter_does_not_wait_for_a_silent_primary_to_begin() {
    let mut hand = Hand::backup(&log()[..2], Op(1));
    hand.hear(2, wish(2));
    hand.hear(1, wish(2));
    assert_eq!((hand.replica.status(), hand.replica.awaited_primary()), (Status::ViewChange, Some(2)));
    let wants = Message::StartViewChange(StartViewChange { view: View(3), voted: View(2) });
    assert_eq!(silence(&mut hand), [wants]);
}

#[test]
fn a_primary_that_lives_answers_a_wish() {
    let log = log();
    let mut hand = Hand::primary(&log[..1]);
    hand.hear(0, wish(2));
    let beat = hand.replica.beat().expect("it leads");
    assert_eq!(beat, Commit { view: View(1), commit_max: Op(0), head: Op(0) });
    assert_eq!(hand.sent(0), [&Message::Commit(beat)]);
    assert_eq!((hand.replica.status(), hand.replica.view()), (Status::Normal, View(1)));
}

#[test]
fn a_primary_that_gave_up_its_view_shows_no_life_in_it() {
    let mut hand = Hand::primary(&log()[..1]);
    hand.hear(2, Message::RequestStartView(RequestStartView { view: View(3), nonce: 4 }));
    assert_eq!((hand.replica.beat(), hand.replica.status()), (None, Status::Normal));
}

#[test]
fn a_deposed_primary_that_speaks_for_its_view_is_told_the_next() {
    let log = log();
    let mut hand = Hand::primary(&log[..1]);
    hand.hear(0, Message::Commit(Commit { view: View(0), commit_max: Op(0), head: Op(0) }));
    assert_eq!(hand.sent(0), [&start_view(View(1), Op(0), 0, &log[..1])]);
}

#[test]
fn a_primary_without_the_group_is_suspected() {
    let mut hand = Hand::backup(&log()[..2], Op(1));
    hand.step(Event::NotOpen { from: 2 });
    assert_eq!(hand.done, []);
    hand.step(Event::NotOpen { from: 1 });
    assert_eq!(hand.sent(2), [&wish(2)]);
}

#[test]
fn a_primary_with_a_blank_disk_is_suspected_though_its_node_beats() {
    let mut hand = Hand::backup(&log()[..2], Op(1));
    hand.hear(1, Message::Probe(Probe { nonce: 8 }));
    assert_eq!(hand.sent(2), [&wish(2)]);
}

/// One replica was torn, one denies, and the third is wiped: what it acknowledged with the first nobody can know.
#[test]
fn what_stays_undecidable_for_good_is_said_so() {
    let log = log();
    let records = [taken_over(View(0), Op(0), &log[..1]), Record::Prepare(log[1])];
    let mut hand = Hand::start(setup(1, 3), &records, Some(Tail::Unproven));
    hand.hear(2, wish(1));
    let other = DoViewChange { view: View(1), ..vote(&log, View(0), &[Standing::Present]) };
    let undecidable = |hand: &Hand| {
        let said = hand.done.iter().find_map(|effect| match effect {
            Effect::Undecidable { op, all_voted, .. } => Some((*op, *all_voted)),
            _ => None,
        });
        (said, hand.replica.status())
    };
    hand.hear(2, Message::DoViewChange(other.clone()));
    let own = hand.vote();
    hand.hear(1, Message::DoViewChange(own));
    assert_eq!(undecidable(&hand), (Some((Op(2), false)), Status::ViewChange));
    hand.hear(0, Message::Probe(Probe { nonce: 8 }));
    hand.hear(2, Message::DoViewChange(other));
    assert_eq!(undecidable(&hand), (Some((Op(2), true)), Status::ViewChange));
}

#[test]
fn a_blank_replica_says_so_until_it_is_told_a_view() {
    let mut effects = Effects::default();
    let replica = Replica::open(setup(0, 3), Directory::Blank, Hand::NONCE, 0, &mut effects).expect("sound");
    let mut hand = Hand { replica, done: effects.drain().collect(), now: 0 };
    let probe = Message::Probe(Probe { nonce: Hand::NONCE });
    assert_eq!(hand.sent(2), [&probe]);
    for from in [1, 2] {
        hand.hear(from, Message::ProbeReply(ProbeReply { view: View(1), nonce: Hand::NONCE }));
    }
    let asks = Message::RequestStartView(RequestStartView { view: View(1), nonce: Hand::NONCE });
    assert_eq!(hand.sent(2), [&asks]);
    hand.wait();
    assert_eq!(hand.sent(2), [&probe, &asks]);
}
