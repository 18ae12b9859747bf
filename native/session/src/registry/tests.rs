use ng_catalog::Catalog;
use ng_control::record::{RecordReader, record_ring};
use ng_io::Token;
use ng_wire::frame::RequestHeader;
use ng_wire::replica::{LogOperation, Op};

use super::*;

const ROOMY: RegistryLimits = RegistryLimits { clients_max: 8, sessions_max: 8, logins_max: 8 };

/// A registry with a log that executes whatever it is asked for.
struct Rig {
    registry: Registry,
    reader: RecordReader,
    facts: NodeFacts,
    op: u64,
}

impl Rig {
    fn new(limits: RegistryLimits) -> Self {
        let facts = NodeFacts {
            cluster_name: "single-node".into(),
            tcp: "127.0.0.1:8090".parse().expect("an address"),
            started_wall: ng_io::WallMicros(1_000),
            started: Instant::from_nanos(0),
        };
        let (writer, reader) = record_ring(4096);
        Self { registry: Registry::new(limits, writer), reader, facts, op: 0 }
    }

    fn admit(&mut self) -> Option<u32> {
        self.registry.admit("127.0.0.1:5000".parse().expect("an address"))
    }

    fn handle(&mut self, client_id: u32, client: u128, ask: Ask) -> Option<ClientAnswer> {
        let header = RequestHeader {
            size: 256,
            client,
            request_checksum: 0,
            timestamp: 0,
            request: 0,
            operation: 1,
            session: 0,
            code: 0,
        };
        let connection = connection(client_id);
        let request = ClientRequest { shard: ShardId(0), connection, client_id, header, ask };
        let catalog = Catalog::default();
        let node = NodeView { facts: &self.facts, catalog: &catalog, totals: &[] };
        self.registry.handle(request, node, Instant::from_nanos(0))
    }

    fn log_in(&mut self, client_id: u32, client: u128) -> Option<ClientAnswer> {
        let password = Secret(b"secret".to_vec().into_boxed_slice());
        self.handle(client_id, client, Ask::Login { username: "iggy".into(), password })
    }

    fn next_token(&mut self) -> u64 {
        let mut bytes = Vec::new();
        self.reader.drain(&mut bytes, 4096);
        let (record, _) = Record::split(&bytes).expect("a login record");
        assert_eq!(record.kind, ToPython::Login.code());
        record.token
    }

    /// What Python was told of sessions since it was last asked: token, change, reason, session.
    fn news(&mut self) -> Vec<(u64, u8, u8, u64)> {
        let (mut bytes, mut news) = (Vec::new(), Vec::new());
        self.reader.drain(&mut bytes, 4096);
        let mut rest = &bytes[..];
        while let Some((record, next)) = Record::split(rest) {
            assert_eq!(record.kind, ToPython::Session.code());
            assert!(record.body.ends_with(b"127.0.0.1:5000"));
            let session = u64::from_le_bytes(record.body[2..10].try_into().expect("eight bytes"));
            news.push((record.token, record.body[0], record.body[1], session));
            rest = next;
        }
        news
    }

    fn accept(&mut self) -> Option<Addressed> {
        let token = self.next_token();
        self.registry.verdict(token, Verdict::Accepted, 0)
    }

    /// Executes what is to be in the log; returns the operations and what is answered.
    fn execute(&mut self) -> (Vec<LogOperation>, Vec<Answer>) {
        let (mut operations, mut answers) = (Vec::new(), Vec::new());
        for (ticket, request) in self.registry.log_requests() {
            operations.push(request.operation);
            self.op += 1;
            let done = LogAnswer::Done { op: Op(self.op), reply: vec![0] };
            answers.extend(self.registry.logged(ticket, done, 0).map(|(_, answer)| answer.answer));
        }
        (operations, answers)
    }

    /// A connection with a session of this number.
    fn member(&mut self, client: u128) -> (u32, u64) {
        let client_id = self.admit().expect("room");
        (client_id, self.register(client_id, client))
    }

