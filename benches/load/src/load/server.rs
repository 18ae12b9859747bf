//! What the kernel says of the process under load.

use std::fs;

use crate::Outcome;

/// Nanoseconds that the living threads of a process were on a CPU.
pub(crate) fn cpu_nanos(pid: u32) -> Outcome<u64> {
    let mut nanos = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = fs::read_to_string(task?.path().join("schedstat"))?;
        nanos += text.split_whitespace().next().ok_or("an empty schedstat")?.parse::<u64>()?;
    }
    Ok(nanos)
}

/// Bytes of a process that are resident.
pub(crate) fn resident_bytes(pid: u32) -> Outcome<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("a status without VmRSS")?;
    let kib = line.split_whitespace().next().ok_or("an empty VmRSS")?.parse::<u64>()?;
    Ok(kib * 1024)
}
