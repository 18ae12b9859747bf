//! What a shard does with a client's request.
//!
//! A request is answered here, by the first shard when it concerns what exists once in a process, or by the
//! shard that owns the partition.

mod commands;
mod measuring;
mod messages;
mod reads;
mod reply_budget;
mod waiting_polls;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ng_catalog::Catalog;
use ng_io::{Instant, WallMicros};
use ng_net::limits::UNAUTHENTICATED_FRAME_BYTES_MAX;
use ng_net::{ConnectionId, FrameBody, Kept, Peer, Served, Service};
use ng_wire::frame::{HEADER_BYTES, RequestHeader};
use ng_wire::primitive::Name;
use ng_wire::reply::{self, Client, Cluster, Node, POLL_HEADER_BYTES, PollHeader, Position, Registered};
use ng_wire::request::{self, Credentials, Register};
use ng_wire::table::close_reason::CloseReason;
use ng_wire::table::command::Command;
use ng_wire::table::error::ErrorCode;
use ng_wire::table::event::Event;
use ng_wire::table::eviction::EvictionReason;
use ng_wire::table::frame_drop::{DropReason, FrameVariant};
use ng_wire::table::metric::{Cell, Metric};
use ng_wire::table::operation::Operation;
use ng_wire::table::outcome::ReplyOutcome;
use ng_wire::table::permission::Requirement;
use ng_wire::table::roster::{NodeRole, NodeStatus};
use ng_wire::table::transport::Transport;

pub use measuring::Answered;
pub use messages::Resumed;
pub use reply_budget::ReplyBudget;
pub use waiting_polls::{WaitingPoll, WaitingPolls};

use crate::enrichments::Unenriched;
use crate::log_ticket::LogCaller;
use crate::login::Asker;
use crate::metadata_requests::MetadataRequests;
use crate::node_facts::{IGGY_VERSION, NODE_NAME, NodeFacts};
use crate::registry::{NodeView, Registry};
use crate::totals::ShardTotals;
use ng_control::event_ring::EventRing;
use ng_control::memory_parts::MemoryParts;
use ng_control::metrics::MetricsRow;
use ng_control::shard_id::ShardId;
use ng_mesh::forward;
use ng_mesh::frame::{Answer, Ask, ClientAnswer, ClientRequest, Decided, PartitionRequest, Secret};
use ng_mesh::mailbox::Mailboxes;
use ng_mesh::routes::Routes;
use ng_replication::{LogRequest, Polled, Ticket};

/// Clients can make frames drop; the counter has them all, the log one in this time.
const DROPS_TOLD_EVERY: Duration = Duration::from_secs(1);

/// The largest frame of a request that brings no messages: names, and a block of options of 100,000 bytes at
/// most.
const COMMAND_FRAME_BYTES_MAX: u32 = 128 * 1024;

/// Of what no log holds.
const UNLOGGED: Position = Position { op: 0, commit: 0 };

/// What a shard answers with: its own knowledge, its way to the other shards, and on the first shard the
/// registry.
#[derive(Debug)]
pub struct RequestHandler {
    /// Which shard this is.
    pub id: ShardId,
    /// Facts of this run.
    pub facts: Arc<NodeFacts>,
    /// Rings to and from the other shards.
    pub mailboxes: Mailboxes,
    /// The shard's figures.
    pub metrics: Arc<MetricsRow>,
    /// The shard's voice.
    pub log: EventRing,
    /// Clients and sessions; on the first shard only.
    pub registry: Option<Registry>,
    /// Changes of the metadata that are under way; on the first shard only.
    pub metadata: Option<MetadataRequests>,
    /// What the metadata's log is to be asked in this turn.
    pub commands: Vec<(Ticket, LogRequest)>,
    /// The rows.
    pub catalog: Catalog,
    /// Where requests for partitions go.
    pub routes: Routes,
    /// What the partitions of each shard hold, by shard.
    pub totals: Arc<[ShardTotals]>,
    /// Requests of this shard's connections for its own partitions, in this turn.
    pub own_partitions: Vec<Box<PartitionRequest>>,
    /// Whose turn it is in each topic whose producers leave that to the server.
    pub balance: BTreeMap<(u32, u32), u32>,
    /// Requests answered in this turn.
    pub answered: Answered,
    /// The largest frame a session may send, header included.
    pub frame_bytes_max: u32,
    /// What this shard may have of the memory budget.
    pub memory: MemoryParts,
    /// Memory for replies to polls.
    pub replies: ReplyBudget,
    /// Polls for whose replies there is none now.
    pub waiting_polls: WaitingPolls,
    /// When a dropped frame was last told of.
    pub drop_told: Option<Instant>,
    /// The time of this turn.
    pub now: Instant,
    /// The wall time of this turn.
    pub wall: WallMicros,
}

