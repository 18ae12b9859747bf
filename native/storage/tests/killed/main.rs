//! A journal on the real disk whose process is killed again and again: what it said was durable is there.
//!
//! The test starts itself as a child that writes a journal and says on its standard output what is durable.

#![allow(missing_docs)]
#![allow(clippy::panic, reason = "a test fails by panicking, whichever function finds the fault")]

mod writer;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use ng_io::probe::{RingSupport, probe_ring};
use ng_io::simulated::Random;
use ng_io::{Environment, PosixEnvironment, UringEnvironment};

use writer::{DIRECTORY, FLOOR, read_back, write_for_ever};

/// How often each backend's writer is killed.
const KILLS: u64 = 40;

#[test]
fn child() {
    let Some(directory) = env::var_os(DIRECTORY) else { return };
    let directory = PathBuf::from(directory);
    if directory.ends_with("uring") {
        write_for_ever(&UringEnvironment, &directory);
    }
    write_for_ever(&PosixEnvironment, &directory);
}

#[test]
fn a_killed_writer_loses_nothing_durable_on_posix() {
    kill_again_and_again(&PosixEnvironment);
}

#[test]
fn a_killed_writer_loses_nothing_durable_on_uring() {
    match probe_ring() {
        RingSupport::Available { .. } => kill_again_and_again(&UringEnvironment),
        RingSupport::Unavailable { reason } => {
            assert!(env::var_os("CI").is_none(), "the uring backend must be tested in CI: {reason}");
            eprintln!("the uring backend is not present here: {reason}");
        }
    }
}

fn kill_again_and_again<E: Environment>(environment: &E) {
    let parent = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!(
        "killed-{}-{}",
        environment.name(),
        std::process::id()
    ));
    let directory = parent.join(environment.name());
    fs::create_dir_all(&directory).expect("the build's own directory");
    let mut random = Random::new(4);
    let (mut durable, mut floor) = (0, 0);
    for kill in 0..KILLS {
        let mut child = start(&directory, floor);
        let more = 1 + random.below(60);
        (durable, floor) = listen(&mut child, durable, floor, more);
        child.kill().expect("the child runs");
        // What it said before it died counts, too.
        (durable, floor) = listen(&mut child, durable, floor, u64::MAX);
        child.wait().expect("the child is ours");
        let found = read_back(environment, &directory, &BTreeMap::from([(1, floor)]));
        for op in floor + 1..=durable {
            assert_eq!(found.get(&op), Some(&writer::body(op)), "kill {kill}: op {op} of {durable}");
        }
    }
    assert!(durable > KILLS, "the writers got something done: {durable}");
    fs::remove_dir_all(&parent).expect("the directory is ours");
}

fn start(directory: &Path, floor: u64) -> Child {
    Command::new(env::current_exe().expect("this test"))
        .args(["--exact", "child", "--nocapture"])
        .env(DIRECTORY, directory)
        .env(FLOOR, floor.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the test can start itself")
}

/// Reads what the child says until so many further ops are durable, or it says no more.
fn listen(child: &mut Child, mut durable: u64, mut floor: u64, more: u64) -> (u64, u64) {
    let Some(said) = child.stdout.as_mut() else { return (durable, floor) };
    let enough = durable.saturating_add(more);
    let mut reader = BufReader::with_capacity(64, said);
    let mut line = String::new();
    while durable < enough && reader.read_line(&mut line).is_ok_and(|count| count > 0) {
        match line.trim_end().split_once(' ').map(|(word, number)| (word, number.parse())) {
            // A line that death cut short has no end, and its number may be too small, which does no harm.
            Some(("durable", Ok(op))) => durable = durable.max(op),
            Some(("floor", Ok(op))) => floor = floor.max(op),
            _ => {}
        }
        line.clear();
    }
    (durable, floor)
}
