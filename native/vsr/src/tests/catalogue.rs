//! Bugs that consensus implementations had, each as one short story that must end well.
//!
//! Those that are about frames are with the frames; those that need a schedule are found by the worlds.

use ng_wire::replica::{
    Commit, DoViewChange, Message, Op, PrepareHeader, PrepareOk, RequestPrepares, RequestStartView, Standing,
    StartViewChange, Tail, View,
};

use super::hand::{Hand, following, log, setup, start_view, taken_over};
use super::merging::{chain, vote};
use crate::effect::ViewRecord;
use crate::merge::{Verdict, merge};
use crate::quorum::Quorums;
use crate::{Answer, Drop, Effect, Event, Limits, Record, Setup, Status};

const PRESENT: Standing = Standing::Present;

fn begun(votes: &[Option<DoViewChange>]) -> Option<(Op, Op)> {
    match merge(votes, Quorums::of(3)) {
        Verdict::Begin(chosen) => Some((chosen.headers.last().expect("an anchor").op, chosen.commit_max)),
        Verdict::Wait(_) => None,
    }
}

pub(super) fn wish(view: u64) -> Message {
    Message::StartViewChange(StartViewChange { view: View(view), voted: View(view - 1) })
}

#[test]
fn a_new_primary_keeps_what_it_lacks_itself() {
    let log = log();
    let mut hand = Hand::start(setup(1, 3), &[], None);
    hand.hear(0, Message::DoViewChange(DoViewChange { view: View(1), ..vote(&log, View(0), &[PRESENT; 3]) }));
    let own = hand.vote();
    hand.hear(1, Message::DoViewChange(own));
    assert_eq!((hand.replica.status(), hand.replica.head()), (Status::Normal, Op(3)));
    let asks = Message::RequestPrepares(RequestPrepares { view: View(1), first: Op(1), last: Op(3) });
    let mut asked = false;
    for _ in 0..4 {
        hand.wait();
        asked = asked || hand.sent(0).contains(&&asks);
    }
    assert!(asked, "what is lacking is asked for");
}

/// Once a primary panicked: the record of its view was larger than its journal takes.
#[test]
fn who_cannot_list_the_log_of_a_view_leaves_it_to_the_next() {
    let log = log();
    let limits = Limits { pipeline: 1, backlog: 2, retained: 2, listed: 3, ..Limits::default() };
    for (ops, status) in [(2, Status::Normal), (3, Status::ViewChange)] {
        let mut hand = Hand::start(Setup { limits, ..setup(1, 3) }, &[], None);
        let there = vec![PRESENT; ops];
        let other = DoViewChange { view: View(1), ..vote(&log, View(0), &there) };
        hand.hear(0, Message::DoViewChange(other));
        let own = hand.vote();
        hand.hear(1, Message::DoViewChange(own));
        assert_eq!(hand.replica.status(), status, "{ops} ops");
        let goes_on = hand.sent(2).contains(&&wish(2));
        assert_eq!(goes_on, status == Status::ViewChange, "{ops} ops");
        let mut backup = Hand::start(Setup { limits, ..setup(0, 3) }, &[], None);
        backup.hear(1, start_view(View(1), Op(0), Hand::NONCE, &log[..=ops]));
        assert_eq!(backup.dropped(Drop::Foreign), goes_on, "{ops} ops");
    }
}

#[test]
fn silence_is_not_a_no() {
    let log = log();
    let damaged = vote(&log, View(1), &[Standing::Damaged]);
    let absent = vote(&log, View(1), &[]);
    assert_eq!(begun(&[Some(damaged.clone()), Some(absent.clone()), None]), None);
    assert_eq!(begun(&[Some(damaged), Some(absent.clone()), Some(absent)]), Some((Op(0), Op(0))));
}

#[test]
fn the_lowest_header_of_a_vote_is_no_commit_point() {
    let log = log();
    let suffix = vote(&log, View(1), &[PRESENT, PRESENT]);
    assert_eq!(begun(&[Some(suffix.clone()), Some(suffix), None]), Some((Op(2), Op(0))));
}

