//! The canned answers.

use ng_wire::batch::build;
use ng_wire::frame::RequestHeader;
use ng_wire::primitive::Name;
use ng_wire::reply::{
    Cluster, Confirmation, Node, PollHeader, Position, Registered, denied, ok, put_confirmations,
};
use ng_wire::table::command::Command;
use ng_wire::table::error::ErrorCode;
use ng_wire::table::operation::Operation;
use ng_wire::table::roster::{NodeRole, NodeStatus};

/// What is said to clients.
pub(crate) struct Answers {
    poll: Vec<u8>,
}

impl Answers {
    /// A poll gets `messages` messages of `bytes` bytes.
    pub(crate) fn new(messages: u32, bytes: usize) -> Self {
        let payload = vec![b'.'; bytes];
        let payloads: Vec<&[u8]> = (0..messages).map(|_| payload.as_slice()).collect();
        let mut poll = Vec::new();
        PollHeader { partition_id: 0, current_offset: 0, messages }.put(&mut poll);
        poll.extend_from_slice(&build(1, &payloads));
        Self { poll }
    }

    /// Whether a request is a poll, whose answer is worth keeping.
    pub(crate) fn is_poll(request: &RequestHeader) -> bool {
        Operation::from_code(request.operation) == Some(Operation::NonReplicated)
            && request.code == Command::PollMessages.code()
    }

    /// Appends the answer to a request.
    pub(crate) fn put(&self, into: &mut Vec<u8>, request: &RequestHeader) {
        let at = Position::default();
        match Operation::from_code(request.operation) {
            Some(Operation::Register) => ok(into, request, at, |body| {
                let server_version = Name::new("sink").expect("neither empty nor long");
                Registered { user_id: 0, session: 1, server_version }.put(body);
            }),
            Some(Operation::SendMessages) => ok(into, request, at, |body| {
                let place = Confirmation { stream_id: 0, topic_id: 0, partition_id: 0, base_offset: 0 };
                put_confirmations(body, &[place]);
            }),
            Some(Operation::NonReplicated) if Self::is_poll(request) => {
                ok(into, request, at, |body| body.extend_from_slice(&self.poll));
            }
            Some(Operation::NonReplicated) if request.code == Command::ClusterMetadata.code() => {
                ok(into, request, at, put_roster);
            }
            Some(Operation::NonReplicated) if request.code == Command::Ping.code() => {
                ok(into, request, at, |_| {});
            }
            _ => denied(into, request, ErrorCode::FeatureUnavailable),
        }
    }
}

/// With one node clients stay where they are.
fn put_roster(body: &mut Vec<u8>) {
    let node = Node {
        name: "sink",
        host: "127.0.0.1",
        tcp: 0,
        quic: 0,
        http: 0,
        websocket: 0,
        role: NodeRole::Leader,
        status: NodeStatus::Healthy,
    };
    Cluster { name: "sink", nodes: &[node] }.put(body);
}