/// A reply that was written, as it is counted.
type Outcome = (ReplyOutcome, Served);

impl RequestHandler {
    /// Writes an event to the log.
    pub fn tell(&mut self, event: Event, fields: [u64; 2]) {
        self.log.push(event, fields, self.wall);
    }

    /// Counts a frame that did not arrive, and says so once in a while.
    pub fn count_drop(&mut self, variant: FrameVariant, reason: DropReason) {
        self.metrics.add(Cell::frame_drop(variant, reason), 1);
        if self.drop_told.is_none_or(|told| self.now - told >= DROPS_TOLD_EVERY) {
            self.drop_told = Some(self.now);
            self.tell(Event::FrameDropped, [u64::from(variant.code()), u64::from(reason.code())]);
        }
    }

    /// Takes a connection that is gone out of the registry, wherever that is.
    pub fn forget_client(&mut self, client_id: u32) {
        match &mut self.registry {
            Some(registry) => registry.closed(client_id),
            None => forward::route_closed(&mut self.mailboxes, client_id),
        }
    }

    fn judge(
        &mut self,
        id: ConnectionId,
        peer: &mut Peer,
        header: &RequestHeader,
        body: FrameBody<'_>,
    ) -> Decision {
        let operation = Operation::from_code(header.operation);
        if let Some(reason) = peer.ended.take() {
            peer.bound = None;
            // Who logs in or out wants no session that has ended.
            if !matches!(operation, Some(Operation::Register | Operation::Logout)) {
                return Decision::evicted(reason);
            }
        }
        let is_logout = operation == Some(Operation::Logout);
        // A client without a session may log out all the same, with whatever number it thinks it has.
        if !(is_logout && peer.bound.is_none() && header.client != 0)
            && let Err(error) = header.check()
        {
            return Decision::Denied(error);
        }
        if let Err(error) = header.verify_body(body.bytes()) {
            return Decision::Denied(error);
        }
        let command = Command::resolve(header);
        if peer.bound.is_none()
            && let Some(decision) = unauthenticated(header, command.as_ref().ok())
        {
            return decision;
        }
        match command {
            Ok(command) => {
                self.begin(peer, command);
                self.perform(command, id, peer, header, body)
            }
            Err(unknown) => Decision::Denied(unknown.status()),
        }
    }

    fn perform(
        &mut self,
        command: Command,
        id: ConnectionId,
        peer: &mut Peer,
        header: &RequestHeader,
        body: FrameBody<'_>,
    ) -> Decision {
        if command == Command::Logout && peer.bound.is_none() {
            return Decision::body(Vec::new());
        }
        let target = self.target(command, body.bytes());
        if target.is_some_and(|target| self.catalog.authorize(user(peer), command, target).is_err()) {
            return Decision::Denied(ErrorCode::Unauthorized);
        }
        match command {
            Command::Ping => Decision::body(Vec::new()),
            command if command.is_legacy_login() => Decision::evicted(EvictionReason::MalformedLogin),
            Command::LoginRegister => self.log_in(id, peer, header, body.bytes()),
            Command::Logout => self.ask(id, peer, header, Ask::Logout),
            Command::GetMe => Decision::body(me(peer)),
            Command::ClusterMetadata => Decision::body(self.cluster(peer)),
            Command::DescribeOptions => match request::option_scope(body.bytes()) {
                Ok(scope) => {
                    let mut payload = Vec::new();
                    reply::put_options(&mut payload, scope);
                    Decision::body(payload)
                }
                Err(_) => Decision::Denied(ErrorCode::InvalidCommand),
            },
            Command::GetClients => self.ask(id, peer, header, Ask::Clients),
            Command::GetClient => match request::client_id(body.bytes()) {
                Ok(client_id) => self.ask(id, peer, header, Ask::Client(client_id)),
                Err(_) => Decision::Denied(ErrorCode::InvalidCommand),
            },
            Command::Stats => self.ask(id, peer, header, Ask::Stats),
            Command::GetStream
            | Command::GetStreams
            | Command::GetTopic
            | Command::GetTopics
            | Command::GetUser
            | Command::GetUsers => self.read(command, peer, body.bytes()),
            Command::SendMessages => self.send(id, peer, header, body),
            Command::PollMessages => self.poll(id, peer, header, body.bytes()),
            Command::GetConsumerOffset => self.stored_offset(id, peer, header, body.bytes()),
            Command::StoreConsumerOffset => self.store_offset(id, peer, header, body.bytes()),
            Command::DeleteConsumerOffset => self.delete_offset(id, peer, header, body.bytes()),
            Command::DeleteSegments => self.delete_segments(id, peer, header, body.bytes()),
            _ => match commands::check(command, body.bytes()) {
                Some(Ok(())) => self.order(id, peer, header, command, body.bytes()),
                Some(Err(error)) => Decision::Denied(error),
                None => Decision::Denied(ErrorCode::FeatureUnavailable),
            },
        }
    }

