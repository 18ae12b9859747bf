//! Sockets and listeners under edge-triggered epoll: what readiness is known, and who waits for it.
//!
//! The kernel reports a change once. So a descriptor is tried as long as it is believed ready, and believed
//! ready until the kernel shows otherwise: by "again", or by handing over less than there was room for, which
//! saves the probing call. The end of a stream is reported once too, possibly together with the last bytes,
//! so it is remembered and never un-believed.

use std::mem::MaybeUninit;
use std::net::SocketAddr;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketFlags, acceptfrom_with, recv, send};

use crate::buffer::Buffer;
use crate::driver::{Completion, Outcome, Token};
use crate::error::IoError;
use crate::socket::{KernelListener, KernelSocket, Socket, internet_address};

/// A connected socket and its waiting operations.
#[derive(Debug)]
pub(super) struct SocketState {
    pub(super) socket: KernelSocket,
    readable: bool,
    writable: bool,
    /// The peer finished or the connection broke: every further receive answers at once.
    ended: bool,
    receive: Option<PendingReceive>,
    send: Option<PendingSend>,
}

#[derive(Debug)]
struct PendingReceive {
    token: Token,
    filling: Filling,
}

/// A buffer that bytes are received into.
#[derive(Debug)]
struct Filling {
    buffer: Buffer,
    /// Bytes received already.
    received: usize,
    /// Bytes to be received before it is given back, and at most; zero for what is there first.
    wanted: usize,
}

#[derive(Debug)]
struct PendingSend {
    token: Token,
    buffer: Buffer,
    /// Bytes the kernel has taken already.
    sent: usize,
}

impl SocketState {
    /// A new socket is believed writable, which is true of every connected one; readability comes with the
    /// first event.
    pub(super) fn new(socket: KernelSocket) -> Self {
        Self { socket, readable: false, writable: true, ended: false, receive: None, send: None }
    }

    /// Receives now, or keeps the operation until the socket is readable.
    pub(super) fn receive(
        &mut self,
        token: Token,
        buffer: Buffer,
        wanted: usize,
        syscalls: &mut u64,
    ) -> Option<Outcome> {
        if self.receive.is_some() {
            return Some(Outcome::Received { buffer, result: Err(IoError::busy("receive")) });
        }
        if buffer.spare() == 0 {
            return Some(Outcome::Received { buffer, result: Err(IoError::invalid("receive")) });
        }
        let mut filling = Filling { wanted: wanted.min(buffer.spare()), received: 0, buffer };
        match self.try_receive(&mut filling, syscalls) {
            Some(result) => Some(Outcome::Received { buffer: filling.buffer, result }),
            None => {
                self.receive = Some(PendingReceive { token, filling });
                None
            }
        }
    }

    /// Sends now, or keeps what the kernel did not take until the socket is writable.
    pub(super) fn send(&mut self, token: Token, buffer: Buffer, syscalls: &mut u64) -> Option<Outcome> {
        if self.send.is_some() {
            return Some(Outcome::Sent { buffer, result: Err(IoError::busy("send")) });
        }
        let mut sent = 0;
        match self.try_send(&buffer, &mut sent, syscalls) {
            Some(result) => Some(Outcome::Sent { buffer, result }),
            None => {
                self.send = Some(PendingSend { token, buffer, sent });
                None
            }
        }
    }

    /// Takes in what epoll reported and finishes what had waited for it.
    pub(super) fn on_event(
        &mut self,
        flags: EventFlags,
        syscalls: &mut u64,
        finished: &mut impl Extend<Completion>,
    ) {
        let broken = EventFlags::HUP | EventFlags::ERR;
        self.ended |= flags.intersects(broken | EventFlags::RDHUP);
        self.readable |= self.ended || flags.contains(EventFlags::IN);
        self.writable |= flags.intersects(broken | EventFlags::OUT);
        if self.readable
            && let Some(mut pending) = self.receive.take()
        {
            match self.try_receive(&mut pending.filling, syscalls) {
                Some(result) => {
                    let outcome = Outcome::Received { buffer: pending.filling.buffer, result };
                    finished.extend([Completion { token: pending.token, outcome }]);
                }
                None => self.receive = Some(pending),
            }
        }
        if self.writable
            && let Some(mut pending) = self.send.take()
        {
            match self.try_send(&pending.buffer, &mut pending.sent, syscalls) {
                Some(result) => {
                    let outcome = Outcome::Sent { buffer: pending.buffer, result };
                    finished.extend([Completion { token: pending.token, outcome }]);
                }
                None => self.send = Some(pending),
            }
        }
    }

    /// Shuts the connection down and gives every waiting operation back as cancelled.
    pub(super) fn close(self, finished: &mut impl Extend<Completion>) {
        self.socket.shut_down();
        if let Some(PendingReceive { token, filling }) = self.receive {
            let outcome =
                Outcome::Received { buffer: filling.buffer, result: Err(IoError::cancelled("receive")) };
            finished.extend([Completion { token, outcome }]);
        }
        if let Some(PendingSend { token, buffer, .. }) = self.send {
            let outcome = Outcome::Sent { buffer, result: Err(IoError::cancelled("send")) };
            finished.extend([Completion { token, outcome }]);
        }
    }

