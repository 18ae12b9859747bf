//! Power cuts and kills: at random over thousands of seeds, and at every single step of a short run.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ng_io::simulated::{Faults, Random};
use ng_io::{Buffer, Driver, Environment, FileOptions, Operation, SimulatedEnvironment, Token};
use ng_storage::PAGE;
use ng_storage::journal::Event;
use ng_storage::journal::shell::JournalShell;

use crate::model::Model;
use crate::rig::{DRIVER, LIMITS, Rig, home, path, prepare};

/// Seeds of the random runs, unless `SERVER_NG_JOURNAL_SEEDS` says how many; each is a life of four processes on one disk.
const SEEDS: u64 = 2_000;

fn crash(rig: &Rig, cut: bool) {
    if cut {
        rig.environment.cut_power();
    } else {
        rig.environment.kill();
    }
}

fn live(seed: u64) -> (Model, u64) {
    let mut random = Random::new(!seed);
    let mut model = Model::new(seed);
    let mut rig = Rig::create(seed);
    rig.environment.set_faults(Faults { lost_names: 500, ..Faults::default() });
    let mut story = format!("seed {seed}");
    for _ in 0..4 {
        for _ in 0..random.below(200) {
            model.act(&mut rig);
        }
        assert_eq!(rig.fault, None, "{story}");
        let cut = random.flip();
        write!(story, ", {} after block {}", if cut { "cut" } else { "kill" }, rig.durable)
            .expect("a String takes everything");
        crash(&rig, cut);
        let durable = rig.journal.synced_through();
        let found = rig.reopen(&model.floors());
        model.judge(&found, durable, &story);
        rig = found.resume();
    }
    rig.settle();
    let trace = rig.environment.trace();
    (model, trace)
}

#[test]
fn what_was_acknowledged_survives_every_crash_of_thousands_of_seeds() {
    let asked = std::env::var("SERVER_NG_JOURNAL_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    let seeds: u64 = asked.unwrap_or(SEEDS);
    let (mut acknowledged, mut refused) = (0, 0);
    for seed in 0..seeds {
        let (model, _) = live(seed);
        acknowledged += model.acknowledged;
        refused += model.refused;
    }
    assert!(acknowledged > seeds * 100, "the runs get something done: {acknowledged}");
    assert!(refused > 0, "the ring was full now and then");
}

#[test]
fn a_seed_is_one_history() {
    assert_eq!(live(7).1, live(7).1);
    assert_ne!(live(7).1, live(8).1);
}

/// Runs a script of appends until the disk has worked `steps` times; false when the script ended before.
fn script(rig: &mut Rig, model: &mut Model, steps: u64) -> bool {
    for _ in 0..steps {
        model.act(rig);
        if rig.durable > 80 {
            return false;
        }
    }
    true
}

#[test]
fn a_crash_at_every_step_of_a_run_loses_nothing_acknowledged() {
    for cut in [false, true] {
        for steps in 0..400 {
            let mut rig = Rig::create(steps);
            let mut model = Model::new(42);
            script(&mut rig, &mut model, steps);
            crash(&rig, cut);
            let durable = rig.journal.synced_through();
            let found = rig.reopen(&model.floors());
            model.judge(&found, durable, &format!("step {steps}, cut {cut}"));
            // A second crash before the first block of the new incarnation is whole.
            let mut rig = found.resume();
            for _ in 0..steps % 5 {
                rig.work(200_000);
            }
            crash(&rig, !cut);
            let found = rig.reopen(&model.floors());
            model.judge(&found, durable, &format!("step {steps}, cut {cut}, then again"));
        }
    }
}

#[test]
fn a_journal_is_made_when_the_writes_of_a_killed_process_have_landed() {
    let mut waits = 0;
    for seed in 0..50 {
        let environment = SimulatedEnvironment::new(seed);
        environment.set_faults(Faults { late_writes: 700, ..Faults::default() });
        environment.make_directories(&home().directory).expect("an empty disk");
        let options = FileOptions { direct: true, lock: true, ..FileOptions::WRITE };
        let mut dead = environment.driver(DRIVER).expect("a driver");
        let file = environment.open_file(&path(0), options).and_then(|file| dead.adopt_file(file));
        let file = file.expect("nobody holds it");
        for page in 0..4 {
            let mut buffer = Buffer::aligned(PAGE);
            buffer.extend_from_slice(&[9; PAGE]);
            let write =
                Operation::WriteAt { file, buffer: buffer.into(), offset: page * PAGE as u64, sync: false };
            dead.submit(Token(page), write);
        }
        environment.kill();
        waits += u32::from(environment.open_file(&path(0), options).is_err_and(|error| error.is_held()));
        let mut driver = environment.driver(DRIVER).expect("a driver");
        JournalShell::create(environment.clone(), &mut driver, home(), LIMITS).expect("it waits");
        let bytes = environment.file_bytes(&path(0)).expect("it is made");
        assert!(bytes.iter().all(|byte| *byte == 0), "seed {seed}");
    }
    assert!(waits > 10, "{waits}");
}

#[test]
fn a_body_is_read_back_wherever_it_lies_in_its_pages() {
    let mut rig = Rig::create(4);
    rig.settle();
    let body = |op: u64| vec![op.to_le_bytes()[0]; usize::try_from(op * 1_237 % 4_500).expect("small")];
    for op in 1..=12 {
        rig.append(prepare(1, op, 0, &body(op)), body(op)).expect("room");
    }
    assert_eq!(rig.read(1, 12), None, "its block has not been written");
    rig.settle();
    for op in 1..=12 {
        assert_eq!(rig.read(1, op), Some(body(op)), "op {op}");
    }
    assert_eq!(rig.read(1, 13), None);
}

#[test]
fn what_arrives_while_a_block_is_written_forms_the_next_one() {
    let mut rig = Rig::create(2);
    rig.settle();
    let positions: Vec<_> =
        (1..=20).map(|op| rig.append(prepare(1, op, 0, b"x"), b"x".to_vec()).expect("room").block).collect();
    assert_eq!(positions[0] + 1, positions[1], "the first was written at once");
    assert!(positions[1..].iter().all(|block| *block == positions[1]), "{positions:?}");
}

#[test]
fn an_idle_journal_has_no_window_of_doubt() {
    let mut rig = Rig::create(3);
    rig.append(prepare(1, 1, 0, b"body"), b"body".to_vec()).expect("room");
    rig.settle();
    rig.step(Event::Idle);
    rig.settle();
    let told = rig.journal.synced_through();
    rig.step(Event::Idle);
    rig.settle();
    assert_eq!(rig.journal.synced_through(), told, "one mark is enough");
    rig.environment.cut_power();
    let found = rig.reopen(&BTreeMap::new());
    assert_eq!((found.recovered.unproven.len(), found.recovered.damage.len()), (0, 0));
    assert!(found.recovered.locate(1, 1).is_some());
}
