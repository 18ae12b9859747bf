//! A request that comes again: executed once in the metadata group, twice in a partition's.

use ng_wire::replica::{
    BodyCheck, DoViewChange, Level, LogOperation, Message, Op, PrepareHeader, Standing, View,
};

use super::hand::{Hand, setup};
use super::merging::{chain, vote};
use crate::{Answer, ClientLimits, Effect, Event, Request, Setup};

const CLIENT: u128 = 5;

fn metadata(replica: u8) -> Setup {
    let clients = Some(ClientLimits { clients: 2, replies: 2, reply_bytes: 64 });
    Setup { clients, ..setup(replica, 3) }
}

/// The primary of view 1 of the metadata group.
fn primary() -> Hand {
    let log = chain(View(1), 0);
    let mut hand = Hand::start(metadata(1), &[], None);
    for from in [0, 1] {
        hand.hear(from, Message::DoViewChange(DoViewChange { view: View(1), ..vote(&log, View(0), &[]) }));
    }
    hand
}

fn request(operation: LogOperation, session: u64, request: u64) -> Request {
    let (level, timestamp, body_bytes) = (Level::Persisted, 0, 0);
    let (operation, body_checksum) = (operation.code(), request.into());
    let body_check = BodyCheck::Whole;
    Request {
        client: CLIENT,
        session,
        request,
        operation,
        level,
        timestamp,
        body_checksum,
        body_bytes,
        body_check,
    }
}

fn ask(hand: &mut Hand, asked: Request) -> Option<Answer> {
    hand.step(Event::Request(asked));
    hand.done.iter().find_map(|effect| match effect {
        Effect::Reply { answer, .. } => Some(answer.clone()),
        _ => None,
    })
}

/// Commits and executes the last op of the log; the answer to its client.
fn execute(hand: &mut Hand, reply: &[u8]) -> Option<Answer> {
    let header = *hand.replica.window.header(hand.replica.head()).expect("a head");
    hand.ok(1, &header);
    hand.ok(2, &header);
    hand.step(Event::Applied { header, reply: reply.to_vec() });
    hand.done.iter().find_map(|effect| match effect {
        Effect::Reply { client: CLIENT, answer, .. } => Some(answer.clone()),
        _ => None,
    })
}

#[test]
fn a_retry_gets_the_first_answer() {
    let mut hand = primary();
    assert_eq!(ask(&mut hand, request(LogOperation::Register, 0, 0)), None);
    assert_eq!(ask(&mut hand, request(LogOperation::Register, 0, 0)), Some(Answer::Pending));
    assert_eq!(execute(&mut hand, b"hello"), Some(Answer::Done { op: Op(1), reply: b"hello".to_vec() }));
    let first = request(LogOperation::Metadata, 1, 1);
    assert_eq!(ask(&mut hand, first), None);
    assert_eq!(ask(&mut hand, first), Some(Answer::Pending));
    let done = Some(Answer::Done { op: Op(2), reply: b"one".to_vec() });
    assert_eq!(execute(&mut hand, b"one"), done);
    assert_eq!(ask(&mut hand, first), done);
    assert_eq!(hand.replica.head(), Op(2));
}

#[test]
fn an_old_retry_is_not_executed_again() {
    let mut hand = primary();
    ask(&mut hand, request(LogOperation::Register, 0, 0));
    execute(&mut hand, b"");
    for number in 1..=3 {
        assert_eq!(ask(&mut hand, request(LogOperation::Metadata, 1, number)), None);
        execute(&mut hand, b"");
    }
    assert_eq!(ask(&mut hand, request(LogOperation::Metadata, 1, 1)), Some(Answer::Superseded));
    assert_eq!(ask(&mut hand, request(LogOperation::Metadata, 7, 4)), Some(Answer::NoSession));
}

