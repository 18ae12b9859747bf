//! The log of a new view, merged from votes place by place.
//!
//! Only the votes of the latest log view name operations. A named operation stays if it is committed or a copy
//! was reported; it goes, with all that follows, only if so many replicas deny having acknowledged it that the
//! others are no replication quorum. Where neither can be said, the merge waits for more votes: silence,
//! damage and disagreement are never a "no".

use ng_wire::replica::{DoViewChange, Op, PrepareHeader, SUFFIX_MAX, Standing, SuffixEntry};

use crate::quorum::Quorums;

/// What the votes say together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The view begins with this log.
    Begin(ChosenLog),
    /// There are too few votes, or they leave the operation at this place undecided.
    Wait(Option<Op>),
}

/// The log a view begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChosenLog {
    pub(crate) commit_max: Op,
    /// From an executed operation to the head, each the parent of the next.
    pub(crate) headers: Vec<PrepareHeader>,
}

/// What the votes of the latest log view say about a place.
enum Named {
    One(PrepareHeader),
    Nothing,
    Conflict,
}

/// Merges votes, one place in `votes` for each replica.
pub(crate) fn merge(votes: &[Option<DoViewChange>], quorums: Quorums) -> Verdict {
    let cast: Vec<&DoViewChange> = votes.iter().flatten().collect();
    let Some(log_view) = cast.iter().map(|vote| vote.log_view).max() else { return Verdict::Wait(None) };
    if cast.len() < usize::from(quorums.view_change) {
        return Verdict::Wait(None);
    }
    let all_voted = cast.len() == usize::from(quorums.replicas);
    let commit_max = cast.iter().map(|vote| vote.commit_max.max(vote.commit_min)).max().unwrap_or_default();
    let canonical: Vec<&DoViewChange> =
        cast.iter().copied().filter(|vote| vote.log_view == log_view).collect();
    // What anyone executed is in every later log.
    let anchor = cast.iter().max_by_key(|vote| vote.commit_min).and_then(|vote| vote.suffix.first()?.header);
    let Some(mut last) = anchor else { return Verdict::Wait(None) };

    let mut headers = vec![last];
    while headers.len() < SUFFIX_MAX {
        let op = last.op.next();
        let named = match named(&canonical, op) {
            Named::One(header) if header.parent == last.checksum => Some(header),
            Named::Nothing => implied(votes, &canonical, &last),
            Named::One(_) | Named::Conflict => return Verdict::Wait(Some(op)),
        };
        if let Some(header) = named
            && (op <= commit_max || cast.iter().any(|vote| holds(vote, &header)))
        {
            headers.push(header);
            last = header;
            continue;
        }
        // Where a log of the latest view provably ends, only operations of that view can follow, and a replica
        // that never took the view over acknowledged none of them, whatever else it holds there.
        let ends = canonical.iter().any(|vote| match standing(vote, op) {
            Some(Standing::Absent) => true,
            Some(Standing::Unproven) => all_voted,
            _ => false,
        });
        let denials = cast
            .iter()
            .filter(|vote| (ends && vote.log_view < log_view) || denies(vote, op, named.as_ref(), all_voted))
            .count();
        if op <= commit_max || denials < usize::from(quorums.nack) {
            return Verdict::Wait(Some(op));
        }
        return Verdict::Begin(ChosenLog { commit_max, headers });
    }
    Verdict::Wait(Some(last.op.next()))
}

/// A header that hashes to `checksum` at a place, whoever knows it: the hash is proof enough.
pub(crate) fn header_by_checksum(
    votes: &[Option<DoViewChange>],
    op: Op,
    checksum: u128,
) -> Option<PrepareHeader> {
    votes
        .iter()
        .flatten()
        .filter_map(|vote| entry(vote, op)?.header)
        .find(|header| header.checksum == checksum)
}

fn entry(vote: &DoViewChange, op: Op) -> Option<SuffixEntry> {
    let index = usize::try_from(op.0.checked_sub(vote.commit_min.0)?).ok()?;
    vote.suffix.get(index).copied()
}

fn named(canonical: &[&DoViewChange], op: Op) -> Named {
    let mut found = Named::Nothing;
    for header in canonical.iter().filter_map(|vote| entry(vote, op)?.header) {
        match found {
            Named::One(other) if other.checksum != header.checksum => return Named::Conflict,
            _ => found = Named::One(header),
        }
    }
    found
}

/// What stands after `last` where no log of the latest view knows it: it is proved by leading, link by link, to
/// an operation that one of them names further on.
fn implied(
    votes: &[Option<DoViewChange>],
    canonical: &[&DoViewChange],
    last: &PrepareHeader,
) -> Option<PrepareHeader> {
    let later = canonical
        .iter()
        .filter_map(|vote| {
            vote.suffix.iter().filter_map(|entry| entry.header).find(|header| header.op > last.op)
        })
        .min_by_key(|header| header.op)?;
    let mut header = later;
    while header.op > last.op.next() {
        header = header_by_checksum(votes, header.op.previous(), header.parent)?;
    }
    (header.parent == last.checksum).then_some(header)
}

fn holds(vote: &DoViewChange, header: &PrepareHeader) -> bool {
    entry(vote, header.op).is_some_and(|entry| {
        entry.standing == Standing::Present
            && entry.header.is_some_and(|held| held.checksum == header.checksum)
    })
}

/// Whether a vote proves that its sender never acknowledged what stands at `op`: the named operation, or
/// anything at all where nobody names one.
fn denies(vote: &DoViewChange, op: Op, named: Option<&PrepareHeader>, all_voted: bool) -> bool {
    let held = entry(vote, op).and_then(|entry| entry.header);
    let another = matches!((named, held), (Some(named), Some(held)) if named.checksum != held.checksum);
    match standing(vote, op) {
        None => false,
        Some(Standing::Absent | Standing::HeaderOnly) => true,
        Some(Standing::Unproven) => another || all_voted,
        Some(Standing::Damaged | Standing::Present) => another,
    }
}

/// What a vote says of a place; nothing of those in front of what its sender executed.
fn standing(vote: &DoViewChange, op: Op) -> Option<Standing> {
    if op < vote.commit_min {
        return None;
    }
    Some(entry(vote, op).map_or(vote.tail.standing(), |entry| entry.standing))
}
