//! The registry: every client of the process, and every session. It lives on the first shard.

mod reports;
mod views;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use ng_catalog::Catalog;
use ng_control::host_figures::HostFigures;
use ng_control::record::{Record, RecordWriter, RingFull};
use ng_control::shard_id::ShardId;
use ng_io::Instant;
use ng_mesh::frame::{Answer, Ask, ClientAnswer, ClientRequest, EndedSession, Secret};
use ng_net::ConnectionId;
use ng_net::connection::Bound;
use ng_replication::{LogAnswer, LogRequest, Ticket};
use ng_wire::primitive::{put_bytes32, put_str32};
use ng_wire::table::error::ErrorCode;
use ng_wire::table::eviction::EvictionReason;
use ng_wire::table::record::{ToPython, Verdict};

use crate::login::{Asker, LoginInProgress, LoginsInProgress};
use crate::node_facts::NodeFacts;
use crate::registry::reports::SessionNews;
use crate::sessions::is_accepted;
use crate::tickets::Tickets;
use crate::totals::ShardTotals;

/// Capacities of the registry.
#[derive(Clone, Copy, Debug)]
pub struct RegistryLimits {
    /// Connections of the whole process.
    pub clients_max: usize,
    /// Sessions of the whole process.
    pub sessions_max: usize,
    /// Logins that wait for Python.
    pub logins_max: usize,
}

/// One connection.
#[derive(Debug)]
struct ClientRow {
    address: SocketAddr,
    session: Option<BoundSession>,
}

/// The session of a connection, and where that is.
#[derive(Clone, Copy, Debug)]
struct BoundSession {
    client: u128,
    bound: Bound,
    shard: ShardId,
    connection: ConnectionId,
    /// Its logout is on the way already.
    leaving: bool,
}

/// How the logins went, for the metrics.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoginCounts {
    /// Sessions made.
    pub ok: u64,
    /// Wrong credentials.
    pub refused: u64,
    /// Credentials not looked at, because too many had failed before.
    pub throttled: u64,
    /// No room for the login, or for one more session.
    pub busy: u64,
}

/// Clients, sessions and logins of one process.
#[derive(Debug)]
pub struct Registry {
    limits: RegistryLimits,
    clients: BTreeMap<u32, ClientRow>,
    /// The connection of each client that has a session.
    by_client: BTreeMap<u128, u32>,
    next_client_id: u32,
    /// Logins that Python is looking at.
    logins: Tickets<Asker>,
    logins_in_progress: LoginsInProgress,
    /// Sessions that ended, whose connections are to be told.
    ended: Vec<(ShardId, EndedSession)>,
    /// The node stops: sessions end with the process, not one by one.
    stopping: bool,
    counts: LoginCounts,
    /// How many records about sessions Python was sent; none if it does not want any.
    reports: Option<u64>,
    to_python: RecordWriter,
    /// Something was written for Python since [`Self::take_written`] was last asked.
    written: bool,
    host: HostFigures,
}

/// What statistics show of a node besides its clients.
#[derive(Clone, Copy, Debug)]
pub struct NodeView<'a> {
    /// Facts of this run.
    pub facts: &'a NodeFacts,
    /// The rows.
    pub catalog: &'a Catalog,
    /// What the partitions of each shard hold.
    pub totals: &'a [ShardTotals],
}

/// An answer and the shard it goes to.
pub type Addressed = (ShardId, ClientAnswer);

impl Registry {
    /// An empty registry.
    pub fn new(limits: RegistryLimits, to_python: RecordWriter) -> Self {
        Self {
            limits,
            clients: BTreeMap::new(),
            by_client: BTreeMap::new(),
            next_client_id: 1,
            logins: Tickets::new(limits.logins_max),
            logins_in_progress: LoginsInProgress::new(),
            ended: Vec::new(),
            stopping: false,
            counts: LoginCounts::default(),
            reports: None,
            to_python,
            written: false,
            host: HostFigures::default(),
        }
    }

    /// Sessions open now.
    pub fn sessions(&self) -> usize {
        self.by_client.len()
    }

    /// Logins and logouts on their way through the log.
    pub fn logins_in_progress(&self) -> &LoginsInProgress {
        &self.logins_in_progress
    }

    /// What the log is to be asked for now.
    pub fn log_requests(&mut self) -> Vec<(Ticket, LogRequest)> {
        self.logins_in_progress.requests()
    }

    /// Sessions that ended without their connections knowing, since this was asked last.
    pub fn take_ended(&mut self) -> Vec<(ShardId, EndedSession)> {
        std::mem::take(&mut self.ended)
    }

