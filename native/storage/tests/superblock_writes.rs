//! A superblock is changed over and over on a disk that loses power at any moment.

#![allow(missing_docs)]
#![allow(clippy::panic, reason = "a test fails by panicking, whichever function finds the fault")]

use std::path::Path;

use ng_io::simulated::{Faults, Random, SimulatedDriver};
use ng_io::{
    Driver, DriverLimits, Environment, FileOptions, Handle, Instant, Operation, Outcome,
    SimulatedEnvironment, Token, Wait,
};
use ng_storage::layout::Member;
use ng_storage::superblock::{Genesis, ManifestPointer, Ring, Superblock, SyncedBlock};
use ng_storage::superblock_writer::{SuperblockFault, SuperblockStep, SuperblockWriter};

const PATH: &str = "superblock";

fn blank() -> Superblock {
    Superblock {
        cluster: 1,
        node: 2,
        member: Member::STANDALONE,
        journal: 3,
        epoch: 1,
        shard: 0,
        shard_count: 1,
        clean: false,
        sequence: 0,
        parent: 0,
        incarnation: 0,
        manifest: ManifestPointer::default(),
        journal_file_bytes: 4096,
        ring: Ring { files: 1, synced: SyncedBlock::default() },
        genesis: Genesis {
            frame_bytes_max: 1,
            pipeline_depth: 2,
            client_table_slots: 3,
            consumer_offsets_max: 4,
        },
    }
}

fn attach(environment: &SimulatedEnvironment) -> (SimulatedDriver, Handle) {
    let mut driver =
        environment.driver(DriverLimits { operations_max: 4, handles_max: 1 }).expect("a driver");
    let options = FileOptions { direct: true, ..FileOptions::WRITE };
    let file = environment.open_file(Path::new(PATH), options).expect("a file");
    let file = driver.adopt_file(file).expect("room");
    (driver, file)
}

fn perform(driver: &mut SimulatedDriver, file: Handle, step: SuperblockStep) -> Result<(), ng_io::IoError> {
    let operation = match step {
        SuperblockStep::Write { offset, buffer } => {
            Operation::WriteAt { file, buffer: buffer.into(), offset, sync: false }
        }
        SuperblockStep::Sync => Operation::Sync { file },
        SuperblockStep::Done => return Ok(()),
    };
    driver.submit(Token(0), operation);
    let mut done = Vec::new();
    while done.is_empty() {
        driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut done).expect("alive");
    }
    match done.remove(0).outcome {
        Outcome::Written { result, .. } | Outcome::Synced(result) => result,
        other => panic!("of neither: {other:?}"),
    }
}

/// Changes the superblock; stops after so many operations: it takes four, eight where copies are missing, and one more after a
/// start. True if it is in force.
fn change(environment: &SimulatedEnvironment, writer: &mut SuperblockWriter, operations: u64) -> bool {
    let (mut driver, file) = attach(environment);
    let mut step = writer.begin(|next| next.incarnation += 1).expect("nothing else is written");
    for _ in 0..operations {
        let result = perform(&mut driver, file, step);
        step = writer.completed(result).expect("a healthy disk");
        if matches!(step, SuperblockStep::Done) {
            return true;
        }
    }
    if let SuperblockStep::Write { offset, buffer } = step {
        // Under way when the power goes.
        driver.submit(Token(1), Operation::WriteAt { file, buffer: buffer.into(), offset, sync: false });
    }
    false
}

#[test]
fn an_end_at_any_moment_leaves_the_last_or_the_next_superblock() {
    for seed in 0..20_000 {
        let environment = SimulatedEnvironment::new(seed);
        let mut random = Random::new(!seed);
        let mut writer = SuperblockWriter::found(blank());
        assert!(
            change(&environment, &mut writer, 4),
            "the first one is written before anything depends on it"
        );
        let mut in_force = 1;
        for life in 0..8 {
            let before = *writer.current();
            let done = change(&environment, &mut writer, random.below(10));
            // What a killed process wrote and did not sync is read by the next one, and goes with the power.
            if random.below(4) > 0 {
                environment.kill();
            } else {
                environment.cut_power();
            }
            let bytes = environment.file_bytes(Path::new(PATH)).expect("the file");
            let elected =
                Superblock::elect(&bytes).unwrap_or_else(|refusal| panic!("seed {seed}/{life}: {refusal}"));
            let sequence = elected.superblock.sequence;
            if done {
                assert_eq!(elected.superblock, *writer.current(), "seed {seed}/{life}");
                in_force = sequence;
            } else {
                let possible = in_force..=before.sequence + 1;
                assert!(possible.contains(&sequence), "seed {seed}/{life}: {sequence}");
            }
            assert_eq!(elected.superblock.incarnation, sequence, "seed {seed}/{life}");
            writer = SuperblockWriter::resume(&elected);
        }
    }
}

#[test]
fn a_failure_is_final_and_two_changes_at_once_are_refused() {
    let environment = SimulatedEnvironment::new(1);
    let mut writer = SuperblockWriter::found(blank());
    let (mut driver, file) = attach(&environment);
    let step = writer.begin(|_| ()).expect("nothing else is written");
    assert_eq!(writer.begin(|_| ()).expect_err("one is under way"), SuperblockFault::Busy);
    environment.set_faults(Faults { write_error: 1000, ..Faults::default() });
    let result = perform(&mut driver, file, step);
    assert!(matches!(writer.completed(result), Err(SuperblockFault::Io(_))));
    assert_eq!(writer.begin(|_| ()).expect_err("it failed"), SuperblockFault::Failed);
}
