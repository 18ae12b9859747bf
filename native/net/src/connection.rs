//! One row of the connection table.

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
    /// Session number, which the client repeats in its requests.
    pub session: u64,
    /// User of the login.
    pub user_id: u32,
}

/// The current request of a connection, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Class of the request.
    pub class: RequestClass,
    /// Time at which it was complete.
    pub at: Instant,
    /// Messages in it.
    pub messages: u32,
    /// Bytes of these messages.
    pub bytes: u64,
}

/// Properties of a connection that the service may read and change.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Number of the connection as clients see it.
    pub client_id: u32,
    /// Address of the client.
    pub address: SocketAddr,
    /// Server address to which the client connected, because the client can reach it.
    pub local_address: SocketAddr,
    /// Session after a login.
    pub bound: Option<Bound>,
    /// Maximum reply frame of the client library, from its last login.
    pub reply_bytes_max: u32,
    /// Reason for which the session was ended elsewhere; the answer to the next request contains it.
    pub ended: Option<EvictionReason>,
    /// Current request, if it is measured.
    pub asked: Option<Asked>,
    /// Memory reserved for the reply to a poll.
    pub promise: Promise,
    /// The peer has taken more bytes than the kernel buffers for a peer that does not read.
    pub is_proven: bool,
}

/// Memory reserved for a reply that is not written yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promise {
    /// Reserved bytes.
    pub bytes: usize,
    /// The peer was known to read when the memory was reserved.
    pub is_proven: bool,
}

impl Peer {
    /// A peer without a request.
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

/// Phase in the life of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Requests are served.
    Open,
    /// The last reply is being sent; no request is served.
    Finishing(CloseReason),
    /// The last reply is sent; arriving bytes are dropped until the peer closes or the time has passed.
    Lingering(CloseReason, Instant),
}

/// One row of the connection table.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) peer: Peer,
    pub(crate) handle: Handle,
    pub(crate) phase: Phase,
    pub(crate) input: Input,
    /// A request is being answered elsewhere. The next one waits, so that answers keep their order.
    pub(crate) waiting: bool,
    /// Replies that no send operation has taken yet.
    pub(crate) output: Option<Buffer>,
    /// Bytes of memory of a long frame that is arriving.
    pub(crate) frame_bytes: usize,
    /// Bytes of replies that the kernel has taken.
    pub(crate) taken: u64,
    /// The send operation in progress.
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

    /// The peer has ended its stream. It may still read, so it gets its outstanding replies before the close.
    pub(crate) fn end_of_stream(&mut self) {
        if self.phase == Phase::Open {
            let inside_a_frame = self.input.deadline().is_some();
            let reason = if inside_a_frame { CloseReason::Truncated } else { CloseReason::ClientClosed };
            self.phase = Phase::Finishing(reason);
        }
        self.input.end();
    }

    /// Reserves memory for the next part of a frame; all connections together hold `held`. A long frame is
    /// refused while others use the budget. A single one always gets memory, so that no frame is permanently
    /// too long.
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

    /// Releases the memory of a frame that was served or is being dropped.
    pub(crate) fn give_memory_back(&mut self, held: &mut usize) {
        *held -= std::mem::take(&mut self.frame_bytes);
    }

    /// Bytes of replies that wait for a send operation.
    pub(crate) fn output_bytes(&self) -> usize {
        self.output.as_ref().map_or(0, |output| output.len())
    }

    /// So many reply bytes wait that no further request is served.
    pub(crate) fn is_full(&self) -> bool {
        self.output_bytes() >= OUTPUT_BYTES_HIGH
    }

    pub(crate) fn is_sending(&self) -> bool {
        self.sending.is_some()
    }

    /// No answer is outstanding.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.waiting && !self.is_sending() && self.output_bytes() == 0
    }

    /// A close now would break a promise: an answer is in progress, or a session has not taken one yet. A
    /// connection without a session that does not read was promised nothing.
    pub(crate) fn is_owed(&self) -> bool {
        self.waiting || (self.peer.bound.is_some() && !self.is_quiet())
    }

    /// Shortens the time of a peer that takes nothing of its reply, because the server stops. A connection
    /// without a session gets only this time even if it reads, so that it cannot delay a stop.
    pub(crate) fn hurry_to_stop(&mut self, now: Instant, acknowledged: Option<u64>) {
        let Some(sending) = &mut self.sending else { return };
        sending.hurry(now, acknowledged, STOP_PATIENCE);
        if self.peer.bound.is_none() {
            sending.end_by(now + STOP_PATIENCE);
        }
    }

    /// Shortens the time of a peer that takes nothing of its reply, because others need the memory.
    pub(crate) fn hurry(&mut self, now: Instant, acknowledged: Option<u64>) {
        if let Some(sending) = &mut self.sending {
            sending.hurry(now, acknowledged, SHORT_PATIENCE);
        }
    }

    /// Next deadline, with the reason for which the connection would then be closed.
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
