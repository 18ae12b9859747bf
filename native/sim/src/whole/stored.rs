//! What a consumer may find stored.

/// Bounds of an offset, which only one request at a time changes. That none is stored is less than any offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stored {
    /// At least this, whatever happens.
    durable: Option<u64>,
    /// At least this, unless the process ends out of order.
    pub(super) live: Option<u64>,
    /// At most this.
    most: Option<u64>,
    /// At most this once the process has ended out of order: an offset that was deleted without a quorum may be back.
    most_after_crash: Option<u64>,
}

impl Stored {
    /// Nothing is known.
    pub(super) const fn anything() -> Self {
        Self { durable: None, live: None, most: Some(u64::MAX), most_after_crash: Some(u64::MAX) }
    }

    /// This may be stored from now on.
    pub(super) fn may_be(&mut self, offset: u64) {
        self.most = self.most.max(Some(offset));
        self.most_after_crash = self.most_after_crash.max(Some(offset));
    }

    /// It is stored.
    pub(super) fn store(&mut self, offset: u64, quorum: bool) {
        self.live = self.live.max(Some(offset));
        if quorum {
            self.durable = self.live;
        }
    }

    /// It is to be deleted: from now on it may be gone.
    pub(super) const fn delete(&mut self) {
        (self.durable, self.live) = (None, None);
    }

    /// It was deleted.
    pub(super) const fn deleted(&mut self, quorum: bool) {
        self.most = None;
        if quorum {
            self.most_after_crash = None;
        }
    }

    /// It was not deleted, and is what it was before; in an earlier life if `outlived`.
    pub(super) const fn not_deleted(&mut self, before: Self, outlived: bool) {
        self.durable = before.durable;
        self.live = if outlived { before.durable } else { before.live };
    }

    /// The process ended out of order.
    pub(super) fn crashed(&mut self) {
        self.live = self.durable;
        self.most = self.most.max(self.most_after_crash);
    }

    /// Whether it was deleted, or never stored.
    pub(super) const fn is_absent(&self) -> bool {
        self.most.is_none()
    }

    /// Whether it may be found like this.
    pub(super) fn allows(&self, found: Option<u64>) -> bool {
        self.live <= found && found <= self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(offset: u64, quorum: bool) -> Stored {
        let mut stored = Stored::default();
        stored.may_be(offset);
        stored.store(offset, quorum);
        stored
    }

    #[test]
    fn a_stored_offset_is_never_replaced_by_an_older_one() {
        let mut at = stored(5, true);
        at.may_be(9);
        assert!(at.allows(Some(5)) && at.allows(Some(9)) && !at.allows(Some(4)) && !at.allows(None));
        at.store(9, false);
        assert!(!at.allows(Some(5)));
        at.crashed();
        assert!(at.allows(Some(5)) && at.allows(Some(9)) && !at.allows(Some(4)));
    }

    #[test]
    fn a_deleted_offset_is_absent_and_comes_back_only_in_a_crash_where_nobody_waited() {
        for quorum in [false, true] {
            let mut at = stored(5, true);
            at.delete();
            assert!(at.allows(None) && at.allows(Some(5)));
            at.deleted(quorum);
            assert!(at.allows(None) && !at.allows(Some(5)));
            at.crashed();
            assert_eq!(at.allows(Some(5)), !quorum);
        }
    }

    #[test]
    fn what_was_not_deleted_is_still_there() {
        let before = stored(5, false);
        let mut at = before;
        at.delete();
        at.not_deleted(before, false);
        assert!(!at.allows(None) && at.allows(Some(5)));
        at.not_deleted(before, true);
        assert!(at.allows(None));
    }
}
