//! What the journal costs beside the writes and syncs it consists of, on each backend and on a real disk.
//!
//! `NG_BENCH_DIR` says where (the target directory without it), `NG_BENCH_SECONDS` how long each measurement runs. Every
//! figure is a count, or stands beside a bare loop of the same run that takes turns with it.

#![allow(missing_docs)]
#![allow(clippy::print_stdout, reason = "the figures are what it is for")]

mod bare;
mod bed;
mod idle;
mod recovery;
mod sample;

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ng_io::probe::{RingSupport, probe_ring};
use ng_io::{Environment, PosixEnvironment, UringEnvironment};

use bare::Bare;
use bed::Bed;
use sample::Sample;

const SMALL: usize = 4_096;
const LARGE: usize = 1 << 20;

/// Turns that a measurement and its bare loop take.
const TURNS: u32 = 4;

fn main() {
    let seconds = env::var("NG_BENCH_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(2.0);
    let root =
        env::var_os("NG_BENCH_DIR").map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from);
    let directory = root.join(format!("journal-bench-{}", std::process::id()));
    let turn = Duration::from_secs_f64(seconds / f64::from(TURNS));
    idle::measure();
    measure(&PosixEnvironment, &directory, turn);
    match probe_ring() {
        RingSupport::Available { .. } => measure(&UringEnvironment, &directory, turn),
        RingSupport::Unavailable { reason } => println!("uring is not present here: {reason}"),
    }
}

fn measure<E: Environment>(environment: &E, directory: &Path, turn: Duration) {
    std::fs::create_dir_all(directory).expect("a place for files");
    let name = environment.name();
    println!("--- {name}");
    for groups in [1, 16, 256] {
        let (journal, bare) = compare(environment, directory, groups, SMALL, turn);
        journal.print(&format!("{name}, 4 KiB, {groups} groups"), &bare);
    }
    let (journal, bare) = compare(environment, directory, 8, LARGE, turn);
    journal.print(&format!("{name}, 1 MiB, 8 groups"), &bare);
    recovery::measure(environment, directory);
    std::fs::remove_dir_all(directory).expect("the directory is ours");
}

/// The journal and the bare loop in turns. The first turn of each warms up and does not count.
fn compare<E: Environment>(
    environment: &E,
    directory: &Path,
    groups: u64,
    body: usize,
    turn: Duration,
) -> (Sample, Sample) {
    let mut bed = Bed::found(environment, directory);
    let mut bare = Bare::prepare(&directory.join("bare"));
    let (mut journal_sample, mut bare_sample) = (Sample::default(), Sample::default());
    for number in 0..=TURNS {
        let journal_turn = bed.run(groups, body, turn);
        let bare_turn = bare.run(body, turn);
        if number > 0 {
            journal_sample.add(journal_turn);
            bare_sample.add(bare_turn);
        }
    }
    (journal_sample, bare_sample)
}