    fn register(&mut self, client_id: u32, client: u128) -> u64 {
        assert!(self.log_in(client_id, client).is_none());
        assert!(self.accept().is_none(), "the log answers a login that was accepted");
        let (_, answers) = self.execute();
        let [Answer::Session(bound)] = answers[..] else { panic!("unexpected {answers:?}") };
        bound.session
    }
}

fn connection(client_id: u32) -> ConnectionId {
    ConnectionId::of(Token(u64::from(client_id)))
}

#[test]
fn a_session_is_numbered_by_the_op_of_its_login() {
    let mut rig = Rig::new(ROOMY);
    let sessions: Vec<u64> = (1..4).map(|client| rig.member(client).1).collect();
    assert_eq!(sessions, [1, 2, 3]);
    assert_eq!(rig.registry.sessions(), 3);
}

#[test]
fn a_connection_that_closes_during_its_login_leaves_no_session() {
    let mut rig = Rig::new(ROOMY);
    let client_id = rig.admit().expect("room");
    rig.log_in(client_id, 1);
    rig.registry.closed(client_id);
    assert!(rig.accept().is_none());
    assert!(rig.registry.logins_in_progress().is_idle(), "nobody waits for this login");

    let client_id = rig.admit().expect("room");
    rig.log_in(client_id, 1);
    assert!(rig.accept().is_none());
    rig.registry.closed(client_id);
    assert!(matches!(rig.execute(), (operations, answers)
        if operations == [LogOperation::Register] && answers.is_empty()));
    assert_eq!(rig.execute().0, [LogOperation::Logout], "what was logged in for nobody is logged out");
    assert_eq!(rig.registry.sessions(), 0);
}

#[test]
fn a_logout_is_answered_when_it_is_executed() {
    let mut rig = Rig::new(ROOMY);
    let (client_id, session) = rig.member(1);
    assert!(rig.handle(client_id, 1, Ask::Logout).is_none());
    assert_eq!(rig.registry.sessions(), 1);
    let (operations, answers) = rig.execute();
    assert_eq!(operations, [LogOperation::Logout]);
    assert!(matches!(answers[..], [Answer::LoggedOut { op }] if op > session));
    assert_eq!(rig.registry.sessions(), 0);
    let again = rig.handle(client_id, 1, Ask::Logout).expect("nothing to wait for");
    assert!(matches!(again.answer, Answer::LoggedOut { op: 0 }));
}

#[test]
fn a_connection_that_closes_is_logged_out_unless_the_node_stops() {
    let mut rig = Rig::new(ROOMY);
    let (first, _) = rig.member(1);
    let (second, _) = rig.member(2);
    rig.registry.closed(first);
    assert_eq!(rig.execute().0, [LogOperation::Logout]);
    rig.registry.stop();
    rig.registry.closed(second);
    assert!(rig.registry.logins_in_progress().is_idle());
}

#[test]
fn a_client_that_logs_in_elsewhere_ends_its_session_here() {
    let mut rig = Rig::new(ROOMY);
    let (first, session) = rig.member(1);
    let (second, _) = rig.member(1);
    let ended = rig.registry.take_ended();
    let expected =
        EndedSession { connection: connection(first), session, reason: EvictionReason::SessionTooLow };
    assert_eq!(ended, [(ShardId(0), expected)]);
    assert_eq!(rig.registry.sessions(), 1);
    rig.registry.closed(first);
    assert!(rig.registry.logins_in_progress().is_idle(), "that session has ended before");
    rig.registry.closed(second);
    assert_eq!(rig.execute().0, [LogOperation::Logout]);
}

#[test]
fn a_session_that_made_room_for_another_is_told_so() {
    let mut rig = Rig::new(ROOMY);
    let (client_id, session) = rig.member(1);
    rig.registry.evicted(1);
    rig.registry.evicted(99);
    let reason = EvictionReason::NoSession;
    let expected = EndedSession { connection: connection(client_id), session, reason };
    assert_eq!(rig.registry.take_ended(), [(ShardId(0), expected)]);
    assert_eq!(rig.registry.sessions(), 0);
}