#[test]
fn disagreement_within_one_log_view_is_undecidable() {
    let (one, other) = (chain(View(1), 1), chain(View(2), 1));
    let votes = [Some(vote(&one, View(3), &[PRESENT])), Some(vote(&other, View(3), &[PRESENT])), None];
    assert_eq!(begun(&votes), None);
}

#[test]
fn a_header_that_does_not_lead_on_is_undecidable() {
    let log = log();
    let stranger = following(&chain(View(8), 1)[1], View(1));
    let mut cut = vote(&log, View(1), &[PRESENT, PRESENT]);
    cut.suffix[2].header = Some(stranger);
    assert_eq!(begun(&[Some(cut.clone()), Some(cut), None]), None);
}

#[test]
fn unproven_is_a_no_once_all_have_voted() {
    let log = log();
    let mut torn = vote(&log, View(1), &[]);
    torn.tail = Tail::Unproven;
    assert_eq!(begun(&[Some(torn.clone()), Some(torn.clone()), None]), None);
    assert_eq!(begun(&[Some(torn.clone()), Some(torn.clone()), Some(torn)]), Some((Op(0), Op(0))));
}

#[test]
fn the_log_view_waits_for_the_view_to_begin() {
    let log = log();
    let mut hand = Hand::start(setup(1, 3), &[Record::Prepare(log[1])], Some(Tail::Damaged));
    hand.hear(0, Message::DoViewChange(DoViewChange { view: View(4), ..vote(&log, View(0), &[PRESENT]) }));
    let own = hand.vote();
    hand.hear(1, Message::DoViewChange(own));
    let doubt = Effect::Undecidable { view: View(4), op: Op(2), all_voted: false };
    assert!(hand.done.contains(&doubt), "{:?}", hand.done);
    hand.wait();
    assert_eq!(hand.vote().log_view, View(0));
}

#[test]
fn another_prepare_at_the_op_is_not_acknowledged() {
    let log = log();
    let mut hand = Hand::backup(&log[..3], Op(1));
    let other = following(&log[1], View(2));
    hand.hear(2, start_view(View(2), Op(1), 0, &[log[0], log[1], other]));
    assert_eq!(hand.acknowledged(), []);
    assert_eq!(hand.replica.status(), Status::Normal);
    hand.prepare(2, View(2), other);
    assert_eq!(hand.acknowledged().len(), 1);
}

#[test]
fn what_may_have_been_lost_is_never_a_no() {
    let log = log();
    let mut hand = Hand::start(setup(0, 3), &[taken_over(View(1), Op(0), &log[..1])], Some(Tail::Damaged));
    hand.hear(1, start_view(View(1), Op(0), Hand::NONCE, &log[..2]));
    hand.hear(2, wish(2));
    hand.hear(1, wish(2));
    let standings: Vec<Standing> = hand.vote().suffix.iter().map(|entry| entry.standing).collect();
    assert_eq!(standings, [PRESENT, Standing::Damaged]);
}

#[test]
fn a_longer_log_of_a_restarted_backup_is_cut() {
    let log = log();
    let records: Vec<Record> = log[1..5].iter().map(|header| Record::Prepare(*header)).collect();
    let mut hand =
        Hand::start(setup(0, 3), &[&[taken_over(View(1), Op(0), &log[..1])], &records[..]].concat(), None);
    assert_eq!((hand.replica.status(), hand.replica.head()), (Status::Rejoining, Op(4)));
    hand.hear(1, start_view(View(1), Op(1), Hand::NONCE, &log[..3]));
    assert_eq!((hand.replica.status(), hand.replica.head()), (Status::Normal, Op(2)));
}

#[test]
fn what_a_view_cut_off_does_not_come_back() {
    let log = log();
    let records = [Record::Prepare(log[1]), Record::Prepare(log[2]), taken_over(View(2), Op(0), &log[..2])];
    let hand = Hand::start(setup(0, 3), &records, None);
    assert_eq!(hand.replica.head(), Op(1));
}

