//! `ng-sim`: lives worlds from seeds, and tells of those that fail.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this program talks to people")]

use std::io::{IsTerminal, Write as _};
use std::ops::Range;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ng_sim::plan::Plan;
use ng_sim::plants::Plant;
use ng_sim::replay::{command, words};
use ng_sim::run::{Failure, Summary, live, live_many, tell};
use ng_sim::shrink::shrink;
use ng_sim::summary::{Effort, in_full, in_short};

mod arguments;

use arguments::{Many, Order};

/// How often the line on a terminal changes.
const PROGRESS: Duration = Duration::from_millis(500);

/// Failures that are told one by one.
const TOLD_MAX: usize = 5;

fn main() -> ExitCode {
    match Order::read(std::env::args().skip(1)) {
        Ok(Order::Live(many)) => live_them(&many),
        Ok(Order::Find(plant, many)) => find(plant, &many),
        Ok(Order::Replay(plan)) => replay(&plan),
        Err(fault) => {
            eprintln!("{fault}\n{}", arguments::USAGE);
            ExitCode::from(2)
        }
    }
}

fn live_them(many: &Many) -> ExitCode {
    let began = Instant::now();
    let end = many.seconds.map(|seconds| began + Duration::from_secs(seconds));
    let effort = || Effort { first_seed: many.seed, elapsed: began.elapsed(), threads: many.threads };
    let mut progress = Progress::new();
    let go_on = |summary: &Summary| {
        progress.show(|| in_short(summary, &effort()));
        end.is_none_or(|end| Instant::now() < end)
    };
    let summary = live_many(seeds(many), many.threads, |seed| plan(many, seed), go_on);
    let effort = effort();
    progress.clear();
    if let Some(path) = &many.summary
        && let Err(error) = std::fs::write(path, in_full(&summary, &effort))
    {
        eprintln!("{}: {error}", path.display());
        return ExitCode::FAILURE;
    }
    for failure in summary.failures.iter().take(TOLD_MAX) {
        println!("seed {}: {}", failure.plan.seed, failure.verdict);
    }
    if let Some(first) = summary.failures.first() {
        let smallest = shrink(first);
        println!("made smaller: {}", smallest.verdict);
        println!("replay with: {}", command(&smallest.plan));
    }
    println!("{}", in_short(&summary, &effort));
    if summary.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The world of a seed: where what was chosen does not fit what was drawn, what was drawn.
fn plan(many: &Many, seed: u64) -> Plan {
    many.plan(seed).unwrap_or_else(|_| Plan::draw(seed, None))
}

fn seeds(many: &Many) -> Range<u64> {
    many.seed..many.seed.saturating_add(many.seeds)
}

/// Looks for the first seed whose world fails with the bug, and does not without.
fn find(plant: Plant, many: &Many) -> ExitCode {
    let mut progress = Progress::new();
    for seed in seeds(many) {
        progress.show(|| format!("{plant:?}: seed {seed}"));
        let sound = plan(many, seed);
        let Err(failure) = live(&Plan { plant: Some(plant), ..sound.clone() }) else { continue };
        if live(&sound).is_err() {
            continue;
        }
        progress.clear();
        println!("{plant:?} is found by seed {seed}: {}", failure.verdict);
        return ExitCode::SUCCESS;
    }
    progress.clear();
    println!("{plant:?} is not found by {} seeds from {}", many.seeds, many.seed);
    ExitCode::FAILURE
}

fn replay(plan: &Plan) -> ExitCode {
    println!("{}", words(plan));
    let (story, ended) = tell(plan);
    for line in story {
        println!("{line}");
    }
    match ended {
        Ok(outcome) => {
            println!("it ends well: {outcome:?}");
            ExitCode::SUCCESS
        }
        Err(Failure { verdict, .. }) => {
            println!("{verdict}");
            ExitCode::FAILURE
        }
    }
}

/// A line that changes, if somebody looks.
struct Progress {
    next: Option<Instant>,
}

impl Progress {
    fn new() -> Self {
        Self { next: std::io::stderr().is_terminal().then(Instant::now) }
    }

    fn show(&mut self, line: impl FnOnce() -> String) {
        let now = Instant::now();
        if self.next.is_some_and(|next| next <= now) {
            self.next = Some(now + PROGRESS);
            eprint!("\r\x1b[K{}", line());
            let _ = std::io::stderr().flush();
        }
    }

    fn clear(&self) {
        if self.next.is_some() {
            eprint!("\r\x1b[K");
        }
    }
}
