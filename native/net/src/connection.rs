//! One connection as the table holds it.

use std::net::SocketAddr;

use ng_io::{Buffer, Handle, Instant};
use ng_wire::frame::{FRAME_BYTES_MAX, RequestHeader};
use ng_wire::table::close_reason::CloseReason;
use ng_wire::table::eviction::EvictionReason;
use ng_wire::table::request_class::RequestClass;

use crate::input::Input;
use crate::limits::{Limits, OUTPUT_BYTES_HIGH, SHORT_PATIENCE, STOP_PATIENCE};
use crate::sending::Sending;

/// A session that a login bound to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The fence that the client echoes in its requests.
    pub session: u64,
    /// Who logged in.
    pub user_id: u32,
}

/// The request of a connection that is being served, for whoever measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What it asks for.
    pub class: RequestClass,
    /// When all of it was there.
    pub at: Instant,
    /// Messages that it brings.
    pub messages: u32,
    /// Bytes of these messages.
    pub bytes: u64,
}

/// What a service may know and change of a connection.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The number under which clients see this connection.
    pub client_id: u32,
    /// Where it came from.
    pub address: SocketAddr,
    /// The address it reached us at, which is an address its user can reach.
    pub local_address: SocketAddr,
    /// Its session, after a login.
    pub bound: Option<Bound>,
    /// The longest reply frame that its client library takes, as its last login names it.
    pub reply_bytes_max: u32,
    /// Its session has ended elsewhere, for this reason: its next request is told so.
    pub ended: Option<EvictionReason>,
    /// What it waits for, if that is known.
    pub asked: Option<Asked>,
    /// Memory that was promised to the reply it waits for, if that is to bring messages.
    pub promise: Promise,
    /// Whether it has taken more than the kernel holds for a peer that does not read.
    pub is_proven: bool,
}

/// Memory for a reply that is not written yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promise {
    /// How much.
    pub bytes: usize,
    /// Whether the peer was known to read when it was promised.
    pub is_proven: bool,
}

impl Peer {
    /// A peer that has asked for nothing.
    #[must_use]
    pub fn new(client_id: u32, address: SocketAddr) -> Self {
        Self {
            client_id,
            address,
            local_address: address,
            bound: None,
            reply_bytes_max: FRAME_BYTES_MAX,
            ended: None,
            asked: None,
            promise: Promise::default(),
            is_proven: false,
        }
    }
}

/// How far a connection is from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Requests are served.
    Open,
    /// The last reply is being sent; nothing more is served.
    Finishing(CloseReason),
    /// The last reply is sent; arriving bytes are dropped until the peer closes or the time is up.
    Lingering(CloseReason, Instant),
}

/// One row of the connection table.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) peer: Peer,
    pub(crate) handle: Handle,
    pub(crate) phase: Phase,
    pub(crate) input: Input,
    /// A request is being answered elsewhere; the next one waits, so that answers keep their order.
    pub(crate) waiting: bool,
    /// Replies that no send operation has taken yet.
    pub(crate) output: Option<Buffer>,
    /// Bytes of memory that a long frame has which is arriving.
    pub(crate) frame_bytes: usize,
    /// Bytes of replies that the kernel took.
    pub(crate) taken: u64,
    /// The reply being sent; present while a send operation is in flight.
    pub(crate) sending: Option<Sending>,
}

impl Connection {
    pub(crate) fn new(peer: Peer, handle: Handle) -> Self {
        Self {
            peer,
            handle,
            phase: Phase::Open,
            input: Input::new(),
            waiting: false,
            output: None,
            frame_bytes: 0,
            taken: 0,
            sending: None,
        }
    }

    /// The peer sends no more. It may still read: it gets the replies it is owed, and then the close.
    pub(crate) fn end_of_stream(&mut self) {
        if self.phase == Phase::Open {
            let inside_a_frame = self.input.deadline().is_some();
            let reason = if inside_a_frame { CloseReason::Truncated } else { CloseReason::ClientClosed };
            self.phase = Phase::Finishing(reason);
        }
        self.input.end();
    }

    /// Takes memory for the next part of a frame, of which all connections together hold `held`. None is
    /// given to a long frame while others hold what there is; one alone always gets it, so that no frame is
    /// too long for good.
    pub(crate) fn gets_memory(&mut self, header: &RequestHeader, held: &mut usize, limits: &Limits) -> bool {
        let wanted = self.input.memory_for(header.size as usize);
        let others = *held - self.frame_bytes;
        if wanted > 0 && others > 0 && others + wanted > limits.frame_memory_max {
            return false;
        }
        *held = others + wanted;
        self.frame_bytes = wanted;
        true
    }

    /// The frame was served, or is thrown away as it comes.
    pub(crate) fn give_memory_back(&mut self, held: &mut usize) {
        *held -= std::mem::take(&mut self.frame_bytes);
    }

    /// Bytes of replies that wait for a send operation.
    pub(crate) fn output_bytes(&self) -> usize {
        self.output.as_ref().map_or(0, |output| output.len())
    }

    /// Whether so many reply bytes wait that no further request is served.
    pub(crate) fn is_full(&self) -> bool {
        self.output_bytes() >= OUTPUT_BYTES_HIGH
    }

    pub(crate) fn is_sending(&self) -> bool {
        self.sending.is_some()
    }

    /// Whether the connection owes its peer nothing.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.waiting && !self.is_sending() && self.output_bytes() == 0
    }

    /// Whether a stop that gives this connection up breaks a promise: an answer that is being worked on, or
    /// one that a session has not taken yet. A connection without a session that does not read was promised
    /// nothing.
    pub(crate) fn is_owed(&self) -> bool {
        self.waiting || (self.peer.bound.is_some() && !self.is_quiet())
    }

    /// The server stops: a peer that takes nothing of its reply has little time left. A connection without a
    /// session has no more, whatever it takes: nobody without a session delays a stop.
    pub(crate) fn hurry_to_stop(&mut self, now: Instant, acknowledged: Option<u64>) {
        let Some(sending) = &mut self.sending else { return };
        sending.hurry(now, acknowledged, STOP_PATIENCE);
        if self.peer.bound.is_none() {
            sending.end_by(now + STOP_PATIENCE);
        }
    }

    /// Others need the memory of the reply: a peer that takes nothing of it has little time left.
    pub(crate) fn hurry(&mut self, now: Instant, acknowledged: Option<u64>) {
        if let Some(sending) = &mut self.sending {
            sending.hurry(now, acknowledged, SHORT_PATIENCE);
        }
    }

    /// When this connection has to be looked at, and why it would be closed then.
    pub(crate) fn deadline(&self) -> Option<(Instant, CloseReason)> {
        let lingering = match self.phase {
            Phase::Lingering(reason, until) => Some((until, reason)),
            Phase::Open | Phase::Finishing(_) => None,
        };
        let receiving = self.input.deadline().map(|at| (at, CloseReason::FrameTimeout));
        let sending = self.sending.map(|sending| (sending.deadline(), CloseReason::SendTimeout));
        [lingering, receiving, sending].into_iter().flatten().min_by_key(|(at, _)| *at)
    }
}
