//! What becomes of a machine's work when its process ends, its power goes, or its disk is replaced.

use std::cmp::Reverse;

use super::disk::{Disk, NodeId};
use super::flight::{Flight, Product};
use super::machine::{Machine, Open};
use crate::driver::Operation;
use crate::output::Output;

/// The longest that a write of a dead process takes.
const LATE_MAX: u64 = 20_000_000;

/// A write of a dead process that is still to land.
#[derive(Debug)]
pub(super) struct LateWrite {
    at: u64,
    pub(super) node: NodeId,
    offset: u64,
    buffer: Output,
}

impl Machine {
    /// The process is gone.
    pub(super) fn kill(&mut self) {
        self.process += 1;
        self.streams.process_ends(self.clock.now());
        let flights = std::mem::take(&mut self.queues).into_iter().flatten();
        self.abandon(flights.map(|Reverse(flight)| flight).collect(), self.faults.late_writes);
        for open in self.opens.handles().collect::<Vec<_>>() {
            if let Some(Open { node, .. }) = self.opens.remove(open) {
                self.disk.node_mut(node).holder = None;
            }
        }
        self.watch.process_is_gone();
    }

    /// The driver is gone, and with it what it has asked for.
    pub(super) fn drop_queue(&mut self, queue: usize) {
        let flights: Vec<_> = self.queues[queue].drain().map(|Reverse(flight)| flight).collect();
        let opens: Vec<_> = flights.iter().filter_map(|flight| flight.open).collect();
        self.abandon(flights, 0);
        opens.into_iter().for_each(|open| self.release(open));
    }

    /// Operations that nobody waits for any more: done or not, writes of several sectors also partly.
    fn abandon(&mut self, mut flights: Vec<Flight>, late_writes: u32) {
        flights.sort_unstable_by_key(|flight| flight.number);
        for Flight { operation, open, .. } in flights.into_iter().filter(|flight| flight.refused.is_none()) {
            match (operation, open.and_then(|open| self.opens.get(open))) {
                (Operation::WriteAt { buffer, offset, .. }, Some(file)) => {
                    let (node, lock) = (file.node, file.options.lock);
                    if self.random.strikes(late_writes) {
                        self.delay(node, lock, offset, buffer);
                    } else {
                        self.land(node, offset, &buffer);
                    }
                }
                (operation, None) if self.random.flip() => {
                    if let Product::Opened(Ok(open)) = self.work_on_names(operation) {
                        self.release(open);
                    }
                }
                _ => {}
            }
        }
    }

    /// A write that nobody waits for is done, as far as there is room.
    fn land(&mut self, node: NodeId, offset: u64, bytes: &[u8]) {
        let room = self.disk.room_for(node, offset + bytes.len() as u64).is_ok();
        if room && self.random.flip() {
            self.disk.write(node, offset, bytes);
        } else {
            self.disk.write_partly(node, offset, bytes, !room, &mut self.random);
        }
    }

    /// A write of the dead process lands later; a lock on its file holds until then.
    fn delay(&mut self, node: NodeId, lock: bool, offset: u64, buffer: Output) {
        let at = self.clock.now() + 1 + self.random.below(LATE_MAX);
        if lock {
            let held_until = &mut self.disk.node_mut(node).held_until;
            *held_until = at.max(*held_until);
        }
        let place = self.late.partition_point(|write| write.at <= at);
        self.late.insert(place, LateWrite { at, node, offset, buffer });
    }

    /// Lands the writes of dead processes whose time has come.
    pub(super) fn land_late_writes(&mut self) {
        self.land_late_until(self.clock.now());
    }

    fn land_late_until(&mut self, until: u64) {
        while self.late.first().is_some_and(|write| write.at <= until) {
            let write = self.late.remove(0);
            if self.disk.room_for(write.node, write.offset + write.buffer.len() as u64).is_ok() {
                self.disk.write(write.node, write.offset, &write.buffer);
            }
        }
    }

    /// The power is gone, after the process.
    pub(super) fn cut_power(&mut self) {
        self.kill();
        self.land_late_until(u64::MAX);
        self.disk.cut(&mut self.random, self.faults.lost_names);
    }

    /// The process is gone, and the disk is replaced by an empty one.
    pub(super) fn wipe(&mut self) {
        self.kill();
        self.late.clear();
        self.disk = Disk::empty(self.disk.capacity);
    }
}
