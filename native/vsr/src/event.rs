use ng_wire::replica::{BodyCheck, Level, Message, Op, PrepareHeader};

use crate::client_table::ClientTable;

/// An operation that someone wants in the log; its body stays with the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Who asks; zero for the cluster itself, which gets no reply.
    pub client: u128,
    /// The session of the client; looked at in the metadata group only.
    pub session: u64,
    /// The request number.
    pub request: u64,
    /// The operation.
    pub operation: u16,
    /// How it is acknowledged.
    pub level: Level,
    /// Microseconds since the Unix epoch; one that lies before the head's is raised to that.
    pub timestamp: u64,
    /// XXH3-128 of what the body check covers of the body.
    pub body_checksum: u128,
    /// Bytes of body.
    pub body_bytes: u32,
    /// How the body is held against the body checksum.
    pub body_check: BodyCheck,
}

/// What happens to a replica.
#[derive(Debug)]
pub enum Event {
    /// A client, or the cluster itself, asks for an operation.
    Request(Request),
    /// A replica said something. The frame's seal was verified, a prepare's body against its header.
    Message {
        /// Which replica; itself for what it said to itself.
        from: u8,
        /// What.
        message: Message,
    },
    /// An operation handed out for execution was executed; these come in the order they were handed out.
    Applied {
        /// The operation.
        header: PrepareHeader,
        /// The answer to its client.
        reply: Vec<u8>,
    },
    /// The body of a stored prepare could not be read back.
    Unreadable {
        /// Its place.
        op: Op,
        /// Which operation at that place.
        checksum: u128,
    },
    /// A state asked for with [`crate::Effect::Fetch`] is here, verified, and synced.
    ///
    /// Said only while nothing is being executed: what was handed out and is not reported as executed by now is forgotten
    /// if the state is taken over, and handed out anew if it stands behind it.
    Fetched {
        /// The last operation it contains.
        anchor: PrepareHeader,
        /// The client table that came with it, in the metadata group.
        clients: Option<Box<ClientTable>>,
    },
    /// A state asked for with [`crate::Effect::Fetch`] does not come; the next offer will do.
    FetchFailed,
    /// The node of the [awaited primary](crate::Replica::awaited_primary) fell silent, or lives another life.
    PrimarySilent,
    /// A replica said that it does not have the group: no prepare goes there for one suspicion period, and if it
    /// was the primary of a view that has begun, it leads no more.
    NotOpen {
        /// Which replica.
        from: u8,
    },
    /// Prepares that were not passed on for want of room would find it now: what lacks is asked for, without waiting for the
    /// timer.
    RoomAgain,
    /// A replica said that it has the group now.
    Opened {
        /// Which replica.
        from: u8,
    },
    /// The state up to this op is in a manifest. A group that rests keeps no place up to it any more, so say it
    /// only of what every living member had time to repair: further behind, they take a state transfer.
    Checkpointed(Op),
    /// Time has passed.
    Tick,
}
