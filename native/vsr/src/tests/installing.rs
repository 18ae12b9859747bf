//! A state that comes from another replica takes the place of the own one, whatever was to be executed there.

use ng_wire::replica::{Message, Op, PrepareHeader, RequestPrepares, TransferOffer, View};

use super::hand::{Hand, log, setup, start_view, taken_over};
use crate::{Drop, Effect, Event, Record};

/// A backup that has handed out ops 1 and 2, and hears of a state that ends with op 5.
fn offered(log: &[PrepareHeader]) -> Hand {
    let mut hand = Hand::backup(log, Op(6));
    let handed: Vec<&Effect> = hand.done.iter().filter(|effect| matches!(effect, Effect::Apply(_))).collect();
    assert_eq!(handed, [&Effect::Apply(log[1]), &Effect::Apply(log[2])]);
    hand.step(Event::Unreadable { op: Op(1), checksum: log[1].checksum });
    let offer = TransferOffer { view: View(1), commit_max: Op(6), anchor: log[5] };
    hand.hear(2, Message::TransferOffer(offer));
    assert!(hand.done.contains(&Effect::Fetch { from: 2, anchor: log[5] }), "{:?}", hand.done);
    hand
}

/// Once a replica whose disk had lost an operation that was handed out refused every state that others sent it: it waited
/// for that operation, which nobody keeps any more, and lagged behind for good.
#[test]
fn a_state_takes_the_place_of_what_was_handed_out_and_cannot_be_read() {
    let log = log();
    let mut hand = offered(&log);
    hand.step(Event::Fetched { anchor: log[5], clients: None });
    let installs = |effect: &Effect| matches!(effect, Effect::Append { record: Record::Install(header), .. } if *header == log[5]);
    assert!(hand.done.iter().any(installs), "{:?}", hand.done);
    assert_eq!(hand.replica.commit_min(), Op(5));
    assert!(hand.done.contains(&Effect::Apply(log[6])), "it goes on behind the state: {:?}", hand.done);
}

#[test]
fn a_state_that_ends_before_what_was_executed_is_of_no_use() {
    let log = log();
    let mut hand = offered(&log);
    for header in &log[1..=5] {
        hand.step(Event::Applied { header: *header, reply: Vec::new() });
        hand.step(Event::Tick);
    }
    hand.step(Event::Fetched { anchor: log[5], clients: None });
    assert!(!hand.done.iter().any(|effect| matches!(effect, Effect::Install { .. })), "{:?}", hand.done);
    assert_eq!(hand.replica.commit_min(), Op(5));
}

/// Once a primary that took over a state forgot what all had acknowledged behind it: nobody says so again, and the group stood
/// still for as long as the view lived.
#[test]
fn what_a_quorum_acknowledged_behind_a_state_is_committed() {
    let log = log();
    let mut hand = Hand::primary(&log[..=3]);
    hand.step(Event::Unreadable { op: Op(1), checksum: log[1].checksum });
    for from in [0, 1] {
        hand.ok(from, &log[3]);
    }
    assert_eq!(hand.replica.commit_max(), Op(0), "what is in front of it may not be committed");
    hand.hear(0, Message::TransferOffer(TransferOffer { view: View(1), commit_max: Op(2), anchor: log[2] }));
    hand.step(Event::Fetched { anchor: log[2], clients: None });
    assert_eq!(hand.replica.commit_max(), Op(3));
    assert!(hand.done.contains(&Effect::Apply(log[3])), "{:?}", hand.done);
}

/// The last operation of a state that is far ahead of what the test replicas have.
fn far_ahead() -> PrepareHeader {
    PrepareHeader { op: Op(100), ..log()[6] }.sealed()
}

fn offer(anchor: PrepareHeader) -> Message {
    Message::TransferOffer(TransferOffer { view: View(2), commit_max: Op(100), anchor })
}

/// What a replica asks that only a state brings further.
const ASKS_FOR_STATE: Message =
    Message::RequestPrepares(RequestPrepares { view: View(2), first: Op::ZERO, last: Op::ZERO });

/// A backup of three hears of a view of which only a state brings it the log; whom it asks for one.
fn asked_when_left_behind(hand: &mut Hand) -> Vec<u8> {
    hand.hear(2, start_view(View(2), Op(100), 0, &[far_ahead()]));
    (0..3).filter(|to| hand.sent(*to).contains(&&ASKS_FOR_STATE)).collect()
}

