//! Known bugs that a test or the simulator can plant, to see that its judges find them. A build that is neither a
//! test nor has the feature `plants` has none.

/// A bug that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(any(test, feature = "plants")),
    allow(unreachable_pub, reason = "only a build that can plant bugs shows them")
)]
pub enum Plant {
    /// An acknowledgement leaves before its record is synced.
    AckBeforeDurable,
    /// A vote passes damage off as never written.
    TruncateOnDamage,
    /// A replica with a blank disk votes like one that was founded.
    VoteAfterWipe,
    /// A restarted primary goes on in its old view.
    ResumedView,
    /// A replica executes what it has not seen committed.
    ApplyOnPrepare,
    /// What stands in front of a new view's log is kept though it does not lead to it.
    NoParentCheck,
    /// A full client table gives up another session than the oldest: which, depends on the number of the replica.
    #[cfg(any(test, feature = "plants"))]
    EvictionOrder,
    /// A repeated request is executed again.
    LostDuplicate,
    /// Votes leave, and logs are taken over, though their view is never written.
    UnwrittenView,
    /// A primary counts one acknowledgement too few as a quorum.
    SmallQuorum,
}

/// Which bug is planted in a replica.
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
