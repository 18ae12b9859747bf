//! Frames, the messages that shards send each other through mailboxes.
//!
//! Every request carries the shard and connection to which its answer returns, because the receiving shard
//! does not know the connection.

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

/// One entry of a mailbox. Large contents are boxed so that an entry stays within one cache line.
#[derive(Debug)]
pub enum ShardFrame {
    /// Arrivals and ends of connections. They wait for room and are never dropped.
    Lifecycle(Lifecycle),
    /// Requests of clients and their answers. If the mailbox is full, the request is refused and the client
    /// gets an error at once; an answer waits for room.
    Client(ClientFrame),
    /// Changes of streams and partitions. They wait for room and are never dropped, because shards that
    /// missed one would disagree.
    Plane(PlaneFrame),
}

/// Control-plane frames between shard 0, which holds the metadata and the record rings to Python, and all
/// shards.
#[derive(Debug)]
pub enum PlaneFrame {
    /// To every shard: changed rows of the metadata.
    Rows(RowsUpdate),
    /// To shard 0: the shard's mirror has the rows up to this operation.
    Mirrored {
        /// Sender.
        shard: ShardId,
        /// Last metadata operation in the mirror.
        op: u64,
    },
    /// To one shard: reconcile operations on partitions.
    Orders(Box<Orders>),
    /// To shard 0: outcomes of the operations.
    Reconciled(Box<ReconcileReport>),
    /// To shard 0: the groups that a shard found on disk at its start.
    Observed {
        /// Sender.
        shard: ShardId,
        /// Group number, and whether the group is open; the files of the others await removal.
        groups: Vec<(u64, bool)>,
    },
    /// To one shard: cut a partition for a lease.
    Cut {
        /// Token of the control plane's record; the report repeats it.
        token: u64,
        /// Partition and target directory.
        order: Box<CutOrder>,
    },
    /// To shard 0: outcome of a cut.
    CutEnded(Box<CutReport>),
    /// To one shard: adopt compacted files into a partition.
    Adopt {
        /// Token of the control plane's record; the report repeats it.
        token: u64,
        /// Partition and files.
        order: Box<AdoptOrder>,
    },
    /// To shard 0: outcome of an adoption.
    AdoptionEnded(Box<AdoptionReport>),
    /// To one shard: a fault that a test injects.
    #[cfg(debug_assertions)]
    Fault(crate::fault::Fault),
}

/// Reconcile operations of one pass for one shard.
#[derive(Debug)]
pub struct Orders {
    /// Number of the pass.
    pub pass: u64,
    /// Operations in order. An operation that inserts a route has the figures of the partition's owner, so
    /// that this shard can answer reads of metadata alone.
    pub orders: Vec<(ReconcileOp, Option<Arc<PublishedFigures>>)>,
}

/// Outcomes of the operations of one pass on one shard.
#[derive(Debug)]
pub struct ReconcileReport {
    /// Sender.
    pub shard: ShardId,
    /// Number of the pass.
    pub pass: u64,
    /// One answer per operation.
    pub answers: ReconcileAnswers,
}

/// Arrivals and ends of connections and sessions.
#[derive(Debug)]
pub enum Lifecycle {
    /// Accepted connection, to the shard that will serve it.
    HandOver(HandOver),
    /// Closed connection, to the registry.
    Closed {
        /// Number of the connection in the registry.
        client_id: u32,
    },
    /// Ended session, to the shard of its connection.
    SessionEnded(EndedSession),
}

/// A session that ended while its connection stays open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedSession {
    /// Connection of the session.
    pub connection: ConnectionId,
    /// Session number.
    pub session: u64,
    /// Reason that the client receives.
    pub reason: EvictionReason,
}

/// Client requests that another shard must serve, and their answers.
#[derive(Debug)]
pub enum ClientFrame {
    /// To the shard that can answer.
    Request(Box<ClientRequest>),
    /// To the owner of the partition.
    Partition(Box<PartitionRequest>),
    /// To the shard of the connection.
    Answer(Box<ClientAnswer>),
}

/// A request that only shard 0 can answer, and the return path of the answer.
#[derive(Debug)]
pub struct ClientRequest {
    /// Shard of the connection.
    pub shard: ShardId,
    /// Connection on that shard.
    pub connection: ConnectionId,
    /// Number of the connection in the registry.
    pub client_id: u32,
    /// Header of the request; the reply echoes it.
    pub header: RequestHeader,
    /// Command and arguments.
    pub ask: Ask,
}

