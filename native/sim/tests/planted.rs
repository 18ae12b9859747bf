//! Every planted bug is found, by worlds that hold without it.
#![cfg(feature = "plants")]

use std::time::Duration;

use ng_sim::damage::Damage;
use ng_sim::plan::Fault::{
    self, Cut, FullDisk, Kill, Loss, PowerCut, Reordering, Rot, SlowDisk, Wipe, WriteError,
};
use ng_sim::plan::{Draw, Plan};
use ng_sim::plants::Plant;
use ng_sim::replay::command;
use ng_sim::run::{Failure, live};
use ng_sim::shrink::{Patience, shrink};

/// Worlds from the recorded seed on, of which one must find the bug; `NG_SIM_PLANT_SEED` and
/// `NG_SIM_PLANT_WORLDS` choose others, or more.
const WORLDS: u64 = 20;

/// A bug, a seed that found it, and what was not drawn.
struct Found {
    plant: Plant,
    seed: u64,
    stage: Option<&'static Stage>,
}

/// Nodes, kinds of faults and milliseconds between two, for a bug that needs more of them than a world has on average; or
/// damage of a file.
struct Stage {
    nodes: u8,
    faults: &'static [Fault],
    between_faults: u64,
    damage: &'static [Damage],
}

const QUARREL: Stage = Stage { nodes: 3, faults: &[Kill, Cut, Loss], between_faults: 150, damage: &[] };
const DARKNESS: Stage = Stage { nodes: 1, faults: &[PowerCut], between_faults: 150, damage: &[] };
const ROTTEN: Stage = Stage { nodes: 3, faults: &[Rot, PowerCut], between_faults: 100, damage: &[] };
const REPLACED: Stage =
    Stage { nodes: 3, faults: &[Wipe, PowerCut, Kill, Loss, Reordering], between_faults: 150, damage: &[] };
const FAILING: Stage = Stage { nodes: 3, faults: &[WriteError], between_faults: 700, damage: &[] };
const CRAMPED: Stage = Stage { nodes: 1, faults: &[Kill, FullDisk], between_faults: 2_000, damage: &[] };
const SPOILT: Stage = Stage { nodes: 1, faults: &[], between_faults: 1_000, damage: &Damage::ALL };

const FOUND: [Found; Plant::ALL.len()] = [
    Found { plant: Plant::AckBeforeSync, seed: 3, stage: Some(&DARKNESS) },
    Found { plant: Plant::TruncateOnDamage, seed: 81, stage: Some(&ROTTEN) },
    Found { plant: Plant::ReusedOffset, seed: 1, stage: None },
    Found { plant: Plant::NoParentCheck, seed: 2, stage: Some(&QUARREL) },
    Found { plant: Plant::VoteAfterWipe, seed: 24, stage: Some(&REPLACED) },
    Found { plant: Plant::ResumedView, seed: 1, stage: Some(&FAILING) },
    Found { plant: Plant::EvictionOrder, seed: 2, stage: None },
    Found { plant: Plant::ApplyOnPrepare, seed: 1, stage: Some(&QUARREL) },
    Found { plant: Plant::LostDuplicate, seed: 1, stage: None },
    Found { plant: Plant::UnsyncedView, seed: 4, stage: Some(&QUARREL) },
    Found { plant: Plant::IndexTrusted, seed: 1, stage: Some(&DARKNESS) },
    Found { plant: Plant::RingReusedEarly, seed: 3, stage: Some(&CRAMPED) },
    Found { plant: Plant::SmallQuorum, seed: 1, stage: Some(&QUARREL) },
    Found { plant: Plant::UnfencedSurvey, seed: 8, stage: Some(&SPOILT) },
    Found { plant: Plant::StaleOffsets, seed: 24, stage: None },
    Found { plant: Plant::HastyStop, seed: 193, stage: None },
    Found { plant: Plant::KeptEntry, seed: 436, stage: None },
    Found { plant: Plant::LostFrame, seed: 9, stage: None },
    Found { plant: Plant::EarlyAnswer, seed: 311, stage: None },
    Found { plant: Plant::KeptOffsets, seed: 5, stage: None },
    Found { plant: Plant::GreedyTruncation, seed: 1, stage: None },
    Found { plant: Plant::EagerExpiry, seed: 1, stage: None },
    Found { plant: Plant::EarlyCut, seed: 4, stage: None },
    Found { plant: Plant::CachedInputs, seed: 102, stage: None },
];

