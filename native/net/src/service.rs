//! What the table asks of the shard.

use ng_wire::frame::RequestHeader;
use ng_wire::table::close_reason::CloseReason;

use crate::connection::Peer;
use crate::frame_body::{FrameBody, Kept};
use crate::identity::ConnectionId;

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// The reply was written.
    Answered,
    /// The answer comes later through [`crate::Connections::answer`]; until then the connection's next
    /// request waits.
    Waiting,
    /// The reply was written and is the last one.
    AnsweredLast(CloseReason),
}

/// The shard's side: commands, sessions, permissions.
pub trait Service {
    /// How long a frame (header and body) of this request may be for its body to be read at all. Asked from
    /// the header, before any body byte is held.
    fn frame_bytes_max(&self, peer: &Peer, header: &RequestHeader) -> u32;

    /// Which part of a frame will be kept, as far as its first bytes tell: it can then be received to where
    /// it stays. Asked before the rest of a long frame is received.
    fn kept(&self, header: &RequestHeader, received: &[u8]) -> Kept;

    /// Serves one request. `body` is absent when the frame exceeds [`Self::frame_bytes_max`]: it is then
    /// answered from its header alone and its bytes are thrown away as they arrive.
    fn serve(
        &mut self,
        id: ConnectionId,
        peer: &mut Peer,
        header: &RequestHeader,
        body: Option<FrameBody<'_>>,
        reply: &mut Vec<u8>,
    ) -> Served;

    /// Answers a request for whose body there is no memory now: its client may try again. Its bytes are
    /// thrown away as they arrive.
    fn busy(&mut self, peer: &mut Peer, header: &RequestHeader, reply: &mut Vec<u8>) -> Served;

    /// A connection is gone, for whatever reason.
    fn closed(&mut self, peer: &Peer, reason: CloseReason);
}
