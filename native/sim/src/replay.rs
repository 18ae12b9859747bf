//! A plan as words of a command line, and back: what is told of a world that fails is all that it takes to live it again.

use std::fmt::Debug;
use std::num::ParseIntError;

use crate::aims::{self, Aim};
use crate::damage::Damage;
use crate::plan::{Draw, Fault, Plan};
use crate::plants::Plant;

/// More nodes than any quorum of ours has.
const NODES_MAX: usize = 9;

/// More shards and groups than make a world that ends.
const SHARDS_MAX: u16 = 64;
const PARTITIONS_MAX: u64 = 4_096;
const RATE_MAX: u64 = 100_000;

/// The one command that lives this very world again.
#[must_use]
pub fn command(plan: &Plan) -> String {
    let features = if plan.plant.is_some() { " --features plants" } else { "" };
    format!("cargo run --profile ci -p ng-sim{features} -- --replay {}", words(plan))
}

/// Every choice of a plan that shrinking or the command line may have made.
#[must_use]
pub fn words(plan: &Plan) -> String {
    let shards: Vec<String> = plan.shards.iter().map(u16::to_string).collect();
    let mut words = format!(
        "--draw {} --seed {} --shards {} --faults {} --between-faults {} --rate {} --partitions {} --registrants {} \
         --producers {} --requests {} --drops {} --leases {} --bad-disk {} --damage {} --aims {}",
        plan.draw.name(),
        plan.seed,
        shards.join(","),
        if plan.faults.is_empty() { "none".to_owned() } else { list(&plan.faults) },
        plan.between_faults,
        plan.rate,
        plan.partitions,
        plan.registrants,
        plan.producers,
        if plan.requests_max == u64::MAX { "all".to_owned() } else { plan.requests_max.to_string() },
        if plan.drops { "yes" } else { "no" },
        if plan.leases { "yes" } else { "no" },
        plan.bad_disk.map_or("none".to_owned(), |bad| bad.to_string()),
        if plan.damage.is_empty() { "none".to_owned() } else { list(&plan.damage) },
        if plan.aims.is_empty() { "none".to_owned() } else { listed(&plan.aims) },
    );
    if let Some(plant) = plan.plant {
        words.push_str(&format!(" --plant {plant:?}"));
    }
    words
}

/// Makes one choice; false if the word is none of a plan.
pub fn change(plan: &mut Plan, word: &str, value: &str) -> Result<bool, String> {
    let bad = |fault: ParseIntError| format!("{word} cannot be {value:?}: {fault}");
    match word {
        "--shards" => {
            plan.shards =
                value.split(',').map(|count| count.parse().map_err(bad)).collect::<Result<_, _>>()?;
            plan.bad_disk = plan.bad_disk.filter(|bad| usize::from(*bad) < plan.shards.len());
            plan.damage.retain(|_| plan.shards.len() == 1);
        }
        "--faults" => plan.faults = named_ones(value, plan.draw.faults())?,
        "--between-faults" => plan.between_faults = value.parse().map_err(bad)?,
        "--rate" => plan.rate = value.parse().map_err(bad)?,
        "--partitions" => plan.partitions = value.parse().map_err(bad)?,
        "--registrants" => plan.registrants = value.parse().map_err(bad)?,
        "--producers" => plan.producers = value.parse().map_err(bad)?,
        "--requests" if value == "all" => plan.requests_max = u64::MAX,
        "--requests" => plan.requests_max = value.parse().map_err(bad)?,
        "--drops" => plan.drops = is_yes(word, value)?,
        "--leases" => plan.leases = is_yes(word, value)?,
        "--bad-disk" if value == "none" => plan.bad_disk = None,
        "--bad-disk" => plan.bad_disk = Some(value.parse().map_err(bad)?),
        "--damage" => plan.damage = named_ones(value, &Damage::ALL)?,
        "--aims" => plan.aims = aims::named(value, plan)?,
        "--plant" => plan.plant = Some(plant(value)?),
        _ => return Ok(false),
    }
    Ok(true)
}

fn is_yes(word: &str, value: &str) -> Result<bool, String> {
    match value {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(format!("{word} is yes or no, not {value:?}")),
    }
}

/// The bug of a name, in a build that can plant it.
pub fn plant(name: &str) -> Result<Plant, String> {
    let plant = Plant::named(name).map_err(|unknown| unknown.to_string())?;
    if cfg!(feature = "plants") {
        return Ok(plant);
    }
    Err("this build can plant no bugs: build it with --features plants".to_owned())
}

