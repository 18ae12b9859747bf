//! What the control plane asks of a shard for the group of a partition, and what the shard answers.

use super::coded;

coded! {
    /// What a shard is asked to do with a group.
    pub enum ReconcileKind: u8 {
        /// The owner opens the group's log.
        InsertOwned = 1, "insert_owned";
        /// Any shard: requests may go to the owner of the group.
        InsertRouted = 2, "insert_routed";
        /// Any shard: no more requests to the group. The owner fences the group too, and starts to remove its files; until
        /// they are gone, a tombstone stands for the group.
        RemoveRouted = 3, "remove_routed";
        /// The owner forgets the tombstone.
        ConfirmRemove = 4, "confirm_remove";
        /// The owner drops every message, once for each purge generation.
        Purge = 5, "purge";
    }
}

coded! {
    /// How a reconcile operation ended.
    pub enum ReconcileOutcome: u8 {
        /// It is done.
        Done = 0, "done";
        /// The files of a tombstone are gone. Sent some time after the operation, or at once if there were no files.
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
    /// What a shard holds of a group when it starts.
    pub enum HeldState: u8 {
        /// The group is open.
        Owned = 1, "owned";
        /// Only files are left, which are to be removed.
        Tombstone = 2, "tombstone";
    }
}
