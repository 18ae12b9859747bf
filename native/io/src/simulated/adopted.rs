//! Sockets and listeners of a simulated driver, each with the operations that wait for its peer.

use std::collections::VecDeque;

use super::driver::SimulatedFile;
use super::random::mix;
use super::socket::{SimulatedListener, SimulatedSocket};
use super::streams::{Arrived, End};
use crate::buffer::Buffer;
use crate::driver::{Completion, Operation, Outcome, Token};
use crate::error::IoError;
use crate::socket::Socket;

#[derive(Debug)]
pub(super) enum Adopted {
    File(SimulatedFile),
    Socket(SocketState),
    Listener(ListenerState),
}

impl Adopted {
    pub(super) fn file(&self) -> Option<&SimulatedFile> {
        match self {
            Self::File(file) => Some(file),
            Self::Socket(_) | Self::Listener(_) => None,
        }
    }

    /// When a waiting operation goes on.
    pub(super) fn next(&self) -> Option<u64> {
        match self {
            Self::File(_) => None,
            Self::Socket(state) => state.next(),
            Self::Listener(state) => state.next(),
        }
    }

    /// Finishes what can be finished.
    pub(super) fn advance(&mut self, finished: &mut VecDeque<Completion>) {
        match self {
            Self::File(_) => {}
            Self::Socket(state) => state.advance(finished),
            Self::Listener(state) => state.advance(finished),
        }
    }
}

/// A connected socket.
#[derive(Debug)]
pub(super) struct SocketState {
    pub(super) socket: SimulatedSocket,
    receive: Option<Receiving>,
    send: Option<Sending>,
}

#[derive(Debug)]
struct Receiving {
    token: Token,
    buffer: Buffer,
    received: usize,
    /// Bytes to be received before it is given back, and at most; zero for what is there first.
    wanted: usize,
}

#[derive(Debug)]
struct Sending {
    token: Token,
    buffer: Buffer,
    sent: usize,
}

impl SocketState {
    pub(super) const fn new(socket: SimulatedSocket) -> Self {
        Self { socket, receive: None, send: None }
    }

    /// Keeps an operation until it is finished; its outcome if it cannot begin.
    pub(super) fn start(&mut self, token: Token, operation: Operation) -> Option<Outcome> {
        match operation {
            operation @ Operation::Receive { .. } if self.receive.is_some() => {
                Some(Outcome::failed(operation, IoError::busy("receive")))
            }
            Operation::Receive { buffer, .. } if buffer.spare() == 0 => {
                Some(Outcome::Received { buffer, result: Err(IoError::invalid("receive")) })
            }
            Operation::Receive { buffer, wanted, .. } => {
                let wanted = wanted.min(buffer.spare());
                self.receive = Some(Receiving { token, buffer, received: 0, wanted });
                None
            }
            operation @ Operation::Send { .. } if self.send.is_some() => {
                Some(Outcome::failed(operation, IoError::busy("send")))
            }
            Operation::Send { buffer, .. } => {
                self.send = Some(Sending { token, buffer, sent: 0 });
                None
            }
            other => Some(Outcome::failed(other, IoError::stale("network operation"))),
        }
    }

    fn next(&self) -> Option<u64> {
        let streams = &self.socket.environment.lock().streams;
        let wire = self.socket.wire;
        let receive = self.receive.as_ref().and_then(|_| streams.next_receive(wire, End::Near, 1));
        let send = self.send.as_ref().and_then(|_| streams.next_send(wire, End::Near));
        [receive, send].into_iter().flatten().min()
    }

    fn advance(&mut self, finished: &mut VecDeque<Completion>) {
        if let Some(mut receiving) = self.receive.take() {
            match self.try_receive(&mut receiving) {
                Some(result) => {
                    let outcome = Outcome::Received { buffer: receiving.buffer, result };
                    finished.push_back(Completion { token: receiving.token, outcome });
                }
                None => self.receive = Some(receiving),
            }
        }
        if let Some(mut sending) = self.send.take() {
            match self.try_send(&mut sending) {
                Some(result) => {
                    let outcome = Outcome::Sent { buffer: sending.buffer, result };
                    finished.push_back(Completion { token: sending.token, outcome });
                }
                None => self.send = Some(sending),
            }
        }
    }

