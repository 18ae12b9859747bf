//! Known bugs that the simulator can plant, to see that its judges find them. Without the feature `plants` a build has
//! none.

/// A bug that can be planted.
#[cfg_attr(
    not(feature = "plants"),
    allow(unreachable_pub, reason = "only a build that can plant bugs shows them")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// The oldest file is taken for free before what counts in it was appended again.
    RingReusedEarly,
    /// A block says of every block before it that it is synced.
    VouchesUnsynced,
}

/// Which bug is planted in a journal.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Planted {
    #[cfg(feature = "plants")]
    pub(super) bug: Option<Plant>,
}

impl Planted {
    #[cfg(feature = "plants")]
    pub(super) fn has(self, bug: Plant) -> bool {
        self.bug == Some(bug)
    }

    #[cfg(not(feature = "plants"))]
    #[allow(clippy::unused_self, reason = "the shape of the build that can plant bugs")]
    pub(super) const fn has(self, _bug: Plant) -> bool {
        false
    }
}
