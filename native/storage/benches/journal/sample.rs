//! What one measurement saw.

use std::time::Duration;

/// One turn: latencies and counts.
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

/// The best that any turn saw of each figure: whatever else the machine does makes a turn worse, never better.
#[derive(Debug, Default)]
pub(crate) struct Best(Vec<Sample>);

impl Sample {
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
}

impl Best {
    pub(crate) fn add(&mut self, turn: Sample) {
        self.0.push(turn);
    }

    fn least(&self, figure: impl Fn(&Sample) -> f64) -> f64 {
        self.0.iter().map(figure).fold(f64::INFINITY, f64::min)
    }

    fn per_second(&self) -> f64 {
        1.0 / self.least(|turn| 1.0 / turn.per_second())
    }

    fn per_append(&self, count: impl Fn(&Sample) -> u64) -> f64 {
        let appends: usize = self.0.iter().map(|turn| turn.latencies.len()).sum();
        self.0.iter().map(count).sum::<u64>() as f64 / appends as f64
    }

    /// This one beside the bare loop.
    pub(crate) fn print(&self, what: &str, bare: &Self) {
        let quantile = |best: &Self, part| best.least(|turn| turn.quantile(part));
        println!(
            "{what}: {:.0}/s ({:.2} of bare), p50 {:.0} us ({:.2}), p99 {:.0} us ({:.2}), {:.3} CPU s/GB (bare {:.3})",
            self.per_second(),
            self.per_second() / bare.per_second(),
            quantile(self, 0.5),
            quantile(self, 0.5) / quantile(bare, 0.5),
            quantile(self, 0.99),
            quantile(self, 0.99) / quantile(bare, 0.99),
            self.least(Sample::cpu_per_gigabyte),
            bare.least(Sample::cpu_per_gigabyte),
        );
        println!(
            "    per append {:.3} writes, {:.3} syncs of their own, {:.2} system calls",
            self.per_append(|turn| turn.writes),
            self.per_append(|turn| turn.syncs),
            self.per_append(|turn| turn.syscalls),
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