    /// Asks for a session. A connection has no other request under way, so that the session it gets next is
    /// this login's.
    fn log_in(&mut self, id: ConnectionId, peer: &mut Peer, header: &RequestHeader, body: &[u8]) -> Decision {
        let register = match Register::decode(body) {
            Ok(register) => register,
            Err(fault) => return Decision::evicted(fault.eviction()),
        };
        let Credentials::Password { username, password } = register.credentials else {
            return Decision::evicted(EvictionReason::InvalidToken);
        };
        peer.reply_bytes_max = register.reply_bytes_max();
        match peer.bound {
            Some(bound) => Decision::Answered(Answer::Session(bound)),
            None => {
                let ask = Ask::Login { username: username.into(), password: Secret(password.into()) };
                self.ask(id, peer, header, ask)
            }
        }
    }

    /// Asks the shard that can answer; here or through its mailbox.
    fn ask(&mut self, connection: ConnectionId, peer: &Peer, header: &RequestHeader, ask: Ask) -> Decision {
        let target = forward::client_request_target(&ask);
        let request =
            ClientRequest { shard: self.id, connection, client_id: peer.client_id, header: *header, ask };
        if target == self.id {
            return match self.handle(request) {
                Some(answer) => Decision::Answered(answer.answer),
                None => Decision::Waiting,
            };
        }
        match forward::route_client_request(&mut self.mailboxes, Box::new(request)) {
            Ok(()) => Decision::Waiting,
            Err(_) => {
                self.count_drop(FrameVariant::ClientRequest, DropReason::Full);
                Decision::Answered(Answer::Refused(ErrorCode::TransientNotAccepted))
            }
        }
    }

    /// Answers what only the first shard can answer, or keeps it until its answer is known.
    pub fn handle(&mut self, request: ClientRequest) -> Option<ClientAnswer> {
        let registry = self.registry.as_mut().expect("the first shard has the registry");
        let commands = self.metadata.as_mut().expect("it is where the registry is");
        let ClientRequest { shard, connection, client_id, header, ask } = request;
        let asker = Asker { shard, connection, client_id, header };
        let (operation, bound, body) = match ask {
            Ask::Metadata { operation, bound, body } => (operation, bound, body),
            Ask::Enrich { operation, bound, body } => {
                commands.enrichments.arrive(Unenriched { asker, bound, operation, body });
                return None;
            }
            ask => {
                let request = ClientRequest { shard, connection, client_id, header, ask };
                let view = NodeView { facts: &self.facts, catalog: &self.catalog, totals: &self.totals };
                return registry.handle(request, view, self.now);
            }
        };
        match commands.take(asker, bound, operation, &body) {
            Ok((ticket, request)) => {
                self.commands.push((LogCaller::Metadata.tag(ticket), request));
                None
            }
            Err(refused) => Some(refused),
        }
    }

    fn cluster(&self, peer: &Peer) -> Vec<u8> {
        // Bound to every address, we name the one this client reached us at: it can reach it again.
        let listener = self.facts.tcp;
        let ip = if listener.ip().is_unspecified() { peer.local_address.ip() } else { listener.ip() };
        let mut payload = Vec::new();
        Cluster {
            name: &self.facts.cluster_name,
            nodes: &[Node {
                name: NODE_NAME,
                host: &ip.to_canonical().to_string(),
                tcp: listener.port(),
                quic: 0,
                http: 0,
                websocket: 0,
                role: NodeRole::Leader,
                status: NodeStatus::Healthy,
            }],
        }
        .put(&mut payload);
        payload
    }

    /// Answers a request of a connection of this shard whose answer came from elsewhere, and counts it.
    pub fn write_answer(
        &mut self,
        peer: &mut Peer,
        header: &RequestHeader,
        answer: Answer,
        reply: &mut Vec<u8>,
    ) -> Served {
        self.write(peer, header, Decision::Answered(answer), reply)
    }

