//! Routes to partitions, and the figures that their owners publish.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ng_catalog::replies::{Figures, PartitionFigures};
use ng_control::shard_id::ShardId;

/// The figures of one partition: its owner writes them, every shard reads them.
///
/// Each number is exact by itself. A reader may combine numbers of two moments, because the owner writes them
/// one by one without a lock.
#[derive(Debug, Default)]
pub struct PublishedFigures {
    segments: AtomicU64,
    current_offset: AtomicU64,
    size_bytes: AtomicU64,
    messages: AtomicU64,
}

impl PublishedFigures {
    /// Publishes new figures to all shards. Only the owner calls this.
    pub fn publish(&self, figures: PartitionFigures) {
        self.segments.store(figures.segments.into(), Ordering::Relaxed);
        self.current_offset.store(figures.current_offset, Ordering::Relaxed);
        self.size_bytes.store(figures.size_bytes, Ordering::Relaxed);
        self.messages.store(figures.messages, Ordering::Relaxed);
    }

    /// Last published figures.
    #[must_use]
    pub fn read(&self) -> PartitionFigures {
        PartitionFigures {
            segments: u32::try_from(self.segments.load(Ordering::Relaxed)).unwrap_or(u32::MAX),
            current_offset: self.current_offset.load(Ordering::Relaxed),
            size_bytes: self.size_bytes.load(Ordering::Relaxed),
            messages: self.messages.load(Ordering::Relaxed),
        }
    }
}

/// The owner of a partition, and its figures.
#[derive(Clone, Debug)]
pub struct Route {
    /// Shard that owns the partition.
    pub owner: ShardId,
    /// Figures that the owner publishes.
    pub figures: Arc<PublishedFigures>,
}

/// The partitions that this shard may send requests to. Only reconcile operations of the control plane change
/// it.
#[derive(Debug, Default)]
pub struct Routes(BTreeMap<u64, Route>);

impl Routes {
    /// The route to a group.
    #[must_use]
    pub fn of(&self, group: u64) -> Option<&Route> {
        self.0.get(&group)
    }

    /// Allows requests to the group.
    pub fn insert(&mut self, group: u64, route: Route) {
        self.0.insert(group, route);
    }

    /// Refuses requests to the group from now on.
    pub fn remove(&mut self, group: u64) -> Option<Route> {
        self.0.remove(&group)
    }

    /// Number of partitions.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl Figures for Routes {
    /// A partition that is not open yet has no messages, but one segment, because clients expect at least
    /// one.
    fn partition(&self, group: u64) -> PartitionFigures {
        let mut figures = self.of(group).map(|route| route.figures.read()).unwrap_or_default();
        figures.segments = figures.segments.max(1);
        figures
    }
}
