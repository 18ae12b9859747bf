//! Which partitions a shard may send requests to, and the figures that their owners publish.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ng_catalog::replies::{Figures, PartitionFigures};
use ng_control::shard_id::ShardId;

/// The figures of one partition: written by its owner, read by every shard.
///
/// Each number is exact by itself. Numbers that are read while the owner writes may be of two moments.
#[derive(Debug, Default)]
pub struct PublishedFigures {
    segments: AtomicU64,
    current_offset: AtomicU64,
    size_bytes: AtomicU64,
    messages: AtomicU64,
}

impl PublishedFigures {
    /// Tells every shard how things stand. For the owner alone.
    pub fn publish(&self, figures: PartitionFigures) {
        self.segments.store(figures.segments.into(), Ordering::Relaxed);
        self.current_offset.store(figures.current_offset, Ordering::Relaxed);
        self.size_bytes.store(figures.size_bytes, Ordering::Relaxed);
        self.messages.store(figures.messages, Ordering::Relaxed);
    }

    /// How things stand.
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

/// Where the requests of a partition go.
#[derive(Clone, Debug)]
pub struct Route {
    /// The shard that owns it.
    pub owner: ShardId,
    /// What it publishes.
    pub figures: Arc<PublishedFigures>,
}

/// The partitions that exist as far as a shard was told. Only orders of the control plane change it.
#[derive(Debug, Default)]
pub struct Routes(BTreeMap<u64, Route>);

impl Routes {
    /// The route to a group.
    #[must_use]
    pub fn of(&self, group: u64) -> Option<&Route> {
        self.0.get(&group)
    }

    /// Requests may go there from now on.
    pub fn insert(&mut self, group: u64, route: Route) {
        self.0.insert(group, route);
    }

    /// Requests go there no more.
    pub fn remove(&mut self, group: u64) -> Option<Route> {
        self.0.remove(&group)
    }

    /// How many partitions there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl Figures for Routes {
    /// A partition that is not open yet has no messages, and clients know of no partition without a segment.
    fn partition(&self, group: u64) -> PartitionFigures {
        let mut figures = self.of(group).map(|route| route.figures.read()).unwrap_or_default();
        figures.segments = figures.segments.max(1);
        figures
    }
}
