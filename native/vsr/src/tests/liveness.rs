//! Who is suspected when, and what says that it lives.

use ng_wire::replica::{
    Commit, DoViewChange, Message, Op, Prepare, PrepareOk, Probe, ProbeReply, RequestStartView, Standing,
    StartViewChange, Tail, View,
};

use super::catalogue::wish;
use super::hand::{Hand, log, setup, start_view, taken_over};
use super::merging::vote;
use crate::{Directory, Drop, Effect, Effects, Event, Record, Replica, Status};

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
fn only_the_primary_of_the_view_shows_that_it_lives() {
    let log = log();
    let prepare = Prepare { view: View(1), commit_max: Op(1), header: log[2] };
    let ok = PrepareOk { view: View(1), op: Op(1), checksum: log[1].checksum };
    let old = Commit { view: View(0), commit_max: Op(1), head: Op(1) };
    let reply = ProbeReply { view: View(1), nonce: 8 };
    for (from, message) in [
        (2, Message::Prepare(prepare)),
        (2, Message::ProbeReply(reply)),
        (1, Message::PrepareOk(ok)),
        (1, Message::Commit(old)),
    ] {
        let mut hand = Hand::backup(&log[..2], Op(1));
        silence(&mut hand);
        hand.hear(from, message.clone());
        hand.wait();
        assert!(hand.sent(2).contains(&&wish(2)), "{message:?}");
    }
}

#[test]
fn a_view_that_begins_fulfils_the_wishes_for_it() {
    let log = log();
    let begin = |hand: &mut Hand| {
        hand.hear(2, start_view(View(2), Op(1), 0, &log[..2]));
        assert_eq!((hand.replica.status(), hand.replica.view()), (Status::Normal, View(2)));
    };
    let mut suspicious = Hand::backup(&log[..2], Op(1));
    silence(&mut suspicious);
    begin(&mut suspicious);
    assert_eq!(suspicious.replica.deadline(), None);
    for (view, is_fulfilled) in [(2, true), (3, false)] {
        let mut hand = Hand::backup(&log[..2], Op(1));
        hand.hear(2, Message::StartViewChange(StartViewChange { view: View(view), voted: View(1) }));
        begin(&mut hand);
        assert_eq!(hand.replica.suspicion.heap_bytes() == 0, is_fulfilled, "view {view}");
        hand.step(Event::PrimarySilent);
        assert_eq!(hand.replica.status() == Status::Normal, is_fulfilled, "view {view}");
    }
}

