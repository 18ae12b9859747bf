//! A client: a connection, the requests that wait on it, and the bytes that are under way.

use std::collections::VecDeque;
use std::net::SocketAddr;

use ng_io::SimulatedEnvironment;
use ng_io::simulated::{Arrived, Random, SimulatedPeer};

use super::asked::Asked;
use super::model::Model;
use super::reply::{self, Answer, Reply};
use super::request::Sender;

/// Bytes that a client takes at a time.
const RECEIVE_BYTES: usize = 64 << 10;

pub(super) struct Client {
    pub(super) number: usize,
    /// Counts its connections.
    pub(super) epoch: u64,
    peer: Option<SimulatedPeer>,
    session: Option<u64>,
    request: u64,
    outbox: Vec<u8>,
    inbox: Vec<u8>,
    /// Oldest first.
    pub(super) pending: VecDeque<(u64, Asked)>,
    /// Requests that it may have under way.
    pub(super) depth: usize,
    /// When it does something next of its own accord.
    pub(super) acts: u64,
    /// It reads nothing before then.
    pub(super) reads_from: u64,
    /// It has sent what is no request on this connection: no reply means anything.
    is_wild: bool,
}

impl Client {
    pub(super) fn new(number: usize, depth: usize) -> Self {
        Self {
            number,
            epoch: 0,
            peer: None,
            session: None,
            request: 0,
            outbox: Vec::new(),
            inbox: Vec::new(),
            pending: VecDeque::new(),
            depth,
            acts: 0,
            reads_from: 0,
            is_wild: false,
        }
    }

    pub(super) const fn is_connected(&self) -> bool {
        self.peer.is_some()
    }

    pub(super) const fn has_session(&self) -> bool {
        self.session.is_some()
    }

    /// The consumer as which it reads. Another with each connection: what an earlier one asked may still be done.
    pub(super) fn consumer(&self) -> u32 {
        u32::try_from(self.number as u64 * 100_000 + self.epoch).unwrap_or(u32::MAX)
    }

    /// Connects and asks for a session; nothing if nobody listens.
    pub(super) fn connect(
        &mut self,
        environment: &SimulatedEnvironment,
        server: SocketAddr,
        model: &mut Model,
    ) {
        let port = u16::try_from(1_024 + (self.epoch * 64 + self.number as u64) % 60_000).unwrap_or(1_024);
        let Ok(peer) = environment.connect(SocketAddr::from(([10, 0, 0, 2], port)), server) else { return };
        self.peer = Some(peer);
        self.epoch += 1;
        self.request = 0;
        self.ask(Asked::Login, model);
    }

    /// Sends a request.
    pub(super) fn ask(&mut self, asked: Asked, model: &mut Model) {
        let is_login = matches!(asked, Asked::Login);
        let request = if is_login { 0 } else { self.request };
        self.request += 1;
        let sender = Sender {
            client: (self.number as u128 + 1) << 64 | u128::from(self.epoch),
            session: self.session.unwrap_or(0),
            request,
        };
        self.outbox.extend(asked.request(model).frame(sender));
        self.pending.push_back((request, asked));
        self.push();
    }

    /// Sends bytes that are no request.
    pub(super) fn send_garbage(&mut self, bytes: &[u8]) {
        self.is_wild = true;
        self.outbox.extend_from_slice(bytes);
        self.push();
    }

    /// Moves bytes on their way, as far as there is room.
    pub(super) fn push(&mut self) {
        if let Some(peer) = &self.peer
            && !self.outbox.is_empty()
            && let Ok(sent) = peer.send(&self.outbox)
        {
            self.outbox.drain(..sent);
        }
    }

    /// When something arrives for it.
    pub(super) fn next(&self) -> Option<u64> {
        let arrives = self.peer.as_ref()?.next_arrival()?;
        Some(arrives.max(self.reads_from))
    }

    /// Takes what has arrived. Says how many requests were done.
    pub(super) fn receive(&mut self, now: u64, model: &mut Model) -> Result<usize, String> {
        let mut done = 0;
        while now >= self.reads_from
            && let Some(peer) = &self.peer
        {
            let arrived = peer.receive(&mut self.inbox, RECEIVE_BYTES);
            while let Some(reply) = reply::take(&mut self.inbox)? {
                done += usize::from(self.take(&reply, model)?);
            }
            match arrived {
                Ok(Arrived::Bytes(_)) => {}
                Ok(Arrived::Nothing) => break,
                Ok(Arrived::End) | Err(_) => self.disconnect(model),
            }
        }
        Ok(done)
    }

    fn take(&mut self, reply: &Reply, model: &mut Model) -> Result<bool, String> {
        let Some((request, asked)) = self.pending.pop_front() else {
            if self.is_wild {
                return Ok(false);
            }
            return Err(format!("client {} gets a reply that it is not owed: {reply:?}", self.number));
        };
        let (operation, _) = asked.request(model).operation();
        let is_evicted = matches!(reply.answer, Answer::Evicted(_));
        if !is_evicted && (reply.request, reply.operation) != (request, operation.code()) {
            return Err(format!("client {} gets {reply:?} for request {request}, {asked:?}", self.number));
        }
        let done = asked.answered(&reply.answer, model)?;
        let logs_in = matches!(asked, Asked::Login);
        match &reply.answer {
            Answer::Done(body) if logs_in => {
                let session = reply::session(body).map_err(|fault| format!("a session: {fault:?}"))?;
                self.session = Some(session);
            }
            Answer::Refused(_) if logs_in => self.disconnect(model),
            Answer::Evicted(_) => self.disconnect(model),
            Answer::Done(_) | Answer::Refused(_) => {}
        }
        Ok(done)
    }

    /// The connection is gone, and with it the answers.
    pub(super) fn disconnect(&mut self, model: &mut Model) {
        self.peer = None;
        self.forget(model);
    }

    /// Breaks the connection off.
    pub(super) fn reset(&mut self, model: &mut Model) {
        if let Some(peer) = self.peer.take() {
            peer.reset();
        }
        self.forget(model);
    }

    /// Sends nothing more on this connection.
    pub(super) fn finish_sending(&self) {
        if let Some(peer) = &self.peer {
            peer.finish_sending();
        }
    }

    fn forget(&mut self, model: &mut Model) {
        self.session = None;
        self.is_wild = false;
        self.inbox.clear();
        self.outbox.clear();
        for (_, asked) in self.pending.drain(..) {
            asked.lost(model);
        }
    }

    /// A moment before which it does nothing of its own accord.
    pub(super) fn rest(&mut self, now: u64, mean: u64, random: &mut Random) {
        self.acts = now + 1 + random.below(2 * mean);
    }
}
