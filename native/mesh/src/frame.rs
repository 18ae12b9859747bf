//! What travels between shards.

use std::fmt;
use std::sync::Arc;

use ng_control::adopt_order::{AdoptOrder, AdoptionReport};
use ng_control::cut_order::{CutOrder, CutReport};
use ng_control::reconcile_order::{ReconcileAnswers, ReconcileOp};
use ng_control::rows_update::RowsUpdate;
use ng_control::shard_id::ShardId;
use ng_io::Chunk;
use ng_net::connection::Bound;
use ng_net::{ConnectionId, HandOver};
use ng_replication::{Consumer, Poll, Polled};
use ng_wire::frame::RequestHeader;
use ng_wire::replica::Level;
use ng_wire::table::error::ErrorCode;
use ng_wire::table::eviction::EvictionReason;
use ng_wire::table::frame_drop::FrameVariant;
use ng_wire::table::operation::Operation;

use crate::routes::PublishedFigures;

/// One entry of a mailbox. Requests and answers are boxed, so that an entry stays within one cache line.
#[derive(Debug)]
pub enum ShardFrame {
    /// Connections coming and going. These wait for room and are never dropped.
    Lifecycle(Lifecycle),
    /// Work for a client. A request that finds the mailbox full is refused and its client answered at once.
    Client(ClientFrame),
    /// What every shard has to know of streams and partitions. These wait for room and are never dropped.
    Plane(PlaneFrame),
}

/// Between the first shard, where metadata and the way to Python are, and the others.
#[derive(Debug)]
pub enum PlaneFrame {
    /// To every shard: rows of the metadata changed.
    Rows(RowsUpdate),
    /// Back: a shard knows the rows up to this operation.
    Mirrored {
        /// Which shard.
        shard: ShardId,
        /// Up to and with this operation.
        op: u64,
    },
    /// To one shard: orders for partitions.
    Orders(Box<Orders>),
    /// Back: what became of them.
    Reconciled(Box<ReconcileReport>),
    /// To the first shard: what a shard held at its start.
    Observed {
        /// Which shard.
        shard: ShardId,
        /// Each group, and whether it is open; else its files are to go.
        groups: Vec<(u64, bool)>,
    },
    /// To one shard: cut a partition.
    Cut {
        /// Under which token.
        token: u64,
        /// Which, and where to.
        order: Box<CutOrder>,
    },
    /// Back: what came of it.
    CutEnded(Box<CutReport>),
    /// To one shard: adopt files into a partition.
    Adopt {
        /// Under which token.
        token: u64,
        /// Which, and what.
        order: Box<AdoptOrder>,
    },
    /// Back: what came of it.
    AdoptionEnded(Box<AdoptionReport>),
    /// To one shard: a fault that a test asked for.
    #[cfg(debug_assertions)]
    Fault(crate::fault::Fault),
}

/// Orders of one pass for one shard.
#[derive(Debug)]
pub struct Orders {
    /// The pass.
    pub pass: u64,
    /// Each with what the partition's owner publishes, where a route is to be made.
    pub orders: Vec<(ReconcileOp, Option<Arc<PublishedFigures>>)>,
}

/// What became of orders of one pass on one shard.
#[derive(Debug)]
pub struct ReconcileReport {
    /// Which shard.
    pub shard: ShardId,
    /// The pass.
    pub pass: u64,
    /// What became of its orders.
    pub answers: ReconcileAnswers,
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
    /// To the shard that owns the partition.
    Partition(Box<PartitionRequest>),
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

/// A request for a partition and where its answer goes.
#[derive(Debug)]
pub struct PartitionRequest {
    /// The shard of the connection.
    pub shard: ShardId,
    /// The connection there.
    pub connection: ConnectionId,
    /// Echoed by the reply.
    pub header: RequestHeader,
    /// The partition.
    pub place: Place,
    /// What is asked.
    pub ask: PartitionAsk,
}

/// A partition as clients and as the log know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its stream.
    pub stream: u32,
    /// Its topic.
    pub topic: u32,
    /// Its number in the topic.
    pub partition: u32,
    /// Its group.
    pub group: u64,
}

/// What a partition is asked.
#[derive(Debug)]
pub enum PartitionAsk {
    /// To take a batch.
    Send {
        /// The batch as the producer wrote it, its header looked at.
        batch: Chunk,
        /// What its acknowledgement means.
        level: Level,
    },
    /// For messages.
    Poll(Poll),
    /// To let its oldest sealed segments go.
    DeleteSegments {
        /// How many.
        count: u32,
        /// What the answer means.
        level: Level,
    },
    /// Up to where a consumer has come.
    StoredOffset(Consumer),
    /// To keep an offset for a consumer, or to forget it.
    WriteOffset {
        /// The consumer.
        consumer: Consumer,
        /// The offset; nothing to forget it.
        offset: Option<u64>,
        /// Whether the answer waits until it is in the log, and what that means.
        level: Option<Level>,
    },
}

/// What only the first shard can answer.
#[derive(Debug)]
pub enum Ask {
    /// A change of streams, topics or partitions, its body looked at.
    Metadata {
        /// Which.
        operation: Operation,
        /// Who asks.
        bound: Bound,
        /// As the client wrote it.
        body: Box<[u8]>,
    },
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
    /// A read's reply body, or that of a request for a partition.
    Body(Vec<u8>),
    /// What a metadata command came to.
    Decided(Box<Decided>),
    /// Messages of a partition.
    Polled {
        /// Which.
        partition: u32,
        /// The messages.
        polled: Box<Polled>,
    },
    /// Refused before anything was done; said in the status of the reply, whatever the command.
    Denied(ErrorCode),
    /// Refused, with a reason the client may retry on or not.
    Refused(ErrorCode),
    /// The login failed.
    Evicted(EvictionReason),
}

/// What a metadata command came to.
#[derive(Debug)]
pub struct Decided {
    /// Its place in the log.
    pub op: u64,
    /// Why it changed nothing.
    pub result: Option<ErrorCode>,
    /// What the client gets.
    pub payload: Vec<u8>,
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
            Self::Client(ClientFrame::Partition(_)) => FrameVariant::PartitionRequest,
            Self::Plane(PlaneFrame::Rows(_)) => FrameVariant::Rows,
            Self::Plane(PlaneFrame::Mirrored { .. }) => FrameVariant::Mirrored,
            Self::Plane(PlaneFrame::Orders(_)) => FrameVariant::Orders,
            #[cfg(debug_assertions)]
            Self::Plane(PlaneFrame::Fault(_)) => FrameVariant::Orders,
            Self::Plane(PlaneFrame::Reconciled(_)) => FrameVariant::Fates,
            Self::Plane(PlaneFrame::Observed { .. }) => FrameVariant::Observed,
            Self::Plane(PlaneFrame::Cut { .. }) => FrameVariant::Cut,
            Self::Plane(PlaneFrame::CutEnded(_)) => FrameVariant::CutEnded,
            Self::Plane(PlaneFrame::Adopt { .. }) => FrameVariant::Adopt,
            Self::Plane(PlaneFrame::AdoptionEnded(_)) => FrameVariant::AdoptionEnded,
            Self::Client(ClientFrame::Answer(_)) => FrameVariant::ClientAnswer,
        }
    }
}
