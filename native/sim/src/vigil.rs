//! Looks at every group after the last fault, so that a stuck one is reported when it is seen.

use crate::judges::Verdict;
use crate::node::{MILLI, Shard};
use crate::world::{Happening, World};

/// Milliseconds between two looks.
const PERIOD: u64 = 100;

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
        self.at(self.now + PERIOD * MILLI, Happening::Look);
        Ok(())
    }
}
