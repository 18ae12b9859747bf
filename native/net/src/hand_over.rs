//! What travels from the accepting shard to the shard that will serve a connection.

use std::net::SocketAddr;

use ng_io::Socket;

/// An accepted descriptor that nobody has read from yet. It owns the socket: a hand-over that is dropped on
/// the way closes it, so no path can leak a descriptor.
#[derive(Debug)]
pub struct HandOver {
    /// The accepted socket.
    pub socket: Socket,
    /// The number under which clients see this connection (`get_me`, `get_clients`).
    pub client_id: u32,
    /// Where the connection came from.
    pub address: SocketAddr,
}
