//! What goes wrong, and how it heals.

use ng_io::Environment;
use ng_io::simulated::{Faults, NetworkFaults};

use crate::node::MILLI;
use crate::plan::Fault;
use crate::world::{Happening, World};

impl World {
    /// Something goes wrong, and the next thing is arranged for. Half of the faults lie in ambush until a node has begun to
    /// write: disks rest most of the time, and little happens to one that rests.
    pub(crate) fn strike(&mut self) {
        if self.healed {
            return;
        }
        let next = self.now + 1 + self.random.below(2 * self.plan.between_faults * MILLI);
        self.at(next, Happening::Fault);
        if !self.ambush && self.random.flip() {
            self.ambush = true;
            return;
        }
        self.ambush = false;
        self.strike_now();
    }

    /// A request has come: what lies in ambush strikes while it is written, here or on another node.
    pub(crate) fn spring_ambush(&mut self) {
        if std::mem::take(&mut self.ambush) {
            let reach = 1 + self.random.below(8);
            let soon = self.now + self.random.below(reach * MILLI / 2);
            self.at(soon, Happening::Ambush);
        }
    }

    pub(crate) fn strike_now(&mut self) {
        if self.healed {
            return;
        }
        let weights = self.plan.faults.iter().map(|fault| self.plan.weight(*fault));
        let mut drawn = self.random.below(weights.clone().sum());
        let chosen = self.plan.faults.iter().zip(weights).find(|(_, weight)| {
            let is_here = drawn < *weight;
            drawn = drawn.saturating_sub(*weight);
            is_here
        });
        let Some((fault, _)) = chosen else { return };
        let fault = *fault;
        let victim = self.some_node();
        let (least, spread) = self.plan.conditions.outage;
        let until = self.now + MILLI * (least + self.random.below(spread));
        self.story.tell(self.now, || format!("fault {fault:?} at node {victim} until {}", until / MILLI));
        self.strike_with(fault, victim, until);
    }

    fn some_node(&mut self) -> u8 {
        u8::try_from(self.random.below(self.plan.nodes().into())).unwrap_or(0)
    }

    fn strike_with(&mut self, fault: Fault, victim: u8, until: u64) {
        match fault {
            // Part of the weather, all the time.
            Fault::Loss | Fault::Duplication | Fault::Reordering => {}
            // Of whole nodes and their clients.
            Fault::Stop | Fault::Reset | Fault::Garbage | Fault::SlowReader | Fault::SlowDisk => {}
            Fault::Cut => self.cut(victim, until),
            Fault::Kill => self.fell(victim, false, until),
            Fault::PowerCut if self.random.below(4) == 0 => self.black_out(until),
            Fault::PowerCut => self.fell(victim, self.tears(victim), until),
            Fault::Pause => self.nodes[usize::from(victim)].paused_until = until,
            Fault::ClockJump => {
                let jump = i64::try_from(self.random.below(20_000_000)).unwrap_or(0) - 10_000_000;
                self.nodes[usize::from(victim)].environment.set_wall_offset(jump);
            }
            Fault::Rot => self.rot(until),
            Fault::Wipe => self.wipe(until),
            Fault::Misdirected => {
                let faults = Faults { misdirected_write: 50, ..Faults::default() };
                let bad = self.plan.bad_disk.unwrap_or(victim);
                self.spoil_disk(bad, faults, until);
            }
            Fault::WriteError => {
                self.spoil_disk(
                    victim,
                    Faults { write_error: 30, sync_error: 30, ..Faults::default() },
                    until,
                );
            }
            Fault::ReadError => {
                // A read that fails at a start is damage like any other, and only one disk may have that.
                let bad = if self.plan.nodes() == 1 { victim } else { self.plan.bad_disk.unwrap_or(victim) };
                self.spoil_disk(bad, Faults { read_error: 30, ..Faults::default() }, until);
            }
            Fault::FullDisk => {
                let environment = &self.nodes[usize::from(victim)].environment;
                let names = environment.file_names();
                let used = names.iter().map(|name| environment.file_length(name).unwrap_or(0)).sum();
                environment.set_capacity(used);
                self.at(until, Happening::Heal { node: victim });
            }
            Fault::StalledApply => {
                for shard in &mut self.nodes[usize::from(victim)].shards {
                    shard.log_mut().metadata_mut().stall(until / MILLI);
                }
            }
            Fault::ShardCount => {
                let count = u16::try_from(1 + self.random.below(4)).unwrap_or(1);
                self.nodes[usize::from(victim)].shard_count = count;
                self.fell(victim, false, until);
            }
        }
    }

    /// Whether a power cut may tear what this node wrote last. Where one disk is bad only that one does: a torn tail here
    /// and an empty disk there may leave a group undecidable, and rightly so.
    pub(crate) fn tears(&self, node: u8) -> bool {
        self.plan.bad_disk.is_none_or(|bad| bad == node)
    }

    pub(crate) fn cut(&mut self, victim: u8, until: u64) {
        let nodes = self.plan.nodes();
        if self.random.flip() {
            let other = self.some_node();
            self.network.cut(victim, other, until);
            return;
        }
        for other in (0..nodes).filter(|other| *other != victim) {
            self.network.cut(victim, other, until);
            self.network.cut(other, victim, until);
        }
    }

    /// The power of all nodes goes; they come back one after the other, from `until` on.
    pub(crate) fn black_out(&mut self, until: u64) {
        for node in 0..self.plan.nodes() {
            let back = until + MILLI * self.random.below(1_000);
            self.fell(node, self.tears(node), back);
        }
    }

    /// Ends a process; it starts again at `until`.
    pub(crate) fn fell(&mut self, node: u8, power: bool, until: u64) {
        if self.nodes[usize::from(node)].is_up() {
            self.stop(node, power);
            self.at(until, Happening::Start { node });
        }
    }

    fn spoil_disk(&mut self, node: u8, faults: Faults, until: u64) {
        self.nodes[usize::from(node)].environment.set_faults(faults);
        self.at(until, Happening::Heal { node });
    }

    /// The bad disk is replaced by an empty one.
    pub(crate) fn wipe(&mut self, until: u64) {
        let Some(bad) = self.plan.bad_disk else { return };
        if self.nodes[usize::from(bad)].is_up() {
            self.stop(bad, false);
            self.replace_disk(bad);
            self.at(until, Happening::Start { node: bad });
        }
    }

    /// A node gets an empty disk.
    pub(crate) fn replace_disk(&mut self, node: u8) {
        let node = &mut self.nodes[usize::from(node)];
        node.environment.wipe();
        node.founded = false;
        node.had_shards = None;
    }

    /// One node's disk works again.
    pub(crate) fn heal(&mut self, node: u8) {
        let environment = &self.nodes[usize::from(node)].environment;
        environment.set_faults(Faults::default());
        environment.set_fuse(None);
        environment.set_capacity(u64::MAX);
    }

    /// Nothing goes wrong any more.
    pub(crate) fn heal_everything(&mut self) {
        self.healed = true;
        self.story.tell(self.now, || "everything heals".to_owned());
        let calm = NetworkFaults {
            loss: 0,
            duplication: 0,
            reorder: false,
            delay_min: MILLI / 10,
            delay_max: 5 * MILLI,
        };
        self.network.set_weather(calm);
        let nodes = self.plan.nodes();
        for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
            self.network.cut(from, to, 0);
        }
        for node in 0..self.plan.nodes() {
            self.heal(node);
            self.nodes[usize::from(node)].paused_until = 0;
            self.at(self.now, Happening::Start { node });
        }
        self.at(self.now, Happening::Look);
    }
}
