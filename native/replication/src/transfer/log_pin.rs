//! Retains the log after a state that another node fetches, so that the node can continue from the state with
//! the log.

use ng_io::Environment;
use ng_storage::journal;
use ng_wire::replica::Op;

use crate::host::ShardLog;
use crate::machine::MetadataMachine;

/// Maximum operations retained. A node that lags further fetches the difference as another state.
const KEPT_MAX: u64 = 256;

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Retains a group's log after the oldest state that is being fetched, or releases it because it has
    /// become too long or the journal needs the room.
    pub(crate) fn hold_log(&mut self, id: u64) {
        let pressed = self.journal.core().is_pressed();
        let anchor = self.transfers.exports.oldest_anchor(id).filter(|_| !pressed);
        let Some(group) = self.groups.get_mut(&id) else {
            self.transfers.exports.kept.remove(&id);
            return;
        };
        let kept = anchor.filter(|anchor: &Op| group.execution.executed().since(*anchor) <= KEPT_MAX);
        let Some(released) = group.records.keep_behind(kept) else { return };
        match kept {
            Some(_) => self.transfers.exports.kept.insert(id),
            None => self.transfers.exports.kept.remove(&id),
        };
        group.replica.keep_behind(kept);
        let event = journal::Event::Released { group: id, op: released.0 };
        self.journal.step(event);
    }
}
