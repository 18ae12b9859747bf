//! The merge, over every combination of what replicas can report.
//!
//! The judge counts, for each place, the replicas that may have acknowledged what stands there: those that
//! report it present or damaged, and those that did not vote. An operation that they could have committed may
//! not go; one that they could not must not block; a copy that was reported may not be given up before that.

use ng_wire::replica::{DoViewChange, Op, PrepareHeader, SUFFIX_MAX, Standing, SuffixEntry, Tail, View};

use crate::merge::{ChosenLog, Verdict, merge};
use crate::quorum::Quorums;

const STANDINGS: [Standing; 4] =
    [Standing::Absent, Standing::HeaderOnly, Standing::Damaged, Standing::Present];

/// A log of `places` operations after the root, all made in `view`.
pub(crate) fn chain(view: View, places: u64) -> Vec<PrepareHeader> {
    let mut log = vec![PrepareHeader::root(7, 1)];
    for op in 1..=places {
        let parent = log.last().expect("a root");
        log.push(PrepareHeader { op: Op(op), view, parent: parent.checksum, ..*parent }.sealed());
    }
    log
}

/// A vote that reports these standings after the root; what is absent has no header.
pub(crate) fn vote(log: &[PrepareHeader], log_view: View, standings: &[Standing]) -> DoViewChange {
    let root = SuffixEntry { header: Some(log[0]), standing: Standing::Present };
    let places = standings.iter().zip(&log[1..]).map(|(standing, header)| SuffixEntry {
        header: (*standing != Standing::Absent).then_some(*header),
        standing: *standing,
    });
    DoViewChange {
        view: View(9),
        log_view,
        commit_min: Op::ZERO,
        commit_max: Op::ZERO,
        tail: Tail::Certain,
        suffix: std::iter::once(root).chain(places).collect(),
    }
}

/// The digits of `number` as standings.
fn standings(number: usize, places: usize) -> Vec<Standing> {
    (0..places).map(|place| STANDINGS[number >> (2 * place) & 3]).collect()
}

/// Where the log ends, or the place in doubt.
fn expected(votes: &[&[Standing]], quorums: Quorums, places: usize) -> Result<Op, Op> {
    let silent = usize::from(quorums.replicas) - votes.len();
    for place in 0..places {
        let count = |wanted: &[Standing]| votes.iter().filter(|vote| wanted.contains(&vote[place])).count();
        if count(&[Standing::Present]) > 0 {
            continue;
        }
        let possible = silent + count(&[Standing::Damaged]);
        let op = Op(place as u64);
        return if possible >= usize::from(quorums.replication) { Err(op.next()) } else { Ok(op) };
    }
    Ok(Op(places as u64))
}

fn found(verdict: &Verdict) -> Result<Op, Op> {
    match verdict {
        Verdict::Begin(chosen) => Ok(chosen.headers.last().expect("an anchor").op),
        Verdict::Wait(op) => Err(op.expect("a quorum voted")),
    }
}

/// Every combination of the first `voters` of `replicas` replicas over `places` operations.
fn sweep(replicas: u8, voters: usize, places: usize) -> usize {
    let quorums = Quorums::of(replicas);
    let log = chain(View(1), places as u64);
    let all: Vec<Vec<Standing>> = (0..1 << (2 * places)).map(|number| standings(number, places)).collect();
    let cast: Vec<DoViewChange> = all.iter().map(|standings| vote(&log, View(1), standings)).collect();
    let mut votes: Vec<Option<DoViewChange>> = vec![None; replicas.into()];
    let mut digits = vec![0; voters];
    digits
        .iter()
        .enumerate()
        .for_each(|(voter, digit): (usize, &usize)| votes[voter] = Some(cast[*digit].clone()));
    for count in 1.. {
        let reported: Vec<&[Standing]> = digits.iter().map(|digit| all[*digit].as_slice()).collect();
        let verdict = merge(&votes, quorums);
        assert_eq!(found(&verdict), expected(&reported, quorums, places), "{reported:?}");
        let Some(voter) = digits.iter().position(|digit| *digit + 1 < all.len()) else { return count };
        for earlier in 0..=voter {
            digits[earlier] = if earlier == voter { digits[earlier] + 1 } else { 0 };
            votes[earlier] = Some(cast[digits[earlier]].clone());
        }
    }
    unreachable!("the digits run out")
}

#[test]
fn three_replicas_and_four_operations() {
    assert_eq!(sweep(3, 2, 4), 1 << 16);
    assert_eq!(sweep(3, 3, 4), 1 << 24);
}