#[test]
fn a_wish_for_a_later_view_is_shared() {
    let mut hand = Hand::backup(&log()[..2], Op(1));
    silence(&mut hand);
    hand.hear(2, Message::StartViewChange(StartViewChange { view: View(4), voted: View(1) }));
    assert_eq!((hand.replica.status(), hand.replica.view()), (Status::ViewChange, View(4)));
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

/// A beat shows a replica that waits for a view that the view has begun; others need no more than they have asked for.
#[test]
fn a_beat_is_a_reason_to_ask_for_the_view_that_it_speaks_of() {
    let beat = |view| Message::Commit(Commit { view: View(view), commit_max: Op(1), head: Op(1) });
    let asks = |view| Message::RequestStartView(RequestStartView { view: View(view), nonce: Hand::NONCE });
    let mut voter = Hand::backup(&log()[..2], Op(1));
    voter.hear(2, wish(2));
    voter.hear(1, wish(2));
    voter.hear(2, beat(2));
    assert_eq!((voter.replica.status(), voter.sent(2)), (Status::ViewChange, vec![&asks(2)]));
    let mut rejoining = Hand::start(setup(0, 3), &[taken_over(View(1), Op(0), &log()[..2])], None);
    assert_eq!((rejoining.replica.status(), rejoining.sent(1)), (Status::Rejoining, vec![&asks(1)]));
    rejoining.hear(1, beat(1));
    assert_eq!(rejoining.done, [], "it has asked");
    rejoining.hear(2, beat(2));
    assert_eq!(rejoining.sent(2), [&asks(1)]);
    let mut blank = Hand::open(setup(0, 3), Directory::Blank);
    blank.hear(1, beat(1));
    assert_eq!(blank.done, [Effect::Dropped(Drop::Status)]);
    blank.hear(2, beat(1));
    assert_eq!(blank.done, [Effect::Dropped(Drop::Foreign)], "it is not the primary of that view");
}

/// Its own acknowledgement comes back to a primary like that of any other, and may be lost like any other.
#[test]
fn a_primary_acknowledges_to_itself_until_it_hears_it() {
    let mut hand = Hand::primary(&log()[..1]);
    assert_eq!(hand.ask(1), None);
    let header = *hand.replica.window.header(Op(1)).expect("prepared");
    hand.wait();
    assert_eq!(hand.acknowledged().len(), 1);
    hand.ok(1, &header);
    hand.wait();
    assert_eq!(hand.acknowledged(), []);
}

/// Nobody answers: perhaps nobody has the operation, and it was never committed. Only the next view can tell.
#[test]
fn a_primary_gives_up_a_view_whose_log_it_cannot_get() {
    let log = log();
    let mut primary = Hand::start(setup(1, 3), &[], None);
    let other = DoViewChange { view: View(1), ..vote(&log, View(0), &[Standing::Present]) };
    primary.hear(0, Message::DoViewChange(other));
    let own = primary.vote();
    primary.hear(1, Message::DoViewChange(own));
    let mut backup = Hand::backup(&log[..1], Op(0));
    backup.hear(1, Message::Commit(Commit { view: View(1), commit_max: Op(1), head: Op(1) }));
    for round in 1..=21 {
        primary.wait();
        assert_eq!(primary.sent(2).contains(&&wish(2)), round == 21, "round {round}");
        backup.wait();
        assert!(!backup.sent(2).contains(&&wish(2)), "round {round}");
    }
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
    hand.hear(2, Message::DoViewChange(other));
    let own = hand.vote();
    hand.hear(1, Message::DoViewChange(own));
    assert_eq!(undecidable(&hand), (Some((Op(2), false)), Status::ViewChange));
    // It may be the last thing that is heard before the next view.
    hand.hear(0, Message::Probe(Probe { nonce: 8 }));
    assert_eq!(undecidable(&hand), (Some((Op(2), true)), Status::ViewChange));
}

#[test]
fn an_answer_to_an_earlier_life_tells_a_blank_replica_nothing() {
    let mut hand = Hand::open(setup(0, 3), Directory::Blank);
    for from in [1, 2] {
        hand.hear(from, Message::ProbeReply(ProbeReply { view: View(1), nonce: Hand::NONCE - 1 }));
        assert_eq!(hand.done, [Effect::Dropped(Drop::Status)]);
    }
    let answer = Message::ProbeReply(ProbeReply { view: View(1), nonce: Hand::NONCE });
    for from in [1, 2, 1] {
        hand.hear(from, answer.clone());
    }
    assert_eq!(hand.done, [Effect::Dropped(Drop::Status)], "two answers were enough");
    let mut other = Hand::backup(&log()[..2], Op(1));
    other.hear(1, answer);
    assert_eq!(other.done, [Effect::Dropped(Drop::Status)]);
}

/// Its earlier life may have voted for what this replica only wishes.
#[test]
fn a_blank_replica_is_told_the_highest_view_that_was_wished_for() {
    let mut hand = Hand::backup(&log()[..2], Op(1));
    let told = |view| Message::ProbeReply(ProbeReply { view: View(view), nonce: 8 });
    hand.hear(2, Message::Probe(Probe { nonce: 8 }));
    assert_eq!(hand.sent(2), [&told(1)]);
    hand.step(Event::PrimarySilent);
    hand.hear(2, Message::Probe(Probe { nonce: 8 }));
    assert_eq!(hand.sent(2), [&told(2)]);
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
