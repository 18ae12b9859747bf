//! Outcomes of cuts and adoptions of a partition's segments.

use super::coded;

coded! {
    /// The outcome of a cut.
    pub enum CutEnd: u8 {
        /// Every segment got its second name.
        Done = 0, "done";
        /// The partition is not ready yet; the cut may be sent again.
        Busy = 1, "busy";
        /// The shard has no such group.
        NoGroup = 2, "no_group";
        /// It failed, with a reason.
        Failed = 3, "failed";
        /// The messages of the cut cannot be written to segments now, with a reason; the cut may be sent again.
        Full = 4, "full";
    }
}

coded! {
    /// The outcome of an adoption.
    pub enum AdoptionEnd: u8 {
        /// The new segments have replaced the old ones.
        Done = 0, "done";
        /// The partition is not ready yet, or adopts others; the adoption may be sent again.
        Busy = 1, "busy";
        /// The shard has no such group.
        NoGroup = 2, "no_group";
        /// It failed, with a reason.
        Failed = 3, "failed";
        /// The segments to replace were removed, or replaced by others.
        Fenced = 4, "fenced";
        /// Other nodes have the partition, too, and not the files.
        Cluster = 5, "cluster";
        /// The swap contradicts itself.
        Unsound = 6, "unsound";
    }
}
