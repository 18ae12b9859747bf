//! How orders for the segments of a partition end: to cut them, and to adopt others in their place.

use super::coded;

coded! {
    /// How an order to cut a partition ended.
    pub enum CutEnd: u8 {
        /// Every segment got its second name.
        Done = 0, "done";
        /// The partition has not begun yet; the order may be sent again.
        Busy = 1, "busy";
        /// The shard has no such group.
        NoGroup = 2, "no_group";
        /// It failed, with a reason.
        Failed = 3, "failed";
        /// The messages of the cut cannot be written out for now, with a reason; the order may be sent again.
        Full = 4, "full";
    }
}

coded! {
    /// How an order to adopt segments ended.
    pub enum AdoptionEnd: u8 {
        /// The new segments took the place of the old ones.
        Done = 0, "done";
        /// The partition has not begun yet, or adopts others; the order may be sent again.
        Busy = 1, "busy";
        /// The shard has no such group.
        NoGroup = 2, "no_group";
        /// It failed, with a reason.
        Failed = 3, "failed";
        /// The segments that were to be replaced are gone, or others are in their place.
        Fenced = 4, "fenced";
        /// Other nodes have the partition too.
        Cluster = 5, "cluster";
        /// The swap contradicts itself.
        Unsound = 6, "unsound";
    }
}
