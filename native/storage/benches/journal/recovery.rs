//! How long a start reads, beside a loop that only reads.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use ng_io::{DriverLimits, Environment};
use ng_storage::journal::shell::{JournalShell, file_name};
use ng_storage::superblock::{Ring, SyncedBlock};

use crate::bare;
use crate::bed::{Bed, FILES, LIMITS, home};
use crate::sample::cpu_time;

/// Starts, and bare readings between them.
const TURNS: u32 = 5;

pub(crate) fn measure<E: Environment>(environment: &E, directory: &Path) {
    let bed = Bed::found(environment, directory);
    let floors = bed.write(u64::from(FILES + 2) * LIMITS.file_bytes, 4_096);
    let mut recovery = (f64::INFINITY, f64::INFINITY);
    let mut bare = recovery;
    for _ in 0..TURNS {
        let limits = DriverLimits { operations_max: 64, handles_max: 64 };
        // It lives longer than the reading: what its threads use of the CPU is counted while they do.
        let mut driver = environment.driver(limits).expect("a driver");
        recovery = least(recovery, timed(|| recover(environment, &mut driver, directory, &floors)));
        let files = (0..FILES).map(|number| directory.join(file_name(number)));
        bare = least(bare, timed(|| bare::read(files)));
    }
    println!(
        "{}, recovery of 4 KiB records: {:.3} s/GiB (bare {:.3}), {:.3} CPU s/GiB (bare {:.3})",
        environment.name(),
        recovery.0,
        bare.0,
        recovery.1,
        bare.1,
    );
}

/// Reads the journal as a start does; returns how many bytes.
fn recover<E: Environment>(
    environment: &E,
    driver: &mut E::Driver,
    directory: &Path,
    floors: &BTreeMap<u64, u64>,
) -> u64 {
    let vouched = (Ring { files: FILES, synced: SyncedBlock::default() }, 1);
    let (_, recovered) =
        JournalShell::recover(environment.clone(), driver, home(directory), LIMITS, vouched, floors)
            .expect("a healthy disk");
    assert!(recovered.damage.is_empty() && recovered.ops().count() > 256);
    u64::from(FILES) * LIMITS.file_bytes
}

/// Seconds and CPU seconds of a GiB.
fn timed(work: impl FnOnce() -> u64) -> (f64, f64) {
    let (start, cpu) = (Instant::now(), cpu_time());
    let gibibytes = work() as f64 / f64::from(1 << 30);
    let of_one = |time: Duration| time.as_secs_f64() / gibibytes;
    (of_one(start.elapsed()), of_one(cpu_time().saturating_sub(cpu)))
}

fn least(one: (f64, f64), other: (f64, f64)) -> (f64, f64) {
    (one.0.min(other.0), one.1.min(other.1))
}