#[test]
fn another_request_under_a_number_that_was_used_is_told_so() {
    let mut hand = primary();
    ask(&mut hand, request(LogOperation::Register, 0, 0));
    execute(&mut hand, b"");
    let first = request(LogOperation::Metadata, 1, 1);
    assert_eq!(ask(&mut hand, first), None);
    let done = execute(&mut hand, b"one");
    let other = Request { body_checksum: first.body_checksum + 1, ..first };
    assert_eq!(ask(&mut hand, other), Some(Answer::Superseded));
    assert_eq!(ask(&mut hand, first), done, "the first one is not forgotten");
    assert_eq!(hand.replica.head(), Op(2));
}

#[test]
fn a_logout_ends_the_session() {
    let mut hand = primary();
    ask(&mut hand, request(LogOperation::Register, 0, 0));
    execute(&mut hand, b"");
    ask(&mut hand, request(LogOperation::Logout, 1, 1));
    assert_eq!(ask(&mut hand, request(LogOperation::Metadata, 1, 2)), Some(Answer::Pending));
    execute(&mut hand, b"");
    assert_eq!(ask(&mut hand, request(LogOperation::Metadata, 1, 2)), Some(Answer::NoSession));
}

#[test]
fn only_a_repeated_request_waits_for_the_one_before() {
    let mut hand = primary();
    ask(&mut hand, request(LogOperation::Register, 0, 0));
    execute(&mut hand, b"");
    for number in [1, 2] {
        assert_eq!(ask(&mut hand, request(LogOperation::Metadata, 1, number)), None);
        assert_eq!(ask(&mut hand, request(LogOperation::Metadata, 1, number)), Some(Answer::Pending));
    }
    assert_eq!(ask(&mut hand, request(LogOperation::Register, 0, 0)), None, "a client that lost its session");
    assert_eq!(hand.replica.head(), Op(4));
}

#[test]
fn the_next_primary_knows_what_it_inherited() {
    let mut log = chain(View(1), 0);
    for (operation, number) in [(LogOperation::Register, 0), (LogOperation::Metadata, 1)] {
        let parent = *log.last().expect("a root");
        let header = PrepareHeader {
            op: parent.op.next(),
            parent: parent.checksum,
            client: CLIENT,
            request: number,
            operation: operation.code(),
            ..parent
        };
        log.push(header.sealed());
    }
    let mut hand = Hand::start(metadata(1), &[], None);
    for (from, standings) in [(0, vec![Standing::Present; 2]), (1, Vec::new())] {
        let vote = DoViewChange { view: View(1), commit_max: Op(1), ..vote(&log, View(0), &standings) };
        hand.hear(from, Message::DoViewChange(vote));
    }
    assert_eq!(ask(&mut hand, request(LogOperation::Metadata, 1, 1)), Some(Answer::Busy));
    hand.prepare(0, View(1), log[1]);
    hand.prepare(0, View(1), log[2]);
    hand.step(Event::Applied { header: log[1], reply: Vec::new() });
    assert_eq!(ask(&mut hand, request(LogOperation::Metadata, 1, 1)), Some(Answer::Pending));
    assert_eq!(hand.replica.head(), Op(2));
}

#[test]
fn a_full_table_names_whom_it_evicts() {
    let mut hand = primary();
    for client in [5, 6, 7] {
        ask(&mut hand, Request { client, ..request(LogOperation::Register, 0, 0) });
        execute(&mut hand, b"");
    }
    assert!(hand.done.contains(&Effect::Evicted(5)));
}

#[test]
fn a_partition_takes_a_repeated_request_for_another() {
    let mut hand = Hand::primary(&chain(View(1), 0));
    assert_eq!((hand.ask(1), hand.ask(1)), (None, None));
    assert_eq!(hand.replica.head(), Op(2));
}

#[test]
fn a_group_takes_only_its_own_operations() {
    let mut hand = primary();
    assert_eq!(ask(&mut hand, request(LogOperation::Batch, 1, 1)), Some(Answer::Unsupported));
    assert_eq!(
        ask(&mut hand, Request { operation: 999, ..request(LogOperation::Noop, 1, 1) }),
        Some(Answer::Unsupported)
    );
}
