//! Prepares of other nodes that the journal had no room for. The replica requests them again as soon as there
//! is room; otherwise it would wait for a timer, as for a lost frame. So a log that receives prepares faster
//! than the journal frees files proceeds at the speed of the journal and not of the timer.

use std::collections::BTreeMap;

use ng_io::Environment;
use ng_vsr::Event;
use ng_wire::replica::Op;

use crate::host::ShardLog;
use crate::machine::MetadataMachine;

/// The oldest refused prepare of each group.
#[derive(Debug, Default)]
pub(crate) struct RefusedPrepares {
    oldest: BTreeMap<u64, Prepare>,
}

#[derive(Clone, Copy, Debug)]
struct Prepare {
    op: Op,
    body_bytes: usize,
}

impl RefusedPrepares {
    pub(crate) fn add(&mut self, group: u64, op: Op, body_bytes: usize) {
        let oldest = self.oldest.entry(group).or_insert(Prepare { op, body_bytes });
        if op < oldest.op {
            *oldest = Prepare { op, body_bytes };
        }
    }
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Notifies the replicas for whose prepares there is room now.
    pub(crate) fn ask_for_refused_prepares(&mut self) {
        if self.peers.refused.oldest.is_empty() {
            return;
        }
        let oldest = std::mem::take(&mut self.peers.refused.oldest);
        for (id, Prepare { op, body_bytes }) in oldest {
            if !self.groups.contains_key(&id) {
                continue;
            }
            if self.has_room_for_prepare(id, op, body_bytes) {
                self.agenda.event(id, Event::RoomAgain);
            } else {
                self.peers.refused.add(id, op, body_bytes);
            }
        }
    }
}
