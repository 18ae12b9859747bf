//! At the end every node has made the same of what was executed.

use ng_replication::owner::METADATA;

use crate::judges::Verdict;
use crate::node::Shard;
use crate::world::World;

impl World {
    /// Holds what each node keeps of a group against what the first one does.
    pub(crate) fn judge_agreement(&self) -> Result<(), Verdict> {
        for group in self.groups().into_iter().filter(|group| !self.is_halted(*group)) {
            let mut kept = self.nodes.iter().map(|node| {
                let log = node.shard_of(group).map(Shard::log);
                let clients = log.filter(|_| group == METADATA).and_then(|log| log.clients());
                let partition = log.and_then(|log| log.partition(group));
                // The time of the last operation stands for that of the last batch after a start.
                let told = partition.map(|state| {
                    let ends = (state.last_offset, state.first_offset, state.purge_generation);
                    (ends, state.fenced, &state.offsets)
                });
                (node.number, (clients, told))
            });
            let Some((first, expected)) = kept.next() else { continue };
            if let Some((other, found)) = kept.find(|(_, found)| *found != expected) {
                return Err(Verdict(format!(
                    "nodes {first} and {other} have made of group {group:x}: {expected:?} and {found:?}"
                )));
            }
        }
        Ok(())
    }
}
