//! Records: messages between the engine and Python. `ng_control::record` defines their bytes.

use super::coded;

coded! {
    /// Kinds of records that the engine sends to Python.
    pub enum ToPython: u16 {
        /// A password to verify. Body: username, password, peer address (strings).
        Login = 1, "login";
        /// Every shard runs. No body.
        Started = 2, "started";
        /// The start failed; running shards are stopped. The shard is 65535 if no shard is the cause. Body: exit status
        /// (u8), reason (string).
        StartFailed = 3, "start_failed";
        /// Every shard has stopped. Body: 1 if all of them stopped in order, 0 if something was cut off (u8).
        Stopped = 4, "stopped";
        /// An event. Body: event code (u16), its two numbers (u64), wall time in microseconds (u64).
        NativeEvent = 5, "native_event";
        /// Progress of a start. Body: a phrase (string).
        Progress = 6, "progress";
        /// Rows of the metadata at the operation of the token. Body: 1 on the last piece of a state, else 0 (u8); rows as
        /// deltas. The piece that follows a last one begins another state.
        Rows = 7, "rows";
        /// A committed operation of the metadata, whose number is the token. Body: timestamp in microseconds (u64), client
        /// (u128), operation (u8), user id (u32), the client's bytes.
        Apply = 8, "apply";
        /// All operations that the journal held at the start have been sent. No body.
        CaughtUp = 9, "caught_up";
        /// Answers to reconcile operations, under the pass that gave them. Body: kind (u8), group (u64), outcome (u8),
        /// repeated.
        Reconciled = 10, "reconciled";
        /// Groups that a shard held at its start. Body: 1 on the last piece, else 0 (u8); group (u64), state (u8),
        /// repeated.
        Observed = 11, "observed";
        /// The end of a cut, under its token. Body: 1 on the last piece, else 0 (u8); the end (u8). After `done`: purge
        /// generation and last offset (u64, all ones for none), then for each segment first and last offset, least and
        /// greatest timestamp, bytes (u64), messages, generation (u32), footer (u128). After `failed` and `full`: the
        /// reason (string).
        Cut = 12, "cut";
        /// The end of an adoption, under its token. Body: the end (u8), reason (string; empty unless it failed).
        Adopted = 13, "adopted";
        /// A command that needs a hash before the log takes it, under its ticket. Body: operation (u8), user id (u32), what
        /// the client wrote.
        Enrich = 14, "enrich";
        /// A session opened or ended; the token counts these records, so that one without room shows. Body: which of the
        /// two (u8), the reason of an eviction, else 0 (u8), session (u64), client (u128), user id (u32), peer address
        /// (string).
        Session = 15, "session";
    }
}

coded! {
    /// Kinds of records that Python sends to the engine.
    pub enum FromPython: u16 {
        /// The verdict on a login, under its token. Body: verdict (u8), user id (u32).
        LoginVerdict = 1, "login_verdict";
        /// Figures of the host, for statistics. Body: two usages of processors (f32), memory used, total and available,
        /// bytes read and written (u64), threads (u32), free and total disk space (u64), hostname, name and version of
        /// the system, version of the kernel (strings).
        HostFigures = 2, "host_figures";
        /// Clients may connect. No body.
        OpenDoors = 3, "open_doors";
        /// The result of an operation, whose number is the token. Body: error code or 0 (u32), kind of reply (u8), stream,
        /// topic (u32), revision (u64), deltas. The user of a reply stands in the place of the stream.
        Applied = 4, "applied";
        /// Operations for a shard, under the pass of the token. Body: kind (u8), group (u64), purge generation (u64),
        /// repeated.
        Reconcile = 5, "reconcile";
        /// Every shard has reached the revision of the token. No body.
        Converged = 6, "converged";
        /// The first deltas of the `applied` record that follows, whose body would be too long for the ring with them.
        /// Body: some bytes of them.
        AppliedPart = 7, "applied_part";
        /// Cut a partition of a shard. Body: group (u64), the whole path of the directory for the names of its segments.
        Cut = 8, "cut";
        /// Adopt segments into a partition of a shard. Body: group (u64), bytes of the swap (u32), the swap, the whole
        /// path of the directory with the files.
        Adopt = 9, "adopt";
        /// Puts an operation of the cluster itself into the metadata's log, if that takes it now. Body: operation (u8), its
        /// body.
        Propose = 10, "propose";
        /// The answer to an `enrich` record, under its ticket. Body: error code or 0 (u32), the body that goes into the log.
        Enriched = 11, "enriched";
    }
}

coded! {
    /// Kinds of records with which tests cause a fault in a build with debug assertions.
    pub enum FaultKind: u16 {
        /// The shard of the record panics. No body.
        Panic = 0xFF00, "panic";
        /// The shard of the record blocks for a while. Body: milliseconds (u64).
        Stall = 0xFF01, "stall";
        /// The next request for a partition that reaches the shard from another one names a wrong receiver. No body.
        Misroute = 0xFF02, "misroute";
    }
}

coded! {
    /// What became of a session.
    pub enum SessionChange: u8 {
        /// It was made by a login.
        Opened = 0, "opened";
        /// Its client logged out, or closed the connection.
        Ended = 1, "ended";
        /// The server ended it.
        Evicted = 2, "evicted";
    }
}

coded! {
    /// The answer of authentication to a login.
    pub enum Verdict: u8 {
        /// The password belongs to the user, who may log in.
        Accepted = 0, "accepted";
        /// The password does not belong to the user, or the user may not log in.
        Refused = 1, "refused";
        /// Not verified, because too many logins wait.
        Busy = 2, "busy";
        /// Not verified, because too many logins by this address for this name have failed.
        Throttled = 3, "throttled";
    }
}

coded! {
    /// The rows in the reply to a metadata operation.
    pub enum ReplyKind: u8 {
        /// Nothing.
        Empty = 0, "empty";
        /// A stream.
        Stream = 1, "stream";
        /// A topic with its partitions.
        Topic = 2, "topic";
        /// A user with its permissions.
        User = 3, "user";
    }
}
