//! The registry: every client of the process, and every session. It lives on the first shard.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;

use ng_io::Instant;
use ng_net::ConnectionId;
use ng_net::connection::Bound;
use ng_wire::frame::RequestHeader;
use ng_wire::primitive::{put_bytes32, put_str32};
use ng_wire::reply::{Client, Stats};
use ng_wire::table::error::ErrorCode;
use ng_wire::table::eviction::EvictionReason;
use ng_wire::table::transport::Transport;

use crate::facts::{IGGY_SEMVER, IGGY_VERSION, NodeFacts};
use crate::frame::{Answer, Ask, ClientAnswer, ClientRequest, Secret};
use crate::host::HostFigures;
use crate::identity::ShardId;
use crate::record::{Record, RecordWriter, Verdict, to_python};
use crate::tickets::Tickets;

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
    bound: Option<Bound>,
}

/// A login that Python is looking at.
#[derive(Debug)]
struct PendingLogin {
    shard: ShardId,
    connection: ConnectionId,
    client_id: u32,
    header: RequestHeader,
}

/// How the logins went, for the metrics.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoginCounts {
    /// Sessions made.
    pub ok: u64,
    /// Wrong credentials.
    pub refused: u64,
    /// No room for the login, or for one more session.
    pub busy: u64,
}

/// Clients, sessions and logins of one process.
#[derive(Debug)]
pub struct Registry {
    limits: RegistryLimits,
    clients: BTreeMap<u32, ClientRow>,
    sessions: usize,
    next_client_id: u32,
    next_session: u64,
    logins: Tickets<PendingLogin>,
    counts: LoginCounts,
    to_python: RecordWriter,
    ring_full: u64,
    /// Something was written for Python since [`Self::take_written`] was last asked.
    written: bool,
    host: HostFigures,
}

/// An answer and the shard it goes to.
pub type Addressed = (ShardId, ClientAnswer);

impl Registry {
    /// An empty registry. Sessions are numbered from the wall time of the start, so that a later run's numbers are
    /// higher although nothing of this one is remembered.
    pub fn new(limits: RegistryLimits, facts: &NodeFacts, to_python: RecordWriter) -> Self {
        Self {
            limits,
            clients: BTreeMap::new(),
            sessions: 0,
            next_client_id: 1,
            next_session: facts.started_wall.0.max(1),
            logins: Tickets::new(limits.logins_max),
            counts: LoginCounts::default(),
            to_python,
            ring_full: 0,
            written: false,
            host: HostFigures::default(),
        }
    }

    /// Sessions open now.
    pub fn sessions(&self) -> usize {
        self.sessions
    }

    /// How logins went since the start.
    pub fn login_counts(&self) -> LoginCounts {
        self.counts
    }

    /// How often the ring to Python had no room.
    pub fn ring_full_count(&self) -> u64 {
        self.ring_full
    }

    /// Whether something was written for Python since the last call.
    pub fn take_written(&mut self) -> bool {
        std::mem::take(&mut self.written)
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
        self.clients.insert(client_id, ClientRow { address, bound: None });
        Some(client_id)
    }

    /// Forgets a connection and its session.
    pub fn closed(&mut self, client_id: u32) {
        if let Some(row) = self.clients.remove(&client_id) {
            self.sessions -= usize::from(row.bound.is_some());
        }
    }

    /// Answers a request, or keeps a login until Python has looked at it.
    pub fn handle(
        &mut self,
        request: ClientRequest,
        facts: &NodeFacts,
        now: Instant,
    ) -> Option<ClientAnswer> {
        let ClientRequest { shard, connection, client_id, header, ask } = request;
        let answer = match ask {
            Ask::Login { username, password } => {
                let login = PendingLogin { shard, connection, client_id, header };
                return self.begin_login(login, &username, &password).err();
            }
            Ask::Logout => self.log_out(client_id),
            Ask::Clients => Answer::Body(self.list()),
            Ask::Client(wanted) => Answer::Body(self.details(wanted)),
            Ask::Stats => Answer::Body(self.stats(facts, now)),
        };
        Some(ClientAnswer { connection, header, answer })
    }

