//! Target shards of frames: one named function for each kind of traffic. None falls back to a default shard,
//! so that a new kind of frame must choose its target.

use ng_control::shard_id::ShardId;
use ng_net::HandOver;

use crate::frame::{Ask, ClientAnswer, ClientFrame, ClientRequest, EndedSession, Lifecycle, ShardFrame};
use crate::mailbox::Mailboxes;

/// Deals accepted connections to all shards in turn.
#[derive(Debug)]
pub struct HandOverRoute {
    next: u16,
}

impl HandOverRoute {
    /// Starts with shard 0.
    pub fn new() -> Self {
        Self { next: 0 }
    }

    /// The shard of the next connection.
    pub fn target(&mut self, shards: u16) -> ShardId {
        let target = ShardId(self.next % shards);
        self.next = (target.0 + 1) % shards;
        target
    }
}

impl Default for HandOverRoute {
    fn default() -> Self {
        Self::new()
    }
}

/// The shard that can answer a request. It is shard 0, because sessions, clients and host figures exist once
/// per process.
pub fn client_request_target(ask: &Ask) -> ShardId {
    match ask {
        Ask::Metadata { .. }
        | Ask::Enrich { .. }
        | Ask::Login { .. }
        | Ask::Logout
        | Ask::Clients
        | Ask::Client(_)
        | Ask::Stats => ShardId::FIRST,
    }
}

/// Sends a request to the shard that can answer it. Returns the request if the mailbox is full.
pub fn route_client_request(
    mailboxes: &mut Mailboxes,
    request: Box<ClientRequest>,
) -> Result<(), Box<ClientRequest>> {
    let target = client_request_target(&request.ask);
    match mailboxes.try_send(target, ShardFrame::Client(ClientFrame::Request(request))) {
        Ok(()) => Ok(()),
        Err(ShardFrame::Client(ClientFrame::Request(request))) => Err(request),
        Err(other) => unreachable!("a mailbox gave back another frame: {other:?}"),
    }
}

/// Sends an answer to the shard of the connection. It waits for room, because every request must be answered.
pub fn route_client_answer(mailboxes: &mut Mailboxes, shard: ShardId, answer: ClientAnswer) {
    mailboxes.send(shard, ShardFrame::Client(ClientFrame::Answer(Box::new(answer))));
}

/// Sends an accepted connection to the shard that will serve it.
pub fn route_hand_over(mailboxes: &mut Mailboxes, shard: ShardId, arrival: HandOver) {
    mailboxes.send(shard, ShardFrame::Lifecycle(Lifecycle::HandOver(arrival)));
}

/// Reports a closed connection to the registry.
pub fn route_closed(mailboxes: &mut Mailboxes, client_id: u32) {
    mailboxes.send(ShardId::FIRST, ShardFrame::Lifecycle(Lifecycle::Closed { client_id }));
}

/// Reports an ended session to the shard of its connection.
pub fn route_session_ended(mailboxes: &mut Mailboxes, shard: ShardId, ended: EndedSession) {
    mailboxes.send(shard, ShardFrame::Lifecycle(Lifecycle::SessionEnded(ended)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_dealt_evenly_to_all_shards() {
        let mut route = HandOverRoute::new();
        let mut counts = [0; 4];
        for _ in 0..40 {
            counts[route.target(4).index()] += 1;
        }
        assert_eq!(counts, [10; 4]);
    }
}
