//! Kinds of frames in the mailboxes between shards, and reasons why a frame was dropped.

use super::coded;

coded! {
    /// The `variant` of `frame_drops_total`.
    pub enum FrameVariant: u8 {
        /// A client's request, to the shard that serves it.
        ClientRequest = 0, "client_request";
        /// The answer, to the shard of the connection.
        ClientAnswer = 1, "client_answer";
        /// An accepted descriptor, to the shard that will serve it.
        HandOver = 2, "hand_over";
        /// The end of a connection, to the registry of clients.
        ConnectionClosed = 3, "connection_closed";
        /// The end of a session, to the shard of the connection.
        SessionEnded = 4, "session_ended";
        /// A client's request, to the shard that owns the partition.
        PartitionRequest = 5, "partition_request";
        /// Changed rows of the metadata, to a mirror.
        Rows = 6, "rows";
        /// The confirmation of a mirror that it has the rows.
        Mirrored = 7, "mirrored";
        /// Reconcile operations of the control plane for the partitions of a shard.
        Orders = 8, "orders";
        /// Outcomes of reconcile operations.
        Fates = 9, "fates";
        /// The groups that a shard held at its start.
        Observed = 10, "observed";
        /// A request of the control plane to cut a partition.
        Cut = 11, "cut";
        /// The outcome of a cut.
        CutEnded = 12, "cut_ended";
        /// A request of the control plane to adopt segments into a partition.
        Adopt = 13, "adopt";
        /// The outcome of an adoption.
        AdoptionEnded = 14, "adoption_ended";
        /// A message from another node, or from a replica to itself.
        ReplicaMessage = 15, "replica_message";
        /// A message to another node, with a body that must be read from the journal.
        ReplicaRead = 16, "replica_read";
    }
}

coded! {
    /// The `reason` of `frame_drops_total`.
    pub enum DropReason: u8 {
        /// The mailbox, the journal or the queue of reads had no room.
        Full = 0, "full";
        /// The connection or request of the frame has ended.
        Gone = 1, "gone";
        /// The frame reached a shard that does not serve its target.
        Misrouted = 2, "misrouted";
        /// No shard serves the target.
        Unroutable = 3, "unroutable";
        /// The server is stopping, and the receiver has finished.
        Stopping = 4, "stopping";
        /// The receiver cannot use it: it is late, damaged, or of another group.
        Unwanted = 5, "unwanted";
    }
}