/// Whether such a world can be; else why not.
pub fn check(plan: &Plan) -> Result<(), String> {
    let nodes = plan.shards.len();
    let flaw = if !(1..=NODES_MAX).contains(&nodes) {
        format!("a world has 1 to {NODES_MAX} nodes, not {nodes}")
    } else if plan.shards.iter().any(|shards| !(1..=SHARDS_MAX).contains(shards)) {
        format!("a node has 1 to {SHARDS_MAX} shards")
    } else if !(1..=PARTITIONS_MAX).contains(&plan.partitions) {
        format!("a world has 1 to {PARTITIONS_MAX} partitions, not {}", plan.partitions)
    } else if plan.registrants + plan.producers == 0 {
        "a world needs a client".to_owned()
    } else if plan.between_faults == 0 {
        "between two faults passes at least a millisecond".to_owned()
    } else if !(1..=RATE_MAX).contains(&plan.rate) {
        format!("clients send 1 to {RATE_MAX} requests per second, not {}", plan.rate)
    } else if plan.bad_disk.is_some_and(|bad| usize::from(bad) >= nodes) {
        format!("the bad disk is that of a node from 0 to {}", nodes - 1)
    } else if nodes > 1 && plan.draw == Draw::Whole {
        "a whole node is alone".to_owned()
    } else if plan.leases && plan.draw != Draw::Whole {
        "only a whole node has leases".to_owned()
    } else if nodes > 1 && !plan.damage.is_empty() {
        "a file is damaged in worlds of one node: another node would repair it".to_owned()
    } else if let Some(fault) = destroyer(plan).filter(|_| nodes < 3) {
        format!("{fault:?} takes away what was synced: it needs three nodes")
    } else if let Some(fault) = destroyer(plan).filter(|_| plan.bad_disk.is_none()) {
        format!("{fault:?} takes away what was synced: it needs a --bad-disk")
    } else {
        return Ok(());
    };
    Err(flaw)
}

/// A kind of fault that only a bad disk may have.
fn destroyer(plan: &Plan) -> Option<Fault> {
    plan.faults.iter().copied().find(|fault| fault.needs_bad_disk(plan.shards.len()))
}

/// Gives a world with faults of a bad disk one, if nothing was said of it.
pub fn give_bad_disk(plan: &mut Plan) {
    if plan.bad_disk.is_none() && destroyer(plan).is_some() {
        plan.bad_disk = u8::try_from(plan.seed % u64::from(plan.nodes().max(1))).ok();
    }
}

fn listed(aims: &[Aim]) -> String {
    let words: Vec<String> = aims.iter().map(Aim::to_string).collect();
    words.join(",")
}

fn list<T: Debug>(kinds: &[T]) -> String {
    let names: Vec<String> = kinds.iter().map(|kind| format!("{kind:?}")).collect();
    names.join(",")
}

fn named_ones<T: Copy + Debug>(value: &str, all: &[T]) -> Result<Vec<T>, String> {
    let named = |name: &str| {
        let found = all.iter().copied().find(|kind| format!("{kind:?}") == name);
        found.ok_or_else(|| format!("there is no fault {name:?}; these are known: {all:?}"))
    };
    match value {
        "none" => Ok(Vec::new()),
        "all" => Ok(all.to_vec()),
        names => names.split(',').map(named).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(words: &str) -> Plan {
        let words: Vec<&str> = words.split(' ').collect();
        let (pairs, rest) = words.as_chunks::<2>();
        assert!(rest.is_empty(), "a word without a value");
        let seed =
            pairs.iter().find(|[word, _]| *word == "--seed").expect("a seed")[1].parse().expect("a number");
        let draw = pairs.iter().find(|[word, _]| *word == "--draw").expect("a draw")[1];
        let mut plan = Plan::draw(Draw::named(draw).expect("a name"), seed, None);
        for [word, value] in pairs.iter().filter(|[word, _]| !["--draw", "--seed"].contains(word)) {
            assert_eq!(change(&mut plan, word, value), Ok(true), "{word} {value}");
        }
        plan
    }

    #[test]
    fn words_say_all_of_a_plan() {
        for seed in 0..200 {
            let nodes = [None, Some(1), Some(3), Some(5)][usize::try_from(seed % 4).expect("below four")];
            let draw = Draw::ALL[usize::try_from(seed / 4 % 4).expect("below four")];
            let mut plan = Plan::draw(draw, seed, nodes);
            assert_eq!(back(&words(&plan)), plan);
            assert_eq!(check(&plan), Ok(()));
            plan.faults.truncate(1);
            plan.requests_max = seed;
            plan.drops = !plan.drops;
            plan.rate += 1;
            plan.shards = vec![1, 2];
            plan.bad_disk = None;
            assert_eq!(back(&words(&plan)), plan);
        }
    }

    #[test]
    fn a_bug_is_planted_only_where_it_can_be() {
        let planted = change(&mut Plan::draw(Draw::Calm, 1, None), "--plant", "SmallQuorum");
        assert_eq!(planted.is_ok(), cfg!(feature = "plants"));
    }
}
