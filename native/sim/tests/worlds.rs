//! Worlds of many seeds hold what the judges ask for, and the same seed is the same world.

use ng_sim::damage::{Damage, Ending, FileKind};
use ng_sim::plan::{Draw, Fault, Plan};
use ng_sim::replay::command;
use ng_sim::run::{Failure, Summary, live, live_many, tell};
use ng_sim::shrink::told_small;

/// Seeds of the short form, of storms and of calm worlds alike; `NG_SIM_SEED` and `NG_SIM_SEEDS` choose others, or more.
const SEEDS: u64 = 500;

fn chosen(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn random_worlds_hold(draw: Draw) -> Summary {
    let (first, seeds) = (chosen("NG_SIM_SEED", 1), chosen("NG_SIM_SEEDS", SEEDS));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let summary = live_many(first..first + seeds, threads, |seed| Plan::draw(draw, seed, None), ());
    assert_eq!(summary.worlds, seeds);
    assert!(summary.acknowledged > 100 * seeds, "worlds in which something happens: {summary:?}");
    let told = summary.failures.first().map(|failure| told_small(failure, threads));
    assert_eq!(told, None, "{} of {seeds} worlds fail", summary.failures.len());
    summary
}

#[test]
fn random_storms_hold_and_strike_at_every_step() {
    let summary = random_worlds_hold(Draw::Storm);
    if summary.worlds >= SEEDS {
        assert_eq!(summary.tally.missed(), []);
    }
}

#[test]
fn random_calm_worlds_hold() {
    random_worlds_hold(Draw::Calm);
}

/// Worlds of one node with damage of a file. Seed 93 cuts the end of a block's last page.
#[test]
fn damage_is_repaired_fenced_or_refused() {
    let first = chosen("NG_SIM_SEED", 1);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let plan = |seed| Plan { damage: Damage::ALL.to_vec(), ..Plan::draw(Draw::Calm, seed, Some(1)) };
    let summary = live_many(first..first + 300, threads, plan, ());
    let told = summary.failures.first().map(|failure| told_small(failure, threads));
    assert_eq!(told, None, "{} of 300 worlds fail", summary.failures.len());
    for file_kind in FileKind::ALL {
        assert!(summary.damage.keys().any(|cell| cell.file_kind == file_kind), "{file_kind:?}: {summary:?}");
    }
    for ending in [Ending::Repaired, Ending::Fenced, Ending::Accepted, Ending::Restored] {
        assert!(summary.damage.keys().any(|cell| cell.ending == ending), "{ending:?}: {summary:?}");
    }
}

/// Seeds of damage that failed once. In 5708 the node took what was left of an accepted loss for another one; in 908 and 2857 it
/// served a segment of another partition.
#[test]
fn damage_that_failed_once_holds() {
    for seed in [908, 2_857, 5_708] {
        let ended = live(&Plan { damage: Damage::ALL.to_vec(), ..Plan::draw(Draw::Calm, seed, Some(1)) });
        assert!(ended.is_ok(), "seed {seed}: {:?}", ended.map_err(|failure| failure.verdict));
    }
}

/// Seeds that failed once, each for a reason of its own or in a way of its own, when every message stayed.
const FAILED_ONCE: [u64; 19] = [
    2032, 2984, 3035, 3158, 3481, 3507, 3703, 3828, 4933, 7139, 7981, 9625, 11_029, 11_938, 13_563, 54_416,
    500_817, 7_013_710, 9_002_765,
];

/// Seeds that failed once when messages went.
const FAILED_DROPPING: [u64; 8] =
    [300_298, 300_334, 300_345, 300_692, 301_076, 4_022_506, 6_013_584, 539_271_398];

#[test]
fn worlds_that_failed_once_hold() {
    for seed in FAILED_DROPPING {
        let ended = live(&Plan { drops: true, ..Plan::draw(Draw::Calm, seed, None) });
        assert!(ended.is_ok(), "seed {seed}: {:?}", ended.map_err(|failure| failure.verdict));
    }
    for seed in FAILED_ONCE {
        let ended = live(&Plan { drops: false, ..Plan::draw(Draw::Calm, seed, None) });
        assert!(ended.is_ok(), "seed {seed}: {:?}", ended.map_err(|failure| failure.verdict));
    }
}

/// Seeds of dense worlds that failed once.
const FAILED_DENSE: [u64; 22] = [
    940_321, 920_300, 920_365, 931_448, 940_844, 930_318, 930_379, 930_416, 930_419, 930_563, 930_699,
    930_915, 931_491, 940_800, 941_062, 941_114, 950_030, 950_761, 952_271, 960_407, 961_552, 961_763,
];

#[test]
fn dense_worlds_that_failed_once_hold() {
    let failed = FAILED_DENSE
        .into_iter()
        .filter_map(|seed| live(&Plan { damage: Vec::new(), ..Plan::draw(Draw::Dense, seed, None) }).err());
    let told: Vec<String> =
        failed.map(|failure| format!("{}\n{}", failure.verdict, command(&failure.plan))).collect();
    assert!(told.is_empty(), "{} fail:\n{}", told.len(), told.join("\n"));
}

/// Seeds of storms that failed once: replicas that asked for a state and were sent a prepare; rings of a journal that refused a
/// batch and did not grow; journals of backups full of operations that came out of order; repair that asked for more than may
/// be prepared; backups that waited for a timer whenever a prepare had found no room; senders of states that had no place for one
/// more and did not say so; 103264 is slow because its journals hold four batches. They had no aims then.
const FAILED_STORMS: [u64; 25] = [
    1175, 1335, 1390, 1476, 1477, 2405, 2460, 3621, 3948, 1203, 2287, 2332, 2406, 2523, 2991, 3460, 3782,
    145, 20_147, 24_518, 25_706, 11_806, 25_810, 458, 103_264,
];

#[test]
fn storms_that_failed_once_hold() {
    let failed = FAILED_STORMS
        .into_iter()
        .filter_map(|seed| live(&Plan { aims: Vec::new(), ..Plan::draw(Draw::Storm, seed, None) }).err());
    let told: Vec<String> =
        failed.map(|failure| format!("{}\n{}", failure.verdict, command(&failure.plan))).collect();
    assert!(told.is_empty(), "{} fail:\n{}", told.len(), told.join("\n"));
}

/// Seeds of storms with aims that failed once: power cuts that lost the name of the data directory; a halted group
/// that did not say so (401383).
const FAILED_AIMED: [u64; 4] = [200_710, 201_169, 201_225, 401_383];

#[test]
fn aimed_storms_that_failed_once_hold() {
    for seed in FAILED_AIMED {
        let plan = Plan::draw(Draw::Storm, seed, None);
        assert!(!plan.aims.is_empty(), "seed {seed} has aims");
        let ended = live(&plan);
        assert!(ended.is_ok(), "seed {seed}: {:?}", ended.map_err(|failure| failure.verdict));
    }
}

/// The bad disk rots all the time while views come and go: more often than not what it loses is the record of a view.
#[test]
fn views_survive_a_disk_that_rots_as_they_change() {
    for seed in (1..=12).chain([142, 385, 2017]) {
        let faults = vec![Fault::Rot, Fault::Cut, Fault::Kill, Fault::PowerCut, Fault::Loss];
        let drawn = Plan { drops: false, ..Plan::draw(Draw::Calm, seed, Some(3)) };
        let bad_disk = drawn.bad_disk.or(Some(0));
        let ended = live(&Plan { faults, between_faults: 150, bad_disk, ..drawn });
        assert!(ended.is_ok(), "seed {seed}: {:?}", ended.map_err(|failure| failure.verdict));
    }
}

#[test]
fn the_same_seed_is_the_same_world() {
    let plans = |draw| (1..=20).map(move |seed| Plan::draw(draw, seed, None));
    for plan in plans(Draw::Calm).chain(plans(Draw::Storm)) {
        let seed = plan.seed;
        let (story, ended) = tell(&plan);
        let (again, ended_again) = tell(&plan);
        let outcome = |ended: Result<_, Failure>| ended.map_err(|failure| failure.verdict);
        let (ended, ended_again) = (outcome(ended), outcome(ended_again));
        assert_eq!(ended, ended_again, "seed {seed}");
        assert!(story == again, "seed {seed} tells two stories");
        assert_eq!(outcome(live(&plan)), ended, "seed {seed}, told or not");
    }
}

#[test]
fn another_seed_is_another_world() {
    let traces: Vec<_> =
        (1..=5).filter_map(|seed| Some(live(&Plan::draw(Draw::Calm, seed, Some(3))).ok()?.trace)).collect();
    assert!(traces.windows(2).all(|pair| pair[0] != pair[1]), "{traces:?}");
}
