//! A group that rests: what it keeps, and who is told what it missed.

use ng_wire::replica::{BodyCheck, Level, LogOperation, Message, Op, PrepareHeader, RequestPrepares, View};

use super::hand::{Hand, log, setup};
use crate::{Effect, Event, Record, Request, Status};

/// The bytes that a replica with its setup may take when it rests.
const RESTING_BYTES: usize = 1_200;

/// A primary that committed and executed two operations, acknowledged by itself and by `others`.
fn busy_primary(others: &[u8]) -> (Hand, Vec<PrepareHeader>) {
    let mut hand = Hand::primary(&log()[..1]);
    let mut made = Vec::new();
    for request in [1, 2] {
        assert_eq!(hand.ask(request), None);
        let header = *hand.replica.window.header(hand.replica.head()).expect("prepared");
        others.iter().chain(&[1]).for_each(|from| hand.ok(*from, &header));
        hand.step(Event::Applied { header, reply: Vec::new() });
        made.push(header);
    }
    assert_eq!(hand.replica.commit_min(), Op(2));
    (hand, made)
}

fn prepares(hand: &Hand, to: u8) -> Vec<Op> {
    let op = |message: &&Message| match message {
        Message::Prepare(prepare) => Some(prepare.header.op),
        _ => None,
    };
    hand.sent(to).iter().filter_map(op).collect()
}

#[test]
fn a_resting_group_keeps_one_header() {
    let (mut hand, made) = busy_primary(&[0, 2]);
    assert!(hand.replica.bytes() > RESTING_BYTES / 2, "{}", hand.replica.bytes());
    hand.step(Event::Checkpointed(Op(2)));
    assert_eq!((hand.replica.window.base(), hand.replica.anchor()), (Op(2), Some(made[1])));
    assert_eq!((&hand.done, hand.replica.deadline()), (&Vec::new(), None));
    let bytes = hand.replica.bytes();
    println!("a replica of three at rest takes {bytes} bytes");
    assert!(bytes <= RESTING_BYTES, "{bytes}");
    assert_eq!(hand.ask(3), None, "and goes on from it");
    assert_eq!(hand.replica.head(), Op(3));
}

#[test]
fn a_place_takes_little_beyond_its_header() {
    let (slot, header) = (size_of::<crate::window::Slot>(), size_of::<PrepareHeader>());
    println!("a place takes {slot} bytes, {header} of them its header");
    assert!(slot <= header + 64);
}

#[test]
fn what_stands_behind_a_state_that_is_fetched_is_kept() {
    let (mut hand, _) = busy_primary(&[0, 2]);
    hand.replica.keep_behind(Some(Op(1)));
    hand.step(Event::Checkpointed(Op(2)));
    let asks = RequestPrepares { view: View(1), first: Op(2), last: Op(2) };
    hand.hear(0, Message::RequestPrepares(asks));
    assert_eq!(prepares(&hand, 0), [Op(2)]);
    hand.replica.keep_behind(None);
    hand.step(Event::Checkpointed(Op(2)));
    assert_eq!(hand.replica.window.base(), Op(2));
}

#[test]
fn a_checkpoint_of_a_busy_group_frees_nothing() {
    let (mut hand, _) = busy_primary(&[0, 2]);
    assert_eq!(hand.ask(3), None);
    hand.step(Event::Checkpointed(Op(2)));
    assert_eq!(hand.replica.window.base(), Op(0));
}

#[test]
fn only_what_is_in_the_manifest_is_freed() {
    let (mut hand, _) = busy_primary(&[0, 2]);
    hand.step(Event::Checkpointed(Op(1)));
    assert_eq!(hand.replica.window.base(), Op(1));
}

#[test]
fn what_one_replica_lacks_is_kept_and_sent_once_more() {
    let (mut hand, made) = busy_primary(&[0]);
    hand.step(Event::Checkpointed(Op(2)));
    assert_eq!((prepares(&hand, 0), prepares(&hand, 2)), (Vec::new(), vec![Op(1), Op(2)]));
    hand.ok(2, &made[0]);
    hand.ok(2, &made[1]);
    hand.step(Event::Checkpointed(Op(2)));
    assert_eq!((hand.replica.window.base(), hand.done.len()), (Op(2), 0));
}

