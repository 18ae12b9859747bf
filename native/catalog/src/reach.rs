//! What a sequence of deltas is about to change, before it is folded.

use std::collections::BTreeSet;

use crate::catalog::Catalog;
use crate::deltas::{Delta, Deltas};
use crate::key::RowKey;

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
        for key in self.keys_under(prefix) {
            if let RowKey::Partition { stream, topic, partition } = key {
                reach.topics.insert((stream, topic));
                reach.gone.extend(self.partition(stream, topic, partition).map(|row| row.group));
            }
        }
    }
}

const fn topic_of(key: RowKey) -> Option<(u32, u32)> {
    match key {
        RowKey::Counters | RowKey::Stream(_) | RowKey::NextUser | RowKey::User(_) => None,
        RowKey::Topic { stream, topic } | RowKey::Partition { stream, topic, .. } => Some((stream, topic)),
    }
}
