//! Looks at every group after the last fault, so that a stuck one is reported when it is seen.

use crate::judges::Verdict;
use crate::node::{MILLI, Shard};
use crate::plan::Draw;
use crate::world::{Happening, SILENCE, World};

/// Milliseconds between two looks.
const PERIOD: u64 = 100;

/// Milliseconds within which stores write their last batches, also where a disk was full before.
const REST: u64 = 1_000;

impl World {
    pub(crate) fn look_for_standstill(&mut self) -> Result<(), Verdict> {
        for group in self.groups() {
            if self.is_halted_at(group, self.now) {
                self.standstill.forget(group);
                continue;
            }
            let status = |shard: &Shard| shard.log().status(group);
            let replicas: Vec<_> =
                self.nodes.iter().map(|node| node.shard_of(group).and_then(status)).collect();
            let looked = self.standstill.look(group, &replicas, self.now / MILLI);
            looked.map_err(|verdict| Verdict(format!("{}; {}", verdict.0, self.sketch())))?;
        }
        if self.plan.draw == Draw::Storm {
            self.look_for_rest();
        }
        self.at(self.now + PERIOD * MILLI, Happening::Look);
        Ok(())
    }

    /// A storm ends once everything has been at rest for as long as a store takes to write its last batches.
    fn look_for_rest(&mut self) {
        let now = self.now / MILLI;
        let silent = now + SILENCE >= self.plan.end;
        if !silent || !self.is_at_rest() {
            self.resting_since = None;
            return;
        }
        let since = *self.resting_since.get_or_insert(now);
        if now >= since + REST {
            self.end = now;
        }
    }

    fn is_at_rest(&self) -> bool {
        let executed = |group: u64| {
            let last = self.history.last(group);
            let is_here = |shard: &Shard| shard.log().status(group).is_some_and(|it| it.commit_min == last);
            self.nodes.iter().all(|node| node.shard_of(group).is_some_and(is_here))
        };
        self.clients.iter().all(|client| !client.is_waiting()) && self.groups().into_iter().all(executed)
    }
}
