//! Known bugs that can be planted in a world, to see that the judges find them.

use std::fmt;

/// A bug that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Plant {
    /// An acknowledgement leaves before its record is synced.
    AckBeforeSync,
    /// What a disk lost counts as never written, at a start and in votes.
    TruncateOnDamage,
    /// A primary gives offsets that it gave before.
    ReusedOffset,
    /// What stands in front of a new view's log is kept though it does not lead to it.
    NoParentCheck,
    /// A replica with a blank disk votes like one that was founded.
    VoteAfterWipe,
    /// A restarted primary goes on in its old view.
    ResumedView,
    /// Which session a full client table gives up depends on the replica.
    EvictionOrder,
    /// A replica executes what it has not seen committed.
    ApplyOnPrepare,
    /// A repeated request is executed again.
    LostDuplicate,
    /// Votes leave, and logs are taken over, though their view is never written.
    UnsyncedView,
    /// A block of the journal vouches for every block before it, synced or not, and a start believes it.
    IndexTrusted,
    /// The oldest file of the journal is reused before what counts in it was appended again.
    RingReusedEarly,
    /// A primary counts one acknowledgement too few as a quorum.
    SmallQuorum,
    /// A survey of a damaged segment fences nothing.
    UnfencedSurvey,
    /// An offset that is ahead of the log is proposed behind an operation that overtakes it.
    StaleOffsets,
    /// An orderly stop does not wait for offsets that are ahead of the log.
    HastyStop,
    /// A manifest that is being collected keeps a group that ends meanwhile.
    KeptEntry,
    /// A frame between two shards that must arrive is dropped if the mailbox is full.
    LostFrame,
    /// A command on metadata is answered before every shard knows its rows.
    EarlyAnswer,
    /// A purge leaves the offsets of consumers.
    KeptOffsets,
    /// A truncation takes the segment along that it ends before.
    GreedyTruncation,
    /// Messages expire when the oldest of their segment is over.
    EagerExpiry,
    /// A cut does not wait for what is committed and not written.
    EarlyCut,
    /// What is in memory of segments outlives their replacement.
    CachedInputs,
}

impl Plant {
    /// Every bug.
    pub const ALL: [Self; 24] = [
        Self::AckBeforeSync,
        Self::TruncateOnDamage,
        Self::ReusedOffset,
        Self::NoParentCheck,
        Self::VoteAfterWipe,
        Self::ResumedView,
        Self::EvictionOrder,
        Self::ApplyOnPrepare,
        Self::LostDuplicate,
        Self::UnsyncedView,
        Self::IndexTrusted,
        Self::RingReusedEarly,
        Self::SmallQuorum,
        Self::UnfencedSurvey,
        Self::StaleOffsets,
        Self::HastyStop,
        Self::KeptEntry,
        Self::LostFrame,
        Self::EarlyAnswer,
        Self::KeptOffsets,
        Self::GreedyTruncation,
        Self::EagerExpiry,
        Self::EarlyCut,
        Self::CachedInputs,
    ];

    /// Whether only a world of a whole node can find it.
    #[must_use]
    pub const fn is_of_whole(self) -> bool {
        matches!(
            self,
            Self::StaleOffsets
                | Self::HastyStop
                | Self::KeptEntry
                | Self::LostFrame
                | Self::EarlyAnswer
                | Self::KeptOffsets
                | Self::GreedyTruncation
                | Self::EagerExpiry
                | Self::EarlyCut
                | Self::CachedInputs
        )
    }

    /// The bug of this name, as `Debug` gives it.
    pub fn named(name: &str) -> Result<Self, UnknownPlant> {
        let found = Self::ALL.into_iter().find(|plant| format!("{plant:?}") == name);
        found.ok_or_else(|| UnknownPlant(name.to_owned()))
    }

    /// Where the bug is.
    #[cfg(feature = "plants")]
    pub(crate) const fn place(self) -> ng_control::plant::Plant {
        use ng_control::plant::Plant as Node;
        use ng_replication::Plant::{
            CachedInputs, HastyStop, Journal, KeptEntry, Partition, Replica, StaleOffsets, Store,
            TruncateOnDamage,
        };
        use ng_storage::journal::Plant as Disk;
        use ng_vsr::Plant as Vsr;
        Node::Log(match self {
            Self::AckBeforeSync => Replica(Vsr::AckBeforeDurable),
            Self::TruncateOnDamage => TruncateOnDamage,
            Self::ReusedOffset => Partition(ng_partition::Plant::ReuseOffset),
            Self::NoParentCheck => Replica(Vsr::NoParentCheck),
            Self::VoteAfterWipe => Replica(Vsr::VoteAfterWipe),
            Self::ResumedView => Replica(Vsr::ResumedView),
            Self::EvictionOrder => Replica(Vsr::EvictionOrder),
            Self::ApplyOnPrepare => Replica(Vsr::ApplyOnPrepare),
            Self::LostDuplicate => Replica(Vsr::LostDuplicate),
            Self::UnsyncedView => Replica(Vsr::UnwrittenView),
            Self::IndexTrusted => Journal(Disk::VouchesUnsynced),
            Self::RingReusedEarly => Journal(Disk::RingReusedEarly),
            Self::SmallQuorum => Replica(Vsr::SmallQuorum),
            Self::UnfencedSurvey => Store(ng_storage::store::Plant::UnfencedSurvey),
            Self::StaleOffsets => StaleOffsets,
            Self::HastyStop => HastyStop,
            Self::KeptEntry => KeptEntry,
            Self::KeptOffsets => Partition(ng_partition::Plant::KeepOffsets),
            Self::GreedyTruncation => Store(ng_storage::store::Plant::GreedyTruncation),
            Self::EagerExpiry => Store(ng_storage::store::Plant::EagerExpiry),
            Self::EarlyCut => Store(ng_storage::store::Plant::EarlyCut),
            Self::CachedInputs => CachedInputs,
            Self::LostFrame => return Node::LostFrame,
            Self::EarlyAnswer => return Node::EarlyAnswer,
        })
    }
}

/// No bug has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPlant(String);

impl fmt::Display for UnknownPlant {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<String> = Plant::ALL.into_iter().map(|plant| format!("{plant:?}")).collect();
        write!(out, "there is no plant {:?}; these are known: {}", self.0, known.join(", "))
    }
}