    fn try_receive(&self, receiving: &mut Receiving) -> Option<Result<usize, IoError>> {
        let machine = &mut *self.socket.environment.lock();
        let now = machine.clock.now();
        let Receiving { token, buffer, received, wanted } = receiving;
        let most = if *wanted == 0 { buffer.spare() } else { *wanted - *received };
        let arrived = machine.streams.receive(self.socket.wire, End::Near, now, most, |bytes| {
            buffer.extend_from_slice(bytes);
        });
        let result = match arrived {
            Ok(Arrived::Nothing) => return None,
            Ok(Arrived::Bytes(count)) => {
                *received += count;
                if *received < *wanted {
                    return None;
                }
                Ok(*received)
            }
            Ok(Arrived::End) => Ok(*received),
            // What came before the connection broke is told first; the next receive meets the end.
            Err(_) if *received > 0 => Ok(*received),
            Err(error) => Err(error),
        };
        for value in [now, token.0, *received as u64] {
            machine.trace = mix(machine.trace ^ value);
        }
        Some(result)
    }

    fn try_send(&self, sending: &mut Sending) -> Option<Result<(), IoError>> {
        let machine = &mut *self.socket.environment.lock();
        let now = machine.clock.now();
        let Sending { token, buffer, sent } = sending;
        let result = match machine.streams.send(self.socket.wire, End::Near, &buffer[*sent..], now) {
            Ok(count) => {
                *sent += count;
                if *sent < buffer.len() {
                    return None;
                }
                Ok(())
            }
            Err(error) => Err(error),
        };
        for value in [now, token.0, *sent as u64] {
            machine.trace = mix(machine.trace ^ value);
        }
        Some(result)
    }

    /// Gives every waiting operation back as cancelled, and closes the socket.
    pub(super) fn close(self, finished: &mut VecDeque<Completion>) {
        if let Some(Receiving { token, buffer, .. }) = self.receive {
            let outcome = Outcome::Received { buffer, result: Err(IoError::cancelled("receive")) };
            finished.push_back(Completion { token, outcome });
        }
        if let Some(Sending { token, buffer, .. }) = self.send {
            let outcome = Outcome::Sent { buffer, result: Err(IoError::cancelled("send")) };
            finished.push_back(Completion { token, outcome });
        }
    }
}

/// A listener.
#[derive(Debug)]
pub(super) struct ListenerState {
    pub(super) listener: SimulatedListener,
    accept: Option<Token>,
}

impl ListenerState {
    pub(super) const fn new(listener: SimulatedListener) -> Self {
        Self { listener, accept: None }
    }

    pub(super) fn start(&mut self, token: Token, operation: Operation) -> Option<Outcome> {
        match operation {
            Operation::Accept { .. } if self.accept.is_none() => {
                self.accept = Some(token);
                None
            }
            operation @ Operation::Accept { .. } => Some(Outcome::failed(operation, IoError::busy("accept"))),
            other => Some(Outcome::failed(other, IoError::stale("network operation"))),
        }
    }

    fn next(&self) -> Option<u64> {
        self.accept.and_then(|_| self.listener.next_arrival())
    }

    fn advance(&mut self, finished: &mut VecDeque<Completion>) {
        let Some(token) = self.accept else { return };
        if let Some((socket, peer)) = self.listener.accept() {
            self.accept = None;
            let outcome = Outcome::Accepted(Ok((Socket::of_simulation(socket), peer)));
            finished.push_back(Completion { token, outcome });
        }
    }

    pub(super) fn close(self, finished: &mut VecDeque<Completion>) {
        if let Some(token) = self.accept {
            let outcome = Outcome::Accepted(Err(IoError::cancelled("accept")));
            finished.push_back(Completion { token, outcome });
        }
    }
}