#[test]
fn a_view_for_an_earlier_life_is_not_believed() {
    let log = log();
    let mut hand = Hand::start(setup(0, 3), &[taken_over(View(1), Op(0), &log[..2])], None);
    hand.hear(1, start_view(View(1), Op(0), Hand::NONCE - 1, &log[..1]));
    assert_eq!((hand.replica.status(), hand.replica.head()), (Status::Rejoining, Op(1)));
}

#[test]
fn a_vote_that_contradicts_itself_is_foreign() {
    let log = log();
    let sound = DoViewChange { view: View(1), ..vote(&log, View(0), &[PRESENT; 2]) };
    let with = |index: usize, header: Option<PrepareHeader>| {
        let mut changed = sound.clone();
        changed.suffix[index].header = header;
        changed
    };
    for contradicts in [
        DoViewChange { log_view: View(1), ..sound.clone() },
        DoViewChange { log_view: View(2), ..sound.clone() },
        DoViewChange { suffix: Vec::new(), ..sound.clone() },
        DoViewChange { view: View(2), ..sound.clone() },
        with(0, None),
        with(0, Some(log[1])),
        with(2, Some(log[3])),
    ] {
        let mut hand = Hand::start(setup(1, 3), &[], None);
        let before = hand.replica.status();
        hand.hear(0, Message::DoViewChange(contradicts.clone()));
        assert!(hand.dropped(Drop::Foreign), "{contradicts:?}");
        assert_eq!((hand.replica.status(), hand.replica.view()), (before, View(0)));
    }
    let mut hand = Hand::start(setup(1, 3), &[], None);
    hand.hear(0, Message::DoViewChange(with(1, None)));
    assert_eq!((hand.replica.status(), hand.replica.view()), (Status::ViewChange, View(1)));
}

#[test]
fn a_log_of_a_view_that_contradicts_itself_is_foreign() {
    let log = log();
    let stranger = following(&following(&log[0], View(2)), View(2));
    for (from, headers) in [
        (2, Vec::new()),
        (2, vec![log[1], log[3]]),
        (2, vec![log[1], stranger]),
        (2, vec![log[2], log[1]]),
        (1, log[..3].to_vec()),
        (0, log[..3].to_vec()),
    ] {
        let mut hand = Hand::backup(&log[..2], Op(1));
        hand.hear(from, start_view(View(2), Op(1), 0, &headers));
        assert_eq!(hand.done, [Effect::Dropped(Drop::Foreign)], "{headers:?}");
    }
    let mut primary = Hand::start(setup(2, 3), &[taken_over(View(1), Op(0), &log[..2])], None);
    primary.hear(2, start_view(View(2), Op(1), 0, &log[..3]));
    assert_eq!(primary.done, [Effect::Dropped(Drop::Foreign)]);
}

#[test]
fn a_replica_that_voted_votes_again_after_a_restart() {
    let log = log();
    let promised =
        ViewRecord { view: View(3), log_view: View(1), commit: Op(0), head: Op(1), headers: Vec::new() };
    let mut hand =
        Hand::start(setup(0, 3), &[taken_over(View(1), Op(0), &log[..2]), Record::View(promised)], None);
    assert_eq!((hand.replica.status(), hand.replica.view()), (Status::ViewChange, View(3)));
    assert_eq!((hand.vote().view, hand.vote().log_view), (View(3), View(1)));
    hand.hear(1, start_view(View(1), Op(1), Hand::NONCE, &log[..2]));
    assert!(hand.dropped(Drop::OlderView));
}

#[test]
fn nothing_of_a_view_leaves_before_its_record() {
    let mut hand = Hand::backup(&log()[..2], Op(1));
    hand.hear(2, wish(2));
    hand.hear(1, wish(2));
    let (position, record) = *hand.appended().last().expect("the view was written");
    assert!(matches!(record, Record::View(view) if view.view == View(2) && view.log_view == View(1)));
    let of_the_view = hand.done.iter().filter_map(|effect| match effect {
        Effect::Send { after, message: Message::DoViewChange(_), .. } => Some(*after),
        _ => None,
    });
    assert_eq!(of_the_view.collect::<Vec<_>>(), [position]);
}

