//! Making a world that fails smaller: fewer kinds of faults, fewer nodes, fewer requests, less time, as long as it fails.

use crate::plan::Plan;
use crate::run::{Failure, live};

/// The smallest plan found that still fails, with what its judge says.
#[must_use]
pub fn shrink(failure: &Failure) -> Failure {
    let mut smallest = failure.clone();
    while let Some(smaller) = simpler(&smallest.plan).into_iter().find_map(|plan| live(&plan).err()) {
        smallest = smaller;
    }
    smallest
}

/// Plans that are a little simpler, the most simplifying first.
fn simpler(plan: &Plan) -> Vec<Plan> {
    let mut plans = Vec::new();
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
    if plan.drops {
        plans.push(Plan { drops: false, ..plan.clone() });
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
    let requests = plan.requests_max.min(plan.rate * plan.end / 1_000);
    if requests > 1 {
        plans.push(Plan { requests_max: requests / 2, ..plan.clone() });
        plans.push(Plan { requests_max: requests - requests / 8 - 1, ..plan.clone() });
    }
    plans.retain(|simpler| simpler != plan);
    plans
}
