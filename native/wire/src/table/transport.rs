//! Transports of clients.

use super::coded;

coded! {
    /// The transport in a client record.
    pub enum Transport: u8 {
        /// Plain TCP or TLS over it.
        Tcp = 1, "tcp";
        /// QUIC.
        Quic = 2, "quic";
        /// HTTP.
        Http = 3, "http";
        /// WebSocket, plain or over TLS.
        WebSocket = 4, "websocket";
    }
}