#[test]
fn an_acknowledgement_waits_for_its_record() {
    let log = log();
    let mut hand = Hand::backup(&log[..1], Op(0));
    hand.prepare(1, View(1), log[1]);
    let (position, _) = hand.appended()[0];
    assert_eq!(hand.acknowledged(), [(Op(1), position)]);
    hand.prepare(1, View(1), log[1]);
    assert_eq!(hand.acknowledged(), [(Op(1), position)], "a retransmit waits for the same record");
}

#[test]
fn a_lost_start_view_is_asked_for_again() {
    let mut hand = Hand::backup(&log()[..2], Op(1));
    hand.hear(2, wish(2));
    hand.hear(1, wish(2));
    hand.wait();
    assert_eq!(hand.vote().view, View(2));
}

#[test]
fn a_replica_behind_a_view_asks_and_does_not_elect() {
    let mut hand = Hand::backup(&log()[..2], Op(1));
    hand.hear(1, Message::Commit(Commit { view: View(4), commit_max: Op(3), head: Op(3) }));
    let asks = Message::RequestStartView(RequestStartView { view: View(1), nonce: Hand::NONCE });
    assert_eq!(hand.sent(1), [&asks]);
    assert_eq!(hand.replica.view(), View(1));
}

#[test]
fn a_restarted_primary_wants_the_next_view() {
    let log = log();
    let mut hand = Hand::start(setup(1, 3), &[taken_over(View(1), Op(0), &log[..2])], None);
    let wants = Message::StartViewChange(StartViewChange { view: View(2), voted: View(1) });
    assert_eq!((hand.sent(0), hand.sent(2)), (vec![&wants], vec![&wants]));
    assert_eq!(hand.ask(1), Some(Answer::NotPrimary));
}

#[test]
fn a_single_node_executes_a_burst_after_a_restart() {
    let log = log();
    let records: Vec<Record> = log[1..].iter().map(|header| Record::Prepare(*header)).collect();
    let mut hand = Hand::start(setup(0, 1), &records, Some(Tail::Unproven));
    let own = hand.vote();
    hand.hear(0, Message::DoViewChange(own));
    assert_eq!(hand.replica.status(), Status::Normal);
    for header in &log[1..] {
        hand.ok(0, header);
    }
    for header in &log[1..] {
        hand.step(Event::Applied { header: *header, reply: Vec::new() });
    }
    assert_eq!((hand.replica.commit_min(), hand.replica.commit_max()), (Op(6), Op(6)));
}

#[test]
fn nothing_is_admitted_before_what_was_inherited_is_here() {
    let log = log();
    let mut hand = Hand::start(setup(1, 3), &[], None);
    hand.hear(0, Message::DoViewChange(DoViewChange { view: View(1), ..vote(&log, View(0), &[PRESENT]) }));
    let own = hand.vote();
    hand.hear(1, Message::DoViewChange(own));
    assert!(hand.replica.is_primary());
    assert_eq!(hand.ask(1), Some(Answer::Busy));
    hand.prepare(0, View(1), log[1]);
    assert_eq!(hand.ask(1), None);
    assert_eq!(hand.replica.head(), Op(2));
}

#[test]
fn a_late_prepare_of_a_deposed_primary_is_dropped() {
    let log = log();
    let mut hand = Hand::backup(&log[..2], Op(1));
    hand.hear(2, start_view(View(2), Op(1), 0, &log[..2]));
    hand.prepare(1, View(1), log[2]);
    assert!(hand.dropped(Drop::OlderView));
    assert_eq!(hand.replica.head(), Op(1));
}

#[test]
fn a_prepare_of_a_later_view_is_dropped() {
    let log = log();
    let mut hand = Hand::backup(&log[..2], Op(1));
    hand.prepare(2, View(2), following(&log[1], View(2)));
    assert!(hand.dropped(Drop::Status));
    assert_eq!((hand.acknowledged(), hand.replica.head()), (Vec::new(), Op(1)));
}