    fn begin_login(
        &mut self,
        login: PendingLogin,
        username: &str,
        password: &Secret,
    ) -> Result<(), ClientAnswer> {
        let address =
            self.clients.get(&login.client_id).map(|row| row.address.to_string()).unwrap_or_default();
        let token = self.logins.file(login).map_err(|login| self.busy(&login))?;
        let mut body = Vec::new();
        put_str32(&mut body, username);
        put_bytes32(&mut body, &password.0);
        put_str32(&mut body, &address);
        let record = Record { kind: to_python::LOGIN, shard: ShardId::FIRST.0, token, body: &body };
        let pushed = self.to_python.push(&record);
        self.written |= pushed.is_ok();
        pushed.map_err(|_| {
            self.ring_full += 1;
            let login = self.logins.redeem(token).expect("filed above");
            self.busy(&login)
        })
    }

    fn busy(&mut self, login: &PendingLogin) -> ClientAnswer {
        self.counts.busy += 1;
        let answer = Answer::Refused(ErrorCode::TransientNotAccepted);
        ClientAnswer { connection: login.connection, header: login.header, answer }
    }

    /// Python's verdict on a login. `None` if nobody waits for it.
    pub fn verdict(&mut self, token: u64, verdict: Verdict, user_id: u32) -> Option<Addressed> {
        let login = self.logins.redeem(token)?;
        let answer = match verdict {
            Verdict::Busy => return Some((login.shard, self.busy(&login))),
            Verdict::Refused => {
                self.counts.refused += 1;
                Answer::Evicted(EvictionReason::InvalidCredentials)
            }
            Verdict::Accepted if self.sessions >= self.limits.sessions_max => {
                return Some((login.shard, self.busy(&login)));
            }
            Verdict::Accepted => Answer::Session(self.open_session(login.client_id, user_id)?),
        };
        Some((login.shard, ClientAnswer { connection: login.connection, header: login.header, answer }))
    }

    /// Binds a new session. `None` if the connection closed while its login was looked at.
    fn open_session(&mut self, client_id: u32, user_id: u32) -> Option<Bound> {
        let row = self.clients.get_mut(&client_id)?;
        let bound = Bound { session: self.next_session, user_id };
        self.next_session += 1;
        self.sessions += usize::from(row.bound.is_none());
        self.counts.ok += 1;
        row.bound = Some(bound);
        Some(bound)
    }

    fn log_out(&mut self, client_id: u32) -> Answer {
        if let Some(row) = self.clients.get_mut(&client_id) {
            self.sessions -= usize::from(row.bound.take().is_some());
        }
        Answer::LoggedOut
    }

    fn list(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let mut address = String::new();
        for (client_id, row) in &self.clients {
            row.describe(*client_id, &mut address, |client| client.put(&mut body));
        }
        body
    }

    fn details(&self, client_id: u32) -> Vec<u8> {
        let mut body = Vec::new();
        if let Some(row) = self.clients.get(&client_id) {
            row.describe(client_id, &mut String::new(), |client| client.put_details(&mut body));
        }
        body
    }

    fn stats(&self, facts: &NodeFacts, now: Instant) -> Vec<u8> {
        let host = &self.host;
        let mut body = Vec::new();
        Stats {
            process_id: std::process::id(),
            cpu_usage: host.cpu_usage,
            total_cpu_usage: host.total_cpu_usage,
            memory_usage: host.memory_usage,
            total_memory: host.total_memory,
            available_memory: host.available_memory,
            run_time: u64::try_from((now - facts.started).as_micros()).unwrap_or(u64::MAX),
            start_time: facts.started_wall.0,
            read_bytes: host.read_bytes,
            written_bytes: host.written_bytes,
            clients_count: u32::try_from(self.clients.len()).unwrap_or(u32::MAX),
            hostname: &host.hostname,
            os_name: &host.os_name,
            os_version: &host.os_version,
            kernel_version: &host.kernel_version,
            server_version: IGGY_VERSION,
            server_semver: IGGY_SEMVER,
            threads_count: host.threads_count,
            free_disk_space: host.free_disk_space,
            total_disk_space: host.total_disk_space,
            ..Stats::default()
        }
        .put(&mut body);
        body
    }
}

impl ClientRow {
    /// Builds the row that clients see; `address` is room for its text.
    fn describe(&self, client_id: u32, address: &mut String, put: impl FnOnce(&Client<'_>)) {
        address.clear();
        write!(address, "{}", self.address).expect("a String takes everything");
        put(&Client {
            client_id,
            user_id: self.bound.map(|bound| bound.user_id),
            transport: Transport::Tcp,
            address,
            memberships: &[],
        });
    }
}

#[cfg(test)]
mod tests {
    use ng_io::{Token, WallMicros};

