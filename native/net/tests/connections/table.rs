//! A table, a listener and a service whose answers depend on the request's code.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use ng_io::{Chunk, Driver, DriverLimits, Environment, Instant, Outcome, Token, Wait};
use ng_net::connection::Bound;
use ng_net::limits::UNAUTHENTICATED_FRAME_BYTES_MAX;
use ng_net::tcp::WindDown;
use ng_net::{
    Acceptor, Arrival, ConnectionId, Connections, FrameBody, HandOver, Kept, Limits, Peer, Served, Service,
};
use ng_wire::frame::{HEADER_BYTES, RequestHeader};
use ng_wire::reply::{self, Position};
use ng_wire::table::close_reason::CloseReason;
use ng_wire::table::error::ErrorCode;

const DOOR: Token = Token(u64::MAX);

/// Maximum time before a test counts as hung. No test compares against it otherwise.
const PATIENCE: Duration = Duration::from_secs(30);

/// Makes one test per backend from a function that takes an environment.
macro_rules! on_every_backend {
    ($($test:ident),* $(,)?) => {
        mod posix {
            $(#[test] fn $test() { super::$test(&ng_io::PosixEnvironment); })*
        }
        mod uring {
            $(#[test] fn $test() { super::$test(&ng_io::UringEnvironment); })*
        }
    };
}
pub(crate) use on_every_backend;

/// Commands of the service under test, by code.
pub(crate) const ECHO: u32 = 1;
pub(crate) const WAIT: u32 = 2;
pub(crate) const LOG_IN: u32 = 3;
pub(crate) const LAST: u32 = 4;
pub(crate) const LARGE: u32 = 5;
pub(crate) const LOG_OUT: u32 = 6;
pub(crate) const KEEP: u32 = 7;
pub(crate) const HUGE: u32 = 8;

/// Start of the part of a body that [`KEEP`] keeps. The bytes before it are ignored.
pub(crate) const KEPT_START: usize = 20;

/// Bytes of the body that answers `LARGE`.
pub(crate) const LARGE_BYTES: usize = 64 * 1024;

/// Bytes of the body that answers `HUGE`: more than the kernels of both ends hold.
pub(crate) const HUGE_BYTES: usize = 48 * 1024 * 1024;

/// Answers by code and records its calls.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) served: Vec<(RequestHeader, Option<Vec<u8>>)>,
    pub(crate) waiting: Vec<(ConnectionId, RequestHeader)>,
    pub(crate) closed: Vec<(u32, CloseReason)>,
    pub(crate) kept: Vec<Arc<Chunk>>,
    /// Requests without memory for their body.
    pub(crate) turned_away: Vec<u64>,
    /// Maximum frame, if it exceeds that of a connection without a session.
    pub(crate) frame_bytes_max: Option<u32>,
    /// A frame answered from its header is not the last one.
    pub(crate) goes_on_after_oversize: bool,
}

impl Service for Script {
    fn frame_bytes_max(&self, _peer: &Peer, _header: &RequestHeader) -> u32 {
        self.frame_bytes_max.unwrap_or(UNAUTHENTICATED_FRAME_BYTES_MAX)
    }

    fn kept(&self, header: &RequestHeader, received: &[u8]) -> Kept {
        match header.code {
            KEEP if received.len() > HEADER_BYTES => Kept::From(HEADER_BYTES + KEPT_START),
            KEEP => Kept::Unknown,
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
        let is_oversize = body.is_none();
        let bytes = body.as_ref().map(|body| body.bytes().to_vec());
        if header.code == KEEP {
            self.kept.extend(body.map(|body| Arc::new(body.keep(KEPT_START))));
        }
        self.served.push((*header, bytes.clone()));
        let payload = match header.code {
            LARGE => vec![7; LARGE_BYTES],
            HUGE => vec![7; HUGE_BYTES],
            _ => bytes.unwrap_or_default(),
        };
        match header.code {
            WAIT => {
                self.waiting.push((id, *header));
                return Served::Waiting;
            }
            LOG_IN => peer.bound = Some(Bound { session: 1, user_id: 0 }),
            LOG_OUT => peer.bound = None,
            _ => {}
        }
        reply::ok(reply, header, Position::default(), |into| into.extend_from_slice(&payload));
        if header.code == LAST || (is_oversize && !self.goes_on_after_oversize) {
            return Served::AnsweredLast(CloseReason::OversizeBeforeLogin);
        }
        Served::Answered
    }

    fn busy(&mut self, _peer: &mut Peer, header: &RequestHeader, reply: &mut Vec<u8>) -> Served {
        reply::denied(reply, header, ErrorCode::TransientNotAccepted);
        self.turned_away.push(header.request);
        Served::Answered
    }

    fn closed(&mut self, peer: &Peer, reason: CloseReason) {
        self.closed.push((peer.client_id, reason));
    }
}

pub(crate) struct Rig<E: Environment> {
    driver: E::Driver,
    acceptor: Acceptor,
    pub(crate) address: SocketAddr,
    pub(crate) connections: Connections,
    pub(crate) service: Script,
    /// Added to the driver's time, so that a test can let hours pass.
    pub(crate) ahead: Duration,
    next_client_id: u32,
}

pub(crate) const LIMITS: Limits = Limits {
    connections_max: 64,
    strangers_max: 32,
    frame_bytes_max: 64 * 1024 * 1024,
    kept_front: 416,
    frame_time: Duration::from_secs(10),
    send_timeout: Duration::from_secs(30),
    frame_memory_max: 1024 * 1024,
    spare_memory_max: 1024 * 1024,
};

impl<E: Environment> Rig<E> {
    pub(crate) fn new(environment: &E, limits: Limits) -> Self {
        let mut driver =
            environment.driver(DriverLimits { operations_max: 512, handles_max: 256 }).expect("a driver");
        let listener =
            environment.bind_stream("127.0.0.1:0".parse().expect("an address"), 64).expect("a free port");
        let address = listener.local_address().expect("a bound socket");
        let mut acceptor = Acceptor::new(listener, DOOR, &mut driver).expect("a handle");
        acceptor.open(&mut driver);
        Self {
            driver,
            acceptor,
            address,
            connections: Connections::new(limits),
            service: Script::default(),
            ahead: Duration::ZERO,
            next_client_id: 1,
        }
    }

    /// Operations submitted so far.
    pub(crate) fn operations(&self) -> u64 {
        self.driver.counters().operations
    }

    pub(crate) fn now(&self) -> Instant {
        self.driver.now() + self.ahead
    }

    /// Lets the table work until `done`, or fails.
    pub(crate) fn until(&mut self, mut done: impl FnMut(&Self) -> bool) {
        let deadline = self.driver.now() + PATIENCE;
        while !done(self) {
            assert!(
                self.driver.now() < deadline,
                "this takes too long; closed so far: {:?}",
                self.service.closed
            );
            self.step(Duration::from_millis(20));
        }
    }

    /// One round of completions and timers.
    pub(crate) fn step(&mut self, patience: Duration) {
        let mut completions = Vec::new();
        let wait = Wait::Until(self.driver.now() + patience);
        self.driver.complete(wait, &mut completions).expect("the driver works");
        let now = self.now();
        for completion in completions {
            let id = ConnectionId::of(completion.token);
            let (connections, driver, service) = (&mut self.connections, &mut self.driver, &mut self.service);
            match completion.outcome {
                Outcome::Accepted(result) => {
                    if let Arrival::Connection(socket, address) = self.acceptor.accepted(result, now, driver)
                    {
                        let client_id = self.next_client_id;
                        self.next_client_id += 1;
                        connections.adopt(HandOver { socket, client_id, address }, driver, service);
                    }
                }
                Outcome::Received { buffer, result } => {
                    connections.received(id, buffer, &result, now, driver, service);
                }
                Outcome::Sent { buffer, result } => {
                    connections.sent(id, buffer, &result, now, driver, service)
                }
                other => panic!("unexpected completion: {other:?}"),
            }
        }
        self.connections.expire(now, &mut self.driver, &mut self.service);
    }

    /// Answers the oldest waiting request. Returns true if its connection still existed.
    pub(crate) fn answer(&mut self) -> bool {
        let (id, header) = self.service.waiting.remove(0);
        let now = self.now();
        self.connections.answer(id, now, &mut self.driver, &mut self.service, |_, _, reply| {
            reply::ok(reply, &header, Position::default(), |_| {});
            Served::Answered
        })
    }

    pub(crate) fn hurry_replies(&mut self) {
        self.connections.hurry_replies(self.now(), &self.driver);
    }

    pub(crate) fn wind_down(&mut self, overdue: bool) -> WindDown {
        let now = self.now();
        self.connections.wind_down(overdue, now, &mut self.driver, &mut self.service)
    }

    /// A connected and adopted client.
    pub(crate) fn client(&mut self) -> TcpStream {
        let before = self.next_client_id;
        let stream = TcpStream::connect(self.address).expect("the backlog has room");
        stream.set_nonblocking(true).expect("a socket");
        self.until(|rig| rig.next_client_id > before);
        stream
    }

    /// Reads exactly `count` bytes while the table works.
    pub(crate) fn read(&mut self, stream: &mut TcpStream, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        let mut filled = 0;
        self.until(|_| {
            while filled < count {
                match stream.read(&mut bytes[filled..]) {
                    Ok(0) => panic!("end of stream after {filled} of {count} bytes"),
                    Ok(more) => filled += more,
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return false,
                    Err(error) => panic!("{error}"),
                }
            }
            true
        });
        bytes
    }

    /// Reads one reply and returns the request number in it.
    pub(crate) fn reply(&mut self, stream: &mut TcpStream) -> u64 {
        let header = self.read(stream, HEADER_BYTES);
        let field = |at: usize, length: usize| header[at..at + length].to_vec();
        let size = u32::from_le_bytes(field(48, 4).try_into().expect("four bytes"));
        self.read(stream, size as usize - HEADER_BYTES);
        u64::from_le_bytes(field(200, 8).try_into().expect("eight bytes"))
    }

    /// Waits for the end of a client's stream.
    pub(crate) fn read_to_end(&mut self, stream: &mut TcpStream) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut chunk = [0; 4096];
        self.until(|_| {
            loop {
                match stream.read(&mut chunk) {
                    Ok(0) => return true,
                    Ok(count) => bytes.extend_from_slice(&chunk[..count]),
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return false,
                    Err(_) => return true,
                }
            }
        });
        bytes
    }

    /// Writes all of `bytes` while the table works.
    pub(crate) fn write(&mut self, stream: &mut TcpStream, bytes: &[u8]) {
        let mut written = 0;
        self.until(|_| {
            while written < bytes.len() {
                match stream.write(&bytes[written..]) {
                    Ok(count) => written += count,
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return false,
                    Err(error) => panic!("{error}"),
                }
            }
            true
        });
    }
}

/// Encodes a request frame.
pub(crate) fn frame(code: u32, request: u64, body: &[u8]) -> Vec<u8> {
    let size = u32::try_from(HEADER_BYTES + body.len()).expect("a small frame");
    let header = RequestHeader {
        size,
        client: 1,
        request_checksum: 0,
        timestamp: 0,
        request,
        operation: 2,
        session: 0,
        code,
    };
    let mut bytes = header.encode().to_vec();
    bytes.extend_from_slice(body);
    bytes
}