#[test]
fn a_prepare_of_another_group_or_epoch_is_foreign() {
    let log = log();
    for foreign in [PrepareHeader { group: 8, ..log[2] }, PrepareHeader { epoch: 2, ..log[2] }] {
        let mut hand = Hand::backup(&log[..2], Op(1));
        hand.prepare(1, View(1), foreign.sealed());
        assert!(hand.dropped(Drop::Foreign));
        assert_eq!((hand.acknowledged(), hand.replica.head()), (Vec::new(), Op(1)));
    }
}

#[test]
fn an_acknowledgement_counts_in_its_view_and_at_its_primary() {
    let log = log();
    let ok = |view| Message::PrepareOk(PrepareOk { view: View(view), op: Op(1), checksum: log[1].checksum });
    let mut primary = Hand::primary(&log[..2]);
    primary.ok(1, &log[1]);
    for (view, reason) in [(0, Drop::OlderView), (2, Drop::Status)] {
        primary.hear(0, ok(view));
        assert!(primary.dropped(reason), "view {view}");
        assert_eq!(primary.replica.commit_max(), Op(0), "view {view}");
    }
    primary.hear(0, ok(1));
    assert_eq!(primary.replica.commit_max(), Op(1));
    let mut backup = Hand::backup(&log[..2], Op(0));
    for from in [1, 2] {
        backup.hear(from, ok(1));
        assert!(backup.dropped(Drop::Status));
    }
    assert_eq!(backup.replica.commit_max(), Op(0));
}

#[test]
fn an_unknown_operation_is_refused_and_counted() {
    let log = log();
    let mut hand = Hand::backup(&log[..1], Op(0));
    let unknown = PrepareHeader { operation: 999, ..log[1] }.sealed();
    hand.prepare(1, View(1), unknown);
    assert!(hand.dropped(Drop::UnknownOperation));
    assert_eq!((hand.acknowledged(), hand.replica.head()), (Vec::new(), Op(0)));
}

#[test]
fn a_prepare_that_does_not_lead_on_is_dropped() {
    let log = log();
    let mut hand = Hand::backup(&log[..2], Op(0));
    hand.prepare(1, View(1), following(&chain(View(8), 1)[1], View(1)));
    assert!(hand.dropped(Drop::Parent));
    assert_eq!(hand.replica.head(), Op(1));
    hand.prepare(1, View(1), log[4]);
    hand.prepare(1, View(1), following(&chain(View(8), 2)[2], View(1)));
    assert!(hand.dropped(Drop::Parent), "it does not lead to what is there: {:?}", hand.done);
}

#[test]
fn a_gap_is_repaired_within_two_rounds() {
    let log = log();
    let mut hand = Hand::backup(&log[..2], Op(0));
    hand.prepare(1, View(1), log[3]);
    hand.wait();
    let asks = Message::RequestPrepares(RequestPrepares { view: View(1), first: Op(2), last: Op(2) });
    assert!(hand.sent(1).contains(&&asks));
}

#[test]
fn the_next_places_are_asked_for_when_the_last_of_the_ones_before_comes() {
    let log = log();
    let mut hand = Hand::backup(&log[..1], Op(0));
    hand.hear(1, Message::Commit(Commit { view: View(1), commit_max: Op(0), head: Op(6) }));
    hand.wait();
    let asks = |first, last| {
        Message::RequestPrepares(RequestPrepares { view: View(1), first: Op(first), last: Op(last) })
    };
    assert!(hand.sent(1).contains(&&asks(1, 4)));
    for header in &log[1..4] {
        hand.prepare(1, View(1), *header);
        assert!(!hand.sent(1).iter().any(|said| matches!(said, Message::RequestPrepares(_))));
    }
    hand.prepare(1, View(1), log[4]);
    assert!(hand.sent(1).contains(&&asks(5, 6)), "{:?}", hand.done);
}