    /// `None` means: not before the socket is readable again.
    fn try_receive(&mut self, filling: &mut Filling, syscalls: &mut u64) -> Option<Result<usize, IoError>> {
        while self.readable {
            *syscalls += 1;
            let room = filling.room();
            let most = room.len();
            match recv(&self.socket, room, RecvFlags::empty()).map(|(_, count)| count) {
                Ok(count) => {
                    // A full read may have left more; a short one emptied the socket, unless it was the last
                    // before the end.
                    self.readable = self.ended || count == most || count == 0;
                    // SAFETY: the kernel wrote `count` bytes at the start of the spare capacity.
                    unsafe { filling.buffer.advance(count) };
                    filling.received += count;
                    if filling.received >= filling.wanted || count == 0 {
                        return Some(Ok(filling.received));
                    }
                }
                Err(Errno::AGAIN) => self.readable = false,
                Err(Errno::INTR) => {}
                // What came before the connection broke is told first; the next receive meets the end.
                Err(_) if filling.received > 0 => return Some(Ok(filling.received)),
                Err(errno) => return Some(Err(IoError::from_errno("receive", errno))),
            }
        }
        None
    }

    /// Sends from `sent` on; `None` means: not all before the socket is writable again.
    fn try_send(
        &mut self,
        buffer: &[u8],
        sent: &mut usize,
        syscalls: &mut u64,
    ) -> Option<Result<(), IoError>> {
        while *sent < buffer.len() {
            if !self.writable {
                return None;
            }
            *syscalls += 1;
            match send(&self.socket, &buffer[*sent..], SendFlags::NOSIGNAL) {
                // After a short send the next call answers "again", and only that answer arms the kernel's
                // report of room.
                Ok(count) => *sent += count,
                Err(Errno::AGAIN) => self.writable = false,
                Err(Errno::INTR) => {}
                Err(errno) => return Some(Err(IoError::from_errno("send", errno))),
            }
        }
        Some(Ok(()))
    }
}

impl Filling {
    /// Where the next bytes go.
    fn room(&mut self) -> &mut [MaybeUninit<u8>] {
        let most = match self.wanted {
            0 => self.buffer.spare(),
            wanted => wanted - self.received,
        };
        &mut self.buffer.spare_mut()[..most]
    }
}

/// A listener and its waiting accept.
#[derive(Debug)]
pub(super) struct ListenerState {
    pub(super) listener: KernelListener,
    readable: bool,
    accept: Option<Token>,
}

impl ListenerState {
    pub(super) fn new(listener: KernelListener) -> Self {
        Self { listener, readable: false, accept: None }
    }

    /// Accepts now, or keeps the operation until somebody knocks.
    pub(super) fn accept(&mut self, token: Token, syscalls: &mut u64) -> Option<Outcome> {
        if self.accept.is_some() {
            return Some(Outcome::Accepted(Err(IoError::busy("accept"))));
        }
        let result = self.try_accept(syscalls);
        if result.is_none() {
            self.accept = Some(token);
        }
        result.map(Outcome::Accepted)
    }

    /// Takes in that epoll reported something.
    pub(super) fn on_event(&mut self, syscalls: &mut u64, finished: &mut impl Extend<Completion>) {
        self.readable = true;
        if let Some(token) = self.accept.take() {
            match self.try_accept(syscalls) {
                Some(result) => finished.extend([Completion { token, outcome: Outcome::Accepted(result) }]),
                None => self.accept = Some(token),
            }
        }
    }

    /// Stops listening and gives a waiting accept back as cancelled.
    pub(super) fn close(self, finished: &mut impl Extend<Completion>) {
        self.listener.shut_down();
        if let Some(token) = self.accept {
            finished.extend([Completion {
                token,
                outcome: Outcome::Accepted(Err(IoError::cancelled("accept"))),
            }]);
        }
    }

    /// `None` means: nobody is waiting. After any error somebody may be, so the listener stays believed
    /// readable.
    fn try_accept(&mut self, syscalls: &mut u64) -> Option<Result<(Socket, SocketAddr), IoError>> {
        while self.readable {
            *syscalls += 1;
            match acceptfrom_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok((descriptor, peer)) => {
                    let peer = peer.ok_or(Errno::AFNOSUPPORT).and_then(internet_address);
                    let accepted = peer.map(|peer| (Socket::new(descriptor), peer));
                    return Some(accepted.map_err(|errno| IoError::from_errno("accept", errno)));
                }
                Err(Errno::AGAIN) => self.readable = false,
                Err(Errno::INTR) => {}
                Err(errno) => return Some(Err(IoError::from_errno("accept", errno))),
            }
        }
        None
    }
}