fn chosen(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

impl Found {
    /// The world of a seed, in which every message stays unless the bug is in what goes: so the seeds were recorded.
    fn plan(&self, seed: u64) -> Plan {
        if self.plant.is_of_whole() {
            let drawn = Plan::draw(Draw::Whole, seed, None);
            let is_in_drops =
                matches!(self.plant, Plant::KeptOffsets | Plant::GreedyTruncation | Plant::EagerExpiry);
            let is_in_leases = matches!(self.plant, Plant::EarlyCut | Plant::CachedInputs);
            let (drops, leases) = (drawn.drops && is_in_drops, drawn.leases && is_in_leases);
            let faults = drawn.faults.iter().copied().filter(|fault| *fault != SlowDisk).collect();
            return Plan { drops, leases, faults, damage: Vec::new(), ..drawn };
        }
        let Some(stage) = self.stage else {
            return Plan { drops: false, ..Plan::draw(Draw::Calm, seed, None) };
        };
        let bad_disk = stage.faults.iter().any(|fault| matches!(fault, Rot | Wipe));
        let bad_disk = bad_disk.then_some(u8::try_from(seed % 3).expect("below three"));
        let drawn = Plan { drops: false, ..Plan::draw(Draw::Calm, seed, Some(stage.nodes)) };
        let (faults, damage) = (stage.faults.to_vec(), stage.damage.to_vec());
        Plan { faults, between_faults: stage.between_faults, damage, bad_disk, ..drawn }
    }

    /// The first world that fails for the bug, and holds without it.
    fn failure(&self) -> Option<Failure> {
        let (first, worlds) = (chosen("NG_SIM_PLANT_SEED", self.seed), chosen("NG_SIM_PLANT_WORLDS", WORLDS));
        (first..first + worlds).find_map(|seed| {
            let sound = self.plan(seed);
            let failure = live(&Plan { plant: Some(self.plant), ..sound.clone() }).err()?;
            live(&sound).ok().map(|_| failure)
        })
    }
}

fn is_found(plant: Plant) {
    let found = FOUND.iter().find(|found| found.plant == plant).expect("a row of the table");
    let failure = found.failure();
    assert!(failure.is_some(), "{plant:?} survives the worlds from seed {}", found.seed);
}

macro_rules! each_is_found {
    ($($test:ident: $plant:ident),* $(,)?) => {
        $(#[test]
        fn $test() {
            is_found(Plant::$plant);
        })*

        #[test]
        fn every_bug_has_its_test() {
            let tested = [$(Plant::$plant),*];
            assert!(Plant::ALL.iter().all(|plant| tested.contains(plant)));
        }
    };
}

each_is_found! {
    ack_before_sync: AckBeforeSync,
    truncate_on_damage: TruncateOnDamage,
    reused_offset: ReusedOffset,
    no_parent_check: NoParentCheck,
    vote_after_wipe: VoteAfterWipe,
    resumed_view: ResumedView,
    eviction_order: EvictionOrder,
    apply_on_prepare: ApplyOnPrepare,
    lost_duplicate: LostDuplicate,
    unsynced_view: UnsyncedView,
    index_trusted: IndexTrusted,
    ring_reused_early: RingReusedEarly,
    small_quorum: SmallQuorum,
    unfenced_survey: UnfencedSurvey,
    stale_offsets: StaleOffsets,
    hasty_stop: HastyStop,
    kept_entry: KeptEntry,
    lost_frame: LostFrame,
    early_answer: EarlyAnswer,
    kept_offsets: KeptOffsets,
    greedy_truncation: GreedyTruncation,
    eager_expiry: EagerExpiry,
    early_cut: EarlyCut,
    cached_inputs: CachedInputs,
}

#[test]
fn a_world_that_fails_is_made_smaller_and_fails_again_the_same_way() {
    let found = FOUND.iter().find(|found| found.plant == Plant::ReusedOffset).expect("a row of the table");
    let failure = found.failure().expect("a world that fails");
    let patience = Patience { time: Duration::MAX, threads: 1 };
    let smallest = shrink(&failure, patience, |_| {}).failure;
    assert!(smallest.plan.faults.is_empty(), "the bug needs no fault: {}", command(&smallest.plan));
    assert!(smallest.plan.requests_max < 16, "nor many requests: {}", command(&smallest.plan));
    assert_eq!((smallest.plan.partitions, smallest.plan.seed), (1, failure.plan.seed));
    let again = live(&smallest.plan).expect_err("it fails again");
    assert_eq!(again.verdict, smallest.verdict);
}
