//! Making a world that fails smaller: fewer requests, faults, nodes and clients, as long as it fails.

use std::thread;
use std::time::{Duration, Instant};

use crate::plan::{Draw, Plan};
use crate::replay::command;
use crate::run::{Failure, live};

/// What a world that fails was made into.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The smallest world found that fails, with what its judge says.
    pub failure: Failure,
    /// Whether every simpler world was lived; else there was no time for all.
    pub is_smallest: bool,
}

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// No world is begun that may not end within this time, if it takes as long as the longest so far.
    pub time: Duration,
    /// Worlds lived at a time. They do not change what is found.
    pub threads: usize,
}

/// Makes a world smaller. `told` hears of each smaller one at once, in case that it is all that there will be.
pub fn shrink(failure: &Failure, patience: Patience, mut told: impl FnMut(&Failure)) -> Shrunk {
    let began = Instant::now();
    let mut longest = Duration::ZERO;
    let mut smallest = failure.clone();
    let way = way(&failure.verdict);
    let fails_so = |ended: &Failure| self::way(&ended.verdict) == way;
    // After a success the same is tried once more, and what was in vain before it not before everything else was.
    let (mut next, mut in_vain) = (0, 0);
    loop {
        let plans = simpler(&smallest.plan);
        if in_vain >= plans.len() {
            return Shrunk { failure: smallest, is_smallest: true };
        }
        if began.elapsed() + longest > patience.time {
            return Shrunk { failure: smallest, is_smallest: false };
        }
        let left = (plans.len() - in_vain).min(patience.threads.max(1));
        let tried: Vec<usize> = (next..next + left).map(|index| index % plans.len()).collect();
        let lived = live_each(&tried, &plans);
        longest = lived.iter().map(|(took, _)| *took).fold(longest, Duration::max);
        match tried.iter().zip(lived).find_map(|(index, (_, ended))| Some((*index, ended.filter(fails_so)?)))
        {
            Some((index, smaller)) => {
                told(&smaller);
                smallest = smaller;
                (next, in_vain) = (index, 0);
            }
            None => (next, in_vain) = (next + left, in_vain + left),
        }
    }
}

/// What is told of a world that failed in a test: the verdict on the smallest one found in a minute, and its command.
#[must_use]
pub fn told_small(failure: &Failure, threads: usize) -> String {
    let patience = Patience { time: Duration::from_secs(60), threads };
    let smallest = shrink(failure, patience, |_| {}).failure;
    format!("{}\n{}", smallest.verdict, command(&smallest.plan))
}

/// The way in which a world failed, as its judge begins to tell it, whichever node, group or place it was: a world that is smaller
/// and fails otherwise is another failure.
fn way(verdict: &str) -> String {
    let begins = verdict.split([':', ';']).next().unwrap_or(verdict);
    begins.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

/// How long some worlds took, side by side, and how those ended that failed.
fn live_each(tried: &[usize], plans: &[Plan]) -> Vec<(Duration, Option<Failure>)> {
    let timed = |plan| {
        let began = Instant::now();
        let ended = live(plan).err();
        (began.elapsed(), ended)
    };
    thread::scope(|scope| {
        let lives: Vec<_> = tried.iter().map(|index| scope.spawn(|| timed(&plans[*index]))).collect();
        lives.into_iter().map(|life| life.join().expect("a panic of a world is a failure")).collect()
    })
}

/// Plans that are a little simpler. Fewer requests come first: they make every further world cheaper.
fn simpler(plan: &Plan) -> Vec<Plan> {
    let mut plans = Vec::new();
    let requests = plan.requests_max.min(plan.rate * plan.end / 1_000);
    if requests > 1 {
        plans.push(Plan { requests_max: requests / 2, ..plan.clone() });
        plans.push(Plan { requests_max: requests - requests / 8 - 1, ..plan.clone() });
    }
    if plan.shards.len() > 3 {
        plans.push(Plan {
            shards: plan.shards[..3].to_vec(),
            bad_disk: plan.bad_disk.map(|bad| bad % 3),
            ..plan.clone()
        });
    }
    for index in 0..plan.faults.len() {
        let mut fewer = plan.clone();
        fewer.faults.remove(index);
        plans.push(fewer);
    }
    for index in 0..plan.aims.len() {
        let mut fewer = plan.clone();
        fewer.aims.remove(index);
        plans.push(fewer);
    }
    if plan.damage.len() > 1 {
        plans.extend(plan.damage.iter().map(|damage| Plan { damage: vec![*damage], ..plan.clone() }));
    }
    if plan.draw == Draw::Whole && !plan.damage.is_empty() {
        plans.push(Plan { damage: Vec::new(), ..plan.clone() });
    }
    if plan.drops {
        plans.push(Plan { drops: false, ..plan.clone() });
    }
    if plan.leases {
        plans.push(Plan { leases: false, ..plan.clone() });
    }
    if plan.shards.iter().any(|shards| *shards > 1) {
        plans.push(Plan { shards: vec![1; plan.shards.len()], ..plan.clone() });
    }
    if plan.partitions > 1 {
        plans.push(Plan { partitions: 1, ..plan.clone() });
    }
    if plan.registrants + plan.producers > 1 {
        plans.push(Plan {
            registrants: plan.registrants / 2,
            producers: plan.producers.div_ceil(2),
            ..plan.clone()
        });
    }
    plans.retain(|simpler| simpler != plan);
    plans
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Fault;

    /// A world that cannot be: whichever fault comes first looks for a node and finds none.
    fn failing() -> Failure {
        let plan = Plan {
            shards: Vec::new(),
            faults: vec![Fault::Kill, Fault::Pause],
            ..Plan::draw(Draw::Dense, 1, Some(3))
        };
        live(&plan).expect_err("a cluster without nodes")
    }

    #[test]
    fn without_time_the_world_is_left_as_it_is() {
        let failure = failing();
        let none = Patience { time: Duration::ZERO, threads: 2 };
        let shrunk = shrink(&failure, none, |smaller| panic!("there was no time for {smaller:?}"));
        assert!(!shrunk.is_smallest);
        assert_eq!(shrunk.failure.plan, failure.plan);
    }

    #[test]
    fn another_failure_is_no_smaller_one() {
        let told = "node 2 executes op 152 of group 4100 otherwise: PrepareHeader";
        assert_eq!(way(told), way("node 0 executes op 7 of group 4096 otherwise: something else"));
        assert_ne!(way(told), way("client 3 still waits at the end: Client"));
    }

    #[test]
    fn threads_do_not_change_what_is_found() {
        let failure = failing();
        let found = [1, 3].map(|threads| {
            let patience = Patience { time: Duration::MAX, threads };
            let mut told = Vec::new();
            let shrunk = shrink(&failure, patience, |smaller| told.push(smaller.plan.clone()));
            assert!(shrunk.is_smallest);
            assert_eq!(told.last(), Some(&shrunk.failure.plan), "the last one that was told of");
            shrunk.failure.plan
        });
        assert_eq!(found[0], found[1]);
        assert_eq!((found[0].requests_max, found[0].faults.len()), (1, 1), "{:?}", found[0]);
    }
}
