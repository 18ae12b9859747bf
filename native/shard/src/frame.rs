//! What travels between shards.

use std::fmt;

use ng_net::connection::Bound;
use ng_net::{ConnectionId, HandOver};
use ng_wire::frame::RequestHeader;
use ng_wire::table::error::ErrorCode;
use ng_wire::table::eviction::EvictionReason;
use ng_wire::table::frame_drop::FrameVariant;

use crate::identity::ShardId;

/// One entry of a mailbox. Requests and answers are boxed: they are rare (logins, client lists, statistics), and an
/// entry stays within one cache line.
#[derive(Debug)]
pub enum ShardFrame {
    /// Connections coming and going. These wait for room and are never dropped.
    Lifecycle(Lifecycle),
    /// Work for a client. A request that finds the mailbox full is refused and its client answered at once.
    Client(ClientFrame),
}

/// Connections coming and going.
#[derive(Debug)]
pub enum Lifecycle {
    /// An accepted connection, for the shard that will serve it.
    HandOver(HandOver),
    /// A connection is gone, for the registry.
    Closed {
        /// The connection's number.
        client_id: u32,
    },
    /// A session is gone, for the shard of its connection.
    SessionEnded(EndedSession),
}

/// A session that ended although its connection is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedSession {
    /// The connection.
    pub connection: ConnectionId,
    /// Its session.
    pub session: u64,
    /// What the client is told.
    pub reason: EvictionReason,
}

/// Work for a client that another shard has to do, and what came of it.
#[derive(Debug)]
pub enum ClientFrame {
    /// To the shard that can answer.
    Request(Box<ClientRequest>),
    /// Back to the connection's shard.
    Answer(Box<ClientAnswer>),
}

/// A request and where its answer goes.
#[derive(Debug)]
pub struct ClientRequest {
    /// The shard of the connection.
    pub shard: ShardId,
    /// The connection there.
    pub connection: ConnectionId,
    /// Its number in the registry.
    pub client_id: u32,
    /// Echoed by the reply.
    pub header: RequestHeader,
    /// What is asked.
    pub ask: Ask,
}

/// What only the first shard can answer.
#[derive(Debug)]
pub enum Ask {
    /// A session, for a name and a password.
    Login {
        /// As the client wrote it.
        username: Box<str>,
        /// As the client wrote it.
        password: Secret,
    },
    /// The end of the connection's session.
    Logout,
    /// All clients.
    Clients,
    /// One client.
    Client(u32),
    /// Figures of the host, the process and the store.
    Stats,
}

/// Bytes that must not reach a log.
pub struct Secret(pub Box<[u8]>);

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(..)")
    }
}

/// The answer to a [`ClientRequest`].
#[derive(Debug)]
pub struct ClientAnswer {
    /// The connection that asked.
    pub connection: ConnectionId,
    /// Of the request, for the echo.
    pub header: RequestHeader,
    /// What came of it.
    pub answer: Answer,
}

/// What came of a request.
#[derive(Debug)]
pub enum Answer {
    /// The login made this session.
    Session(Bound),
    /// The session ended.
    LoggedOut {
        /// The op of the logout; zero if there was nothing to end.
        op: u64,
    },
    /// A read's reply body.
    Body(Vec<u8>),
    /// Refused, with a reason the client may retry on or not.
    Refused(ErrorCode),
    /// The login failed.
    Evicted(EvictionReason),
}

/// A frame and the shard it is for: a mailbox bound to the wrong thread is noticed at its first frame.
#[derive(Debug)]
pub struct Envelope {
    /// The receiver.
    pub to: ShardId,
    /// The content.
    pub frame: ShardFrame,
}

const _: () = assert!(size_of::<Envelope>() <= 64, "a mailbox entry is one cache line");

impl ShardFrame {
    /// The label under which a drop of this frame is counted.
    pub fn variant(&self) -> FrameVariant {
        match self {
            Self::Lifecycle(Lifecycle::HandOver(_)) => FrameVariant::HandOver,
            Self::Lifecycle(Lifecycle::Closed { .. }) => FrameVariant::ConnectionClosed,
            Self::Lifecycle(Lifecycle::SessionEnded(_)) => FrameVariant::SessionEnded,
            Self::Client(ClientFrame::Request(_)) => FrameVariant::ClientRequest,
            Self::Client(ClientFrame::Answer(_)) => FrameVariant::ClientAnswer,
        }
    }
}
