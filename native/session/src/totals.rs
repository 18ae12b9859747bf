//! What the partitions of each shard hold together: kept by its owner as each of them changes, added up by
//! whoever shows it.

use std::sync::atomic::{AtomicU64, Ordering};

use ng_catalog::replies::PartitionFigures;

/// What the partitions of one shard hold, a cache line apart from the next shard's.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct ShardTotals {
    segments: AtomicU64,
    size_bytes: AtomicU64,
    messages: AtomicU64,
}

/// What partitions hold together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Segments.
    pub segments: u64,
    /// Bytes of batches.
    pub size_bytes: u64,
    /// Messages.
    pub messages: u64,
}

impl ShardTotals {
    /// One of the partitions holds something else than before. For the owner alone.
    pub fn moved(&self, before: PartitionFigures, after: PartitionFigures) {
        for (total, before, after) in [
            (&self.segments, before.segments.into(), after.segments.into()),
            (&self.size_bytes, before.size_bytes, after.size_bytes),
            (&self.messages, before.messages, after.messages),
        ] {
            let moved = total.load(Ordering::Relaxed).wrapping_sub(before).wrapping_add(after);
            total.store(moved, Ordering::Relaxed);
        }
    }

    /// How things stand.
    #[must_use]
    pub fn read(&self) -> Totals {
        Totals {
            segments: self.segments.load(Ordering::Relaxed),
            size_bytes: self.size_bytes.load(Ordering::Relaxed),
            messages: self.messages.load(Ordering::Relaxed),
        }
    }
}

impl<'a> std::iter::Sum<&'a ShardTotals> for Totals {
    fn sum<I: Iterator<Item = &'a ShardTotals>>(shards: I) -> Self {
        shards.map(ShardTotals::read).fold(Self::default(), |sum, shard| Self {
            segments: sum.segments.saturating_add(shard.segments),
            size_bytes: sum.size_bytes.saturating_add(shard.size_bytes),
            messages: sum.messages.saturating_add(shard.messages),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_added_up_and_partitions_that_go_are_taken_off() {
        let shards = [ShardTotals::default(), ShardTotals::default()];
        let figures =
            |segments| PartitionFigures { segments, current_offset: 9, size_bytes: 100, messages: 10 };
        let nothing = PartitionFigures::default();
        shards[0].moved(nothing, figures(1));
        shards[0].moved(nothing, figures(4));
        shards[1].moved(nothing, figures(2));
        shards[0].moved(figures(4), figures(3));
        assert_eq!(shards.iter().sum::<Totals>(), Totals { segments: 6, size_bytes: 300, messages: 30 });
        shards[0].moved(figures(1), nothing);
        shards[1].moved(figures(2), nothing);
        assert_eq!(shards.iter().sum::<Totals>(), Totals { segments: 3, size_bytes: 100, messages: 10 });
    }
}
