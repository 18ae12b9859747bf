//! What worlds of whole nodes reached: how often each thing happened that their judges wait for.

use std::collections::BTreeMap;

/// Something that a judge can only judge when it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// A topic was deleted.
    TopicDeleted,
    /// Partitions of a topic were deleted.
    PartitionsDeleted,
    /// A topic was purged.
    TopicPurged,
    /// The stream was purged.
    StreamPurged,
    /// A request to delete segments was acknowledged.
    SegmentsDeleted,
    /// A poll found that the front of a partition is gone.
    FrontGone,
    /// Messages of that front were over.
    Expired,
    /// Messages of that front were more than the partition may hold.
    TooMuch,
    /// An idle partition was seen to hold nothing, since everything is over.
    Emptied,
    /// The offset of a consumer was deleted.
    OffsetDeleted,
    /// A deleted offset was read, and was absent.
    OffsetAbsent,
    /// A partition was cut.
    Leased,
    /// A cut holds a segment that is not sealed.
    LeasedUnsealed,
    /// A lease was held against its files after the end of a process.
    LeaseChecked,
    /// A rewritten segment was adopted.
    Adopted,
    /// Segments had gone, or been replaced, when one was offered for them.
    AdoptionFenced,
    /// A file was damaged between two starts.
    FileDamaged,
}

impl Reach {
    /// Everything.
    pub const ALL: [Self; 17] = [
        Self::TopicDeleted,
        Self::PartitionsDeleted,
        Self::TopicPurged,
        Self::StreamPurged,
        Self::SegmentsDeleted,
        Self::FrontGone,
        Self::Expired,
        Self::TooMuch,
        Self::Emptied,
        Self::OffsetDeleted,
        Self::OffsetAbsent,
        Self::Leased,
        Self::LeasedUnsealed,
        Self::LeaseChecked,
        Self::Adopted,
        Self::AdoptionFenced,
        Self::FileDamaged,
    ];
}

/// How often.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached(BTreeMap<Reach, u64>);

impl Reached {
    pub(super) fn saw(&mut self, reach: Reach) {
        *self.0.entry(reach).or_default() += 1;
    }

    /// How often something happened.
    #[must_use]
    pub fn of(&self, reach: Reach) -> u64 {
        self.0.get(&reach).copied().unwrap_or(0)
    }

    /// Adds what other worlds reached.
    pub fn add(&mut self, other: &Self) {
        for (reach, times) in &other.0 {
            *self.0.entry(*reach).or_default() += times;
        }
    }
}
