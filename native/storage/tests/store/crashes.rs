//! Appends, purges, truncations and rolls, and the power goes at any operation: whatever was safe is there, and applying the
//! rest of the log again gives what the log says.

use std::collections::BTreeMap;
use std::time::Duration;

use ng_io::simulated::Random;
use ng_storage::home::Home;
use ng_storage::store::Vouched;

use crate::expected::{Log, Said, check};
use crate::mortal::Mortal;
use crate::rig::{Rig, batch};

const GROUPS: [u64; 3] = [7, 8, 0x1_0000_0007];

fn seeds() -> u64 {
    std::env::var("NG_STORE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(250)
}

struct World {
    environment: Mortal,
    home: Home,
    random: Random,
    logs: BTreeMap<u64, Log>,
    /// What the manifest in force would say.
    vouched: BTreeMap<u64, Vouched>,
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            environment: Mortal::new(seed),
            home: Home::new("data"),
            random: Random::new(!seed),
            logs: GROUPS.iter().map(|group| (*group, Log::default())).collect(),
            vouched: BTreeMap::new(),
        }
    }

    /// Opens the groups and applies again what the manifest does not cover.
    fn start(&mut self, life: u64) -> Rig<Mortal> {
        let mut rig = Rig::new(&self.environment, self.home.clone(), life);
        for group in GROUPS {
            let vouched = self.vouched.get(&group).cloned();
            if self.random.flip() {
                rig.open(group, vouched.clone());
            } else {
                rig.act(|store, effects| store.open(group, vouched.clone(), effects));
            }
            let from = vouched.as_ref().map_or(0, |vouched| vouched.op);
            let said = self.logs[&group].said.clone();
            for (op, said) in (1..).zip(said).skip(usize::try_from(from).expect("a short log")) {
                apply(&mut rig, group, op, &said);
            }
        }
        rig
    }

    /// Says something new, and applies it.
    fn say(&mut self, rig: &mut Rig<Mortal>) {
        let group = GROUPS[usize::try_from(self.random.below(3)).expect("small")];
        let log = self.logs.get_mut(&group).expect("all are there");
        let op = log.head() + 1;
        let said = match self.random.below(40) {
            0 => Said::Purge { generation: log.generation() + 1 },
            1 | 2 => Said::Truncate {
                generation: log.generation(),
                offset: self.random.below(log.next_offset() + 2),
            },
            _ => {
                let size = [10, 200, 3_000, 5_000][usize::try_from(self.random.below(4)).expect("small")];
                let payload = vec![u8::try_from(op % 251).expect("small"); size];
                let gap = self.random.below(3);
                Said::Batch(batch(op, log.generation(), log.next_offset() + gap, &payload))
            }
        };
        log.said.push(said.clone());
        apply(rig, group, op, &said);
    }

    /// What a manifest taken now may say.
    fn checkpoint(&mut self, rig: &Rig<Mortal>) {
        for group in GROUPS {
            let log = &self.logs[&group];
            let op = rig.store.synced(group).min(log.head());
            let (last_offset, generation) = log.state_at(op);
            let before = self.vouched.get(&group).map_or(0, |vouched| vouched.op);
            assert!(op >= before, "what was safe stays safe");
            self.vouched.insert(group, Vouched::new(op, last_offset, generation));
        }
    }
}

fn apply(rig: &mut Rig<Mortal>, group: u64, op: u64, said: &Said) {
    match said {
        Said::Batch(batch) => rig.append(group, batch.clone()),
        Said::Purge { generation } => rig.act(|store, effects| store.purge(group, *generation, op, effects)),
        Said::Truncate { generation, offset } => {
            rig.act(|store, effects| store.truncate_prefix(group, *generation, *offset, effects));
        }
    }
}

fn live(world: &mut World, life: u64, what: &str) {
    world.environment.cut_after(1 + world.random.below(260));
    let mut rig = world.start(life);
    for _ in 0..world.random.below(80) {
        world.say(&mut rig);
        if world.random.below(3) == 0 {
            rig.work(Duration::from_micros(world.random.below(2_000)));
        }
        if world.random.below(12) == 0 {
            rig.flush(GROUPS[usize::try_from(world.random.below(3)).expect("small")]);
        }
        if world.random.below(12) == 0 {
            let group = GROUPS[usize::try_from(world.random.below(3)).expect("small")];
            rig.act(|store, effects| store.roll(group, effects));
        }
        if world.random.below(8) == 0 && rig.opened.len() == GROUPS.len() {
            world.checkpoint(&rig);
        }
    }
    if world.random.flip() && rig.settle_all(GROUPS.into_iter()) && rig.opened.len() == GROUPS.len() {
        world.checkpoint(&rig);
    }
    assert_eq!(rig.fault, None, "{what}");
    assert!(rig.damaged.is_empty(), "{what}: {:?}", rig.damaged);
}

#[test]
fn whatever_was_safe_is_there_after_a_cut_and_the_log_brings_the_rest() {
    for seed in 0..seeds() {
        let mut world = World::new(seed);
        for life in 1..7 {
            let what = format!("seed {seed}/{life}");
            live(&mut world, life, &what);
            world.environment.restart();
            let mut rig = world.start(1000 + life);
            assert!(rig.settle_all(GROUPS.into_iter()), "{what}: nobody cuts the power now");
            assert!(rig.damaged.is_empty(), "{what}: {:?}", rig.damaged);
            assert_eq!(rig.store.buffered_bytes(), 0, "{what}");
            for group in GROUPS {
                check(&world.environment.machine, &world.home, group, &world.logs[&group], &what);
            }
            if world.random.flip() {
                world.checkpoint(&rig);
            }
            world.environment.restart();
        }
    }
}