/// Once such a replica named the first place that it lacked. A primary whose log reached back so far answered with the
/// prepare, which the replica could not place, and an idle group stayed like that.
#[test]
fn a_question_for_a_state_is_answered_with_an_offer_also_by_a_replica_that_keeps_its_whole_log() {
    let mut hand = Hand::backup(&log(), Op(6));
    hand.hear(2, ASKS_FOR_STATE);
    let is_offer = |said: &&Message| matches!(said, Message::TransferOffer(_));
    assert_eq!(hand.replica.window.base(), Op(0));
    assert!(hand.sent(2).iter().any(is_offer), "{:?}", hand.done);
}

/// Once a replica asked the primary of its view alone for a state, over and over: a segment there had rotted.
#[test]
fn whose_state_did_not_come_is_passed_over_once() {
    let mut hand = Hand::backup(&log()[..1], Op(0));
    assert_eq!(asked_when_left_behind(&mut hand), [2]);
    hand.hear(2, offer(far_ahead()));
    assert_eq!(asked_when_left_behind(&mut hand), [], "one state at a time");
    hand.step(Event::FetchFailed);
    assert_eq!(asked_when_left_behind(&mut hand), [1]);
    assert_eq!(asked_when_left_behind(&mut hand), [2], "the other may be down");
}

#[test]
fn an_offer_of_whom_the_state_did_not_come_is_passed_over_once() {
    let mut hand = Hand::backup(&log()[..1], Op(0));
    let fetches = |hand: &mut Hand, from| {
        hand.hear(from, offer(far_ahead()));
        hand.done.contains(&Effect::Fetch { from, anchor: far_ahead() })
    };
    assert!(fetches(&mut hand, 2));
    hand.step(Event::FetchFailed);
    assert!(!fetches(&mut hand, 2));
    assert!(fetches(&mut hand, 2), "nobody else offers one");
    hand.step(Event::FetchFailed);
    assert!(fetches(&mut hand, 1));
}

/// A backup of view 1 that executed ops 1 and 2.
fn executed() -> Hand {
    let log = log();
    let mut hand = Hand::backup(&log[..3], Op(2));
    for header in &log[1..3] {
        hand.step(Event::Applied { header: *header, reply: Vec::new() });
    }
    hand
}

#[test]
fn an_offer_of_another_group_or_epoch_is_foreign() {
    for foreign in [PrepareHeader { group: 8, ..log()[5] }, PrepareHeader { epoch: 2, ..log()[5] }] {
        let mut hand = executed();
        hand.hear(2, offer(foreign.sealed()));
        assert_eq!(hand.done, [Effect::Dropped(Drop::Foreign)]);
    }
}

#[test]
fn a_state_is_fetched_if_it_is_ahead() {
    let log = log();
    let mut hand = executed();
    hand.hear(2, offer(log[2]));
    assert_eq!(hand.done, [Effect::Dropped(Drop::Status)]);
    hand.hear(2, offer(log[3]));
    assert_eq!(hand.done, [Effect::Fetch { from: 2, anchor: log[3] }]);
}

#[test]
fn a_state_is_offered_if_it_reaches_the_place_that_is_asked_for() {
    let log = log();
    let mut hand = executed();
    for (first, offers) in [(1, true), (2, true), (3, false)] {
        let asks = RequestPrepares { view: View(9), first: Op(first), last: Op(first) };
        hand.hear(2, Message::RequestPrepares(asks));
        let offer = TransferOffer { view: View(1), commit_max: Op(2), anchor: log[2] };
        let said = Message::TransferOffer(offer);
        assert_eq!(hand.sent(2), if offers { vec![&said] } else { Vec::new() }, "op {first}");
    }
}

#[test]
fn others_are_asked_for_a_state_in_turn() {
    let mut hand = Hand::start(setup(0, 5), &[taken_over(View(1), Op(0), &log()[..1])], None);
    let mut asked = Vec::new();
    for _ in 0..4 {
        hand.hear(2, offer(far_ahead()));
        assert_eq!(hand.done, [Effect::Fetch { from: 2, anchor: far_ahead() }]);
        hand.step(Event::FetchFailed);
        hand.hear(2, start_view(View(2), Op(100), 0, &[far_ahead()]));
        asked.extend((0..5).filter(|to| hand.sent(*to).contains(&&ASKS_FOR_STATE)));
    }
    assert_eq!(asked, [1, 3, 4, 1]);
}
