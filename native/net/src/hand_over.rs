//! An accepted connection on its way from the accepting shard to the shard that will serve it.

use std::net::SocketAddr;

use ng_io::Socket;

/// An accepted descriptor from which nothing was read yet. It owns the socket: dropping a hand-over closes
/// it, so that no path can leak a descriptor.
#[derive(Debug)]
pub struct HandOver {
    /// The accepted socket.
    pub socket: Socket,
    /// The number of the connection as clients see it (`get_me`, `get_clients`).
    pub client_id: u32,
    /// Address of the client.
    pub address: SocketAddr,
}
