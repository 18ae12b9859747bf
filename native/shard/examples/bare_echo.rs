//! Echoes received bytes with only a backend's driver: the lower bound of the cost of any request.
//!
//! `bare_echo BACKEND CPU` serves on a free port, which it prints, until its standard input ends. It has one
//! thread, pinned to the CPU like a shard, with the limits of a shard.

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;

use ng_io::{
    Buffer, Completion, Driver, DriverLimits, Environment, Handle, Instant, Listener, Operation, Outcome,
    PosixEnvironment, ThreadSpec, Token, UringEnvironment, Wait,
};

const ACCEPT: Token = Token(u64::MAX);

/// Initial receive buffer of a connection, as in a shard.
const BUFFER_BYTES: usize = 1024;

/// Higher than the connections of any of our load tests.
const CONNECTIONS_MAX: usize = 4096;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let backend = arguments.next().ok_or("which backend?")?;
    let cpu = arguments.next().ok_or("which CPU?")?.parse()?;
    match backend.as_str() {
        "posix" => serve_until_input_ends(&PosixEnvironment, cpu),
        "uring" => serve_until_input_ends(&UringEnvironment, cpu),
        other => Err(format!("unknown backend {other}").into()),
    }
}

fn serve_until_input_ends<E: Environment>(environment: &E, cpu: usize) -> Result<(), Box<dyn Error>> {
    let listener = environment.bind_stream((Ipv4Addr::LOCALHOST, 0).into(), 4096)?;
    let address = listener.local_address()?;
    let there = environment.clone();
    let thread = ThreadSpec { name: "echo".to_owned(), cpu: Some(cpu) };
    environment.spawn(thread, Box::new(move || serve(&there, listener)))?;
    writeln!(io::stdout(), "{address}")?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Body of the serving thread; it runs until the process ends.
fn serve<E: Environment>(environment: &E, listener: Listener) {
    let limits = DriverLimits { operations_max: 2 * CONNECTIONS_MAX, handles_max: 2 * CONNECTIONS_MAX };
    let mut driver = environment.driver(limits).expect("the backend is present");
    let listener = driver.adopt_listener(listener).expect("an empty table has room");
    driver.submit(ACCEPT, Operation::Accept { listener });
    let mut echo = Echo { driver, listener, sockets: Vec::new(), free: Vec::new() };
    let mut completions = Vec::new();
    loop {
        echo.driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut completions).expect("the driver works");
        for completion in completions.drain(..) {
            echo.take(completion);
        }
    }
}

/// The connections; each has exactly one operation in progress.
struct Echo<D: Driver> {
    driver: D,
    listener: Handle,
    /// Sockets by token.
    sockets: Vec<Option<Handle>>,
    free: Vec<usize>,
}

impl<D: Driver> Echo<D> {
    fn take(&mut self, completion: Completion) {
        let token = completion.token;
        match completion.outcome {
            Outcome::Accepted(Ok((socket, _))) => {
                let socket = self.driver.adopt_socket(socket).expect("loads stay below the limits");
                let token = self.setup(socket);
                self.driver.submit(
                    token,
                    Operation::Receive { socket, buffer: Buffer::with_capacity(BUFFER_BYTES), wanted: 0 },
                );
                self.driver.submit(ACCEPT, Operation::Accept { listener: self.listener });
            }
            Outcome::Accepted(Err(_)) => {
                self.driver.submit(ACCEPT, Operation::Accept { listener: self.listener });
            }
            Outcome::Received { buffer, result: Ok(1..) } => {
                let socket = self.socket(token);
                self.driver.submit(token, Operation::Send { socket, buffer });
            }
            Outcome::Sent { mut buffer, result: Ok(()) } => {
                buffer.clear();
                let socket = self.socket(token);
                self.driver.submit(token, Operation::Receive { socket, buffer, wanted: 0 });
            }
            _ => self.leave(token),
        }
    }

    fn setup(&mut self, socket: Handle) -> Token {
        let setup = self.free.pop().unwrap_or_else(|| {
            self.sockets.push(None);
            self.sockets.len() - 1
        });
        self.sockets[setup] = Some(socket);
        Token(setup as u64)
    }

    fn socket(&self, token: Token) -> Handle {
        self.sockets[setup(token)].expect("an operation under way belongs to an open connection")
    }

    fn leave(&mut self, token: Token) {
        let socket = self.sockets[setup(token)].take();
        self.driver.close(socket.expect("the last operation of a connection ends it"));
        self.free.push(setup(token));
    }
}

fn setup(token: Token) -> usize {
    usize::try_from(token.0).expect("tokens of connections are positions in a table")
}
