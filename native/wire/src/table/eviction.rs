//! Reasons why a session ends or is refused, as sent to the client.

use super::coded;

coded! {
    /// The reason in the last byte of an eviction frame.
    pub enum EvictionReason: u8 {
        /// Never sent, because clients treat it as an invalid frame.
        Reserved = 0, "reserved";
        /// The command needs a session and the connection has none.
        NoSession = 1, "no_session";
        /// The client's release is older than the server accepts.
        ClientReleaseTooLow = 2, "client_release_too_low";
        /// The client's release is newer than the server accepts.
        ClientReleaseTooHigh = 3, "client_release_too_high";
        /// The operation is not one a client may ask for.
        InvalidRequestOperation = 4, "invalid_request_operation";
        /// The body of the request cannot be read.
        InvalidRequestBody = 5, "invalid_request_body";
        /// The body of the request has a size the operation does not allow.
        InvalidRequestBodySize = 6, "invalid_request_body_size";
        /// The session was replaced by a later one of the same client.
        SessionTooLow = 7, "session_too_low";
        /// The session was made by another release of the client.
        SessionReleaseMismatch = 8, "session_release_mismatch";
        /// The user is unknown, inactive, or the password is wrong.
        InvalidCredentials = 9, "invalid_credentials";
        /// The personal access token is unknown or has expired.
        InvalidToken = 10, "invalid_token";
        /// The user of the token may not log in.
        UserInactive = 11, "user_inactive";
        /// The server could not keep the session.
        SessionError = 12, "session_error";
        /// The client was silent for too long.
        StaleClient = 13, "stale_client";
        /// The protocol version is outside the window named in the frame.
        IncompatibleProtocol = 14, "incompatible_protocol";
        /// The body of the login cannot be read, or the login is of a retired kind.
        MalformedLogin = 15, "malformed_login";
    }
}