    fn write(
        &mut self,
        peer: &mut Peer,
        header: &RequestHeader,
        decision: Decision,
        reply: &mut Vec<u8>,
    ) -> Served {
        let (outcome, served) = match decision {
            Decision::Waiting => return Served::Waiting,
            Decision::Answered(answer) => {
                self.count_polled(&answer);
                write_answer(peer, header, answer, reply)
            }
            Decision::Denied(error) => {
                reply::denied(reply, header, error);
                (denial(error), Served::Answered)
            }
        };
        self.replies.release(std::mem::take(&mut peer.promise));
        self.end(peer, outcome);
        served
    }
}

/// What is to be done with a request.
#[derive(Debug)]
enum Decision {
    /// The answer comes from another shard.
    Waiting,
    /// The answer is here.
    Answered(Answer),
    /// Refused before anything was done.
    Denied(ErrorCode),
}

impl Decision {
    fn body(payload: Vec<u8>) -> Self {
        Self::Answered(Answer::Body(payload))
    }

    fn evicted(reason: EvictionReason) -> Self {
        Self::Answered(Answer::Evicted(reason))
    }
}

/// The refusal of a request without a session, unless the command needs none. A logout needs none either:
/// there is nothing to end.
fn unauthenticated(header: &RequestHeader, command: Option<&Command>) -> Option<Decision> {
    match command {
        Some(Command::Logout) => None,
        Some(command) if !command.row().requirement.needs_session() => None,
        _ if Operation::from_code(header.operation) == Some(Operation::NonReplicated) => {
            Some(Decision::Denied(ErrorCode::Unauthenticated))
        }
        Some(_) => Some(Decision::evicted(EvictionReason::NoSession)),
        None => None,
    }
}

/// The user of a connection's session, if it has one.
fn user(peer: &Peer) -> Option<u32> {
    peer.bound.map(|bound| bound.user_id)
}

/// Whether a command is judged before its body is read. One with a target is judged once that was found, and a
/// change of the metadata by its log, whose decision counts.
const fn is_about_the_node(command: Command) -> bool {
    match command.row().requirement {
        Requirement::Nothing
        | Requirement::Credentials
        | Requirement::Session
        | Requirement::ReadServers
        | Requirement::ReadUsers
        | Requirement::ManageUsers
        | Requirement::ReadStreams => true,
        Requirement::ReadUsersOrSelf
        | Requirement::ManageUsersOrSelf
        | Requirement::ReadStream
        | Requirement::ManageStreams
        | Requirement::ManageStream
        | Requirement::ReadTopics
        | Requirement::ReadTopic
        | Requirement::ManageTopics
        | Requirement::ManageTopic
        | Requirement::PollMessages
        | Requirement::SendMessages => false,
    }
}

/// What a connection without a session gets for a frame that is longer than connections without a session may
/// send, judged by its header.
fn oversize_unauthenticated(header: &RequestHeader) -> Decision {
    match Operation::from_code(header.operation) {
        Some(Operation::Register) => Decision::evicted(EvictionReason::MalformedLogin),
        Some(Operation::NonReplicated) => Decision::Denied(ErrorCode::Unauthenticated),
        Some(Operation::Logout) | None => Decision::Denied(ErrorCode::InvalidCommand),
        Some(_) => Decision::evicted(EvictionReason::NoSession),
    }
}

fn me(peer: &Peer) -> Vec<u8> {
    let mut payload = Vec::new();
    Client {
        client_id: peer.client_id,
        user_id: peer.bound.map(|bound| bound.user_id),
        transport: Transport::Tcp,
        address: &peer.address.to_string(),
        memberships: &[],
    }
    .put_details(&mut payload);
    payload
}

fn write_answer(peer: &mut Peer, header: &RequestHeader, answer: Answer, reply: &mut Vec<u8>) -> Outcome {
    match answer {
        Answer::Session(bound) => {
            peer.bound = Some(bound);
            let server_version = Name::new(IGGY_VERSION).expect("neither empty nor long");
            let registered = Registered { user_id: bound.user_id, session: bound.session, server_version };
            reply::ok(reply, header, logged(bound.session), |into| registered.put(into));
        }
        Answer::LoggedOut { op } => {
            peer.bound = None;
            peer.ended = None;
            reply::ok(reply, header, logged(op), |_| {});
        }
        Answer::Body(payload) => reply::ok(reply, header, UNLOGGED, |into| into.extend_from_slice(&payload)),
        Answer::Decided(decided) => match decided.result {
            None => {
                let Decided { op, payload, .. } = *decided;
                reply::ok(reply, header, logged(op), |into| into.extend_from_slice(&payload));
            }
            Some(error) => {
                reply::rejected(reply, header, logged(decided.op), error);
                return (ReplyOutcome::Rejected, Served::Answered);
            }
        },
        Answer::Polled { partition, polled } => {
            let Polled { current_offset, messages, parts } = *polled;
            let bytes: usize = parts.iter().map(|part| part.bytes().len()).sum();
            reply.reserve_exact(HEADER_BYTES + POLL_HEADER_BYTES + bytes);
            reply::ok_within(peer.reply_bytes_max, reply, header, UNLOGGED, |into| {
                PollHeader { partition_id: partition, current_offset, messages }.put(into);
                for part in &parts {
                    into.extend_from_slice(part.bytes());
                }
            });
        }
        Answer::Denied(error) => {
            reply::denied(reply, header, error);
            return (denial(error), Served::Answered);
        }
        Answer::Refused(error) => return refuse(header, error, reply),
        Answer::Evicted(reason) => {
            reply::evicted(reply, header.client, reason);
            return (ReplyOutcome::Evicted, Served::Answered);
        }
    }
    (ReplyOutcome::Ok, Served::Answered)
}

