//! What befalls nodes, links and disks.

use super::{HEALED, Happening, World};
use crate::Ticks;
use crate::tests::disk::Disk;
use crate::tests::weather::Weather;

impl World {
    pub(super) fn fault(&mut self) {
        if self.now >= HEALED {
            return;
        }
        let replicas = u8::try_from(self.nodes.len()).expect("few nodes");
        let victim = self.seed.replica(replicas);
        let longest = if self.seed.chance(50) { 60 } else { 900 };
        let until = self.now + self.seed.between(1, longest);
        match self.seed.below(10) {
            0..=2 => self.crash(victim, until),
            3 => (0..replicas).for_each(|node| self.crash(node, until)),
            4 => self.paused[usize::from(victim)] = until,
            5 | 6 => {
                let other = self.seed.replica(replicas);
                self.cut[usize::from(victim)][usize::from(other)] = until;
            }
            7 => (0..usize::from(replicas)).for_each(|other| {
                self.cut[usize::from(victim)][other] = until;
                self.cut[other][usize::from(victim)] = until;
            }),
            _ => self.spoil_disk(until),
        }
        let time = self.now + self.seed.between(1, self.weather.between_faults);
        self.at(time, Happening::Fault);
    }

    fn crash(&mut self, node: u8, until: Ticks) {
        let victim = &mut self.nodes[usize::from(node)];
        if victim.replica.is_some() {
            victim.crash();
            self.torn += u64::from(victim.disk.lose_power(&mut self.seed));
            self.ticks[usize::from(node)] = None;
            self.executed_at[usize::from(node)] = 0;
            self.at(until, Happening::Restart { node });
        }
    }

    fn spoil_disk(&mut self, until: Ticks) {
        let Some(node) = self.weather.bad_disk else { return };
        let (pick, nameless) = (self.seed.next(), self.seed.chance(40));
        if self.weather.wipes {
            self.crash(node, until);
            self.nodes[usize::from(node)].disk = Disk::blank();
            self.spoiled += 1;
        } else if self.nodes[usize::from(node)].disk.damage(pick, nameless) {
            self.spoiled += 1;
            if self.seed.chance(60) {
                self.crash(node, until);
            }
        }
    }

    pub(super) fn heal(&mut self) {
        self.paused.fill(0);
        self.cut.iter_mut().for_each(|row| row.fill(0));
        self.weather = Weather { loss: 0, duplication: 0, ..self.weather };
        let replicas = u8::try_from(self.nodes.len()).expect("few nodes");
        (0..replicas).for_each(|node| self.at(self.now, Happening::Restart { node }));
    }
}
