//! What one measurement saw.

use std::time::Duration;

/// Latencies and counts.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    pub(crate) latencies: Vec<Duration>,
    pub(crate) time: Duration,
    /// CPU time of all threads.
    pub(crate) cpu: Duration,
    pub(crate) bytes: u64,
    pub(crate) writes: u64,
    pub(crate) syncs: u64,
    pub(crate) syscalls: u64,
}

impl Sample {
    pub(crate) fn add(&mut self, mut other: Self) {
        self.latencies.append(&mut other.latencies);
        self.time += other.time;
        self.cpu += other.cpu;
        self.bytes += other.bytes;
        self.writes += other.writes;
        self.syncs += other.syncs;
        self.syscalls += other.syscalls;
    }

    fn quantile(&self, part: f64) -> f64 {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a list")]
        let place = (part * sorted.len() as f64) as usize;
        sorted.get(place.min(sorted.len().saturating_sub(1))).map_or(0.0, |time| time.as_secs_f64() * 1e6)
    }

    fn per_second(&self) -> f64 {
        self.latencies.len() as f64 / self.time.as_secs_f64()
    }

    fn cpu_per_gigabyte(&self) -> f64 {
        self.cpu.as_secs_f64() / (self.bytes as f64 / 1e9)
    }

    pub(crate) fn print(&self, what: &str, bare: &Self) {
        let count = self.latencies.len() as f64;
        println!(
            "{what}: {:.0}/s ({:.2} of bare), p50 {:.0} us ({:.2}), p99 {:.0} us ({:.2}), {:.0} MB/s",
            self.per_second(),
            self.per_second() / bare.per_second(),
            self.quantile(0.5),
            self.quantile(0.5) / bare.quantile(0.5),
            self.quantile(0.99),
            self.quantile(0.99) / bare.quantile(0.99),
            self.bytes as f64 / 1e6 / self.time.as_secs_f64(),
        );
        println!(
            "    per append {:.3} writes, {:.3} syncs, {:.2} system calls; {:.3} CPU s/GB (bare {:.3})",
            self.writes as f64 / count,
            self.syncs as f64 / count,
            self.syscalls as f64 / count,
            self.cpu_per_gigabyte(),
            bare.cpu_per_gigabyte(),
        );
    }
}

/// CPU time of all threads of this process, from the scheduler.
pub(crate) fn cpu_time() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
    let nanos = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}
