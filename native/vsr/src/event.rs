use ng_wire::replica::{Level, Message, Op, PrepareHeader};

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
    /// Microseconds since the Unix epoch.
    pub timestamp: u64,
    /// XXH3-128 of the body.
    pub body_checksum: u128,
    /// Bytes of body.
    pub body_bytes: u32,
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
    Fetched {
        /// The last operation it contains.
        anchor: PrepareHeader,
        /// The client table that came with it, in the metadata group.
        clients: Option<Box<ClientTable>>,
    },
    /// Time has passed.
    Tick,
}
