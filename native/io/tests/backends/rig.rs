//! A driver under test, with the patience and the peers the tests need.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use ng_io::{Buffer, Completion, Driver, DriverLimits, Environment, Handle, Operation, Outcome, Token, Wait};

/// How long anything may take before a test calls it hung. Nothing is measured against it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Makes one test per backend out of a function that takes an environment.
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

pub(crate) const LIMITS: DriverLimits = DriverLimits { operations_max: 16_384, handles_max: 1024 };

/// A driver and the completions nobody has asked for yet.
pub(crate) struct Rig<D> {
    pub(crate) driver: D,
    completions: Vec<Completion>,
    next_token: u64,
}

pub(crate) fn rig<E: Environment>(environment: &E) -> Rig<E::Driver> {
    rig_with(environment, LIMITS)
}

pub(crate) fn rig_with<E: Environment>(environment: &E, limits: DriverLimits) -> Rig<E::Driver> {
    let driver = environment.driver(limits).expect("the backend makes a driver");
    Rig { driver, completions: Vec::new(), next_token: 0 }
}

impl<D: Driver> Rig<D> {
    pub(crate) fn submit(&mut self, operation: Operation) -> Token {
        let token = Token(self.next_token);
        self.next_token += 1;
        self.driver.submit(token, operation);
        token
    }

    /// Takes what is there without waiting.
    pub(crate) fn poll(&mut self) {
        self.driver.complete(Wait::Now, &mut self.completions).expect("the driver works");
    }

    /// The outcome of an operation, waited for.
    pub(crate) fn outcome(&mut self, token: Token) -> Outcome {
        let deadline = self.driver.now() + PATIENCE;
        loop {
            if let Some(outcome) = self.take(token) {
                return outcome;
            }
            assert!(self.driver.now() < deadline, "{token:?} never completed");
            self.driver.complete(Wait::Until(deadline), &mut self.completions).expect("the driver works");
        }
    }

    /// The outcome of an operation, if it has completed.
    pub(crate) fn take(&mut self, token: Token) -> Option<Outcome> {
        let position = self.completions.iter().position(|completion| completion.token == token)?;
        Some(self.completions.swap_remove(position).outcome)
    }

    /// Asks several times and checks that an operation is still under way.
    pub(crate) fn assert_pending(&mut self, token: Token) {
        for _ in 0..4 {
            self.poll();
        }
        assert!(
            self.completions.iter().all(|completion| completion.token != token),
            "{token:?} is over already"
        );
    }

    pub(crate) fn run(&mut self, operation: Operation) -> Outcome {
        let token = self.submit(operation);
        self.outcome(token)
    }

    pub(crate) fn receive(&mut self, socket: Handle, room: usize) -> (Buffer, Result<usize, ng_io::IoError>) {
        received(self.run(Operation::Receive { socket, buffer: Buffer::with_capacity(room), wanted: 0 }))
    }

    /// Receives until `len` bytes are there.
    pub(crate) fn receive_exactly(&mut self, socket: Handle, len: usize) -> Vec<u8> {
        let mut buffer = Buffer::with_capacity(len);
        while buffer.len() < len {
            let (filled, result) = received(self.run(Operation::Receive { socket, buffer, wanted: 0 }));
            buffer = filled;
            assert!(
                result.expect("the connection lives") > 0,
                "the stream ended after {} bytes",
                buffer.len()
            );
        }
        buffer.to_vec()
    }

    pub(crate) fn send(&mut self, socket: Handle, bytes: &[u8]) {
        let (buffer, result) =
            sent(self.run(Operation::Send { socket, buffer: Buffer::from(bytes.to_vec()) }));
        result.expect("the connection lives");
        assert_eq!(&buffer[..], bytes, "the buffer comes back as it went");
    }

    /// A connection of which this driver has one end.
    pub(crate) fn connection(&mut self) -> (Handle, TcpStream) {
        let (near, far) = tcp_pair();
        (self.driver.adopt_socket(near.into()).expect("room for a socket"), far)
    }

    /// A listener of this driver and its address.
    pub(crate) fn listener<E: Environment<Driver = D>>(&mut self, environment: &E) -> (Handle, SocketAddr) {
        let listener = environment.bind_stream(loopback(), 128).expect("a free port");
        let address = listener.local_address().expect("a bound address");
        (self.driver.adopt_listener(listener).expect("room for a listener"), address)
    }
}

pub(crate) fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// Both ends of a TCP connection.
pub(crate) fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(loopback()).expect("a free port");
    let far = TcpStream::connect(listener.local_addr().expect("a bound address")).expect("somebody listens");
    far.set_read_timeout(Some(PATIENCE)).expect("a socket");
    far.set_nodelay(true).expect("a socket");
    (listener.accept().expect("the connection is waiting").0, far)
}

pub(crate) fn received(outcome: Outcome) -> (Buffer, Result<usize, ng_io::IoError>) {
    match outcome {
        Outcome::Received { buffer, result } => (buffer, result),
        other => panic!("not of a receive: {other:?}"),
    }
}

pub(crate) fn sent(outcome: Outcome) -> (Buffer, Result<(), ng_io::IoError>) {
    match outcome {
        Outcome::Sent { buffer, result } => (buffer, result),
        other => panic!("not of a send: {other:?}"),
    }
}

pub(crate) fn read(outcome: Outcome) -> (Buffer, Result<usize, ng_io::IoError>) {
    match outcome {
        Outcome::Read { buffer, result } => (buffer, result),
        other => panic!("not of a read: {other:?}"),
    }
}

pub(crate) fn written(outcome: Outcome) -> (Buffer, Result<(), ng_io::IoError>) {
    match outcome {
        Outcome::Written { buffer, result } => (buffer.into_buffer().expect("it was a buffer"), result),
        other => panic!("not of a write: {other:?}"),
    }
}

pub(crate) fn synced(outcome: Outcome) -> Result<(), ng_io::IoError> {
    match outcome {
        Outcome::Synced(result) => result,
        other => panic!("not of a sync: {other:?}"),
    }
}

/// Bytes in which every position shows: a shifted or repeated piece never compares equal.
pub(crate) fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index.wrapping_mul(2_654_435_761) >> 7).to_le_bytes()[0]).collect()
}

/// A directory of one test, on the disk the build is on; removed with it.
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    pub(crate) fn new(test: &str) -> Self {
        Self::below(env!("CARGO_TARGET_TMPDIR"), test)
    }

    /// On a file system that is memory.
    pub(crate) fn in_memory(test: &str) -> Self {
        Self::below("/dev/shm", test)
    }

    fn below(directory: &str, test: &str) -> Self {
        let path = PathBuf::from(directory).join(format!("{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a place for scratch files");
        Self { path }
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        &self.path
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
