//! What the journal costs beside the writes and syncs it consists of, on each backend and on a real disk.
//!
//! `NG_BENCH_DIR` says where (the target directory without it), `NG_BENCH_SECONDS` how long each measurement runs, and an
//! argument which to run: those with it in their names. Every figure is a count, or the best of several turns beside the best
//! of a bare loop that takes turns with it.

#![allow(missing_docs)]
#![allow(clippy::print_stdout, reason = "the figures are what it is for")]

mod bare;
mod bed;
mod first_start;
mod idle;
mod recovery;
mod sample;

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ng_io::probe::{RingSupport, probe_ring};
use ng_io::{Environment, PosixEnvironment, UringEnvironment};

use bare::{Bare, BareDriver};
use bed::Bed;
use sample::Best;

const SMALL: usize = 4_096;
const LARGE: usize = 1 << 20;

/// Turns that a measurement and its bare loop take.
const TURNS: u32 = 8;

fn main() {
    let seconds = env::var("NG_BENCH_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(2.0);
    let root =
        env::var_os("NG_BENCH_DIR").map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from);
    let directory = root.join(format!("journal-bench-{}", std::process::id()));
    let turn = Duration::from_secs_f64(seconds / f64::from(TURNS));
    let only = env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let wanted = |name: &str| name.contains(&only);
    if wanted("idle") {
        idle::measure();
    }
    measure(&PosixEnvironment, &directory, turn, wanted);
    match probe_ring() {
        RingSupport::Available { .. } => measure(&UringEnvironment, &directory, turn, wanted),
        RingSupport::Unavailable { reason } => println!("uring is not present here: {reason}"),
    }
}

fn measure<E: Environment>(environment: &E, directory: &Path, turn: Duration, wanted: impl Fn(&str) -> bool) {
    std::fs::create_dir_all(directory).expect("a place for files");
    let backend = environment.name();
    for (groups, body, what) in [
        (1, SMALL, "4 KiB, 1 group"),
        (16, SMALL, "4 KiB, 16 groups"),
        (256, SMALL, "4 KiB, 256 groups"),
        (8, LARGE, "1 MiB, 8 groups"),
    ] {
        let name = format!("{backend}, {what}");
        if wanted(&name) {
            compare(environment, directory, groups, body, turn, &name);
        }
    }
    if wanted(&format!("{backend}, recovery")) {
        recovery::measure(environment, directory);
    }
    if wanted(&format!("{backend}, first start")) {
        first_start::measure(environment, directory);
    }
    std::fs::remove_dir_all(directory).expect("the directory is ours");
}

/// The journal and the bare loops in turns. The first turn of each warms up and does not count.
fn compare<E: Environment>(
    environment: &E,
    directory: &Path,
    groups: u64,
    body: usize,
    turn: Duration,
    name: &str,
) {
    let mut bed = Bed::found(environment, directory);
    let mut plain = Bare::prepare(&directory.join("bare"));
    let mut copying = Bare::copying(&directory.join("copying"), body);
    let mut driver = BareDriver::new(environment, &directory.join("bare"), body);
    let mut best: [Best; 4] = Default::default();
    for number in 0..=TURNS {
        let turns =
            [bed.run(groups, body, turn), plain.run(body, turn), copying.run(body, turn), driver.run(turn)];
        if number > 0 {
            best.iter_mut().zip(turns).for_each(|(best, turn)| best.add(turn));
        }
    }
    let [journal, bare, copied, driven] = best;
    journal.print(name, &bare);
    if body == LARGE {
        copied.print(&format!("{name}: a bare loop that copies"), &bare);
    }
    if groups == 1 {
        driven.print(&format!("{name}: the driver alone"), &bare);
    }
}