    use super::*;
    use crate::record::{RecordReader, record_ring};

    fn registry(limits: RegistryLimits) -> (Registry, RecordReader, NodeFacts) {
        let facts = NodeFacts {
            cluster_name: "single-node".into(),
            tcp: "127.0.0.1:8090".parse().expect("an address"),
            started_wall: WallMicros(1_000),
            started: Instant::from_nanos(0),
        };
        let (writer, reader) = record_ring(4096);
        (Registry::new(limits, &facts, writer), reader, facts)
    }

    const ROOMY: RegistryLimits = RegistryLimits { clients_max: 8, sessions_max: 8, logins_max: 8 };

    fn address() -> SocketAddr {
        "127.0.0.1:5000".parse().expect("an address")
    }

    fn login(client_id: u32) -> ClientRequest {
        let header = RequestHeader {
            size: 256,
            client: 1,
            request_checksum: 0,
            timestamp: 0,
            request: 0,
            operation: 1,
            session: 0,
            code: 0,
        };
        let password = Secret(b"secret".to_vec().into_boxed_slice());
        let ask = Ask::Login { username: "iggy".into(), password };
        let connection = ConnectionId::of(Token(u64::from(client_id)));
        ClientRequest { shard: ShardId(0), connection, client_id, header, ask }
    }

    fn next_token(reader: &mut RecordReader) -> u64 {
        let mut bytes = Vec::new();
        reader.drain(&mut bytes, 4096);
        let (record, _) = Record::split(&bytes).expect("a login record");
        assert_eq!(record.kind, to_python::LOGIN);
        record.token
    }

    #[test]
    fn a_login_becomes_a_session_and_sessions_only_grow() {
        let (mut registry, mut reader, facts) = registry(ROOMY);
        let mut last = 0;
        for _ in 0..3 {
            let client_id = registry.admit(address()).expect("room");
            assert!(registry.handle(login(client_id), &facts, Instant::from_nanos(0)).is_none());
            let token = next_token(&mut reader);
            let (_, answer) = registry.verdict(token, Verdict::Accepted, 0).expect("somebody waits");
            let Answer::Session(bound) = answer.answer else { panic!("unexpected {answer:?}") };
            assert!(bound.session > last);
            last = bound.session;
        }
        assert_eq!(registry.sessions(), 3);
    }

    #[test]
    fn a_connection_that_closes_during_its_login_leaves_no_session() {
        let (mut registry, mut reader, facts) = registry(ROOMY);
        let client_id = registry.admit(address()).expect("room");
        registry.handle(login(client_id), &facts, Instant::from_nanos(0));
        registry.closed(client_id);
        let token = next_token(&mut reader);
        assert!(registry.verdict(token, Verdict::Accepted, 0).is_none());
        assert_eq!(registry.sessions(), 0);
    }

    #[test]
    fn full_tables_answer_busy_and_recover() {
        let (mut registry, mut reader, facts) =
            registry(RegistryLimits { clients_max: 3, sessions_max: 1, logins_max: 1 });
        let clients: Vec<u32> = (0..3).map(|_| registry.admit(address()).expect("room")).collect();
        assert_eq!(registry.admit(address()), None);
        assert!(registry.handle(login(clients[0]), &facts, Instant::from_nanos(0)).is_none());
        let refused = registry.handle(login(clients[1]), &facts, Instant::from_nanos(0)).expect("at once");
        assert!(matches!(refused.answer, Answer::Refused(ErrorCode::TransientNotAccepted)));
        let token = next_token(&mut reader);
        assert!(registry.verdict(token, Verdict::Accepted, 0).is_some());
        assert!(registry.handle(login(clients[1]), &facts, Instant::from_nanos(0)).is_none());
        let token = next_token(&mut reader);
        let (_, second) = registry.verdict(token, Verdict::Accepted, 0).expect("somebody waits");
        assert!(matches!(second.answer, Answer::Refused(ErrorCode::TransientNotAccepted)));
        registry.closed(clients[0]);
        assert!(registry.handle(login(clients[1]), &facts, Instant::from_nanos(0)).is_none());
        let token = next_token(&mut reader);
        let (_, third) = registry.verdict(token, Verdict::Accepted, 0).expect("somebody waits");
        assert!(matches!(third.answer, Answer::Session(_)));
    }
}
