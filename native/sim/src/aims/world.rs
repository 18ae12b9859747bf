//! A world with aims: it sees the steps of its nodes, and strikes at those that were chosen.

use std::collections::BTreeMap;

use ng_io::simulated::{Fuse, Random};
use ng_replication::Outgoing;

use super::aim::{Aim, Strike};
use super::step::Step;
use super::tally::{Ending, Tally};
use crate::node::MILLI;
use crate::world::{Happening, World};

/// What has come of the aims of a world.
#[derive(Debug)]
pub(crate) struct Aiming {
    random: Random,
    taken: BTreeMap<Step, u64>,
    hits: Vec<Hit>,
}

/// An aim that struck a node in one of its lives.
#[derive(Debug)]
struct Hit {
    aim: Aim,
    node: u8,
    life: u64,
}

impl Aiming {
    pub(crate) fn new(seed: u64) -> Self {
        let random = Random::new(seed ^ 0x6169_6d69_6e67_2121);
        Self { random, taken: BTreeMap::new(), hits: Vec::new() }
    }

    fn is_over(&self, aim: &Aim) -> bool {
        self.hits.iter().any(|hit| hit.aim == *aim)
    }
}

impl World {
    /// How often each step was taken and struck, once the world is over.
    #[must_use]
    pub fn tally(&self, failed: bool) -> Tally {
        let mut tally = Tally { taken: self.aiming.taken.clone(), ..Tally::default() };
        for Hit { aim, node, life } in &self.aiming.hits {
            let ending = match self.nodes[usize::from(*node)].lives {
                _ if failed => Ending::Failed,
                lives if lives > *life => Ending::Restarted,
                _ => Ending::WentOn,
            };
            *tally.struck.entry((aim.step, aim.strike, ending)).or_default() += 1;
        }
        tally
    }

    fn is_aiming(&self) -> bool {
        !self.plan.aims.is_empty() && !self.healed
    }

    /// Looks at what the disk of a node has done in a turn, before anything of that turn leaves the node.
    pub(crate) fn see_disk(&mut self, number: u8) {
        if !self.is_aiming() {
            return;
        }
        for change in self.nodes[usize::from(number)].environment.take_changes() {
            let step = Step::of_change(&change).filter(|step| match step {
                Step::JournalSynced => self.outgoing.iter().any(is_message),
                _ => true,
            });
            self.take_step(number, step);
        }
    }

    /// The step that a node takes by sending a frame.
    pub(crate) fn step_of_sent(&self, frame: &[u8]) -> Option<Step> {
        if self.is_aiming() { Step::of_sent(frame) } else { None }
    }

    /// A node has received a frame, and nothing that follows from it has left the node.
    pub(crate) fn see_received(&mut self, number: u8, frame: &[u8]) {
        if self.is_aiming() {
            self.take_step(number, Step::of_received(frame));
        }
    }

    /// A node has taken a step, if any.
    pub(crate) fn take_step(&mut self, number: u8, step: Option<Step>) {
        let Some(step) = step.filter(|_| self.is_aiming() && self.nodes[usize::from(number)].is_up()) else {
            return;
        };
        let nth = self.aiming.taken.entry(step).or_default();
        *nth += 1;
        let nth = *nth;
        let aim = self.plan.aims.iter().copied().find(|aim| (aim.step, aim.nth) == (step, nth));
        if let Some(aim) = aim.filter(|aim| !self.aiming.is_over(aim)) {
            self.strike_at(number, aim);
        }
    }

    fn hit(&mut self, number: u8, aim: Aim) -> u64 {
        let (least, spread) = self.plan.conditions.outage;
        let until = self.now + MILLI * (least + self.aiming.random.below(spread));
        let life = self.nodes[usize::from(number)].lives;
        self.aiming.hits.push(Hit { aim, node: number, life });
        self.story.tell(self.now, || format!("aim {aim} at node {number} until {}", until / MILLI));
        until
    }

    fn strike_at(&mut self, number: u8, aim: Aim) {
        let until = self.hit(number, aim);
        let tears = self.tears(number);
        match aim.strike {
            Strike::Kill => self.fell(number, false, until),
            Strike::PowerCut => self.fell(number, tears, until),
            Strike::Blackout => self.black_out(until),
            Strike::Cut => self.cut(number, until),
            Strike::Rot => self.rot(until),
            Strike::Wipe => self.wipe(until),
            Strike::WriteError => {
                self.nodes[usize::from(number)].environment.set_fuse(Some(Fuse::Operation(0)));
            }
            Strike::Pause => {
                let node = &mut self.nodes[usize::from(number)];
                node.paused_until = until;
                node.held.append(&mut self.outgoing);
            }
        }
        if !self.nodes[usize::from(number)].is_up() {
            // What the process has done is judged; what it was about to send was not sent.
            self.outgoing.retain(|outgoing| !is_message(outgoing));
        }
    }

    /// Arranges for the next aim at a start of this node.
    pub(crate) fn aim_at_start(&mut self, number: u8) -> Option<(Step, Option<Aim>)> {
        if !self.is_aiming() {
            return None;
        }
        let node = &self.nodes[usize::from(number)];
        let step = if node.reshards() { Step::Resharding } else { Step::Opening };
        let taken = self.aiming.taken.get(&step).copied().unwrap_or(0);
        let ahead = self.plan.aims.iter().filter(|aim| aim.step == step && aim.nth > taken);
        let aim = ahead.min_by_key(|aim| aim.nth).copied();
        let fuse = aim.map(|aim| match aim.strike {
            Strike::WriteError => Fuse::Operation(aim.nth - taken),
            _ => Fuse::Process(aim.nth - taken),
        });
        node.environment.set_fuse(fuse);
        Some((step, aim))
    }

    /// Looks at what a start has done. True if it was struck down.
    pub(crate) fn see_start(&mut self, number: u8, aimed: Option<(Step, Option<Aim>)>) -> bool {
        let Some((step, aim)) = aimed else { return false };
        let environment = self.nodes[usize::from(number)].environment.clone();
        let taken = self.aiming.taken.entry(step).or_default();
        *taken += environment.take_changes().len() as u64;
        let Some(aim) = aim.filter(|aim| aim.nth <= *taken) else {
            environment.set_fuse(None);
            return false;
        };
        let until = self.hit(number, aim);
        if !environment.has_ended() {
            return false;
        }
        self.stop(number, aim.strike != Strike::Kill && self.tears(number));
        self.at(until, Happening::Start { node: number });
        if aim.strike == Strike::Blackout {
            self.black_out(until);
        }
        true
    }
}

/// Whether it leaves the node, and is not only said to the judges.
const fn is_message(outgoing: &Outgoing) -> bool {
    matches!(outgoing, Outgoing::Frame { .. } | Outgoing::Answer { .. })
}
