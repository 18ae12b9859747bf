//! Messages that go while a world lives: they are over, they are too many, somebody deletes segments, or purges the partition.

use std::time::Duration;

use ng_io::simulated::Random;
use ng_replication::owner::METADATA;
use ng_replication::{Keeping, LogRequest, OffsetHold, RetentionLimits, Ticket};
use ng_wire::replica::{Level, LogOperation, PartitionOp};

use crate::node::{MILLI, Node};
use crate::plan::Plan;
use crate::world::{Happening, SILENCE, World};

/// Of so many orders one purges a partition.
const ORDERS_PER_PURGE: u64 = 6;

/// Everything stays.
const FOR_EVER: Keeping = Keeping { segment_bytes: 64 * 1024, expiry: u64::MAX, bytes_max: u64::MAX };

/// How long a partition keeps its messages: some by age, some by size, some by both.
fn keeping(plan: &Plan, group: u64) -> Keeping {
    let (least, spread) = plan.conditions.expiry;
    let mut random = Random::new(plan.seed ^ group << 20 ^ 0x6b65_6570);
    let age = Duration::from_millis(least + random.below(spread));
    let expiry = if random.flip() { u64::try_from(age.as_micros()).unwrap_or(u64::MAX) } else { u64::MAX };
    let segment_bytes = (8 * 1024) << random.below(4);
    let bytes_max = if random.flip() { segment_bytes * (1 + random.below(4)) } else { u64::MAX };
    Keeping { segment_bytes, expiry, bytes_max }
}

/// Tells a process that has just started how long its partitions keep their messages.
pub(crate) fn begin_dropping(plan: &Plan, groups: &[u64], node: &mut Node) {
    let period = Some(100 + plan.seed % 900);
    for shard in &mut node.shards {
        shard.log_mut().set_retention_limits(RetentionLimits { period, hold: OffsetHold::Never });
    }
    for group in groups.iter().filter(|group| **group != METADATA) {
        if let Some(shard) = node.shard_of_mut(*group) {
            shard.log_mut().keep(*group, keeping(plan, *group));
        }
    }
}

impl World {
    /// Whether messages may still go: those that are left at the end must come to rest on every node before they are judged.
    pub(crate) fn drops(&self) -> bool {
        self.plan.drops && self.now < self.plan.end.saturating_sub(SILENCE) * MILLI
    }

    /// From now on every message stays.
    pub(crate) fn end_dropping(&mut self) {
        for group in self.groups() {
            for node in &mut self.nodes {
                if let Some(shard) = node.shard_of_mut(group) {
                    shard.log_mut().keep(group, FOR_EVER);
                }
            }
        }
    }

    /// Somebody asks every node to drop something of a partition; whoever leads it does.
    pub(crate) fn order_to_drop(&mut self) {
        if !self.drops() {
            return;
        }
        let next = self.now + MILLI * (1 + self.random.below(2 * self.plan.conditions.between_orders));
        self.at(next, Happening::Drop);
        let partitions: Vec<u64> = self.groups().into_iter().filter(|group| *group != METADATA).collect();
        let group = partitions[usize::try_from(self.random.below(partitions.len() as u64)).unwrap_or(0)];
        let purges = self.random.below(ORDERS_PER_PURGE) == 0;
        let count = u32::try_from(1 + self.random.below(3)).unwrap_or(1);
        let level = if self.random.flip() { Level::Persisted } else { Level::Replicated };
        let generation = self.purges.entry(group).or_default();
        *generation += u64::from(purges);
        let (operation, body) = PartitionOp::Purge { generation: *generation }.encode();
        debug_assert_eq!(operation, LogOperation::Purge);
        let body = body.into();
        let request = LogRequest { group, client: 0, session: 0, request: 0, operation, level, body };
        for number in 0..self.plan.nodes() {
            let ticket = self.ticket();
            let node = &mut self.nodes[usize::from(number)];
            let stands_still = node.paused_until > self.now;
            let Some(shard) = node.shard_of_mut(group).filter(|_| !stands_still) else { continue };
            if purges {
                shard.log_mut().request(ticket, request.clone());
            } else {
                shard.log_mut().delete_segments(ticket, group, 0, count, level);
            }
            shard.wake();
        }
        self.story.tell(self.now, || {
            let what = if purges { "a purge".to_owned() } else { format!("{count} segments less") };
            format!("somebody asks for {what} of {group:x}")
        });
    }

    /// A ticket under which nobody waits.
    fn ticket(&mut self) -> Ticket {
        self.next_ticket += 1;
        Ticket(self.next_ticket - 1)
    }
}