/// A request for a partition, and the return path of the answer.
#[derive(Debug)]
pub struct PartitionRequest {
    /// Shard of the connection.
    pub shard: ShardId,
    /// Connection on that shard.
    pub connection: ConnectionId,
    /// Header of the request; the reply echoes it.
    pub header: RequestHeader,
    /// Target partition.
    pub place: Place,
    /// Command and arguments.
    pub ask: PartitionAsk,
}

/// A partition by the ids that clients use and by its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Stream id.
    pub stream: u32,
    /// Topic id.
    pub topic: u32,
    /// Index in the topic.
    pub partition: u32,
    /// Replication group.
    pub group: u64,
}

/// Commands that the owner of a partition executes.
#[derive(Debug)]
pub enum PartitionAsk {
    /// Append a batch.
    Send {
        /// Batch as the producer sent it; its header is already checked.
        batch: Chunk,
        /// Durability that the acknowledgement promises.
        level: Level,
    },
    /// Read messages.
    Poll(Poll),
    /// Delete the oldest sealed segments.
    DeleteSegments {
        /// Number of segments.
        count: u32,
        /// Durability that the answer promises.
        level: Level,
    },
    /// Read the stored offset of a consumer.
    StoredOffset(Consumer),
    /// Store or delete the offset of a consumer.
    WriteOffset {
        /// Consumer of the offset.
        consumer: Consumer,
        /// Offset to store; `None` deletes the stored one.
        offset: Option<u64>,
        /// Durability that the answer waits for; `None` answers before the offset is in the log.
        level: Option<Level>,
    },
}

/// Commands that only shard 0 can answer.
#[derive(Debug)]
pub enum Ask {
    /// Change of streams, topics, partitions or users; its body is already checked.
    Metadata {
        /// Command.
        operation: Operation,
        /// Session of the sender.
        bound: Bound,
        /// Body as the client sent it.
        body: Box<[u8]>,
    },
    /// Change of a user that brings a password; its body is already checked.
    Enrich {
        /// Command.
        operation: Operation,
        /// Session of the sender.
        bound: Bound,
        /// Body as the client sent it.
        body: Secret,
    },
    /// Open a session for a name and a password.
    Login {
        /// Name as the client sent it.
        username: Box<str>,
        /// Password as the client sent it.
        password: Secret,
    },
    /// End the session of the connection.
    Logout,
    /// List all clients.
    Clients,
    /// Show one client.
    Client(u32),
    /// Figures of the host, the process and the store.
    Stats,
}

/// Bytes that debug output must not contain.
pub struct Secret(pub Box<[u8]>);

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(..)")
    }
}

/// The answer to a [`ClientRequest`] or a [`PartitionRequest`].
#[derive(Debug)]
pub struct ClientAnswer {
    /// Connection that sent the request.
    pub connection: ConnectionId,
    /// Header of the request, for the echo.
    pub header: RequestHeader,
    /// Outcome.
    pub answer: Answer,
}

/// Outcome of a request.
#[derive(Debug)]
pub enum Answer {
    /// Session that the login made.
    Session(Bound),
    /// The session ended.
    LoggedOut {
        /// Op of the logout; zero if the connection had no session.
        op: u64,
    },
    /// Body of the reply to a read or a partition request.
    Body(Vec<u8>),
    /// Decision about a metadata command.
    Decided(Box<Decided>),
    /// Messages of a partition.
    Polled {
        /// Index in the topic.
        partition: u32,
        /// Messages and offsets.
        polled: Box<Polled>,
    },
    /// Refused before any work; the status of the reply carries the code, for every command.
    Denied(ErrorCode),
    /// Refused with a code from which the client decides whether to retry.
    Refused(ErrorCode),
    /// The login failed.
    Evicted(EvictionReason),
}

/// Decision about a metadata command.
#[derive(Debug)]
pub struct Decided {
    /// Op of the command in the metadata log.
    pub op: u64,
    /// Error of a command that changed nothing.
    pub result: Option<ErrorCode>,
    /// Body of the reply.
    pub payload: Vec<u8>,
}

/// A frame with its receiver. The receiver checks the address, so that a mailbox connected to the wrong
/// thread is noticed at its first frame.
#[derive(Debug)]
pub struct Envelope {
    /// Receiver.
    pub to: ShardId,
    /// Content.
    pub frame: ShardFrame,
}

const _: () = assert!(size_of::<Envelope>() <= 64, "a mailbox entry is one cache line");

impl ShardFrame {
    /// Label of this frame in the drop counter.
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