#[test]
fn five_replicas_and_two_operations() {
    assert_eq!(sweep(5, 3, 2), 1 << 12);
    assert_eq!(sweep(5, 4, 2), 1 << 16);
    assert_eq!(sweep(5, 5, 2), 1 << 20);
}

#[test]
fn replica_sets_of_one_two_and_four() {
    assert_eq!(sweep(1, 1, 4), 1 << 8);
    assert_eq!(sweep(2, 2, 4), 1 << 16);
    assert_eq!(sweep(4, 3, 2), 1 << 12);
    assert_eq!(sweep(4, 4, 2), 1 << 16);
}

/// Votes from an earlier log view hold other operations: they name nothing, and deny what the later view made.
#[test]
fn votes_of_two_log_views() {
    let places = 2;
    let quorums = Quorums::of(3);
    let logs = [chain(View(1), 2), chain(View(2), 2)];
    let mut combinations = 0;
    for number in 0..32_usize.pow(3) {
        let digits = [number & 31, number >> 5 & 31, number >> 10];
        let late = |digit: usize| digit >> 4 == 1;
        let latest = digits.iter().any(|digit| late(*digit));
        let votes: Vec<Option<DoViewChange>> = digits
            .iter()
            .map(|digit| {
                let log_view = View(1 + u64::from(late(*digit)));
                Some(vote(&logs[usize::from(late(*digit))], log_view, &standings(digit & 15, places)))
            })
            .collect();
        // A vote of the earlier view reports, of what the later one made, nothing.
        let reported: Vec<Vec<Standing>> = digits
            .iter()
            .map(|digit| match late(*digit) == latest {
                true => standings(digit & 15, places),
                false => vec![Standing::Absent; places],
            })
            .collect();
        let reported: Vec<&[Standing]> = reported.iter().map(Vec::as_slice).collect();
        assert_eq!(found(&merge(&votes, quorums)), expected(&reported, quorums, places), "{votes:?}");
        combinations += 1;
    }
    assert_eq!(combinations, 32_768);
}

/// A vote of the latest log view does not know the places in front of an operation that it holds; an earlier log does.
#[test]
fn what_an_operation_follows_is_proved_by_its_checksums() {
    let log = chain(View(1), 4);
    for unknown in 1..=2 {
        let mut latest = vote(&log, View(2), &[Standing::Present; 4]);
        latest.suffix[1..=unknown].fill(SuffixEntry { header: None, standing: Standing::Damaged });
        let earlier = vote(&log, View(1), &vec![Standing::Present; unknown]);
        let chosen = ChosenLog { commit_max: Op::ZERO, headers: log.clone() };
        let verdict = merge(&[Some(latest.clone()), Some(earlier), None], Quorums::of(3));
        assert_eq!(verdict, Verdict::Begin(chosen), "{unknown} unknown");
        let stranger = vote(&chain(View(3), 2), View(1), &[Standing::Present; 2]);
        let verdict = merge(&[Some(latest), Some(stranger), None], Quorums::of(3));
        assert_eq!(verdict, Verdict::Wait(Some(Op(1))), "{unknown} unknown");
    }
}

/// Operations of the latest view can only follow where its log ends: replicas that never took it over deny them.
#[test]
fn an_unproven_end_of_the_latest_log_is_one_once_all_have_voted() {
    let log = chain(View(1), 1);
    let mut torn = vote(&log, View(2), &[]);
    torn.tail = Tail::Unproven;
    let damaged = Some(vote(&log, View(1), &[Standing::Damaged]));
    let chosen = ChosenLog { commit_max: Op::ZERO, headers: log[..1].to_vec() };
    let verdict = merge(&[Some(torn.clone()), damaged.clone(), damaged.clone()], Quorums::of(3));
    assert_eq!(verdict, Verdict::Begin(chosen));
    assert_eq!(merge(&[Some(torn), damaged, None], Quorums::of(3)), Verdict::Wait(Some(Op(1))));
}

/// A log of as many operations as a vote may list may go on where no vote shows it.
#[test]
fn a_log_that_fills_a_vote_does_not_begin() {
    for (places, begins) in [(SUFFIX_MAX - 2, true), (SUFFIX_MAX - 1, false)] {
        let full = vote(&chain(View(1), places as u64), View(1), &vec![Standing::Present; places]);
        let verdict = merge(&[Some(full.clone()), Some(full), None], Quorums::of(3));
        assert_eq!(matches!(verdict, Verdict::Begin(_)), begins, "{places} operations");
    }
}
