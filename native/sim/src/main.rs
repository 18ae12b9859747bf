//! `ng-sim`: lives worlds from seeds, and tells of those that fail.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this program talks to people")]

use std::io::{IsTerminal, Write as _};
use std::ops::Range;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ng_sim::plan::Plan;
use ng_sim::plants::Plant;
use ng_sim::replay::{command, words};
use ng_sim::run::{Failure, Summary, Watcher, live, live_many, tell};
use ng_sim::shrink::{Patience, shrink};
use ng_sim::summary::{Effort, in_full, in_short, of_aims, of_damage, of_failure, of_whole};

mod arguments;

use arguments::{Many, Order};

/// How often the line on a terminal changes.
const PROGRESS: Duration = Duration::from_millis(500);

/// How long a world that fails is made smaller.
const SHRINKING: Duration = Duration::from_secs(110);

/// How often a line goes where no terminal is, if there are more worlds than a moment's.
const REPORT: Duration = Duration::from_secs(5);
const REPORT_FROM: u64 = 100;

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
    let watch = Watch { many, began, progress: Progress::new(many.seeds) };
    let summary = live_many(seeds(many), many.threads, |seed| plan(many, seed), watch);
    let effort = effort(many, began);
    if let Some(path) = &many.summary
        && let Err(error) = std::fs::write(path, in_full(&summary, &effort))
    {
        eprintln!("{}: {error}", path.display());
        return ExitCode::FAILURE;
    }
    if let Some(first) = summary.failures.first() {
        make_smaller(first, many.threads);
    }
    print!("{}{}{}", of_damage(&summary), of_aims(&summary), of_whole(&summary));
    println!("{}", in_short(&summary, &effort));
    let missed = if many.every_step { summary.tally.missed() } else { Vec::new() };
    if !missed.is_empty() {
        println!("no fault struck at these steps: {missed:?}");
    }
    if summary.failures.is_empty() && missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Tells of the smallest world that fails, and of each smaller one on the way: whoever does not wait has the last of them.
fn make_smaller(first: &Failure, threads: usize) {
    let patience = Patience { time: SHRINKING, threads };
    let shrunk = shrink(first, patience, |smaller| eprintln!("it still fails: {}", words(&smaller.plan)));
    if !shrunk.is_smallest {
        println!("there was no time to make it as small as can be");
    }
    println!("made smaller: {}", shrunk.failure.verdict);
    println!("replay with: {}", command(&shrunk.failure.plan));
}

fn effort(many: &Many, began: Instant) -> Effort {
    Effort { first_seed: many.seed, elapsed: began.elapsed(), threads: many.threads }
}

/// Tells of a run while it lasts. One that is cut short loses nothing of what it found.
struct Watch<'a> {
    many: &'a Many,
    began: Instant,
    progress: Progress,
}

impl Watcher for Watch<'_> {
    fn goes_on(&mut self, so_far: &Summary) -> bool {
        let (many, began) = (self.many, self.began);
        self.progress.show(|| in_short(so_far, &effort(many, began)));
        many.seconds.is_none_or(|seconds| began.elapsed() < Duration::from_secs(seconds))
    }

    fn failed(&mut self, failure: &Failure) {
        self.progress.clear();
        println!("{}", of_failure(failure));
        // Whoever reads this may not be a terminal: then lines are kept back until there are many.
        let _ = std::io::stdout().flush();
    }
}

/// The world of a seed: where what was chosen does not fit what was drawn, what was drawn.
fn plan(many: &Many, seed: u64) -> Plan {
    many.plan(seed).unwrap_or_else(|_| Plan::draw(many.draw, seed, None))
}

fn seeds(many: &Many) -> Range<u64> {
    many.seed..many.seed.saturating_add(many.seeds)
}

/// Looks for the first seed whose world fails with the bug, and does not without.
fn find(plant: Plant, many: &Many) -> ExitCode {
    let mut progress = Progress::new(many.seeds);
    for seed in seeds(many) {
        progress.show(|| format!("{plant:?}: seed {seed}"));
        let sound = plan(many, seed);
        let Err(failure) = live(&Plan { plant: Some(plant), ..sound.clone() }) else { continue };
        if live(&sound).is_err() {
            continue;
        }
        drop(progress);
        println!("{plant:?} is found by seed {seed}: {}", failure.verdict);
        return ExitCode::SUCCESS;
    }
    drop(progress);
    println!("{plant:?} is not found by {} seeds from {}", many.seeds, many.seed);
    ExitCode::FAILURE
}

fn replay(plan: &Plan) -> ExitCode {
    println!("{}", words(plan));
    println!("{:?}", plan.conditions);
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

/// A line that changes on a terminal; elsewhere one more every few seconds of a long run.
struct Progress {
    next: Option<Instant>,
    on_terminal: bool,
}

impl Progress {
    fn new(worlds: u64) -> Self {
        let on_terminal = std::io::stderr().is_terminal();
        let now = Instant::now();
        let next = if on_terminal { Some(now) } else { (worlds > REPORT_FROM).then_some(now + REPORT) };
        Self { next, on_terminal }
    }

    fn show(&mut self, line: impl FnOnce() -> String) {
        let now = Instant::now();
        if self.next.is_none_or(|next| next > now) {
            return;
        }
        if self.on_terminal {
            self.next = Some(now + PROGRESS);
            eprint!("\r\x1b[K{}", line());
        } else {
            self.next = Some(now + REPORT);
            eprintln!("{}", line());
        }
        let _ = std::io::stderr().flush();
    }

    fn clear(&self) {
        if self.on_terminal {
            eprint!("\r\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
