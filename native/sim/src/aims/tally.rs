//! How often each step was taken and struck, and how that ended.

use std::collections::BTreeMap;

use super::aim::Strike;
use super::step::Step;

/// What became of a node that was struck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Its process started again, and the world held.
    Restarted,
    /// The same process was there at the end, and the world held.
    WentOn,
    /// The world failed.
    Failed,
}

/// The steps of worlds that have aims, up to the moment when their faults heal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How often each step was taken.
    pub taken: BTreeMap<Step, u64>,
    /// How often each was struck, with what, and how that ended.
    pub struck: BTreeMap<(Step, Strike, Ending), u64>,
}

impl Tally {
    /// Adds what happened in another world.
    pub(crate) fn add(&mut self, other: &Self) {
        for (step, times) in &other.taken {
            *self.taken.entry(*step).or_default() += times;
        }
        for (cell, times) in &other.struck {
            *self.struck.entry(*cell).or_default() += times;
        }
    }

    /// Steps that nothing struck.
    #[must_use]
    pub fn missed(&self) -> Vec<Step> {
        let is_struck = |step: &Step| self.struck.keys().any(|(struck, ..)| struck == step);
        Step::ALL.into_iter().filter(|step| !is_struck(step)).collect()
    }
}
