//! An aim: the step, which time it is taken, and what happens then.

use std::fmt;
use std::num::NonZeroU64;

use ng_io::simulated::Random;

use super::step::Step;
use crate::conditions::log_uniform;
use crate::plan::{Fault, Plan};

/// What happens at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strike {
    /// The process is killed.
    Kill,
    /// The power of the node goes.
    PowerCut,
    /// The power of all nodes goes.
    Blackout,
    /// The node stands still for a while; what it was about to send leaves afterwards.
    Pause,
    /// Nothing passes to and from the node, or from it to another one.
    Cut,
    /// The next write or sync of the node fails.
    WriteError,
    /// The one bad disk rots.
    Rot,
    /// The one bad disk is replaced by an empty one.
    Wipe,
}

impl Strike {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Kill,
        Self::PowerCut,
        Self::Blackout,
        Self::Pause,
        Self::Cut,
        Self::WriteError,
        Self::Rot,
        Self::Wipe,
    ];

    /// The kind of fault that must be among those of a world, because only its one bad disk may have it.
    const fn needs(self) -> Option<Fault> {
        match self {
            Self::Rot => Some(Fault::Rot),
            Self::Wipe => Some(Fault::Wipe),
            _ => None,
        }
    }

    /// Whether it can strike at this step of such a world.
    pub(super) fn is_within(self, step: Step, plan: &Plan) -> bool {
        let is_possible = match self {
            Self::Cut => plan.nodes() > 1 && !step.is_of_start(),
            Self::Pause | Self::Rot | Self::Wipe => !step.is_of_start(),
            Self::WriteError => step.is_of_disk(),
            Self::Kill | Self::PowerCut | Self::Blackout => true,
        };
        is_possible && self.needs().is_none_or(|fault| plan.bad_disk.is_some() && plan.has(fault))
    }
}

/// A fault at a chosen step: `VoteSent:3:Kill` kills the node that sends the third vote of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Aim {
    /// When.
    pub step: Step,
    /// At which of the times that the step is taken, by any node.
    pub nth: u64,
    /// What.
    pub strike: Strike,
}

/// The most aims that a world draws.
const AIMS_MAX: u64 = 12;

/// Half of the storms have aims: at steps drawn with weights, so that some worlds strike at one step again and again.
pub(crate) fn draw(plan: &Plan) -> Vec<Aim> {
    let mut random = Random::new(plan.seed ^ 0x0061_696d_6564_2121);
    if random.flip() || !plan.damage.is_empty() {
        return Vec::new();
    }
    let steps = Step::ALL.into_iter().filter(|step| step.is_within(plan));
    let weighted: Vec<(Step, u64)> = steps.map(|step| (step, log_uniform(&mut random, 1, 64))).collect();
    let total = weighted.iter().map(|(_, weight)| weight).sum();
    let aims = log_uniform(&mut random, 1, AIMS_MAX);
    let mut drawn = Vec::new();
    for _ in 0..aims {
        let mut left = random.below(total);
        for (step, weight) in &weighted {
            if left < *weight {
                drawn.push(at(*step, plan, &mut random));
                break;
            }
            left -= weight;
        }
    }
    drawn
}

/// An aim at a step; which time and what is drawn.
fn at(step: Step, plan: &Plan, random: &mut Random) -> Aim {
    let strikes: Vec<Strike> =
        Strike::ALL.into_iter().filter(|strike| strike.is_within(step, plan)).collect();
    let nth = log_uniform(random, 1, step.often());
    let strike = strikes[usize::try_from(random.below(strikes.len() as u64)).unwrap_or(0)];
    Aim { step, nth, strike }
}

/// Aims by their words. Of a step alone the rest is drawn.
pub(crate) fn named(words: &str, plan: &Plan) -> Result<Vec<Aim>, String> {
    let of_step = |step: Step| {
        let mut random = Random::new(plan.seed ^ (step as u64 + 1) << 48 ^ 0x006e_616d_6564_2121);
        at(step, plan, &mut random)
    };
    match words {
        "none" => Ok(Vec::new()),
        "all" => Ok(Step::ALL.into_iter().filter(|step| step.is_within(plan)).map(of_step).collect()),
        words => words
            .split(',')
            .map(|word| match word.split(':').collect::<Vec<_>>()[..] {
                [step] => Ok(of_step(one_of(step, &Step::ALL, "step")?)),
                [step, nth, strike] => Ok(Aim {
                    step: one_of(step, &Step::ALL, "step")?,
                    nth: nth
                        .parse::<NonZeroU64>()
                        .map_err(|fault| format!("{word} has no number: {fault}"))?
                        .get(),
                    strike: one_of(strike, &Strike::ALL, "strike")?,
                }),
                _ => Err(format!("an aim is a step, or a step:number:strike, not {word:?}")),
            })
            .collect(),
    }
}

fn one_of<T: Copy + fmt::Debug>(name: &str, all: &[T], what: &str) -> Result<T, String> {
    let found = all.iter().copied().find(|one| format!("{one:?}") == name);
    found.ok_or_else(|| format!("there is no {what} {name:?}; these are known: {all:?}"))
}

impl fmt::Display for Aim {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}:{}:{:?}", self.step, self.nth, self.strike)
    }
}
