//! The interface through which the table asks the shard for answers.

use ng_wire::frame::RequestHeader;
use ng_wire::table::close_reason::CloseReason;

use crate::connection::Peer;
use crate::frame_body::{FrameBody, Kept};
use crate::identity::ConnectionId;

/// Outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// The reply was written.
    Answered,
    /// The answer follows through [`crate::Connections::answer`]. Until then the connection's next request
    /// waits.
    Waiting,
    /// The reply was written and is the last one.
    AnsweredLast(CloseReason),
}

/// The shard's side: commands, sessions, permissions.
pub trait Service {
    /// Maximum length of a frame (header and body) whose body is read. The table asks with the header, before
    /// it holds any byte of the body.
    fn frame_bytes_max(&self, peer: &Peer, header: &RequestHeader) -> u32;

    /// The part of a frame that will be kept, as far as its first bytes show, so that it can be received in
    /// its final position. The table asks before it receives the rest of a long frame.
    fn kept(&self, header: &RequestHeader, received: &[u8]) -> Kept;

    /// Serves one request. `body` is `None` if the frame exceeds [`Self::frame_bytes_max`]; the header alone
    /// is then answered and the body is dropped as it arrives.
    fn serve(
        &mut self,
        id: ConnectionId,
        peer: &mut Peer,
        header: &RequestHeader,
        body: Option<FrameBody<'_>>,
        reply: &mut Vec<u8>,
    ) -> Served;

    /// Answers a request whose body has no memory now, so that the client may try again. The body is dropped
    /// as it arrives.
    fn busy(&mut self, peer: &mut Peer, header: &RequestHeader, reply: &mut Vec<u8>) -> Served;

    /// Reports a closed connection.
    fn closed(&mut self, peer: &Peer, reason: CloseReason);
}
