//! The roster of the cluster.

use crate::primitive::{put_count, put_str32, put_u8, put_u16};
use crate::table::roster::{NodeRole, NodeStatus};

/// The nodes a client may talk to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cluster<'a> {
    /// The name of the cluster.
    pub name: &'a str,
    /// Its nodes. With exactly one, clients stay where they are.
    pub nodes: &'a [Node<'a>],
}

/// A node of the cluster. A port of zero says that the transport is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node<'a> {
    /// The name of the node.
    pub name: &'a str,
    /// The address the client in question can reach; clients compare it with the one they dialled.
    pub host: &'a str,
    /// The TCP port.
    pub tcp: u16,
    /// The QUIC port.
    pub quic: u16,
    /// The HTTP port.
    pub http: u16,
    /// The WebSocket port.
    pub websocket: u16,
    /// The part the node plays.
    pub role: NodeRole,
    /// The state the node is in.
    pub status: NodeStatus,
}

impl Cluster<'_> {
    /// Appends the payload.
    pub fn put(&self, into: &mut Vec<u8>) {
        put_str32(into, self.name);
        put_count(into, self.nodes.len());
        for node in self.nodes {
            node.put(into);
        }
    }
}

impl Node<'_> {
    /// Appends the record.
    pub fn put(&self, into: &mut Vec<u8>) {
        put_str32(into, self.name);
        put_str32(into, self.host);
        put_u16(into, self.tcp);
        put_u16(into, self.quic);
        put_u16(into, self.http);
        put_u16(into, self.websocket);
        put_u8(into, self.role.code());
        put_u8(into, self.status.code());
    }
}
