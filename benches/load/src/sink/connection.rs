//! One connection of the sink: where it is in its stream of requests.

use ng_io::{Buffer, Handle};
use ng_wire::frame::{FRAME_BYTES_MAX, HEADER_BYTES, RequestHeader};

use crate::answers::Answers;

/// Room for a piece of a large request.
pub(crate) const RECEIVED_BYTES: usize = 1 << 20;

/// The state of a connection. It has exactly one operation under way.
pub(crate) struct Connection {
    pub(crate) socket: Handle,
    header: [u8; HEADER_BYTES],
    /// Bytes of the header that are here.
    filled: usize,
    /// The request whose body is being passed over, and how much of that is still to come.
    body: Option<(RequestHeader, usize)>,
    /// The answer to the last poll, unless it is being sent.
    pub(crate) poll: Option<Buffer>,
    /// Whether what is being sent is the answer to a poll.
    pub(crate) sends_poll: bool,
    /// What requests are received into, while an answer is being sent.
    pub(crate) received: Option<Buffer>,
}

impl Connection {
    pub(crate) fn new(socket: Handle) -> Self {
        Self {
            socket,
            header: [0; HEADER_BYTES],
            filled: 0,
            body: None,
            poll: None,
            sends_poll: false,
            received: None,
        }
    }

    /// Passes over what came. Returns the request that is now complete; nothing follows it, for clients wait for their
    /// answers.
    pub(crate) fn take(&mut self, mut bytes: &[u8]) -> Option<RequestHeader> {
        loop {
            if let Some((request, left)) = &mut self.body {
                let passed = bytes.len().min(*left);
                *left -= passed;
                let complete = (*left == 0).then_some(*request);
                if complete.is_some() {
                    self.body = None;
                }
                return complete;
            }
            let taken = bytes.len().min(HEADER_BYTES - self.filled);
            self.header[self.filled..self.filled + taken].copy_from_slice(&bytes[..taken]);
            self.filled += taken;
            bytes = &bytes[taken..];
            if self.filled < HEADER_BYTES {
                return None;
            }
            self.filled = 0;
            let request =
                RequestHeader::decode(&self.header, FRAME_BYTES_MAX).expect("clients send requests");
            self.body = Some((request, request.size as usize - HEADER_BYTES));
        }
    }

    /// The answer to a request. Clients do not look at the number in it, so that a poll is answered as the one before.
    pub(crate) fn answer(&mut self, request: &RequestHeader, answers: &Answers) -> Buffer {
        let kept = if Answers::is_poll(request) { self.poll.take() } else { None };
        kept.unwrap_or_else(|| {
            let mut answer = Vec::new();
            answers.put(&mut answer, request);
            Buffer::from(answer)
        })
    }
}
