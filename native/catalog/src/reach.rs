//! What a sequence of deltas is about to change, before it is folded.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::catalog::Catalog;
use crate::deltas::{Delta, Deltas};
use crate::key::RowKey;
use crate::prefix::covered;

/// Where a sequence of deltas reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Topics of which the row, or that of a partition, comes, changes or goes.
    pub topics: BTreeSet<(u32, u32)>,
    /// Groups whose partitions go.
    pub gone: Vec<u64>,
}

impl Catalog {
    /// What these deltas change of the rows as they are now. Bytes that are no deltas reach nowhere.
    #[must_use]
    pub fn reach(&self, deltas: &[u8]) -> Reach {
        let mut reach = Reach::default();
        for delta in Deltas::new(deltas).map_while(Result::ok) {
            match delta {
                Delta::Put { key, .. } => reach.topics.extend(RowKey::decode(key).ok().and_then(topic_of)),
                Delta::Delete { prefix } => self.reach_of_delete(prefix, &mut reach),
            }
        }
        reach
    }

    fn reach_of_delete(&self, prefix: &[u8], reach: &mut Reach) {
        let covered = covered(prefix).map(RangeInclusive::into_inner);
        // What covers more than the counters ends with a partition.
        let Some((first, RowKey::Partition { stream, topic, partition })) = covered else { return };
        for ((stream, topic, _), row) in self.partitions.range(begin(first)..=(stream, topic, partition)) {
            reach.topics.insert((*stream, *topic));
            reach.gone.push(row.group);
        }
    }
}

const fn topic_of(key: RowKey) -> Option<(u32, u32)> {
    match key {
        RowKey::Counters | RowKey::Stream(_) => None,
        RowKey::Topic { stream, topic } | RowKey::Partition { stream, topic, .. } => Some((stream, topic)),
    }
}

/// Where the partitions behind a key begin.
const fn begin(key: RowKey) -> (u32, u32, u32) {
    match key {
        RowKey::Counters => (0, 0, 0),
        RowKey::Stream(stream) => (stream, 0, 0),
        RowKey::Topic { stream, topic } => (stream, topic, 0),
        RowKey::Partition { stream, topic, partition } => (stream, topic, partition),
    }
}