    /// The node stops: connections that close from now on are not logged out.
    pub fn stop(&mut self) {
        self.stopping = true;
    }

    /// How logins went since the start.
    pub fn login_counts(&self) -> LoginCounts {
        self.counts
    }

    /// How often the ring to Python became full.
    pub fn ring_full_count(&self) -> u64 {
        self.to_python.times_full()
    }

    /// Whether something was written for Python since the last call.
    pub fn take_written(&mut self) -> bool {
        std::mem::take(&mut self.written)
    }

    /// Writes a record for Python, if there is room.
    pub fn push(&mut self, record: &Record<'_>) -> Result<(), RingFull> {
        let pushed = self.to_python.push(record);
        self.written |= pushed.is_ok();
        pushed
    }

    /// Writes a record for Python that is in bytes already, if there is room.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> Result<(), RingFull> {
        let taken = self.to_python.push_all(bytes);
        self.written |= taken > 0;
        if taken == bytes.len() { Ok(()) } else { Err(RingFull) }
    }

    /// Replaces the host's figures.
    pub fn set_host(&mut self, host: HostFigures) {
        self.host = host;
    }

    /// Registers an accepted connection; `None` when no place is left.
    pub fn admit(&mut self, address: SocketAddr) -> Option<u32> {
        if self.clients.len() >= self.limits.clients_max {
            return None;
        }
        // The numbers of long-lived connections may come round again after 2^32 others.
        while self.clients.contains_key(&self.next_client_id) || self.next_client_id == 0 {
            self.next_client_id = self.next_client_id.wrapping_add(1);
        }
        let client_id = self.next_client_id;
        self.next_client_id = client_id.wrapping_add(1);
        self.clients.insert(client_id, ClientRow { address, session: None });
        Some(client_id)
    }

    /// Forgets a connection, and lets its session end.
    pub fn closed(&mut self, client_id: u32) {
        let Some(ClientRow { address, session: Some(session) }) = self.clients.remove(&client_id) else {
            return;
        };
        self.by_client.remove(&session.client);
        self.report(SessionNews::Ended, &session, address);
        if !session.leaving {
            self.leave(session.client, session.bound.session, None);
        }
    }

    fn leave(&mut self, client: u128, session: u64, asker: Option<Asker>) {
        if asker.is_some() || !self.stopping {
            self.logins_in_progress.push(LoginInProgress::Logout { client, session, asker });
        }
    }

    /// Answers a request, or keeps it: a login until Python has looked at it and the log holds it, a logout
    /// until then.
    pub fn handle(
        &mut self,
        request: ClientRequest,
        node: NodeView<'_>,
        now: Instant,
    ) -> Option<ClientAnswer> {
        let ClientRequest { shard, connection, client_id, header, ask } = request;
        let answer = match ask {
            Ask::Login { username, password } => {
                let asker = Asker { shard, connection, client_id, header };
                return self.begin_login(asker, &username, &password).err();
            }
            Ask::Logout => {
                let asker = Asker { shard, connection, client_id, header };
                return self.begin_logout(asker);
            }
            Ask::Clients => Answer::Body(self.list()),
            Ask::Client(wanted) => Answer::Body(self.details(wanted)),
            Ask::Stats => Answer::Body(self.stats(node, now)),
            Ask::Metadata { .. } | Ask::Enrich { .. } => Answer::Refused(ErrorCode::TransientNotAccepted),
        };
        Some(ClientAnswer { connection, header, answer })
    }

    fn begin_login(&mut self, asker: Asker, username: &str, password: &Secret) -> Result<(), ClientAnswer> {
        let address =
            self.clients.get(&asker.client_id).map(|row| row.address.to_string()).unwrap_or_default();
        let token = self.logins.file(asker).map_err(|asker| self.busy(&asker))?;
        let mut body = Vec::new();
        put_str32(&mut body, username);
        put_bytes32(&mut body, &password.0);
        put_str32(&mut body, &address);
        let record = Record { kind: ToPython::Login.code(), shard: ShardId::FIRST.0, token, body: &body };
        self.push(&record).map_err(|_| {
            let asker = self.logins.redeem(token).expect("filed above");
            self.busy(&asker)
        })
    }

    fn begin_logout(&mut self, asker: Asker) -> Option<ClientAnswer> {
        let session = self.clients.get_mut(&asker.client_id).and_then(|row| row.session.as_mut());
        let Some(session) = session else { return Some(asker.answer(Answer::LoggedOut { op: 0 })) };
        session.leaving = true;
        let (client, number) = (session.client, session.bound.session);
        self.leave(client, number, Some(asker));
        None
    }

    fn busy(&mut self, asker: &Asker) -> ClientAnswer {
        self.counts.busy += 1;
        asker.answer(Answer::Refused(ErrorCode::TransientNotAccepted))
    }

    /// Python's verdict on a login. One that was accepted is answered by the log.
    pub fn verdict(&mut self, token: u64, verdict: Verdict, user_id: u32) -> Option<Addressed> {
        let asker = self.logins.redeem(token)?;
        let answer = match verdict {
            Verdict::Busy => self.busy(&asker),
            Verdict::Refused => {
                self.counts.refused += 1;
                asker.answer(Answer::Evicted(EvictionReason::InvalidCredentials))
            }
            Verdict::Throttled => {
                self.counts.throttled += 1;
                asker.answer(Answer::Evicted(EvictionReason::InvalidCredentials))
            }
            Verdict::Accepted
                if self.by_client.len() + self.logins_in_progress.logins() >= self.limits.sessions_max =>
            {
                self.busy(&asker)
            }
            Verdict::Accepted => {
                if self.clients.contains_key(&asker.client_id) {
                    self.logins_in_progress.push(LoginInProgress::Login { asker, user_id });
                }
                return None;
            }
        };
        Some((asker.shard, answer))
    }

    /// What the log says to a login or a logout. The number of a session is the op of its login, beyond those
    /// passed over.
    pub fn logged(&mut self, ticket: Ticket, answer: LogAnswer, passed_over: u64) -> Option<Addressed> {
        match self.logins_in_progress.answered(ticket, answer)? {
            (LoginInProgress::Login { asker, user_id }, LogAnswer::Done { op, reply })
                if is_accepted(&reply) =>
            {
                let bound = Bound { session: op.0 + passed_over, user_id };
                let is_there = self.open_session(&asker, bound);
                is_there.then(|| (asker.shard, asker.answer(Answer::Session(bound))))
            }
            (LoginInProgress::Login { asker, .. }, _) => {
                Some((asker.shard, asker.answer(Answer::Evicted(EvictionReason::SessionError))))
            }
            (LoginInProgress::Logout { client, session, asker }, answer) => {
                let op = if let LogAnswer::Done { op, .. } = answer { op.0 } else { 0 };
                self.forget_session(client, session);
                asker.map(|asker| (asker.shard, asker.answer(Answer::LoggedOut { op })))
            }
        }
    }

    /// Binds a new session to its connection. One of a connection that closed during its login ends at once;
    /// one that the same client has on another connection has ended with the new one.
    fn open_session(&mut self, asker: &Asker, bound: Bound) -> bool {
        let client = asker.header.client;
        if let Some(before) = self.by_client.get(&client).copied() {
            self.end_session(before, EvictionReason::SessionTooLow);
        }
        let Some(row) = self.clients.get_mut(&asker.client_id) else {
            self.leave(client, bound.session, None);
            return false;
        };
        let (shard, connection) = (asker.shard, asker.connection);
        let session = BoundSession { client, bound, shard, connection, leaving: false };
        row.session = Some(session);
        let address = row.address;
        self.by_client.insert(client, asker.client_id);
        self.counts.ok += 1;
        self.report(SessionNews::Opened, &session, address);
        true
    }

    fn forget_session(&mut self, client: u128, number: u64) {
        let Some(row) = self.by_client.get(&client).and_then(|client_id| self.clients.get_mut(client_id))
        else {
            return;
        };
        if let Some(session) = row.session.take_if(|session| session.bound.session == number) {
            let address = row.address;
            self.by_client.remove(&client);
            self.report(SessionNews::Ended, &session, address);
        }
    }

    /// The log gave up the session of a client to make room for another.
    pub fn evicted(&mut self, client: u128) {
        if let Some(client_id) = self.by_client.get(&client).copied() {
            self.end_session(client_id, EvictionReason::NoSession);
        }
    }

    fn end_session(&mut self, client_id: u32, reason: EvictionReason) {
        let Some(row) = self.clients.get_mut(&client_id) else { return };
        let (address, Some(session)) = (row.address, row.session.take()) else { return };
        self.by_client.remove(&session.client);
        self.report(SessionNews::Evicted(reason), &session, address);
        let BoundSession { connection, bound, shard, .. } = session;
        self.ended.push((shard, EndedSession { connection, session: bound.session, reason }));
    }
}