#[test]
fn a_log_that_cannot_execute_a_login_refuses_it() {
    let mut rig = Rig::new(ROOMY);
    let client_id = rig.admit().expect("room");
    rig.log_in(client_id, 1);
    assert!(rig.accept().is_none());
    let asked = rig.registry.log_requests();
    assert!(rig.registry.logged(asked[0].0, LogAnswer::Busy, 0).is_none(), "it is asked again");
    let asked = rig.registry.log_requests();
    let (_, refused) = rig.registry.logged(asked[0].0, LogAnswer::Unsupported, 0).expect("an answer");
    assert!(matches!(refused.answer, Answer::Evicted(EvictionReason::SessionError)));
}

#[test]
fn full_tables_answer_busy_and_recover() {
    let mut rig = Rig::new(RegistryLimits { clients_max: 3, sessions_max: 1, logins_max: 1 });
    let clients: Vec<u32> = (0..3).map(|_| rig.admit().expect("room")).collect();
    assert_eq!(rig.admit(), None);
    assert!(rig.log_in(clients[0], 1).is_none());
    let refused = rig.log_in(clients[1], 2).expect("at once");
    assert!(matches!(refused.answer, Answer::Refused(ErrorCode::TransientNotAccepted)));
    assert!(rig.accept().is_none());
    assert!(rig.log_in(clients[1], 2).is_none());
    let (_, second) = rig.accept().expect("a login that is under way counts");
    assert!(matches!(second.answer, Answer::Refused(ErrorCode::TransientNotAccepted)));
    rig.execute();
    assert!(rig.log_in(clients[1], 2).is_none());
    let (_, second) = rig.accept().expect("the session counts");
    assert!(matches!(second.answer, Answer::Refused(ErrorCode::TransientNotAccepted)));
    rig.registry.closed(clients[0]);
    rig.register_after_logout(clients[1]);
}

impl Rig {
    /// The logout that is due comes before the login.
    fn register_after_logout(&mut self, client_id: u32) {
        assert!(self.log_in(client_id, 2).is_none());
        assert!(self.accept().is_none());
        let (operations, answers) = self.execute();
        assert_eq!(operations, [LogOperation::Logout, LogOperation::Register]);
        assert!(matches!(answers[..], [Answer::Session(_)]));
    }
}

#[test]
fn a_login_that_is_throttled_looks_like_one_with_wrong_credentials() {
    let mut rig = Rig::new(ROOMY);
    let client_id = rig.admit().expect("room");
    for verdict in [Verdict::Refused, Verdict::Throttled] {
        assert!(rig.log_in(client_id, 1).is_none());
        let token = rig.next_token();
        let (_, refused) = rig.registry.verdict(token, verdict, 0).expect("an answer");
        assert!(matches!(refused.answer, Answer::Evicted(EvictionReason::InvalidCredentials)));
    }
    let counts = rig.registry.login_counts();
    assert_eq!((counts.refused, counts.throttled), (1, 1));
}

#[test]
fn python_is_told_of_sessions_if_it_wants_to_know() {
    let mut rig = Rig::new(ROOMY);
    let (client_id, _) = rig.member(1);
    rig.registry.closed(client_id);
    assert_eq!(rig.news(), []);
    rig.execute();
    rig.registry.report_sessions();
    let (logged_out, first) = rig.member(1);
    assert_eq!(rig.news(), [(0, 0, 0, first)]);
    rig.handle(logged_out, 1, Ask::Logout);
    rig.execute();
    assert_eq!(rig.news(), [(1, 1, 0, first)]);
    rig.registry.closed(logged_out);
    let (closed, second) = rig.member(2);
    rig.registry.closed(closed);
    assert_eq!(rig.news(), [(2, 0, 0, second), (3, 1, 0, second)]);
    let (_, third) = rig.member(3);
    rig.registry.evicted(3);
    let evicted = EvictionReason::NoSession.code();
    assert_eq!(rig.news(), [(4, 0, 0, third), (5, 2, evicted, third)]);
}
