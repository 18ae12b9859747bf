//! Known bugs that a test can plant, to see that its judges find them. A build that is not a test has none.

/// A bug that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plant {
    /// An acknowledgement leaves before its record is synced.
    AckBeforeDurable,
    /// A vote passes damage off as never written.
    TruncateOnDamage,
    /// A replica with a blank disk votes like one that was founded.
    VoteAfterWipe,
    /// A restarted primary goes on in its old view.
    ResumedView,
    /// A backup executes what it has not seen committed.
    ApplyOnPrepare,
    /// What stands in front of a new view's log is kept though it does not lead to it.
    NoParentCheck,
    /// A full client table evicts by slot, counted from the number of the replica.
    #[cfg(test)]
    EvictionOrder,
    /// A repeated request is executed again.
    LostDuplicate,
    /// A vote leaves though its view is never written.
    UnwrittenView,
    /// A primary counts one acknowledgement too few as a quorum.
    SmallQuorum,
}

/// Which bug is planted in a replica.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Planted {
    #[cfg(test)]
    pub(crate) bug: Option<Plant>,
}

impl Planted {
    #[cfg(test)]
    pub(crate) fn has(self, bug: Plant) -> bool {
        self.bug == Some(bug)
    }

    #[cfg(not(test))]
    #[allow(clippy::unused_self, reason = "the shape of the test build")]
    pub(crate) const fn has(self, _bug: Plant) -> bool {
        false
    }
}
