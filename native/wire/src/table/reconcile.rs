//! Reconcile operations of the control plane for the group of a partition, and the answers of a shard.

use super::coded;

coded! {
    /// A reconcile operation of a shard for a group.
    pub enum ReconcileKind: u8 {
        /// The owner opens the group's log.
        InsertOwned = 1, "insert_owned";
        /// Any shard: requests may go to the owner of the group.
        InsertRouted = 2, "insert_routed";
        /// Any shard: no more requests to the group. The owner also fences the group and starts to remove its files. It
        /// keeps a tombstone until they are deleted.
        RemoveRouted = 3, "remove_routed";
        /// The owner forgets the tombstone.
        ConfirmRemove = 4, "confirm_remove";
        /// The owner drops every message, once per purge generation.
        Purge = 5, "purge";
    }
}

coded! {
    /// The outcome of a reconcile operation.
    pub enum ReconcileOutcome: u8 {
        /// The shard has applied it.
        Done = 0, "done";
        /// The files of a tombstone are deleted. Sent some time after the operation, or at once if there were no files.
        Removed = 1, "removed";
        /// It failed; the operation may be sent again.
        Failed = 2, "failed";
        /// There was no room; the operation may be sent again.
        Busy = 3, "busy";
        /// The shard has no such group.
        UnknownGroup = 4, "unknown_group";
    }
}

coded! {
    /// The state of a group on a shard that starts.
    pub enum HeldState: u8 {
        /// The group is open.
        Owned = 1, "owned";
        /// Only files are left, and must be removed.
        Tombstone = 2, "tombstone";
    }
}
