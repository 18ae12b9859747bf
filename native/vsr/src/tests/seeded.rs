//! Random worlds: nothing acknowledged is lost, all replicas execute the same, and all come to rest.

use super::world::{Ending, World};
use crate::plant::Plant;

/// So many failures are enough of a story.
const FAILURES_MAX: usize = 3;

/// A world of 1, 3 or 5 replicas; the message names the seed.
fn run(seed: u64, planted: Option<Plant>) -> Result<(usize, Ending), String> {
    let replicas = [3, 3, 5, 1][usize::try_from(seed % 4).expect("below four")];
    let mut world = World::new(seed, replicas, planted);
    let story = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.run()))
        .unwrap_or_else(|_| Err("a replica panicked".into()));
    let ending = story.map_err(|story| format!("seed {seed}, {replicas} replicas: {story}"))?;
    Ok((world.judge.acknowledged(), ending))
}

/// The first world that fails, with its story.
pub(crate) fn first_failure(mut seeds: impl Iterator<Item = u64>, planted: Option<Plant>) -> Option<String> {
    seeds.find_map(|seed| run(seed, planted).err())
}

/// A number from the environment: `NG_VSR_SEED` and `NG_VSR_SEEDS` choose other worlds, or more.
fn chosen(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn random_worlds() {
    let (first, count) = (chosen("NG_VSR_SEED", 1), chosen("NG_VSR_SEEDS", 6_000));
    let (mut failures, mut acknowledged, mut halts, mut lived) = (Vec::new(), 0, 0, 0);
    for seed in first..first + count {
        match run(seed, None) {
            Ok((requests, ending)) => {
                acknowledged += requests;
                halts += usize::from(ending == Ending::Halt);
            }
            Err(failure) => failures.push(failure),
        }
        lived += 1;
        // A defect often fails every world, and slowly.
        if failures.len() == FAILURES_MAX {
            break;
        }
    }
    println!("{lived} worlds, {acknowledged} acknowledged requests, {halts} halts");
    assert!(failures.is_empty(), "{} of {lived} fail: {failures:#?}", failures.len());
    assert!(halts <= 1 + lived / 20, "a halt is rare");
}
