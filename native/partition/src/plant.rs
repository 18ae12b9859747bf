//! Known bugs that the simulator can plant, to see that its judges find them. A build that is neither a test nor has the
//! feature `plants` has none.

/// A bug that can be planted.
#[cfg_attr(
    not(any(test, feature = "plants")),
    allow(unreachable_pub, reason = "only a build that can plant bugs shows them")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// A primary goes on stamping from what was applied when it began, whatever it has in the pipeline, and no replica
    /// looks whether an offset is taken.
    ReuseOffset,
    /// A purge leaves the offsets of consumers.
    KeepOffsets,
}

/// Which bug is planted in a partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Planted {
    #[cfg(any(test, feature = "plants"))]
    pub(crate) bug: Option<Plant>,
}

impl Planted {
    #[cfg(any(test, feature = "plants"))]
    pub(crate) fn has(self, bug: Plant) -> bool {
        self.bug == Some(bug)
    }

    #[cfg(not(any(test, feature = "plants")))]
    #[allow(clippy::unused_self, reason = "the shape of the build that can plant bugs")]
    pub(crate) const fn has(self, _bug: Plant) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use ng_wire::batch::BatchBuilder;
    use ng_wire::replica::LogOperation;

    use super::*;
    use crate::{Applied, Partition, PartitionLimits, Stamper};

    #[test]
    fn the_planted_bug_gives_an_offset_twice_and_nobody_sees_it() {
        let mut partition = Partition::new(77, PartitionLimits::default()).with(Plant::ReuseOffset);
        let mut stamper = Stamper::begin(&partition);
        for op in 1..=2 {
            let mut batch = BatchBuilder::new(1_000).message(op.into(), 0, b"payload", b"").finish();
            assert_eq!(stamper.stamp(&mut batch, 1).map(|stamped| stamped.base_offset), Ok(0));
            assert!(matches!(partition.apply(op, LogOperation::Batch, &batch), Applied::Done(_)));
        }
    }
}
