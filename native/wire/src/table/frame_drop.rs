//! What the mailboxes between shards carry, and why a frame did not arrive.

use super::coded;

coded! {
    /// The `variant` of `frame_drops_total`.
    pub enum FrameVariant: u8 {
        /// A client's request on its way to the shard that serves it.
        ClientRequest = 0, "client_request";
        /// The answer on its way back to the shard of the connection.
        ClientAnswer = 1, "client_answer";
        /// An accepted descriptor on its way to the shard that will serve it.
        HandOver = 2, "hand_over";
        /// The news that a connection ended, on its way to the registry of clients.
        ConnectionClosed = 3, "connection_closed";
        /// The news that a session ended, on its way to the shard of the connection.
        SessionEnded = 4, "session_ended";
        /// A client's request on its way to the shard that owns the partition.
        PartitionRequest = 5, "partition_request";
        /// Changed rows of the metadata, on their way to a mirror.
        Rows = 6, "rows";
        /// The word of a mirror that it has them.
        Mirrored = 7, "mirrored";
        /// Orders of the control plane for the partitions of a shard.
        Orders = 8, "orders";
        /// What became of them.
        Fates = 9, "fates";
        /// What a shard held at its start.
        Observed = 10, "observed";
        /// An order of the control plane to cut a partition.
        Cut = 11, "cut";
        /// What came of it.
        CutEnded = 12, "cut_ended";
        /// An order of the control plane to adopt segments into a partition.
        Adopt = 13, "adopt";
        /// What came of it.
        AdoptionEnded = 14, "adoption_ended";
        /// A message from another node, or from a replica to itself.
        ReplicaMessage = 15, "replica_message";
        /// A message to another node whose body has to be read from the journal.
        ReplicaRead = 16, "replica_read";
    }
}

coded! {
    /// The `reason` of `frame_drops_total`.
    pub enum DropReason: u8 {
        /// The mailbox, the journal or the queue of reads had no room.
        Full = 0, "full";
        /// The connection or request the frame is for has ended.
        Gone = 1, "gone";
        /// The frame reached a shard that does not serve its target.
        Misrouted = 2, "misrouted";
        /// No shard serves the target.
        Unroutable = 3, "unroutable";
        /// The server stops, and the receiver has finished.
        Stopping = 4, "stopping";
        /// The receiver has no use for it: it is late, or damaged, or about another group.
        Unwanted = 5, "unwanted";
    }
}
