//! How long a start reads.

use std::path::Path;
use std::time::Instant;

use ng_io::{DriverLimits, Environment};
use ng_storage::journal::shell::JournalShell;

use crate::bed::{Bed, FILES, LIMITS, home};
use crate::sample::cpu_time;

pub(crate) fn measure<E: Environment>(environment: &E, directory: &Path) {
    let bed = Bed::found(environment, directory);
    let floors = bed.write(u64::from(FILES + 2) * LIMITS.file_bytes, 4_096);
    let mut driver =
        environment.driver(DriverLimits { operations_max: 64, handles_max: 64 }).expect("a driver");
    let (start, cpu) = (Instant::now(), cpu_time());
    let (_, recovered) =
        JournalShell::recover(environment.clone(), &mut driver, home(directory), LIMITS, &floors)
            .expect("a healthy disk");
    let gibibytes = (u64::from(FILES) * LIMITS.file_bytes) as f64 / f64::from(1 << 30);
    assert!(recovered.damage.is_empty() && recovered.ops().count() > 256);
    println!(
        "{}, recovery of 4 KiB records: {:.3} s/GiB, {:.3} CPU s/GiB",
        environment.name(),
        start.elapsed().as_secs_f64() / gibibytes,
        cpu_time().saturating_sub(cpu).as_secs_f64() / gibibytes,
    );
}