/// Of what was executed as this op.
const fn logged(op: u64) -> Position {
    Position { op, commit: op }
}

/// A refusal goes into the result section where clients look for one, else into the status.
fn refuse(header: &RequestHeader, error: ErrorCode, reply: &mut Vec<u8>) -> Outcome {
    if Operation::from_code(header.operation).is_some_and(Operation::has_result_section) {
        reply::rejected(reply, header, UNLOGGED, error);
        let outcome = if is_busy(error) { ReplyOutcome::Busy } else { ReplyOutcome::Rejected };
        (outcome, Served::Answered)
    } else {
        reply::denied(reply, header, error);
        (denial(error), Served::Answered)
    }
}

/// How a refusal in the status is counted: for want of room, or for good.
const fn denial(error: ErrorCode) -> ReplyOutcome {
    if is_busy(error) { ReplyOutcome::Busy } else { ReplyOutcome::Denied }
}

const fn is_busy(error: ErrorCode) -> bool {
    matches!(error, ErrorCode::TransientNotAccepted)
}

impl Service for RequestHandler {
    fn frame_bytes_max(&self, peer: &Peer, header: &RequestHeader) -> u32 {
        match (peer.bound, Operation::from_code(header.operation)) {
            (None, _) => UNAUTHENTICATED_FRAME_BYTES_MAX,
            (Some(_), Some(Operation::SendMessages)) => self.frame_bytes_max,
            (Some(_), _) => COMMAND_FRAME_BYTES_MAX.min(self.frame_bytes_max),
        }
    }

    fn kept(&self, header: &RequestHeader, received: &[u8]) -> Kept {
        match Operation::from_code(header.operation) {
            Some(Operation::SendMessages) => messages::kept(header, received),
            _ => Kept::Nothing,
        }
    }

    fn serve(
        &mut self,
        id: ConnectionId,
        peer: &mut Peer,
        header: &RequestHeader,
        body: Option<FrameBody<'_>>,
        reply: &mut Vec<u8>,
    ) -> Served {
        self.metrics.add(const { Cell::of(Metric::Requests) }, 1);
        peer.asked = None;
        if let Some(body) = body {
            let decision = self.judge(id, peer, header, body);
            return self.write(peer, header, decision, reply);
        }
        if peer.bound.is_none() {
            self.write(peer, header, oversize_unauthenticated(header), reply);
            return Served::AnsweredLast(CloseReason::OversizeBeforeLogin);
        }
        let error = match (header.check(), Command::resolve(header)) {
            (Err(error), _) => error,
            (Ok(()), Err(unknown)) => unknown.status(),
            (Ok(()), Ok(_)) => ErrorCode::InvalidCommand,
        };
        self.write(peer, header, Decision::Denied(error), reply)
    }

    fn busy(&mut self, peer: &mut Peer, header: &RequestHeader, reply: &mut Vec<u8>) -> Served {
        self.metrics.add(const { Cell::of(Metric::Requests) }, 1);
        peer.asked = None;
        self.write(peer, header, Decision::Denied(ErrorCode::TransientNotAccepted), reply)
    }

    fn closed(&mut self, peer: &Peer, reason: CloseReason) {
        self.replies.release(peer.promise);
        self.metrics.add(Cell::close(reason), 1);
        self.forget_client(peer.client_id);
        // A login costs the control plane more than this line, and connections without a session cannot cause
        // it.
        if peer.bound.is_some() {
            let fields = [u64::from(peer.address.port()), u64::from(reason.code())];
            self.tell(Event::ClientDisconnected, fields);
        }
    }
}
