//! Accepts connections, and pauses when the kernel lacks resources.

use std::net::SocketAddr;
use std::time::Duration;

use ng_io::{Driver, Handle, Instant, IoError, Listener, Operation, Socket, Token};

/// Pause after the kernel had no descriptor or memory for a connection. An immediate retry would spin,
/// because the connection stays in the backlog and the socket stays readable.
const PAUSE: Duration = Duration::from_millis(100);

/// One listening socket of a driver.
#[derive(Debug)]
pub struct Acceptor {
    handle: Handle,
    token: Token,
    /// An accept operation is outstanding.
    accepting: bool,
    paused_until: Option<Instant>,
    closed: bool,
}

/// Outcome of an accept operation.
#[derive(Debug)]
pub enum Arrival {
    /// A connection.
    Connection(Socket, SocketAddr),
    /// The connection was lost before it was accepted, or the acceptor was closed.
    Nothing,
    /// Accepting is paused.
    Paused(IoError),
}

impl Acceptor {
    /// Adopts a listener; connections wait in its backlog until [`Self::open`].
    pub fn new<D: Driver>(listener: Listener, token: Token, driver: &mut D) -> Result<Self, IoError> {
        let handle = driver.adopt_listener(listener)?;
        Ok(Self { handle, token, accepting: false, paused_until: None, closed: false })
    }

    /// Starts to accept, unless an accept operation is outstanding or the acceptor is closed.
    pub fn open<D: Driver>(&mut self, driver: &mut D) {
        if !self.accepting && !self.closed {
            self.accepting = true;
            self.paused_until = None;
            driver.submit(self.token, Operation::Accept { listener: self.handle });
        }
    }

    /// Handles a completed accept operation. After a connection, the next operation is submitted at once.
    pub fn accepted<D: Driver>(
        &mut self,
        result: Result<(Socket, SocketAddr), IoError>,
        now: Instant,
        driver: &mut D,
    ) -> Arrival {
        self.accepting = false;
        match result {
            Ok((socket, address)) => {
                self.open(driver);
                Arrival::Connection(socket, address)
            }
            Err(_) if self.closed => Arrival::Nothing,
            Err(error) if error.is_lost_connection() => {
                self.open(driver);
                Arrival::Nothing
            }
            Err(error) => {
                self.paused_until = Some(now + PAUSE);
                Arrival::Paused(error)
            }
        }
    }

    /// End of the pause.
    pub fn paused_until(&self) -> Option<Instant> {
        self.paused_until
    }

    /// Stops listening permanently: connections in the backlog are refused.
    pub fn close<D: Driver>(&mut self, driver: &mut D) {
        self.paused_until = None;
        self.closed = true;
        driver.close(self.handle);
    }
}
