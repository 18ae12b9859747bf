//! How requests and logins end, as counted.

use super::coded;

coded! {
    /// The `outcome` of `replies_total`.
    pub enum ReplyOutcome: u8 {
        /// The command was done.
        Ok = 0, "ok";
        /// The command was refused before it was tried.
        Denied = 1, "denied";
        /// The command was ordered and could not be done.
        Rejected = 2, "rejected";
        /// The session ended, or the login was refused.
        Evicted = 3, "evicted";
        /// The command was not accepted for want of room and is to be tried again.
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
        /// The login queue was full and the client is to try again.
        Busy = 2, "busy";
    }
}

coded! {
    /// The `reason` of `login_refusals_total`.
    pub enum LoginRefusal: u8 {
        /// The credentials are wrong, or the user may not log in.
        Credentials = 0, "credentials";
        /// Too many logins by this address for this name had failed before; the credentials were not looked at.
        Throttled = 1, "throttled";
    }
}
