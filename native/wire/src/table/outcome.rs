//! Outcomes of requests and logins, as counted by metrics.

use super::coded;

coded! {
    /// The `outcome` of `replies_total`.
    pub enum ReplyOutcome: u8 {
        /// The command was executed.
        Ok = 0, "ok";
        /// The command was refused before its execution.
        Denied = 1, "denied";
        /// The command entered the log and failed when it was executed.
        Rejected = 2, "rejected";
        /// The session ended, or the login was refused.
        Evicted = 3, "evicted";
        /// The command was not accepted for lack of room; the client should retry.
        Busy = 4, "busy";
    }
}

coded! {
    /// The `outcome` of `logins_total`.
    pub enum LoginOutcome: u8 {
        /// A session was made.
        Ok = 0, "ok";
        /// The credentials were refused.
        Refused = 1, "refused";
        /// The login queue was full; the client should retry.
        Busy = 2, "busy";
    }
}

coded! {
    /// The `reason` of `login_refusals_total`.
    pub enum LoginRefusal: u8 {
        /// The credentials are wrong, or the user may not log in.
        Credentials = 0, "credentials";
        /// Too many logins by this address for this name had failed, so the credentials were not verified.
        Throttled = 1, "throttled";
    }
}
