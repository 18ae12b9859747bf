//! Worlds of one whole node hold, and the same seed is the same world.

use ng_sim::plan::{Draw, Fault, Plan};
use ng_sim::replay::command;
use ng_sim::run::{live, live_many};
use ng_sim::shrink::told_small;

/// Seeds of the short form; `NG_SIM_SEED` and `NG_SIM_SEEDS` choose others, or more.
const SEEDS: u64 = 200;

/// Seeds that failed once, while nothing was deleted but topics and partitions: a batch took along an offset that an earlier
/// operation had overtaken (43, 46, 215); an orderly stop left offsets behind that polls had committed (193, 512).
const FAILED: [u64; 5] = [43, 46, 193, 215, 512];

/// Seeds that failed once where segments and offsets are deleted: the offset of a poll that commits could not be deleted before
/// the log had it (5, 11, 12); a poll was refused as damaged while everything that it had to read expired (1307).
const FAILED_DELETING: [u64; 4] = [5, 11, 12, 1307];

fn chosen(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn random_whole_nodes_hold() {
    let (first, seeds) = (chosen("NG_SIM_SEED", 1), chosen("NG_SIM_SEEDS", SEEDS));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let summary = live_many(first..first + seeds, threads, |seed| Plan::draw(Draw::Whole, seed, None), ());
    assert_eq!(summary.worlds, seeds);
    assert!(summary.acknowledged > 100 * seeds, "worlds in which something happens: {summary:?}");
    assert!(summary.restarts > 2 * seeds, "each starts again: {summary:?}");
    let told = summary.failures.first().map(|failure| told_small(failure, threads));
    assert_eq!(told, None, "{} of {seeds} worlds fail", summary.failures.len());
}

#[test]
fn whole_nodes_that_failed_once_hold() {
    let deleting = FAILED_DELETING.into_iter().map(|seed| (seed, true));
    for (seed, drops) in FAILED.into_iter().map(|seed| (seed, false)).chain(deleting) {
        for faults in [None, Some(Vec::new())] {
            let drawn = Plan::draw(Draw::Whole, seed, None);
            let quick = || drawn.faults.iter().copied().filter(|fault| *fault != Fault::SlowDisk).collect();
            let faults = faults.unwrap_or_else(quick);
            let plan = Plan { faults, drops, leases: false, damage: Vec::new(), ..drawn };
            let ended = live(&plan).map_err(|failure| failure.verdict);
            assert_eq!(ended.err(), None, "{}", command(&plan));
        }
    }
}

#[test]
fn a_seed_is_one_whole_world() {
    let live_once = |seed| {
        let plan = Plan { faults: Fault::OF_WHOLE.to_vec(), ..Plan::draw(Draw::Whole, seed, None) };
        live(&plan).map_err(|failure| failure.verdict).expect("it holds")
    };
    for seed in 1..=5 {
        assert_eq!(live_once(seed), live_once(seed));
    }
}
