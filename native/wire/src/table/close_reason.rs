//! Why the server closed a connection.

use super::coded;

coded! {
    /// The `reason` of `connection_closes_total`.
    pub enum CloseReason: u8 {
        /// The client ended the stream between two frames.
        ClientClosed = 0, "client_closed";
        /// The client ended the stream inside a frame.
        Truncated = 1, "truncated";
        /// Reading or writing the socket failed.
        IoError = 2, "io_error";
        /// The first word of the connection belongs to the framing of older clients, or to another protocol.
        LegacyFraming = 3, "legacy_framing";
        /// A frame is shorter than its header or longer than allowed.
        BadSize = 4, "bad_size";
        /// A frame is not a request.
        BadCommand = 5, "bad_command";
        /// A frame too long for a client without a login was refused from its header.
        OversizeBeforeLogin = 6, "oversize_before_login";
        /// A frame did not arrive in full within its time.
        FrameTimeout = 7, "frame_timeout";
        /// The client read no byte of a reply for `connections.send_timeout`, or less than 1 KiB per second.
        SendTimeout = 8, "send_timeout";
        /// The oldest connection without a login was closed for a new one.
        Displaced = 9, "displaced";
        /// No slot was free for another connection.
        TableFull = 10, "table_full";
        /// The server sent an unrequested eviction, which ends the stream.
        Evicted = 11, "evicted";
        /// The server is stopping.
        Stopping = 12, "stopping";
    }
}