#[test]
fn commits_follow_each_other_without_a_gap() {
    let log = log();
    let mut hand = Hand::primary(&log[..1]);
    assert_eq!((hand.ask(1), hand.ask(2)), (None, None));
    let headers: Vec<PrepareHeader> =
        [1, 2].map(|op| *hand.replica.window.header(Op(op)).expect("prepared")).into();
    hand.ok(1, &headers[1]);
    hand.ok(0, &headers[1]);
    assert_eq!(hand.replica.commit_max(), Op(0), "op 1 is not acknowledged");
    hand.ok(1, &headers[0]);
    hand.ok(1, &headers[0]);
    assert_eq!(hand.replica.commit_max(), Op(0), "one replica is no quorum, however often it says so");
    hand.ok(2, &headers[0]);
    assert_eq!(hand.replica.commit_max(), Op(2));
    let applied: Vec<&Effect> =
        hand.done.iter().filter(|effect| matches!(effect, Effect::Apply(_))).collect();
    assert_eq!(applied, [&Effect::Apply(headers[0]), &Effect::Apply(headers[1])]);
}

#[test]
fn a_full_pipeline_is_busy() {
    let mut hand = Hand::primary(&log()[..1]);
    assert_eq!([1, 2, 3].map(|request| hand.ask(request)), [None, None, None]);
    assert_eq!(hand.ask(4), Some(Answer::Busy));
}

/// Its pipeline is empty, but nothing that it committed is executed.
#[test]
fn a_full_backlog_is_busy() {
    let mut hand = Hand::primary(&log()[..1]);
    for request in 1..=8 {
        assert_eq!(hand.ask(request), None, "request {request}");
        let header = *hand.replica.window.header(hand.replica.head()).expect("prepared");
        [1, 2].into_iter().for_each(|from| hand.ok(from, &header));
    }
    assert_eq!(hand.replica.commit_max(), Op(8));
    assert_eq!(hand.ask(9), Some(Answer::Busy));
}

#[test]
fn only_the_primary_answers_a_client() {
    let replies = |hand: &Hand| hand.done.iter().any(|effect| matches!(effect, Effect::Reply { .. }));
    let asked = PrepareHeader { client: 5, ..log()[1] }.sealed();
    let mut backup = Hand::backup(&[log()[0], asked], Op(1));
    backup.step(Event::Applied { header: asked, reply: Vec::new() });
    assert!(!replies(&backup));
    for (header, answers) in [(asked, true), (log()[1], false)] {
        let mut primary = Hand::primary(&[log()[0], header]);
        [1, 2].into_iter().for_each(|from| primary.ok(from, &header));
        primary.step(Event::Applied { header, reply: Vec::new() });
        assert_eq!(replies(&primary), answers);
    }
}

#[test]
fn what_was_executed_is_acknowledged_again() {
    let log = log();
    let mut hand = Hand::backup(&log[..4], Op(3));
    for header in &log[1..4] {
        hand.step(Event::Applied { header: *header, reply: Vec::new() });
    }
    assert_eq!(hand.replica.commit_min(), Op(3));
    hand.prepare(1, View(1), log[1]);
    assert_eq!(hand.acknowledged().len(), 1);
}

#[test]
fn a_blank_replica_votes_for_nothing() {
    let mut effects = crate::Effects::default();
    let replica =
        crate::Replica::open(setup(0, 3), crate::Directory::Blank, 5, 0, &mut effects).expect("sound");
    let mut hand = Hand { replica, done: effects.drain().collect(), now: 0 };
    hand.hear(1, wish(1));
    hand.hear(2, wish(1));
    assert!(hand.dropped(Drop::Status));
    assert_eq!((hand.replica.status(), hand.replica.view()), (Status::Blank, View(0)));
    assert_eq!(hand.appended(), []);
}

#[test]
fn a_message_from_no_member_is_foreign() {
    let mut hand = Hand::backup(&log()[..1], Op(0));
    hand.hear(3, wish(9));
    assert!(hand.dropped(Drop::Foreign));
}

#[test]
fn executed_history_that_the_group_contradicts_stops_the_replica() {
    let log = log();
    let mut hand = Hand::backup(&log[..2], Op(1));
    hand.step(Event::Applied { header: log[1], reply: Vec::new() });
    let other = chain(View(2), 1);
    hand.hear(2, start_view(View(2), Op(1), 0, &[other[0], other[1]]));
    assert_eq!(hand.done, [Effect::Diverged(Op(1))]);
    assert_eq!(hand.replica.status(), Status::Diverged);
}