#[test]
fn an_operation_is_not_sent_again_to_a_replica_that_acknowledged_it() {
    for (holder, lacks) in [(0, 2), (2, 0)] {
        let (mut hand, _) = busy_primary(&[holder]);
        hand.step(Event::Checkpointed(Op(2)));
        assert_eq!((prepares(&hand, holder), prepares(&hand, lacks)), (Vec::new(), vec![Op(1), Op(2)]));
    }
}

#[test]
fn a_backup_that_rests_serves_state_and_not_prepares() {
    let log = log();
    let mut hand = Hand::backup(&log[..3], Op(2));
    for header in &log[1..3] {
        hand.step(Event::Applied { header: *header, reply: Vec::new() });
    }
    hand.step(Event::Checkpointed(Op(2)));
    hand.hear(2, Message::RequestPrepares(RequestPrepares { view: View(1), first: Op(1), last: Op(1) }));
    assert!(matches!(hand.sent(2)[..], [Message::TransferOffer(offer)] if offer.anchor == log[2]));
}

#[test]
fn no_prepare_goes_where_the_group_is_not_open() {
    let mut hand = Hand::primary(&log()[..1]);
    hand.step(Event::NotOpen { from: 2 });
    assert_eq!(hand.ask(1), None);
    assert_eq!((prepares(&hand, 0), prepares(&hand, 2)), (vec![Op(1)], Vec::new()));
    hand.wait();
    assert_eq!((prepares(&hand, 0), prepares(&hand, 2)), (vec![Op(1)], Vec::new()));
    hand.step(Event::Opened { from: 2 });
    hand.wait();
    assert_eq!(prepares(&hand, 2), [Op(1)]);
    hand.step(Event::NotOpen { from: 2 });
    hand.now += setup(1, 3).timing.suspicion;
    hand.step(Event::Tick);
    assert_eq!(prepares(&hand, 2), [Op(1)], "that it opened may have been lost");
    for stranger in [Event::NotOpen { from: 3 }, Event::Opened { from: 3 }] {
        hand.step(stranger);
        assert_eq!(hand.done, [Effect::Dropped(crate::Drop::Foreign)]);
    }
}

#[test]
fn timestamps_never_go_back() {
    let mut hand = Hand::primary(&log()[..1]);
    let request = Request {
        client: 5,
        session: 1,
        request: 1,
        operation: LogOperation::Batch.code(),
        level: Level::Persisted,
        timestamp: 900,
        body_checksum: 0,
        body_check: BodyCheck::Whole,
        body_bytes: 0,
    };
    let mut stamps = Vec::new();
    for timestamp in [900, 850, 901] {
        hand.step(Event::Request(Request { timestamp, ..request }));
        let stamped = hand.appended().iter().find_map(|(_, record)| match record {
            Record::Prepare(header) => Some(header.timestamp),
            _ => None,
        });
        stamps.extend(stamped);
    }
    assert_eq!(stamps, [900, 900, 901]);
    assert_eq!(hand.replica.status(), Status::Normal);
}

/// Aim: a start with very many groups ends. Method: the disk of a replica of its own takes for ever, and nothing more is asked of it.
#[test]
fn a_replica_of_its_own_waits_for_its_disk_in_silence() {
    let records: Vec<Record> = log()[1..].iter().map(|header| Record::Prepare(*header)).collect();
    let mut hand = Hand::start(setup(0, 1), &records, None);
    assert_eq!((hand.replica.status(), hand.replica.deadline()), (Status::ViewChange, None));
    let view = hand.replica.view();
    let appended = hand.done.iter().filter(|effect| matches!(effect, Effect::Append { .. })).count();
    assert_eq!(appended, 1, "the view it is about to begin");
    hand.now += 1_000_000;
    hand.step(Event::Tick);
    assert_eq!((&hand.done, hand.replica.view()), (&Vec::new(), view));
}
