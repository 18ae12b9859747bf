//! What a run of many worlds came to, in words.

use std::fmt::Write as _;
use std::time::Duration;

use crate::aims::Step;
use crate::damage::{Cell, Damage, FileKind};
use crate::replay::command;
use crate::run::{Failure, Summary};
use crate::whole::Reach;

/// Characters of a verdict: some say where every replica stands.
const VERDICT_MAX: usize = 400;

/// What went into a run, beside the worlds.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The first seed.
    pub first_seed: u64,
    /// How long it took.
    pub elapsed: Duration,
    /// On how many threads.
    pub threads: usize,
}

/// One line: how many worlds, what happened in them, how fast.
#[must_use]
pub fn in_short(summary: &Summary, effort: &Effort) -> String {
    let seconds = effort.elapsed.as_secs_f64().max(0.001);
    let thread_seconds = seconds * effort.threads as f64;
    let speed = summary.lived as f64 / 1_000.0 / thread_seconds;
    let acknowledged = summary.acknowledged as f64 / thread_seconds;
    format!(
        "{} worlds, {} failed; {} requests acknowledged, {} operations, {} restarts; {seconds:.1} s on {} threads, \
         {speed:.0}x real time and {acknowledged:.0} acknowledged a second on each",
        summary.worlds,
        summary.failures.len(),
        summary.acknowledged,
        summary.operations,
        summary.restarts,
        effort.threads,
    )
}

/// A page: the line, the kinds of faults, and every failure with the command that lives it again.
#[must_use]
pub fn in_full(summary: &Summary, effort: &Effort) -> String {
    let mut page = format!(
        "{}\nseeds from {}\n\nworlds with each kind of fault:\n",
        in_short(summary, effort),
        effort.first_seed
    );
    for (fault, worlds) in &summary.faults {
        let _ = writeln!(page, "  {:<14} {worlds}", format!("{fault:?}"));
    }
    page.push_str(&of_damage(summary));
    page.push_str(&of_aims(summary));
    page.push_str(&of_whole(summary));
    let _ = writeln!(page, "\nfailures: {}", summary.failures.len());
    for failure in &summary.failures {
        let _ = writeln!(page, "{}", of_failure(failure));
    }
    page
}

/// How damage ended, by kind of file and of fault, and what no world reached. Nothing if no world damages files.
#[must_use]
pub fn of_damage(summary: &Summary) -> String {
    if summary.damage.is_empty() {
        return String::new();
    }
    let mut page = "\ndamaged files:\n".to_owned();
    let mut missed = Vec::new();
    for file_kind in FileKind::ALL {
        for damage in Damage::ALL {
            let is_here = |cell: &Cell| (cell.file_kind, cell.damage) == (file_kind, damage);
            let here = summary.damage.iter().filter(|(cell, _)| is_here(cell));
            let endings: Vec<String> =
                here.map(|(cell, worlds)| format!("{:?} {worlds}", cell.ending)).collect();
            if endings.is_empty() {
                missed.push(format!("{damage:?} of {file_kind:?}"));
            } else {
                let _ = writeln!(
                    page,
                    "  {:<11}{:<9} {}",
                    format!("{file_kind:?}"),
                    format!("{damage:?}"),
                    endings.join(", ")
                );
            }
        }
    }
    if !missed.is_empty() {
        let _ = writeln!(page, "  not reached: {}", missed.join(", "));
    }
    page
}

/// How often whole nodes met what their judges wait for, and what none of them met. Nothing if no world is one of a whole node.
#[must_use]
pub fn of_whole(summary: &Summary) -> String {
    if summary.whole == 0 {
        return String::new();
    }
    let mut page = format!("\nreached, in {} worlds of whole nodes:\n", summary.whole);
    let mut missed = Vec::new();
    for reach in Reach::ALL {
        match summary.reached.of(reach) {
            0 => missed.push(format!("{reach:?}")),
            times => drop(writeln!(page, "  {:<18}{times:>10}", format!("{reach:?}"))),
        }
    }
    if !missed.is_empty() {
        let _ = writeln!(page, "  not reached: {}", missed.join(", "));
    }
    page
}

/// How often each step was taken and struck in worlds with aims, how that ended, and which steps nothing struck. Nothing if no
/// world has aims.
#[must_use]
pub fn of_aims(summary: &Summary) -> String {
    if summary.aimed == 0 {
        return String::new();
    }
    let mut page = format!("\naimed faults, in {} worlds:\n", summary.aimed);
    let _ = writeln!(page, "  {:<18}{:>10}{:>8}  endings", "step", "taken", "struck");
    for step in Step::ALL {
        let struck = summary.tally.struck.iter().filter(|((struck, ..), _)| *struck == step);
        let times: u64 = struck.clone().map(|(_, times)| times).sum();
        let endings: Vec<String> =
            struck.map(|((_, strike, ending), times)| format!("{strike:?} {ending:?} {times}")).collect();
        let taken = summary.tally.taken.get(&step).unwrap_or(&0);
        let step = format!("{step:?}");
        let _ = writeln!(page, "  {step:<18}{taken:>10}{times:>8}  {}", endings.join(", "));
    }
    page
}

/// Two lines: what is wrong with the world of which seed, and the command that lives it again.
#[must_use]
pub fn of_failure(failure: &Failure) -> String {
    let verdict: String = failure.verdict.chars().take(VERDICT_MAX).collect();
    format!("seed {}: {verdict}\n  {}", failure.plan.seed, command(&failure.plan))
}
