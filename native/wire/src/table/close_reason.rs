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
        /// A frame longer than a stranger may send was refused from its header.
        OversizeBeforeLogin = 6, "oversize_before_login";
        /// A frame that had begun did not arrive in its time.
        FrameTimeout = 7, "frame_timeout";
        /// The client took nothing of a reply for `connections.send_timeout`, or less of it than 1 KiB in a second.
        SendTimeout = 8, "send_timeout";
        /// The oldest connection that had not logged in made room for a new one.
        Displaced = 9, "displaced";
        /// No place was left for one more connection.
        TableFull = 10, "table_full";
        /// An eviction nobody had asked for was sent, and the stream ends with it.
        Evicted = 11, "evicted";
        /// The server is stopping.
        Stopping = 12, "stopping";
    }
}
