//! Where frames go. One named function for each kind of traffic; none of them has a default shard to fall
//! back to.

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
    /// Starts with the first shard.
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

/// The shard that can answer a request of a client: sessions, clients and host figures exist once in a
/// process.
pub fn client_request_target(ask: &Ask) -> ShardId {
    match ask {
        Ask::Metadata { .. }
        | Ask::Login { .. }
        | Ask::Logout
        | Ask::Clients
        | Ask::Client(_)
        | Ask::Stats => ShardId::FIRST,
    }
}

/// Sends a client's request to the shard that can answer it; a full mailbox gives it back.
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

/// Sends an answer to the shard of the connection that asked. It waits for room: a client is never left
/// without one.
pub fn route_client_answer(mailboxes: &mut Mailboxes, shard: ShardId, answer: ClientAnswer) {
    mailboxes.send(shard, ShardFrame::Client(ClientFrame::Answer(Box::new(answer))));
}

/// Hands an accepted connection to the shard that will serve it.
pub fn route_hand_over(mailboxes: &mut Mailboxes, shard: ShardId, arrival: HandOver) {
    mailboxes.send(shard, ShardFrame::Lifecycle(Lifecycle::HandOver(arrival)));
}

/// Tells the registry that a connection is gone.
pub fn route_closed(mailboxes: &mut Mailboxes, client_id: u32) {
    mailboxes.send(ShardId::FIRST, ShardFrame::Lifecycle(Lifecycle::Closed { client_id }));
}

/// Tells the shard of a connection that its session has ended.
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
